/** Runs the tasks of batches. */
import { isTerminal } from '../../core/batch/machine.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import type { TaskHandler, TaskResult, TaskSignals } from '../../contracts/task-queue.ts';
import type { ClaimedTask, StoredItem } from '../../contracts/batch-store.ts';
import { warn } from '../events/events.ts';
import type { BatchPorts } from './ports.ts';
import { CANCELLED_ITEM, EXPIRED_ITEM, formatInCommon } from '../../core/batch/item-rules.ts';
import { runNatively, stopNatively } from './native/run.ts';
import { addItemUsage, NO_USAGE } from '../../core/batch/sum-usage.ts';
import { Notifier } from './deliver-webhook.ts';
import { PageSize } from './page-size.ts';
import { ItemPool } from './item-pool.ts';
import { inOneSlice } from './shared-runs.ts';
import { fileOfOutcome, lineBytes } from './files.ts';
import { RouterError } from '../../protocol/router-error.ts';
import { StorageError } from '../../contracts/storage-error.ts';
import { echo, faultAt } from '../../protocol/fault.ts';
import { faultOfLine } from '../../core/batch/wire-batch.ts';
import { yieldTurn } from '../../platform/wait.ts';
import { errorOfFault } from '../chat/router-errors.ts';
import type { BatchRecord } from '../../contracts/batch-record.ts';
import type { Usage } from '../../protocol/usage.ts';
import { applyEvent, DONE, resultIds } from './apply-event.ts';

/** Claims of a task without any progress after which it may be what brings down whoever runs it. */
const SUSPECT_AFTER = 5;
/** Milliseconds that a task which is suspected is put off, at most. */
const LONGEST_PAUSE_MS = 600_000;
/** Milliseconds after its creation for which a batch waits for what is needed to validate it. */
const VALIDATION_PATIENCE_MS = 3_600_000;
/** Times the window of a batch. After one of them its requests expire, which is the better end where it can be had. */
const GIVEN_UP_AFTER = 2;

/** Runs the tasks of batches. Each may be run twice, by two processes, or only in part: the store makes that harmless. */
export function taskHandler(ports: BatchPorts): TaskHandler {
  const notifier = new Notifier();

  function run(task: ClaimedTask, signals: TaskSignals): Promise<TaskResult> {
    switch (task.effect) {
      case 'validate':
        return validateTask(ports, task, signals);
      case 'run':
        return runTask(ports, task, signals);
      case 'finalize':
        return finalizeTask(ports, task);
      case 'stop':
        return stopTask(ports, task, signals);
      case 'notify':
        return notifier.run(ports, task, signals);
    }
  }

  return (task, signals) =>
    task.attempts > SUSPECT_AFTER ? runSuspect(ports, task, () => run(task, signals)) : run(task, signals);
}

/**
 * A task that came to no end time and again may be to blame, or it was in the hands of processes that died of something
 * else. So it is put off before each further run, longer each time, and given up only long after the time of its batch:
 * every batch comes to an end, and no batch fails for what killed its processes.
 */
async function runSuspect(ports: BatchPorts, task: ClaimedTask, run: () => Promise<TaskResult>): Promise<TaskResult> {
  const { store, limits } = ports;
  const { attempts, effect } = task;
  const batch = await store.find(task.account, task.batchId);
  if (batch === undefined) return DONE;
  const { completed, failed } = batch.counts;
  const memo: JsonObject = { ...task.memo, putOffAt: attempts, settled: completed + failed };
  // Requests went on: a long batch lives through many processes.
  if (effect === 'run' && completed + failed > Number(task.memo?.['settled'] ?? 0)) {
    return { type: 'again', afterMs: 0, memo, reset: true };
  }
  const age = (await store.now()) - (batch.finalizedAt ?? batch.createdAt);
  if (age > GIVEN_UP_AFTER * limits.windowMs) return giveUp(ports, task, batch);
  if (task.memo?.['putOffAt'] === attempts - 1) return run();
  // Each run is two claims: one that puts the task off, and one that runs it.
  const runs = (attempts - SUSPECT_AFTER - 1) / 2;
  return { type: 'again', afterMs: Math.min(LONGEST_PAUSE_MS, limits.leaseMs * 2 ** runs), memo };
}

