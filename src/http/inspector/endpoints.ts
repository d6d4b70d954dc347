/** The inspector's view of endpoints and plans. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import { ratesAt } from '../../catalog/price-at.ts';
import type { InspectedRouter } from '../../config/inspector.ts';
import { describeRefusal } from '../../core/fallback/refusal.ts';
import { uptimeOf } from '../../core/fallback/outcomes.ts';
import { healthScore } from '../../core/selection/adaptive/health-score.ts';
import {
  callCounts,
  type EndpointPerformance,
  latencyOf,
  type PercentileValues,
  slicesOf,
  throughputOf,
} from '../../core/selection/performance.ts';
import type { EndpointRecord } from '../../core/selection/world.ts';
import type { MetRefusal } from '../../runtime/endpoints/known-refusals.ts';
import { shortened } from '../../protocol/fault.ts';
import { RouterError } from '../../protocol/router-error.ts';
import type { EndpointRows, EndpointSlice, EndpointView, PercentileRow, PlanNow } from './wire.ts';

const FIVE_MINUTES_MS = 300_000;
const HALF_HOUR_MS = 1_800_000;
/** Length of the slices in which performance is kept. */
const SLICE_MS = 50_000;
/** Models that are shown at most: catalogs know thousands. */
const MOST_MODELS = 40;

/** Endpoints as they stand, by model: those with traffic first. `search` is a part of a model's or provider's name. */
export function endpointList(router: InspectedRouter, search: string): EndpointRows {
  const { facts, records, environment } = router.internals.services;
  const { version, since } = router.configuration;
  const now = environment.now();
  const wanted = search.toLowerCase();
  const models = [...facts.catalog.models.keys()]
    .flatMap((model) => {
      const endpoints = facts.catalog.endpoints(model);
      const fits = model.toLowerCase().includes(wanted) || endpoints.some(({ tag }) => tag.includes(wanted));
      if (endpoints.length === 0 || !fits) return [];
      const calls = endpoints.reduce((sum, endpoint) => sum + callsOf(records.record(endpoint), now), 0);
      return [{ model, calls, endpoints }];
    })
    .sort((left, right) => right.calls - left.calls);
  return {
    now: environment.wallClock(),
    configuration: { version, since },
    models: models.slice(0, MOST_MODELS).map(({ model, calls, endpoints }) => ({
      model,
      calls,
      endpoints: endpoints.map((endpoint) => endpointView(router, endpoint, calls)),
    })),
    left_out: Math.max(0, models.length - MOST_MODELS),
  };
}

/**
 * The plan that a plain request for a model would get now.
 *
 * @throws {@link RouterError} when no endpoint could answer it.
 */
export async function planNow(router: InspectedRouter, model: string): Promise<PlanNow> {
  if (model === '') throw new RouterError({ status: 400, errorType: 'invalid_request', message: 'model is missing' });
  const { catalog } = router.internals.services.facts;
  if (!catalog.models.has(model) && catalog.find(model) === undefined) {
    const message = `There is no model "${shortened(model)}" here`;
    throw new RouterError({ status: 404, errorType: 'not_found', message });
  }
  const { steps, rejected } = await router.explain({ model, messages: [{ role: 'user', content: 'Hello' }] });
  return { steps, rejected };
}

function callsOf(record: EndpointRecord | undefined, now: number): number {
  return record === undefined ? 0 : callCounts(record.performance, now, HALF_HOUR_MS).requests;
}

/** How an endpoint stands. */
export function endpointView({ internals }: InspectedRouter, endpoint: Endpoint, callsOfModel: number): EndpointView {
  const { records, environment, adaptive } = internals.services;
  const { id, model, provider, tag, rpm, tpm, concurrency, price } = endpoint;
  const now = environment.now();
  const record = records.record(endpoint);
  const admission = records.admission(endpoint);
  const { health, slowness } = healthScore(record, adaptive, now);
  const calls = callsOf(record, now);
  const rate = records.rate(endpoint);
  const uptime = record && uptimeOf(record.health, now, HALF_HOUR_MS, 1);
  const rates = price && ratesAt(price, { at: Math.floor(environment.wallClock() / 1_000), promptTokens: 0 });
  return {
    id,
    model,
    provider,
    tag,
    circuit: circuitOf(record, now),
    rest: admission.ok ? undefined : { ms: admission.waitMs, cause: admission.cause, asked: admission.asked === true },
    health,
    slowness,
    latency: record && percentilesOf(latencyOf(record.performance, now, FIVE_MINUTES_MS)),
    throughput: record && percentilesOf(throughputOf(record.performance, now, FIVE_MINUTES_MS)),
    slices: record === undefined ? [] : halfHourOf(record.performance, now),
    calls,
    ...(callsOfModel === 0 ? {} : { share: calls / callsOfModel }),
    uptime,
    ...(rate === Infinity ? {} : { rate }),
    headroom: Math.max(0, admission.headroom ?? 1),
    limits: { rpm, tpm, concurrency },
    refuses: records.refusals.metAt(endpoint, now).map(inWords),
    price: rates && { prompt: rates.prompt, completion: rates.completion, cacheRead: rates.cacheRead },
  };
}

/** What is left out of requests there, and how many accounts have met that. */
function inWords({ refusal, accounts }: MetRefusal): string {
  return `${describeRefusal(refusal)} (met by ${accounts === 1 ? 'one account' : `${accounts} accounts`})`;
}

/** Half open: the time of an opening is over, and one call at a time tests it. */
function circuitOf(record: EndpointRecord | undefined, now: number): EndpointView['circuit'] {
  if (record === undefined || record.health.breaker.state === 'closed') return 'closed';
  return now >= record.health.breaker.openUntil ? 'half_open' : 'open';
}

function percentilesOf(values: PercentileValues | undefined): PercentileRow | undefined {
  return values && { p50: values.p50, p90: values.p90, p99: values.p99 };
}

/** The last half hour, slice by slice; those without calls are there too, so that time is drawn to scale. */
function halfHourOf(performance: EndpointPerformance, now: number): readonly EndpointSlice[] {
  const slices = slicesOf(performance);
  const last = Math.floor(now / SLICE_MS) * SLICE_MS;
  const count = HALF_HOUR_MS / SLICE_MS;
  return Array.from({ length: count }, (_, index) => {
    const start = last - (count - 1 - index) * SLICE_MS;
    const slice = slices.find((one) => one.start === start);
    if (slice === undefined) return { calls: 0 };
    const alone = { slices: [slice] };
    return {
      calls: slice.requests,
      latency: latencyOf(alone, start, SLICE_MS)?.p50,
      throughput: throughputOf(alone, start, SLICE_MS)?.p50,
    };
  });
}
