/** Writes models, endpoints and providers as the catalog operations show them. */
import type { Catalog } from '../catalog/catalog.ts';
import { type Endpoint, type EndpointOwner, type Model, serves } from '../catalog/endpoint.ts';
import { EMBEDDING_PARAMETERS, SUPPORTED_PARAMETERS } from '../catalog/model.ts';
import type { Rates } from '../catalog/price.ts';
import { ratesAt } from '../catalog/price-at.ts';
import { authorOf } from '../catalog/slug.ts';
import { stabilityOf } from '../core/fallback/health.ts';
import { uptimeOf } from '../core/fallback/outcomes.ts';
import { latencyOf, type PercentileValues, throughputOf } from '../core/selection/performance.ts';
import type { EndpointRecord } from '../core/selection/world.ts';
import type {
  Architecture,
  EndpointCard,
  ModelCard,
  PercentileCard,
  PricingCard,
  ProviderCard,
} from '../protocol/models.ts';

const HALF_HOUR_MS = 1_800_000;

/** A model as `GET /models` shows it (gaps 10). */
export function modelCard(model: Model, endpoints: readonly Endpoint[]): ModelCard {
  const [first] = endpoints;
  const contexts = endpoints.map((endpoint) => endpoint.contextLength).filter((length) => length !== undefined);
  return {
    id: model.id,
    canonical_slug: model.canonicalSlug ?? model.id,
    name: model.name ?? model.id,
    created: model.created ?? 0,
    description: model.description ?? '',
    context_length: contexts.length > 0 ? Math.max(...contexts) : null,
    architecture: architectureOf(model, endpoints),
    pricing: pricingCard(cheapest(endpoints)?.price),
    top_provider: {
      context_length: first?.contextLength ?? null,
      max_completion_tokens: first?.maxOutputTokens ?? null,
      is_moderated: first?.moderated ?? false,
    },
    per_request_limits: null,
    supported_parameters: supportedParameters(endpoints),
    default_parameters: model.defaultParameters ?? null,
    supported_voices: null,
    knowledge_cutoff: model.knowledgeCutoff ?? null,
    expiration_date: model.expirationDate ?? null,
    links: { details: `/models/${model.id}/endpoints` },
  };
}

/** What goes in and out of a model, over all its endpoints. */
export function architectureOf(model: Model, endpoints: readonly Endpoint[]): Architecture {
  const input = union(endpoints.map((endpoint) => endpoint.inputModalities ?? TEXT));
  const output = union(endpoints.map((endpoint) => endpoint.outputModalities ?? TEXT));
  return {
    input_modalities: input,
    output_modalities: output,
    modality: `${input.join('+')}->${output.join('+')}`,
    tokenizer: model.tokenizer ?? 'Other',
    instruct_type: model.instructType ?? null,
  };
}

/** An endpoint with what is known of how it does. */
export function endpointCard(
  endpoint: Endpoint,
  model: Model,
  record: EndpointRecord | undefined,
  now: number,
): EndpointCard {
  const uptime = (spanMs: number): number | null => {
    const share = record && uptimeOf(record.health, now, spanMs, MINIMUM_CALLS);
    return share === undefined ? null : Math.round(share * 10_000) / 100;
  };
  const latency = record && latencyOf(record.performance, now, HALF_HOUR_MS);
  const throughput = record && throughputOf(record.performance, now, HALF_HOUR_MS);
  return {
    name: `${endpoint.providerName} | ${endpoint.model}`,
    model_id: endpoint.model,
    model_name: model.name ?? model.id,
    provider_name: endpoint.providerName,
    tag: endpoint.tag,
    quantization: endpoint.quantization === 'unknown' ? null : endpoint.quantization,
    context_length: endpoint.contextLength ?? null,
    max_completion_tokens: endpoint.maxOutputTokens ?? null,
    max_prompt_tokens: endpoint.maxPromptTokens ?? null,
    pricing: pricingCard(endpoint.price),
    supported_parameters: supportedParameters([endpoint]),
    supports_implicit_caching: endpoint.implicitCaching,
    status: record === undefined ? 0 : -stabilityOf(record.health, now),
    uptime_last_5m: uptime(300_000),
    uptime_last_30m: uptime(HALF_HOUR_MS),
    uptime_last_1d: uptime(86_400_000),
    latency_last_30m: percentileCard(latency),
    throughput_last_30m: percentileCard(throughput),
  };
}