async function giveUp(ports: BatchPorts, { effect, attempts }: ClaimedTask, batch: BatchRecord): Promise<TaskResult> {
  const message = `The task to ${effect} batch ${batch.id} was begun ${attempts} times and never came to an end`;
  warn(ports.events, { code: 'batch_task', message });
  if (isTerminal(batch.status)) return DONE;
  const rejected = { type: 'rejected', message: 'The batch could not be processed' } as const;
  await applyEvent(ports, batch, effect === 'stop' ? { type: 'cancelled' } : rejected);
  return DONE;
}

/**
 * Brings a batch that is being cancelled to its end. Answers that came before are kept and counted, also those of a
 * provider's own batch; what has none is marked as cancelled, and an answer that comes after that is dropped.
 */
async function stopTask(ports: BatchPorts, task: ClaimedTask, signals: TaskSignals): Promise<TaskResult> {
  const { store, failPoint } = ports;
  const batch = await store.find(task.account, task.batchId);
  if (batch?.status !== 'cancelling') return DONE;
  await failPoint('stop.started');
  const waiting = await stopNatively(ports, batch, task, signals);
  if (waiting !== undefined) return waiting;
  await store.failRemaining(task.account, task.batchId, CANCELLED_ITEM, resultIds(ports));
  await failPoint('stop.marked');
  await applyEvent(ports, batch, { type: 'cancelled' });
  return DONE;
}

/** Outcomes that are read first. */
const FIRST_PAGE = 32;

/** Adds up what the requests of a batch used and cost, and completes it. */
async function finalizeTask(ports: BatchPorts, task: ClaimedTask): Promise<TaskResult> {
  const { store, failPoint } = ports;
  const batch = await store.find(task.account, task.batchId);
  if (batch?.status !== 'finalizing') return DONE;
  let total: Usage | undefined;
  const providers = new Set<string | undefined>();
  const fileBytes = { output: 0, errors: 0 };
  const page = new PageSize(FIRST_PAGE);
  let readBytes = 0;
  for (let after = -1, outcomes; ; after = outcomes.at(-1)?.index ?? after) {
    outcomes = await store.outcomes(task.account, task.batchId, after, page.limit);
    if (outcomes.length === 0) break;
    for (const outcome of outcomes) {
      const { usage, response } = outcome;
      fileBytes[fileOfOutcome(outcome)] += lineBytes(outcome);
      if (usage !== undefined) total = addItemUsage(total, usage);
      if (response !== undefined) providers.add(providerOf(response.body));
    }
    const { output, errors } = fileBytes;
    page.came(outcomes.length, output + errors - readBytes);
    readBytes = output + errors;
    await failPoint('finalize.reading');
  }
  // Its requests may have gone one by one, and yet all to the same provider.
  const [only] = providers;
  const provider = batch.provider ?? (providers.size === 1 ? only : undefined);
  await failPoint('finalize.done');
  await applyEvent(ports, batch, { type: 'finalized', usage: total ?? NO_USAGE, provider, fileBytes });
  return DONE;
}

/** Display name of the provider that gave an answer, in whatever shape it is. */
function providerOf(body: JsonValue): string | undefined {
  const provider = isJsonObject(body) ? body['provider'] : undefined;
  return typeof provider === 'string' ? provider : undefined;
}

/** Requests of a batch from which on other processes help with it. */
const SHARED_FROM = 64;
/** Milliseconds after which a batch looks again for requests that somebody else held. */
const LOOK_AGAIN_MS = 1_000;
/** Runs in a row without a good end after which requests run one at a time: one of them may be to blame. */
const CAREFUL_AFTER = 3;

