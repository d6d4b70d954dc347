/** The inspector's view of requests, from the ledger. */
import { type CostPart, priceUsage } from '../../catalog/cost.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import { ratesAt } from '../../catalog/price-at.ts';
import type { InspectedRouter } from '../../config/inspector.ts';
import type { LedgerAttempt, LedgerCost, LedgerCostKey, LedgerRecord, LedgerUsage } from '../../contracts/ledger.ts';
import { ColdSums } from '../../core/ledger/sum-cold.ts';
import { addLines, NOTHING } from '../../core/ledger/sum-costs.ts';
import { accountOfMirror } from '../../core/normalize/mirror-copy.ts';
import { invalid } from '../body.ts';
import type { ReadableLedger } from '../../runtime/ledger/request-ledger.ts';
import { describeRefusal } from '../../core/fallback/refusal.ts';
import type { RuntimeServices } from '../../runtime/chat/services.ts';
import { RouterError } from '../../protocol/router-error.ts';
import { filterOf } from './live-row.ts';
import type { ColdList, CostList, LiveRow, PlanNow, RecordPage, RequestList, RequestPage } from './wire.ts';
import { DecideAgain } from '../../core/ledger/replay/decide-again.ts';
import type { RoutePlan } from '../../core/selection/route-plan.ts';
import { worldOf } from '../../runtime/chat/plan.ts';

/** Requests of a page. */
const PAGE = 100;
/** Records of a page of an export. */
const EXPORT_PAGE = 1_000;
const COST_KEYS: readonly LedgerCostKey[] = ['day', 'model', 'provider', 'endpoint', 'account', 'tag'];

/** Requests that ended, the latest first. */
export async function ledgerPage(router: InspectedRouter, query: URLSearchParams): Promise<RequestList> {
  const ledger = ledgerOf(router);
  if (ledger === undefined) return { rows: [] };
  const after = query.get('after') ?? undefined;
  if (after !== undefined && !/^\d{1,16}\.\d{1,16}$/.test(after)) throw invalid('after must be the next of a page');
  const limit = Math.min(PAGE, Math.max(1, Math.floor(Number(query.get('limit') ?? PAGE)) || PAGE));
  const { records, next } = await ledger.read({ ...filterOf(query), after, limit, order: 'latest' });
  return { rows: records.map(rowOf), next };
}

/** Records as they are kept, the oldest first. */
export async function recordPage(router: InspectedRouter, query: URLSearchParams): Promise<RecordPage> {
  const ledger = ledgerOf(router);
  if (ledger === undefined) return { records: [] };
  const { records, next } = await ledger.read({ after: query.get('after') ?? undefined, limit: EXPORT_PAGE });
  return { records, next };
}

/**
 * Everything that is known of one request.
 *
 * @throws {@link RouterError} 404 when it is not known, or not any more.
 */
export async function requestPage(router: InspectedRouter, id: string): Promise<RequestPage> {
  const ledger = ledgerOf(router);
  const record = await ledger?.one(id);
  if (ledger === undefined || record === undefined) {
    const message = 'No request of this id is known here, or not any more: the ledger keeps a limited number of them';
    throw new RouterError({ status: 404, errorType: 'not_found', message });
  }
  const parts = record.attempts.flatMap((attempt) => {
    const found = partsOf(router, record, attempt);
    return found.length === 0 ? [] : [{ attempt: attempt.number, parts: found }];
  });
  const copies = await copiesOf(ledger, record);
  return { record, parts, draw: drawOf(router, record), copies, ...explainAgain(router, record) };
}

/** Milliseconds within which a copy begins once its request has been answered. */
const COPY_MS = 5_000;

/** Copies of a request for a candidate. */
async function copiesOf(
  ledger: ReadableLedger,
  { id, at, duration_ms: duration, applied }: LedgerRecord,
): Promise<readonly LiveRow[] | undefined> {
  if (applied?.mirror === undefined) return undefined;
  const account = accountOfMirror(applied.mirror.alias);
  const { records } = await ledger.read({ account, from: at, to: at + duration + COPY_MS, limit: EXPORT_PAGE });
  const copies = records.filter(({ parent }) => parent === id);
  return copies.length === 0 ? undefined : copies.map(rowOf);
}