/** Of the vocabulary of what the endpoints are for: embeddings where they make nothing else, and chat otherwise. */
function supportedParameters(endpoints: readonly Endpoint[]): readonly string[] {
  const embedOnly = endpoints.every((endpoint) => serves(endpoint, 'chat') === 'no');
  const vocabulary = embedOnly ? EMBEDDING_PARAMETERS : SUPPORTED_PARAMETERS;
  return vocabulary.filter((name) => endpoints.some((endpoint) => endpoint.parameters?.has(name) ?? true));
}

/** Calls below which an uptime would say nothing. */
const MINIMUM_CALLS = 5;

/** A provider as `GET /providers` shows it. */
export function providerCard({ slug, name }: EndpointOwner): ProviderCard {
  return {
    name,
    slug,
    privacy_policy_url: null,
    terms_of_service_url: null,
    status_page_url: null,
    headquarters: null,
    datacenters: null,
  };
}

/** Endpoints of a model with what they charge for short prompts at a time in Unix seconds. */
export function endpointsAt(catalog: Catalog, model: string, at: number): readonly Endpoint[] {
  return catalog
    .endpoints(model)
    .map((one) =>
      one.price?.changes === undefined ? one : { ...one, price: ratesAt(one.price, { at, promptTokens: 0 }) },
    );
}

/** Author of a model, for filters. */
export function modelAuthor(model: Model): string {
  return authorOf(model.id);
}

function cheapest(endpoints: readonly Endpoint[]): Endpoint | undefined {
  return endpoints.reduce<Endpoint | undefined>(
    (best, one) =>
      one.price !== undefined && (best?.price === undefined || one.price.prompt < best.price.prompt) ? one : best,
    endpoints[0],
  );
}

/** Prices per token as decimal strings; `-1` says that a price is unknown. */
function pricingCard(price: Rates | undefined): PricingCard {
  if (price === undefined) return { prompt: '-1', completion: '-1' };
  return {
    prompt: perToken(price.prompt),
    completion: perToken(price.completion),
    ...optional('request', price.request, decimal),
    ...optional('image', price.image, decimal),
    ...optional('audio', price.audioPrompt, perToken),
    ...optional('web_search', price.webSearch, decimal),
    ...optional('internal_reasoning', price.reasoning, perToken),
    ...optional('input_cache_read', price.cacheRead, perToken),
    ...optional('input_cache_write', price.cacheWrite, perToken),
    ...optional('input_cache_write_1h', price.cacheWrite1h, perToken),
  };
}

function optional(name: string, amount: number | undefined, format: (amount: number) => string): object {
  return amount === undefined ? {} : { [name]: format(amount) };
}

function perToken(usdPerMillion: number): string {
  return decimal(usdPerMillion / 1e6);
}

/** A number without an exponent and without zeros at the end. */
function decimal(amount: number): string {
  return amount === 0 ? '0' : amount.toFixed(15).replace(/\.?0+$/, '');
}

function percentileCard(values: PercentileValues | undefined): PercentileCard | null {
  if (values === undefined) return null;
  const { p50, p75, p90, p99 } = values;
  return { p50: round(p50), p75: round(p75), p90: round(p90), p99: round(p99) };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

const TEXT: ReadonlySet<string> = new Set(['text']);

function union(sets: readonly ReadonlySet<string>[]): readonly string[] {
  return [...new Set(sets.flatMap((set) => [...set]))];
}
