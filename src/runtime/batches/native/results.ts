/** Stores the results of a provider's batch API. */
import type { Endpoint } from '../../../catalog/endpoint.ts';
import { CANCELLED_ITEM, EXPIRED_ITEM, itemError } from '../../../core/batch/item-rules.ts';
import type { PlanStep } from '../../../core/selection/route-plan.ts';
import { type Settlement, settleUsage, billingOf } from '../../../core/stream/billing.ts';
import type { BatchItemError } from '../../../protocol/batch.ts';
import type { NativeBatches, NativeResult } from '../../../contracts/native-batches.ts';
import type { ClaimedItem, ItemOutcome } from '../../../contracts/batch-store.ts';
import { chatResultOf } from '../../chat/answer-complete.ts';
import { embeddingResultOf } from '../../chat/embed.ts';
import { indexOf, type LiveJob, type NativePart } from './job.ts';
import type { BatchPorts, OwnedBatch } from '../ports.ts';
import type { BatchRecord } from '../../../contracts/batch-record.ts';
import { type AttemptFailure, failure, FAILURE_RULES } from '../../../contracts/failure.ts';
import { resultIds, notifyProgress } from '../apply-event.ts';

/** Outcomes that are stored at a time. */
const GROUP = 50;

/**
 * Stores the outcomes that a provider has for a batch. Those of requests that have one already are passed over, so the
 * first of two holds, and a run that ended early can be repeated.
 *
 * @throws {@link UnreadableResults} when the provider does not give them all.
 * @returns Whether every request that the provider has an outcome for has one now. Others may hold some, and who was
 * held up for longer than a lease has stored nothing.
 */
export async function storeResults(
  ports: BatchPorts,
  batch: BatchRecord,
  live: LiveJob,
  signal: AbortSignal,
): Promise<boolean> {
  const { total } = batch.counts;
  const fetched = { batch, account: await ports.accountOf(batch), live };
  const named = new Set<number>();
  let group = new Map<number, NativeResult>();
  const flush = async (): Promise<void> => {
    signal.throwIfAborted();
    await storeGroup(ports, fetched, group);
    group = new Map();
  };
  for await (const result of readable(live.native.results(live.call(signal)), signal)) {
    const index = indexOf(result.id);
    if (index === undefined || index >= total || named.has(index)) continue;
    named.add(index);
    group.set(index, result);
    if (group.size >= GROUP) await flush();
  }
  if (group.size > 0) await flush();
  const now = await ports.store.find(batch.account, batch.id);
  // Only requests that the provider said nothing about may be without an outcome.
  return now === undefined || now.counts.completed + now.counts.failed >= named.size;
}

/** Gives requests of some parts that have no outcome this one. */
export async function failUnanswered(
  { store, environment, limits }: BatchPorts,
  { account, id }: BatchRecord,
  parts: readonly NativePart[],
  error: BatchItemError,
): Promise<void> {
  const nextId = resultIds({ environment });
  for (const { from, to } of parts) {
    for (let start = from; start < to; start += GROUP) {
      const indexes = Array.from({ length: Math.min(GROUP, to - start) }, (_, place) => start + place);
      const token = environment.randomText(24);
      const claimed = await store.claimItems(account, id, { limit: GROUP, leaseMs: limits.leaseMs, token, indexes });
      const outcomes = claimed.map(({ index }) => ({ index, resultId: nextId(), error }));
      await store.storeOutcomes(account, id, token, outcomes);
    }
  }
}

/** The results of a batch cannot be read to their end now. */
export class UnreadableResults extends Error {}

/** Tells apart what a provider is to blame for. */
async function* readable(
  results: AsyncIterable<NativeResult>,
  signal: AbortSignal,
): AsyncGenerator<NativeResult, void, undefined> {
  try {
    yield* results;
  } catch (cause) {
    signal.throwIfAborted();
    throw new UnreadableResults('The results of a batch cannot be read', { cause });
  }
}

/** A batch whose results are fetched from its provider. */
interface FetchedBatch extends OwnedBatch {
  readonly live: LiveJob;
}

async function storeGroup(
  ports: BatchPorts,
  fetched: FetchedBatch,
  group: ReadonlyMap<number, NativeResult>,
): Promise<void> {
  const { batch, live } = fetched;
  const { store, environment, limits, failPoint } = ports;
  const token = environment.randomText(24);
  const indexes = [...group.keys()];
  const claim = { limit: indexes.length, leaseMs: limits.leaseMs, token, indexes };
  const claimed = await store.claimItems(batch.account, batch.id, claim);
  const outcomes: NativeOutcome[] = [];
  for (const item of claimed) {
    const result = group.get(item.index);
    if (result !== undefined) outcomes.push(await outcomeOf(ports, fetched, item, result));
  }
  await failPoint('run.answered');
  const stored = new Set(
    await store.storeOutcomes(
      batch.account,
      batch.id,
      token,
      outcomes.map(({ outcome }) => outcome),
    ),
  );
  // What is not stored belongs to somebody else, who notes it.
  for (const { outcome, end } of outcomes) if (stored.has(outcome.index) && end) note(ports, batch, live, end);
  await failPoint('run.stored');
  const now = await store.find(batch.account, batch.id);
  if (now !== undefined) notifyProgress(ports, now);
}