/**
 * The order in which chances lay side by side: that of the catalog. Only given where the recorded number draws the
 * endpoint that was drawn, so that it is not shown what did not happen.
 */
function drawOf({ internals }: InspectedRouter, { candidates, decision }: LedgerRecord): readonly string[] | undefined {
  const [first] = candidates;
  if (first === undefined || decision === undefined || decision.session_draw !== undefined) return undefined;
  const { catalog } = internals.services.facts;
  const shares = new Map(candidates.map(({ endpoint, share = 0 }) => [endpoint, share]));
  const order = catalog.endpoints(modelOf(first.endpoint)).flatMap(({ id }) => ((shares.get(id) ?? 0) > 0 ? id : []));
  let left = decision.roll;
  const drawn = order.find((id) => (left -= shares.get(id) ?? 0) < 0) ?? order.at(-1);
  return drawn === first.endpoint && order.length > 1 ? order : undefined;
}

/** The model of an endpoint's id. */
function modelOf(id: string): string {
  return id.slice(id.indexOf('#') + 1);
}

/** What requests cost, by one of their properties. */
export async function costList(router: InspectedRouter, query: URLSearchParams): Promise<CostList> {
  const by = COST_KEYS.find((key) => key === (query.get('by') ?? 'day'));
  if (by === undefined) throw invalid(`by must be one of ${COST_KEYS.join(', ')}`);
  const ledger = ledgerOf(router);
  if (ledger === undefined) return { data: [], total: sumOf([]), tags: [] };
  const days = Number(query.get('days') ?? '');
  // Whole hours are kept as sums.
  const since = router.internals.config.environment.wallClock() - days * 86_400_000;
  const from = days > 0 ? since - (since % 3_600_000) : undefined;
  const { records } = await ledger.read({ limit: PAGE, order: 'latest' });
  const tags = [...new Set(records.flatMap((record) => Object.keys(record.tags ?? {})))];
  // Where none is named, the first that there is.
  const tag = query.get('tag') || tags[0];
  if (by === 'tag' && tag === undefined) return { data: [], total: sumOf([]), tags };
  const data = await ledger.costs({ by, from, ...(by === 'tag' ? { tag } : {}) });
  return { data, total: sumOf(data), tags, ...(by === 'tag' ? { tag } : {}) };
}

/** Records that are looked at for one table. */
const MOST_COLD = 20_000;

/** What cold prompt caches cost in a week, by cause. */
export async function coldList(router: InspectedRouter): Promise<ColdList> {
  const ledger = ledgerOf(router);
  if (ledger === undefined) return { data: [], requests: 0 };
  const from = router.internals.config.environment.wallClock() - 7 * 86_400_000;
  const sums = new ColdSums();
  let requests = 0;
  let after: string | undefined;
  do {
    const page = await ledger.read({ from, after, limit: EXPORT_PAGE, order: 'latest' });
    for (const record of page.records) sums.add(record);
    requests += page.records.length;
    after = page.next;
  } while (after !== undefined && requests < MOST_COLD);
  return { data: sums.all, requests, ...(after === undefined ? {} : { cut: true }) };
}

function sumOf(costs: readonly LedgerCost[]): LedgerCost {
  return (
    addLines([{ key: '', ...NOTHING }, ...costs.map((cost) => ({ ...cost, key: '' }))])[0] ?? { key: '', ...NOTHING }
  );
}

function ledgerOf({ internals }: InspectedRouter): ReadableLedger | undefined {
  return internals.services.ledger;
}

