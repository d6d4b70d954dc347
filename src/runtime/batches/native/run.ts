import type { BatchRecord } from '../../../core/batch/batch-record.ts';
import { CANCELLED_ITEM, EXPIRED_ITEM, MISSING_ITEM } from '../../../core/batch/item-rules.ts';
import type { NativeState } from '../../../contracts/native-batches.ts';
import type { TaskResult, TaskSignals } from '../../../contracts/task-queue.ts';
import type { ClaimedTask } from '../../../contracts/batch-store.ts';
import { applyEvent, type BatchPorts, DONE, resultIds } from '../ports.ts';
import { findJob, type LiveJob, nextPart, partsOf, upstreamOf } from './job.ts';
import { findLost, nativeRoutes } from './route.ts';
import { failUnanswered, storeResults, UnreadableResults } from './results.ts';
import { FIRST_POLL_MS, submitNatively } from './submit.ts';
import { findPart, keepParts, partToSubmit, submitPart } from './submit-part.ts';

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
  await keepParts(ports, batch, next, [{ ...next.part, job: found.job }], found.expiresAt);
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