/** Runs the requests of a batch for a while, or watches over the batch at its provider. */
async function runTask(ports: BatchPorts, task: ClaimedTask, signals: TaskSignals): Promise<TaskResult> {
  const { store, failPoint } = ports;
  const batch = await store.find(task.account, task.batchId);
  if (batch?.status !== 'in_progress') return DONE;
  await failPoint('run.started');
  if (task.memo?.['expiring'] === true) return expire(ports, batch);
  if (isDrained(batch)) return drained(ports, batch);
  const left = (batch.expiresAt ?? Infinity) - (await store.now());
  // First what is about to happen is written down: else nobody could tell an expired batch from a completed one, if
  // this process died after it had marked the last request.
  const isNative = batch.upstream !== undefined && task.memo?.['native'] !== false;
  if (left <= 0 && !isNative) return { type: 'again', afterMs: 0, memo: { expiring: true } };
  const native = await runNatively(ports, batch, task, signals);
  if (native !== undefined) return native;
  // From here on it does not go to a provider as a whole any more.
  if (batch.counts.total > SHARED_FROM && batch.shared !== true) await applyEvent(ports, batch, { type: 'shared' });
  if (batch.provider === undefined) await assignOnlyChoice(ports, batch);
  return runItems(ports, batch, signals, { left, careful: task.attempts >= CAREFUL_AFTER });
}

/** Names the provider of a batch that is about to be run one by one, where its first request can go to one alone. */
async function assignOnlyChoice(ports: BatchPorts, batch: BatchRecord): Promise<void> {
  const [item] = await ports.store.items(batch.account, batch.id, -1, 1);
  if (item === undefined) return;
  const account = await ports.accountOf(batch);
  const names = await ports.calls.prepare(batch, item.body, account).then(
    ({ request }) => new Set(ports.calls.route(request).map(({ providerName }) => providerName)),
    // A model may be gone since the batch was validated. Each of its requests will say so.
    () => new Set<string>(),
  );
  const [provider] = names;
  if (provider !== undefined && names.size === 1) await applyEvent(ports, batch, { type: 'assigned', provider });
}