async function outcomeOf(
  ports: BatchPorts,
  fetched: FetchedBatch,
  item: ClaimedItem,
  result: NativeResult,
): Promise<NativeOutcome> {
  const { batch, account } = fetched;
  const base = { index: item.index, resultId: resultIds(ports)() };
  if (result.type === 'answered') {
    const { end, ...outcome } = await answerOf(ports, fetched, item, result.body);
    return { outcome: { ...base, ...outcome }, end };
  }
  const error =
    result.type === 'failed' ? errorOf(result.failure) : result.type === 'expired' ? EXPIRED_ITEM : CANCELLED_ITEM;
  const outcome = { ...base, error };
  if (ports.ledger === undefined) return { outcome };
  const { request } = await ports.calls.prepare(batch, item.body, account);
  const reason =
    result.type === 'failed' ? result.failure : failure(result.type === 'expired' ? 'deadline' : 'aborted', '');
  return { outcome, end: { request, reason } };
}

/** An outcome, and what the ledger is told of it. */
interface NativeOutcome {
  readonly outcome: ItemOutcome;
  readonly end?: NativeEnd | undefined;
}

/** How a request ended that a provider ran as a part of its batch. */
type NativeEnd =
  | { readonly request: Batched; readonly reason: AttemptFailure }
  | { readonly request: Batched; readonly settlement: Settlement; readonly finishReason: string | null };

const IN_ITS_BATCH = 'its provider runs the whole batch';

/** Notes one request in the ledger: a call that began with the batch, and ended when its result was read. */
function note(
  { ledger, facts, environment }: BatchPorts,
  batch: BatchRecord,
  { upstream }: LiveJob,
  end: NativeEnd,
): void {
  if (ledger === undefined) return;
  const { request } = end;
  const endedAt = environment.now();
  const startedAt = endedAt - Math.max(0, environment.wallClock() - batch.createdAt);
  const step: PlanStep = { endpoint: upstream, target: 0, strategy: 'direct', why: IN_ITS_BATCH };
  const call = { step, startedAt, endedAt };
  const plan = { requested: request.requested, steps: [step], rejected: [] };
  if ('reason' in end) {
    const { status, errorType } = FAILURE_RULES[end.reason.kind];
    const attempts = [{ ...call, chargedNanoUsd: 0, outcome: { ok: false as const, failure: end.reason } }];
    return ledger.failed(facts, { request, startedAt, plan, attempts }, { status, errorType }, 'nothing');
  }
  const { usage, costNanoUsd: chargedNanoUsd } = end.settlement;
  const attempts = [{ ...call, firstTokenAt: endedAt, usage, chargedNanoUsd, outcome: { ok: true as const } }];
  const answer = { endpoint: upstream, firstTokenAt: endedAt, usage, finishReason: end.finishReason };
  ledger.answered(facts, { request, startedAt, plan, attempts }, answer);
}

/** Reads an answer as one to a single request is read, and prices it as one of a batch. */
async function answerOf(
  { calls }: BatchPorts,
  { batch, account, live: { native, upstream } }: FetchedBatch,
  item: ClaimedItem,
  text: string,
): Promise<Pick<ItemOutcome, 'response' | 'error' | 'usage'> & { readonly end: NativeEnd }> {
  const { request, body } = await calls.prepare(batch, item.body, account);
  const reply = native.read(text, request, upstream);
  if (reply.type === 'failed') return { error: errorOf(reply.failure), end: { request, reason: reply.failure } };
  const { result } = reply;
  // Providers name the tier of a synchronous request in the answers of a batch, but charge for that of the batch.
  const estimate = { ...billingOf(request, 'batch'), completionTokens: 0 };
  const settlement = settleUsage(withBatchPrice(upstream, native), result.usage, estimate);
  const { usage } = settlement;
  const finishReason = reply.type === 'embedded' ? null : (reply.result.choices[0]?.finish_reason ?? null);
  const answer =
    reply.type === 'embedded'
      ? calls.embeddingAnswer(embeddingResultOf(embeddingOf(request), upstream, reply.result, usage))
      : calls.chatAnswer(batch.endpoint, body, {
          result: chatResultOf(chatOf(request), upstream, reply.result, usage),
          native: reply.result.native,
        });
  return { response: answer, usage: answer.usage, end: { request, settlement, finishReason } };
}

/** Prices that say nothing about batches are multiplied as the provider does. */
function withBatchPrice(endpoint: Endpoint, { priceFactor }: Pick<NativeBatches, 'priceFactor'>): Endpoint {
  const { price } = endpoint;
  if (price === undefined || priceFactor === undefined || price.serviceTiers?.batch !== undefined) return endpoint;
  return { ...endpoint, price: { ...price, serviceTiers: { ...price.serviceTiers, batch: priceFactor } } };
}

function errorOf({ kind, message }: AttemptFailure): BatchItemError {
  const { status, errorType } = FAILURE_RULES[kind];
  return itemError({ status, errorType, message });
}

type Batched = Parameters<LiveJob['native']['read']>[1];

function chatOf(request: Batched): Extract<Batched, { readonly operation: 'chat' }> {
  if (request.operation === 'chat') return request;
  throw new RangeError('a request for embeddings was answered like a chat');
}

function embeddingOf(request: Batched): Extract<Batched, { readonly operation: 'embeddings' }> {
  if (request.operation === 'embeddings') return request;
  throw new RangeError('a chat was answered with embeddings');
}