function rowOf(record: LedgerRecord): LiveRow {
  const { id, at, account, requested, model, provider, stream, parent, mirror, tags } = record;
  const { duration_ms, status, error_type, reason } = record;
  return {
    id,
    at,
    account,
    requested,
    model,
    provider,
    stream,
    parent,
    mirror,
    tags,
    duration_ms,
    status,
    error_type,
    reason,
    attempts: record.attempts.map(({ endpoint, start_ms, first_token_ms, end_ms, outcome, hedge }) => ({
      endpoint,
      start_ms,
      first_token_ms,
      end_ms,
      outcome,
      hedge,
    })),
    prompt_tokens: record.usage?.prompt_tokens,
    completion_tokens: record.usage?.completion_tokens,
    cached_tokens: record.usage?.cached_tokens,
    cost_nano_usd: record.cost_nano_usd,
  };
}

/** What a call cost, line by line, where the lines add up to what was charged: otherwise they would explain nothing. */
function partsOf({ internals }: InspectedRouter, record: LedgerRecord, attempt: LedgerAttempt): readonly CostPart[] {
  const { usage, cost_nano_usd: cost = 0 } = attempt;
  const endpoint = endpointById(internals.services.facts.catalog, attempt.endpoint);
  if (usage === undefined || endpoint?.price === undefined) return [];
  const rates = ratesAt(endpoint.price, {
    at: record.decision?.created ?? Math.floor(record.at / 1_000),
    promptTokens: usage.prompt_tokens,
  });
  const priced = rates && priceUsage(rates, usageOf(usage));
  return priced?.totalNanoUsd === cost ? priced.parts : [];
}

function usageOf(usage: LedgerUsage): Parameters<typeof priceUsage>[1] {
  const { prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens, reasoning_tokens } = usage;
  return {
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    prompt_tokens_details: { cached_tokens: cached_tokens ?? 0, cache_write_tokens: cache_write_tokens ?? 0 },
    completion_tokens_details: { reasoning_tokens: reasoning_tokens ?? 0 },
  };
}

function endpointById(
  catalog: { endpoints(model: string): readonly Endpoint[]; find(slug: string): string | undefined },
  id: string,
): Endpoint | undefined {
  const known = catalog.endpoints(modelOf(id));
  return known.find((endpoint) => endpoint.id === id) ?? known.find((endpoint) => endpoint.tag === id.split('#')[0]);
}

/**
 * Decides a recorded request again, as things are now: the same needs and preferences, on the endpoints as they stand,
 * by another random number. Calls nobody.
 */
function explainAgain({ internals }: InspectedRouter, record: LedgerRecord): Pick<RequestPage, 'now' | 'refused'> {
  const { services } = internals;
  if (record.decision === undefined) return {};
  const [target] = record.decision.targets;
  const usual = services.usualTokens.of(record.account, target?.model ?? target?.requested);
  const world = { ...worldOf(services), ...usual };
  const plan = new DecideAgain({ ...services, ...services.facts }).plan(record, world);
  if (plan === undefined) return { refused: 'a rule refuses it, or its model is not there any more' };
  if (plan.steps.length === 0)
    return { refused: 'no endpoint is left that may answer it', now: planOf(internals, plan, record.account) };
  return { now: planOf(internals, plan, record.account) };
}

/** What an endpoint is not called with any more, because its provider refused it. */
function refusesOf(
  { records, environment }: RuntimeServices,
  endpoint: Endpoint,
  account: string,
): { readonly refuses?: readonly string[] } {
  const refused = records.refusals.wordsAt(endpoint, account, environment.now());
  return refused.length === 0 ? {} : { refuses: refused.map(describeRefusal) };
}

function planOf({ services }: InspectedRouter['internals'], { steps, rejected }: RoutePlan, account: string): PlanNow {
  return {
    steps: steps.map(({ endpoint, why, figures }) => ({
      provider: endpoint.provider,
      model: endpoint.model,
      tag: endpoint.tag,
      why,
      coolingDown: !services.records.admission(endpoint).ok,
      ...refusesOf(services, endpoint, account),
      ...(figures === undefined ? {} : { decision: figures }),
    })),
    rejected: rejected.map(({ endpoint, reason, detail }) => ({
      provider: endpoint.provider,
      model: endpoint.model,
      tag: endpoint.tag,
      reason,
      detail,
    })),
  };
}