async function runItems(
  ports: BatchPorts,
  batch: BatchRecord,
  { signal, stopping }: TaskSignals,
  { left, careful }: { readonly left: number; readonly careful: boolean },
): Promise<TaskResult> {
  const { store, limits } = ports;
  const end = new AbortController();
  const abort = (): void => end.abort();
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  try {
    return await inOneSlice(ports, batch, left, {
      end,
      run: async (yielding) => {
        const manner = { perBatch: careful ? 1 : limits.perBatch, ahead: !careful, fresh: false };
        const signals = { signal: end.signal, stopping, yielding };
        const account = await ports.accountOf(batch);
        const { exhausted } = await ports.sharedRuns.instead(batch.id, () =>
          new ItemPool(ports, { batch, account }, signals, manner).run(),
        );
        const now = await store.find(batch.account, batch.id);
        if (now?.status !== 'in_progress') return DONE;
        if (isDrained(now)) return await drained(ports, now);
        return { type: 'again', afterMs: exhausted ? LOOK_AGAIN_MS : 0, reset: true };
      },
    });
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

function isDrained({ counts }: BatchRecord): boolean {
  return counts.completed + counts.failed >= counts.total;
}

async function drained(ports: BatchPorts, batch: BatchRecord): Promise<TaskResult> {
  await ports.failPoint('run.drained');
  await applyEvent(ports, batch, { type: 'drained' });
  return DONE;
}

async function expire(ports: BatchPorts, batch: BatchRecord): Promise<TaskResult> {
  const { store, failPoint } = ports;
  await failPoint('run.expiring');
  await store.failRemaining(batch.account, batch.id, EXPIRED_ITEM, resultIds(ports));
  await applyEvent(ports, batch, { type: 'expired' });
  return DONE;
}

/** Requests that are read first. */
const FIRST_CHECKED = 16;
/** Characters of requests that are checked before everybody else has a turn. */
const TURN_LENGTH = 16_384;

/** What checking a request costs besides its length, in characters. */
const PER_REQUEST = 1_024;

const OTHER_FORMAT =
  "must be the same in all requests of a batch for Google's models; make a batch of its own for each format";

/**
 * Checks every request of a batch. One bad request fails all of it, before anything was sent (gaps 8.4). So does
 * whatever keeps it from being checked for an hour.
 */
async function validateTask(ports: BatchPorts, task: ClaimedTask, signals: TaskSignals): Promise<TaskResult> {
  const { store } = ports;
  const batch = await store.find(task.account, task.batchId);
  if (batch?.status !== 'validating') return DONE;
  try {
    return await validate(ports, batch, task, signals);
  } catch (error) {
    const age = (await store.now()) - batch.createdAt;
    if (signals.signal.aborted || age < VALIDATION_PATIENCE_MS) throw error;
    const why = RouterError.isInstance(error) ? `: ${error.message}` : '';
    warn(ports.events, { code: 'batch_task', message: `Batch ${batch.id} could not be validated for an hour${why}` });
    await applyEvent(ports, batch, { type: 'rejected', message: `The batch could not be validated${why}` });
    return DONE;
  }
}

async function validate(
  ports: BatchPorts,
  batch: BatchRecord,
  task: ClaimedTask,
  signals: TaskSignals,
): Promise<TaskResult> {
  const { store, limits, failPoint } = ports;
  if (batch.error !== undefined) {
    await applyEvent(ports, batch, { type: 'rejected', ...batch.error });
    return DONE;
  }
  const account = await ports.accountOf(batch);
  const page = new PageSize(FIRST_CHECKED);
  let format: string | undefined;
  const check = async ({ body }: StoredItem): Promise<void> => {
    const own = formatInCommon((await ports.calls.prepare(batch, body, account)).request);
    if ((format ??= own) !== own) throw errorOfFault(faultAt('response_format', OTHER_FORMAT));
  };
  let unrested = 0;
  for (let after = -1, items; ; after = items.at(-1)?.index ?? after) {
    items = await store.items(task.account, task.batchId, after, page.limit);
    if (items.length === 0) break;
    page.came(
      items.length,
      items.reduce((sum, { body }) => sum + body.length, 0),
    );
    for (const item of items) {
      signals.signal.throwIfAborted();
      if (signals.stopping.aborted) return { type: 'again', afterMs: 0, reset: true };
      const message = await problemOf(ports, batch, item, check);
      if (message !== undefined) {
        const fault = batch.inputFileId === undefined ? { message } : faultOfLine(message);
        await applyEvent(ports, batch, { type: 'rejected', ...fault });
        return DONE;
      }
      unrested += item.body.length + PER_REQUEST;
      if (unrested < TURN_LENGTH) continue;
      unrested = 0;
      await yieldTurn();
    }
    await failPoint('validate.reading');
  }
  await failPoint('validate.done');
  await applyEvent(ports, batch, { type: 'validated', expiresAt: batch.createdAt + limits.windowMs });
  return DONE;
}

/** What is wrong with a request, with its place in front. */
async function problemOf(
  { events }: BatchPorts,
  batch: BatchRecord,
  item: StoredItem,
  check: (item: StoredItem) => Promise<void>,
): Promise<string | undefined> {
  const { index, customId } = item;
  const place = `requests[${index}].body`;
  try {
    await check(item);
    return undefined;
  } catch (error) {
    if (RouterError.isInstance(error) && error.status < 500) {
      const { message, metadata } = error;
      const { path } = metadata;
      const located = typeof path === 'string' && path !== '' && message.startsWith(path);
      return `${located ? `${place}.${message}` : `${place}: ${message}`} (custom_id ${echo(customId)})`;
    }
    // These may pass. Anything else would come again each time.
    if (RouterError.isInstance(error) || StorageError.isInstance(error)) throw error;
    const name = error instanceof Error ? error.name : typeof error;
    const message = `${place} of batch ${batch.id} could not be checked (${name}), so the batch has failed`;
    warn(events, { code: 'batch_task', message });
    return `${place}: could not be checked (custom_id ${echo(customId)})`;
  }
}
