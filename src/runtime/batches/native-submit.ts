import type { Endpoint } from '../../catalog/endpoint.ts';
import type { Account } from '../../core/account.ts';
import type { BatchRecord } from '../../core/batch/batch-record.ts';
import { FAILURE_RULES } from '../../core/fallback/failure-rules.ts';
import type { AttemptFailure } from '../../core/fallback/failure.ts';
import type { NativeBatches, NativeItem, NativeReply, NativeJob } from '../../providers/native-batches.ts';
import type { TaskResult, TaskSignals } from '../../queue/task-queue.ts';
import type { ClaimedTask } from '../../storage/batch-store.ts';
import { applyEvent } from './apply-event.ts';
import type { BatchedRequest } from './item-calls.ts';
import { aliasOf } from './native-job.ts';
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

/** Where a batch can go as a whole. */
interface NativeRoute {
  readonly native: NativeBatches;
  readonly endpoint: Endpoint;
}

/** A request that would go another way than the first one. */
class SeparateWays extends Error {}

/**
 * Hands a batch over to a provider's own batch API, if the way that its first request would go has one and all others
 * may go the same way.
 *
 * @returns What becomes of the task; undefined when the requests are to be run one by one.
 */
export async function submitNatively(
  ports: BatchPorts,
  batch: BatchRecord,
  task: ClaimedTask,
  { signal, stopping }: TaskSignals,
): Promise<TaskResult | undefined> {
  if (task.memo?.['native'] === false) return undefined;
  const account = await ports.accountOf(batch);
  // A budget is held call by call, and a provider's batch bills when it is over.
  if (ports.spending.holds(account)) return undefined;
  const route = await findRoute(ports, batch, account);
  if (route === undefined) return undefined;
  if (stopping.aborted) return { type: 'again', afterMs: 0 };
  const { native, endpoint } = route;
  const { endpoint: operation, id: key, counts } = batch;
  const items = (): AsyncIterable<NativeItem> => readItems(ports, batch, account, endpoint);
  const apiKey = endpoint.byok && account.providerKeys?.[endpoint.provider]?.apiKey;
  let reply: NativeReply<NativeJob>;
  try {
    reply = await native.submit({ operation, endpoint, apiKey, signal, key, total: counts.total, items });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof SeparateWays) return ONE_BY_ONE;
    throw error;
  }
  if (!reply.ok) return afterRefusal(ports, batch, task, reply.failure);
  await ports.failPoint('run.submitted');
  const { job, expiresAt } = reply.value;
  const upstream = { provider: endpoint.provider, endpoint: endpoint.id, job };
  await applyEvent(ports, batch, { type: 'assigned', provider: endpoint.providerName, expiresAt, upstream });
  return { type: 'again', afterMs: FIRST_POLL_MS, reset: true };
}

const ONE_BY_ONE: TaskResult = { type: 'again', afterMs: 0, memo: { native: false }, reset: true };

/** The first endpoint that the batch would go to, if its provider takes batches there. */
async function findRoute(ports: BatchPorts, batch: BatchRecord, account: Account): Promise<NativeRoute | undefined> {
  const [first] = await ports.store.items(batch.account, batch.id, -1, 1);
  if (first === undefined || ![...ports.providers.values()].some(({ batches }) => batches !== undefined))
    return undefined;
  const { request, plain } = await ports.calls.prepare(batch, first.body, account);
  if (!mayLeave(request, plain)) return undefined;
  const [endpoint] = ports.calls.route(request);
  const native = endpoint && ports.providers.get(endpoint.provider)?.batches;
  if (endpoint === undefined || native === undefined) return undefined;
  return native.accepts(batch.endpoint, endpoint) ? { native, endpoint } : undefined;
}

/**
 * Whether a request may be part of a provider's batch: what that is given is stored there for weeks, and plugins and
 * tools of the router have no part in it.
 */
function mayLeave({ preferences }: BatchedRequest, plain: boolean): boolean {
  return plain && !preferences.zeroDataRetention;
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
  task: ClaimedTask,
  failure: AttemptFailure,
): Promise<TaskResult> {
  const tries = Number(task.memo?.['submits'] ?? 0) + 1;
  const { next } = FAILURE_RULES[failure.kind];
  if (next === 'endpoint' && tries < MAX_TRIES) {
    const afterMs = Math.max(failure.retryAfterMs ?? 0, RETRY_MS * tries);
    return { type: 'again', afterMs, memo: { submits: tries }, reset: true };
  }
  if (batch.preferences?.allowFallbacks !== false) return ONE_BY_ONE;
  await applyEvent(ports, batch, { type: 'rejected', message: `The provider refused the batch: ${failure.message}` });
  return DONE;
}
