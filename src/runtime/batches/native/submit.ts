/** Submits a batch to the batch API of its provider, at most once. */
import type { NativeItem, NativeJob, NativeReply } from '../../../contracts/native-batches.ts';
import type { TaskResult, TaskSignals } from '../../../contracts/task-queue.ts';
import type { ClaimedTask } from '../../../contracts/batch-store.ts';
import type { BatchPorts, OwnedBatch } from '../ports.ts';
import { findLost, lookupOf, type NativeRoute, nativeRoutes, readItems, SeparateWays } from './route.ts';
import { halves, jobOfParts, upstreamOf } from './job.ts';
import type { Account } from '../../../contracts/account.ts';
import type { JsonObject } from '../../../protocol/json.ts';
import { canonical, string } from '../../../platform/json.ts';
import type { BatchRecord } from '../../../contracts/batch-record.ts';
import { type AttemptFailure, FAILURE_RULES } from '../../../contracts/failure.ts';
import { applyEvent, DONE } from '../apply-event.ts';

/** Tries to hand a batch over. */
export const MAX_TRIES = 5;
/** Milliseconds before another try, for each try so far. */
export const RETRY_MS = 15_000;
/** Milliseconds before the first look at a batch that was handed over. */
export const FIRST_POLL_MS = 10_000;

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
export async function submitNatively(
  ports: BatchPorts,
  batch: BatchRecord,
  task: ClaimedTask,
  { signal, stopping }: TaskSignals,
): Promise<TaskResult | undefined> {
  const { memo = {}, attempts } = task;
  if (memo['native'] === false) return undefined;
  const account = await ports.accountOf(batch);
  const routes = await nativeRoutes(ports, batch, account);
  const tries = rememberedTries(memo);
  if (tries.submits > 0 || memo['lost'] === true || attempts > 1) {
    const found = await findLost(routes, batch, account, signal);
    if (!found.ok) return { type: 'again', afterMs: RETRY_MS, memo: { ...memo, lost: true }, reset: true };
    if (found.value !== undefined) return assign(ports, { batch, account }, found.value.route, found.value.job);
  }
  // A budget is held call by call, and a provider's batch is charged when it is over.
  if (routes.first === undefined || ports.spending.holds(account)) return undefined;
  if (tries.submits >= MAX_TRIES) return giveUp(ports, batch, tries.refusal ?? 'no answer');
  if (stopping.aborted) return { type: 'again', afterMs: 0 };
  const { native, endpoint } = routes.first;
  const lookup = lookupOf(batch, account, endpoint, signal);
  const items = (): AsyncIterable<NativeItem> => readItems(ports, { batch, account }, endpoint);
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
    return assign(ports, { batch, account }, routes.first, reply.value);
  }
  signal.throwIfAborted();
  if (reply.failure.kind === 'too_large' && batch.counts.total > 1) return divide(ports, batch, account, routes.first);
  return afterRefusal(ports, batch, tries, reply.failure);
}

/**
 * Writes down that a batch goes to its provider in parts, before any of them does. What is found now to go another way
 * is not found later, when some parts are there.
 */
async function divide(
  ports: BatchPorts,
  batch: BatchRecord,
  account: Account,
  { endpoint }: NativeRoute,
): Promise<TaskResult> {
  const whole = { from: 0, to: batch.counts.total };
  try {
    for await (const _ of readItems(ports, { batch, account }, endpoint, whole));
  } catch (error) {
    if (error instanceof SeparateWays) return ONE_BY_ONE;
    throw error;
  }
  const upstream = upstreamOf(endpoint, jobOfParts(halves(whole)));
  await applyEvent(ports, batch, { type: 'assigned', provider: endpoint.providerName, upstream });
  return NEXT_PART;
}

/** What is left of a batch in parts is handed over at once. */
export const NEXT_PART: TaskResult = { type: 'again', afterMs: 0, memo: {}, reset: true };

const ONE_BY_ONE: TaskResult = { type: 'again', afterMs: 0, memo: { native: false }, reset: true };

/** Tries that a task remembers. */
export function rememberedTries({ submits, refusal }: JsonObject): Tries {
  return { submits: Number(submits ?? 0), refusal: string(refusal) };
}

/**
 * Writes down where a batch is. When it has ended meanwhile, or another process has handed it over too, nobody would
 * fetch its results, so the provider is told to stop.
 */
async function assign(
  ports: BatchPorts,
  { batch, account }: OwnedBatch,
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

/** A provider that does not take the batch: try again, go another way, or fail. */
async function afterRefusal(
  ports: BatchPorts,
  batch: BatchRecord,
  tries: Tries,
  failure: AttemptFailure,
): Promise<TaskResult> {
  if (FAILURE_RULES[failure.kind].next !== 'endpoint') return giveUp(ports, batch, failure.message);
  return tryAgain(tries, failure);
}

/** Another try, a while later. Also after the last one: what was submitted may be there although no answer came. */
export function tryAgain({ submits }: Tries, { message, retryAfterMs = 0 }: AttemptFailure): TaskResult {
  const tries = submits + 1;
  const afterMs = Math.max(retryAfterMs, RETRY_MS * tries);
  return { type: 'again', afterMs, memo: { submits: tries, refusal: message }, reset: true };
}

/** Runs a batch that its provider does not take request by request, where that is allowed. */
async function giveUp(ports: BatchPorts, batch: BatchRecord, refusal: string): Promise<TaskResult> {
  if (batch.preferences?.allowFallbacks !== false) return ONE_BY_ONE;
  await applyEvent(ports, batch, { type: 'rejected', message: `The provider refused the batch: ${refusal}` });
  return DONE;
}
