import type { BatchRecord } from '../../core/batch/batch-record.ts';
import { CANCELLED_ITEM, EXPIRED_ITEM, MISSING_ITEM } from '../../core/batch/item-rules.ts';
import type { NativeItem, NativeJob, NativeReply, NativeState } from '../../contracts/native-batches.ts';
import type { TaskResult, TaskSignals } from '../../contracts/task-queue.ts';
import type { ClaimedTask } from '../../contracts/batch-store.ts';
import { applyEvent, type BatchPorts } from './ports.ts';
import { aliasOf, findJob, type LiveJob, upstreamOf } from './native-job.ts';
import { findLost } from './native-lost.ts';
import { storeResults, UnreadableResults } from './native-results.ts';
import { lookupOf, mayLeave, type NativeRoute, nativeRoutes } from './native-route.ts';
import { DONE, resultIds } from './task-results.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { Account } from '../../core/account.ts';
import { type AttemptFailure, FAILURE_RULES } from '../../core/fallback/failure.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { canonical, string } from '../../platform/json.ts';

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
  if (batch.upstream === undefined) return submitNatively(ports, batch, task, signals);
  const overdue = (await ports.store.now()) - (batch.expiresAt ?? Infinity);
  const live = await findJob(ports, batch);
  const state = live && (await stateOf(live, signals.signal));
  if (live !== undefined && state?.status === 'ended') return collect(ports, batch, live, state, task, signals);
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
  if (batch.upstream === undefined && !late) {
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

/** How a batch stands, or undefined while nobody can tell. */
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

/** Stores the results of a batch that has ended at its provider, and gives an outcome to what has none. */
async function collect(
  ports: BatchPorts,
  batch: BatchRecord,
  live: LiveJob,
  state: Extract<NativeState, { readonly status: 'ended' }>,
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

/** Requests that are read at a time. */
const PAGE = 16;
/** Tries to hand a batch over. */
const MAX_TRIES = 5;
/** Milliseconds before another try, for each try so far. */
const RETRY_MS = 15_000;
/** Milliseconds before the first look at a batch that was handed over. */
const FIRST_POLL_MS = 10_000;

/** A request that would go another way than the first one. */
class SeparateWays extends Error {}

/** What a task remembers of tries to hand its batch over. */
interface Tries {
  /** Tries so far. */
  readonly submits: number;
  /** What the provider said to the last one. */
  readonly refusal?: string | undefined;
}

/**
 * Hands a batch over to a provider's own batch API, if the way that its first request would go has one and all others
 * may go the same way. When it may have been handed over before, it is looked for first.
 *
 * @returns What becomes of the task; undefined when the requests are to be run one by one.
 */
async function submitNatively(
  ports: BatchPorts,
  batch: BatchRecord,
  task: ClaimedTask,
  { signal, stopping }: TaskSignals,
): Promise<TaskResult | undefined> {
  const { memo = {}, attempts } = task;
  if (memo['native'] === false) return undefined;
  const account = await ports.accountOf(batch);
  const routes = await nativeRoutes(ports, batch, account);
  const tries = triesOf(memo);
  if (tries.submits > 0 || memo['lost'] === true || attempts > 1) {
    const found = await findLost(routes, batch, account, signal);
    if (!found.ok) return { type: 'again', afterMs: RETRY_MS, memo: { ...memo, lost: true }, reset: true };
    if (found.value !== undefined) return assign(ports, batch, account, found.value.route, found.value.job);
  }
  // A budget is held call by call, and a provider's batch is charged when it is over.
  if (routes.first === undefined || ports.spending.holds(account)) return undefined;
  if (tries.submits >= MAX_TRIES) return giveUp(ports, batch, tries.refusal ?? 'no answer');
  if (stopping.aborted) return { type: 'again', afterMs: 0 };
  const { native, endpoint } = routes.first;
  const lookup = lookupOf(batch, account, endpoint, signal);
  const items = (): AsyncIterable<NativeItem> => readItems(ports, batch, account, endpoint);
  let reply: NativeReply<NativeJob>;
  try {
    reply = await native.submit({ ...lookup, items });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof SeparateWays) return ONE_BY_ONE;
    throw error;
  }
  if (reply.ok) {
    await ports.failPoint('run.submitted');
    return assign(ports, batch, account, routes.first, reply.value);
  }
  signal.throwIfAborted();
  return afterRefusal(ports, batch, tries, reply.failure);
}

const ONE_BY_ONE: TaskResult = { type: 'again', afterMs: 0, memo: { native: false }, reset: true };

function triesOf({ submits, refusal }: JsonObject): Tries {
  return { submits: Number(submits ?? 0), refusal: string(refusal) };
}

/**
 * Writes down where a batch is. When it has ended meanwhile, or another process has handed it over too, nobody would
 * fetch its results, so the provider is told to stop.
 */
async function assign(
  ports: BatchPorts,
  batch: BatchRecord,
  account: Account,
  { native, endpoint }: NativeRoute,
  { job, expiresAt }: NativeJob,
): Promise<TaskResult> {
  const upstream = upstreamOf(endpoint, job);
  const event = { type: 'assigned', provider: endpoint.providerName, expiresAt, upstream } as const;
  const outcome = await applyEvent(ports, batch, event);
  const known = outcome?.batch.upstream;
  if (outcome?.batch.status === 'cancelling' || known === undefined || canonical(known) !== canonical(upstream)) {
    // Also when this process is about to end: the provider charges for what it does.
    await native.cancel({ ...lookupOf(batch, account, endpoint, new AbortController().signal), job });
  }
  return { type: 'again', afterMs: FIRST_POLL_MS, reset: true };
}

async function* readItems(
  { store, calls }: BatchPorts,
  batch: BatchRecord,
  account: Account,
  endpoint: Endpoint,
): AsyncGenerator<NativeItem, void, undefined> {
  for (let after = -1, items; ; after = items.at(-1)?.index ?? after) {
    items = await store.items(batch.account, batch.id, after, PAGE);
    if (items.length === 0) return;
    for (const { index, body } of items) {
      const { request, plain } = await calls.prepare(batch, body, account);
      if (!mayLeave(request, plain) || !calls.route(request).some(({ id }) => id === endpoint.id)) {
        throw new SeparateWays(`request ${index} goes another way`);
      }
      yield { id: aliasOf(index), request };
    }
  }
}

/** A provider that does not take the batch: try again, go another way, or fail. */
async function afterRefusal(
  ports: BatchPorts,
  batch: BatchRecord,
  { submits }: Tries,
  { kind, message, retryAfterMs = 0 }: AttemptFailure,
): Promise<TaskResult> {
  if (FAILURE_RULES[kind].next !== 'endpoint') return giveUp(ports, batch, message);
  const tries = submits + 1;
  // Also after the last try: the batch may be there although its answer did not come.
  const afterMs = Math.max(retryAfterMs, RETRY_MS * tries);
  return { type: 'again', afterMs, memo: { submits: tries, refusal: message }, reset: true };
}

/** Runs a batch that its provider does not take request by request, where that is allowed. */
async function giveUp(ports: BatchPorts, batch: BatchRecord, refusal: string): Promise<TaskResult> {
  if (batch.preferences?.allowFallbacks !== false) return ONE_BY_ONE;
  await applyEvent(ports, batch, { type: 'rejected', message: `The provider refused the batch: ${refusal}` });
  return DONE;
}
