/** Runs a batch on the batch API of its provider. */
import { CANCELLED_ITEM, EXPIRED_ITEM, MISSING_ITEM } from '../../../core/batch/item-rules.ts';
import type {
  NativeState,
  NativeBatches,
  NativeItem,
  NativeJob,
  NativeLookup,
  NativeReply,
} from '../../../contracts/native-batches.ts';
import type { TaskResult, TaskSignals } from '../../../contracts/task-queue.ts';
import type { ClaimedTask } from '../../../contracts/batch-store.ts';
import type { BatchPorts } from '../ports.ts';
import { findJob, type LiveJob, nextPart, partsOf, upstreamOf, halves, jobOfParts, type NativePart } from './job.ts';
import { findLost, nativeRoutes, isSilence, lookupOf, readItems, SeparateWays } from './route.ts';
import { failUnanswered, storeResults, UnreadableResults } from './results.ts';
import { FIRST_POLL_MS, submitNatively, MAX_TRIES, NEXT_PART, RETRY_MS, rememberedTries, tryAgain } from './submit.ts';
import { canonical } from '../../../platform/json.ts';
import type { JsonObject } from '../../../protocol/json.ts';
import type { BatchRecord } from '../../../contracts/batch-record.ts';
import { FAILURE_RULES } from '../../../contracts/failure.ts';
import { applyEvent, DONE, resultIds } from '../apply-event.ts';

/** Milliseconds between two looks, at most. */
const SLOWEST_POLL_MS = 60_000;
/** What the time between two looks is multiplied with. */
const POLL_GROWTH = 1.5;
/** Milliseconds after its time at which a batch is taken for expired though its provider says it is running. */
const GRACE_MS = 3_600_000;
/** Milliseconds that a provider gets to stop a batch. */
const STOP_MS = 900_000;
/** The outcome of requests that the provider said nothing about. */
const LEFT_OVER = {
  completed: MISSING_ITEM,
  failed: MISSING_ITEM,
  expired: EXPIRED_ITEM,
  cancelled: CANCELLED_ITEM,
} as const;

/**
 * Runs a batch on the batch API of its provider: hands it over, looks at it from time to time, and fetches its results
 * when it has ended.
 *
 * @returns What becomes of the task; undefined when the requests are to be run one by one.
 */
export async function runNatively(
  ports: BatchPorts,
  batch: BatchRecord,
  task: ClaimedTask,
  signals: TaskSignals,
): Promise<TaskResult | undefined> {
  if (task.memo?.['native'] === false) return undefined;
  if (batch.upstream === undefined) return submitNatively(ports, batch, task, signals);
  const overdue = (await ports.store.now()) - (batch.expiresAt ?? Infinity);
  const live = await findJob(ports, batch);
  if (overdue <= GRACE_MS && live !== undefined && nextPart(partsOf(live.job) ?? []) >= 0) {
    return submitPart(ports, batch, task, signals);
  }
  const state = live && (await stateOf(live, signals.signal));
  if (live !== undefined && state?.status === 'ended') return collect(ports, { batch, live, state }, task, signals);
  if (overdue > GRACE_MS) {
    await live?.native.cancel(live.call(signals.signal));
    return { type: 'again', afterMs: 0, memo: { expiring: true } };
  }
  if (live !== undefined && state?.status === 'running' && state.expiresAt !== undefined)
    await keepExpiry(ports, batch, live, state.expiresAt);
  return lookAgain(ports, task);
}

/**
 * Stops a batch at its provider and fetches what is finished.
 *
 * @returns What becomes of the task while the provider is not done; undefined when nothing is left to wait for.
 */
export async function stopNatively(
  ports: BatchPorts,
  batch: BatchRecord,
  task: ClaimedTask,
  { signal }: TaskSignals,
): Promise<TaskResult | undefined> {
  const now = await ports.store.now();
  const since = Number(task.memo?.['since'] ?? now);
  const late = now - since > STOP_MS;
  if (!late) {
    const found = await findUnwritten(ports, batch, signal);
    if (found !== 'nothing')
      return { type: 'again', afterMs: found === 'found' ? 0 : FIRST_POLL_MS, memo: { since }, reset: true };
  }
  const live = await findJob(ports, batch);
  if (live === undefined) return undefined;
  let asked = task.memo?.['asked'] === true;
  if (!asked) {
    // A provider that cannot be reached now is asked again; one that refuses has probably ended.
    asked = (await live.native.cancel(live.call(signal))).ok;
    if (asked) return { type: 'again', afterMs: FIRST_POLL_MS, memo: { since, asked }, reset: true };
  }
  const state = await stateOf(live, signal);
  const stored = state?.status === 'ended' && (await storeResults(ports, batch, live, signal));
  if (stored || late) return undefined;
  const afterMs = state?.status === 'ended' ? ports.limits.leaseMs : FIRST_POLL_MS;
  return { type: 'again', afterMs, memo: { since, asked }, reset: true };
}

