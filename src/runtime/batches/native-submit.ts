import type { Endpoint } from '../../catalog/endpoint.ts';
import type { Account } from '../../core/account.ts';
import type { BatchRecord } from '../../core/batch/batch-record.ts';
import { FAILURE_RULES } from '../../core/fallback/failure-rules.ts';
import type { AttemptFailure } from '../../core/fallback/failure.ts';
import { canonical } from '../../core/json-schema/canonical.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { NativeItem, NativeJob, NativeReply } from '../../providers/native-batches.ts';
import type { TaskResult, TaskSignals } from '../../queue/task-queue.ts';
import type { ClaimedTask } from '../../storage/batch-store.ts';
import { applyEvent } from './apply-event.ts';
import { aliasOf, upstreamOf } from './native-job.ts';
import { findLost } from './native-lost.ts';
import { type NativeRoute, lookupOf, mayLeave, nativeRoutes } from './native-route.ts';
import type { BatchPorts } from './ports.ts';
import { DONE } from './task-results.ts';

/** Requests that are read at a time. */
const PAGE = 16;
/** Tries to hand a batch over. */
const MAX_TRIES = 5;
/** Milliseconds before another try, for each try so far. */
const RETRY_MS = 15_000;
/** Milliseconds before the first look at a batch that was handed over. */
export const FIRST_POLL_MS = 10_000;

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
  const tries = triesOf(memo);
  if (tries.submits > 0 || memo['lost'] === true || attempts > 1) {
    const found = await findLost(routes, batch, account, signal);
    if (!found.ok) return { type: 'again', afterMs: RETRY_MS, memo: { ...memo, lost: true }, reset: true };
    if (found.value !== undefined) return assign(ports, batch, account, found.value.route, found.value.job);
  }
  // A budget is held call by call, and a provider's batch bills when it is over.
  if (routes.first === undefined || ports.spending.holds(account)) return undefined;
  if (tries.submits >= MAX_TRIES) return giveUp(ports, batch, tries.refusal ?? 'no answer');
  if (stopping.aborted) return { type: 'again', afterMs: 0 };
  const { native, endpoint } = routes.first;
  const lookup = lookupOf(batch, account, endpoint, signal);
  const items = (): AsyncIterable<NativeItem> => readItems(ports, batch, account, endpoint);
  let reply: NativeReply<NativeJob>;
  try {
    reply = await native.submit({ ...lookup, total: batch.counts.total, items });
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
  return { submits: Number(submits ?? 0), refusal: typeof refusal === 'string' ? refusal : undefined };
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