/** Finds a batch at a provider that was handed over by a process that died before it could write that down. */
async function findUnwritten(
  ports: BatchPorts,
  batch: BatchRecord,
  signal: AbortSignal,
): Promise<'nothing' | 'found' | 'silence'> {
  // Without a time at which it expires, it never was in progress.
  if (batch.expiresAt === undefined) return 'nothing';
  if (batch.upstream !== undefined) return findUnwrittenPart(ports, batch, signal);
  const account = await ports.accountOf(batch);
  const found = await findLost(await nativeRoutes(ports, batch, account), batch, account, signal);
  if (!found.ok) return 'silence';
  if (found.value === undefined) return 'nothing';
  const { endpoint } = found.value.route;
  const { job, expiresAt } = found.value.job;
  const upstream = upstreamOf(endpoint, job);
  await applyEvent(ports, batch, { type: 'assigned', provider: endpoint.providerName, expiresAt, upstream });
  return 'found';
}

async function findUnwrittenPart(
  ports: BatchPorts,
  batch: BatchRecord,
  signal: AbortSignal,
): Promise<'nothing' | 'found' | 'silence'> {
  const next = await partToSubmit(ports, batch, signal);
  const found = next && (await findPart(next));
  if (next === undefined || found === undefined) return 'nothing';
  if (found === 'silence') return found;
  await keepParts(ports, next, [{ ...next.part, job: found.job }], found.expiresAt);
  return 'found';
}

/** State of a batch, or undefined while nobody can tell. */
async function stateOf(live: LiveJob, signal: AbortSignal): Promise<NativeState | undefined> {
  const reply = await live.native.poll(live.call(signal));
  return reply.ok ? reply.value : undefined;
}

async function keepExpiry(ports: BatchPorts, batch: BatchRecord, live: LiveJob, expiresAt: number): Promise<void> {
  if (batch.expiresAt === expiresAt) return;
  await applyEvent(ports, batch, { type: 'assigned', provider: live.upstream.providerName, expiresAt });
}

function lookAgain({ environment }: BatchPorts, { memo }: ClaimedTask): TaskResult {
  const pause = Math.min(SLOWEST_POLL_MS, Number(memo?.['pollMs'] ?? FIRST_POLL_MS / POLL_GROWTH) * POLL_GROWTH);
  const afterMs = Math.round(pause * (0.9 + 0.2 * environment.random()));
  return { type: 'again', afterMs, memo: { pollMs: pause }, reset: true };
}

/** A batch that has ended at its provider. */
interface EndedJob {
  readonly batch: BatchRecord;
  readonly live: LiveJob;
  readonly state: Extract<NativeState, { readonly status: 'ended' }>;
}

/** Stores the results of a batch that has ended at its provider, and gives an outcome to what has none. */
async function collect(
  ports: BatchPorts,
  { batch, live, state }: EndedJob,
  task: ClaimedTask,
  { signal }: TaskSignals,
): Promise<TaskResult> {
  const { store, limits } = ports;
  // What is paid for is worth some patience.
  const patient = (await store.now()) - (batch.expiresAt ?? Infinity) <= GRACE_MS;
  try {
    const stored = await storeResults(ports, batch, live, signal);
    if (!stored && patient) return { type: 'again', afterMs: limits.leaseMs, reset: true };
  } catch (error) {
    if (!(error instanceof UnreadableResults) || !patient) throw error;
    return lookAgain(ports, task);
  }
  const now = await store.find(batch.account, batch.id);
  if (now?.status !== 'in_progress') return DONE;
  const { completed, failed, total } = now.counts;
  const open = total - completed - failed;
  const parts = partsOf(live.job) ?? [];
  if (open > 0 && parts.some(({ own }) => own)) {
    // What the provider has not taken is run one by one; of what it took, nothing more will come.
    const taken = parts.filter(({ job }) => job !== undefined);
    await failUnanswered(ports, batch, taken, LEFT_OVER[state.outcome]);
    return { type: 'again', afterMs: 0, memo: { native: false }, reset: true };
  }
  if (state.outcome === 'failed' && completed === 0) {
    const message = state.message ?? 'The provider could not run the batch';
    await applyEvent(ports, now, { type: 'rejected', message });
    return DONE;
  }
  if (state.outcome === 'expired' && completed === 0) return { type: 'again', afterMs: 0, memo: { expiring: true } };
  if (state.outcome === 'cancelled' && completed === 0) {
    // Somebody stopped it at the provider.
    await applyEvent(ports, now, { type: 'cancel_requested' });
    return DONE;
  }
  if (open > 0) await store.failRemaining(batch.account, batch.id, LEFT_OVER[state.outcome], resultIds(ports));
  await ports.failPoint('run.drained');
  await applyEvent(ports, now, { type: 'drained' });
  return DONE;
}

/**
 * Hands over the next part of a batch. When it may have been handed over before, it is looked for first; when it is too
 * large still, it is divided.
 */
async function submitPart(
  ports: BatchPorts,
  batch: BatchRecord,
  task: ClaimedTask,
  { signal, stopping }: TaskSignals,
): Promise<TaskResult> {
  const { memo = {}, attempts } = task;
  const next = await partToSubmit(ports, batch, signal);
  // Its provider is not configured now.
  if (next === undefined) return { type: 'again', afterMs: RETRY_MS, memo, reset: true };
  const { native, part, lookup } = next;
  const tries = rememberedTries(memo);
  const recorded = (changed: readonly NativePart[], expiresAt?: number): Promise<boolean> =>
    keepParts(ports, next, changed, expiresAt);
  if (tries.submits > 0 || memo['lost'] === true || attempts > 1) {
    const found = await findPart(next);
    if (found === 'silence') return { type: 'again', afterMs: RETRY_MS, memo: { ...memo, lost: true }, reset: true };
    if (found !== undefined) {
      await recorded([{ ...part, job: found.job }], found.expiresAt);
      return NEXT_PART;
    }
  }
  if (stopping.aborted) return { type: 'again', afterMs: 0 };
  const account = await ports.accountOf(batch);
  const refused = async (refusal: string): Promise<TaskResult> => {
    if (batch.preferences?.allowFallbacks !== false) await recorded([{ ...part, own: true }]);
    else {
      const live = await findJob(ports, batch);
      await live?.native.cancel(live.call(signal));
      await applyEvent(ports, batch, { type: 'rejected', message: `The provider refused the batch: ${refusal}` });
    }
    return NEXT_PART;
  };
  if (tries.submits >= MAX_TRIES) return refused(tries.refusal ?? 'no answer');
  const items = (): AsyncIterable<NativeItem> => readItems(ports, { batch, account }, lookup.endpoint, part);
  let reply: NativeReply<NativeJob>;
  try {
    reply = await native.submit({ ...lookup, items });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof SeparateWays) return refused('its requests go different ways now');
    throw error;
  }
  if (reply.ok) {
    await ports.failPoint('run.submitted');
    const { job, expiresAt } = reply.value;
    // Somebody else has it too, or nobody wants it any more; the provider charges for what it does.
    if (!(await recorded([{ ...part, job }], expiresAt))) {
      await native.cancel({ ...lookup, signal: new AbortController().signal, job });
    }
    return NEXT_PART;
  }
  signal.throwIfAborted();
  const { kind, message } = reply.failure;
  if (kind === 'too_large' && lookup.total > 1) {
    await recorded(halves(part));
    return NEXT_PART;
  }
  return FAILURE_RULES[kind].next === 'endpoint' ? tryAgain(tries, reply.failure) : refused(message);
}

/** A part that is to be handed over, and what it is looked for with. */
interface PartToSubmit {
  readonly batch: BatchRecord;
  readonly native: NativeBatches;
  readonly upstream: JsonObject;
  readonly parts: readonly NativePart[];
  readonly place: number;
  readonly part: NativePart;
  readonly lookup: NativeLookup;
}

/** The next part of a batch; undefined while its provider is not configured, and when there is none. */
async function partToSubmit(
  ports: BatchPorts,
  batch: BatchRecord,
  signal: AbortSignal,
): Promise<PartToSubmit | undefined> {
  const { upstream } = batch;
  const live = await findJob(ports, batch);
  const native = live && ports.providers.get(live.provider)?.batches;
  const parts = live && partsOf(live.job);
  const place = nextPart(parts ?? []);
  const part = parts?.[place];
  if (live === undefined || native === undefined || part === undefined || upstream === undefined) return undefined;
  const account = await ports.accountOf(batch);
  const known = parts?.flatMap(({ job }) => (job === undefined ? [] : [job])) ?? [];
  const key = `${batch.id}_p${part.from}t${part.to}`;
  const lookup = { ...lookupOf(batch, account, live.upstream, signal), key, total: part.to - part.from, known };
  return { batch, native, upstream, parts: parts ?? [], place, part, lookup };
}

/** Looks for a part that may have been handed over. */
async function findPart({ native, lookup }: PartToSubmit): Promise<NativeJob | 'silence' | undefined> {
  const reply = await native.find?.(lookup);
  if (reply === undefined) return undefined;
  if (reply.ok) return reply.value;
  return isSilence(reply.failure) ? 'silence' : undefined;
}

/** Writes other parts in place of one. False when somebody else has changed them, or the batch has ended. */
async function keepParts(
  ports: BatchPorts,
  { batch, upstream, parts, place, lookup }: PartToSubmit,
  changed: readonly NativePart[],
  expiresAt?: number,
): Promise<boolean> {
  const { endpoint } = lookup;
  const all = [...parts.slice(0, place), ...changed, ...parts.slice(place + 1)];
  // The batch has time until the last of its parts has none.
  const known = parts.some(({ job }) => job !== undefined) ? (batch.expiresAt ?? 0) : 0;
  const next = upstreamOf(endpoint, jobOfParts(all));
  const outcome = await applyEvent(ports, batch, {
    type: 'assigned',
    provider: endpoint.providerName,
    expiresAt: expiresAt === undefined ? undefined : Math.max(expiresAt, known),
    upstream: next,
    replaces: upstream,
  });
  if (outcome === undefined || outcome.batch.status === 'cancelling') return false;
  return outcome.applied || canonical(outcome.batch.upstream ?? {}) === canonical(next);
}
