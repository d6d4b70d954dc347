import { usdFromNano } from '../../catalog/cost.ts';
import type { LedgerAttempt, LedgerRecord } from '../../contracts/ledger.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { isoTime } from './civil-time.ts';
import { partOfEndpoint } from './sum-costs.ts';

/**
 * One generation in the format of the hosted service (gaps 10). What the router does not know is null. Requests that
 * its plugins and tools made are generations of their own, and so are their costs.
 *
 * @param nameOf - Display name of a provider.
 */
export function generationOf(record: LedgerRecord, nameOf: (provider: string) => string): JsonObject {
  const { usage, attempts, decision, own_key_cost_nano_usd: ownKeyCost = 0 } = record;
  const cost = record.cost_nano_usd === undefined ? null : usdFromNano(record.cost_nano_usd);
  const answered = record.error_type === undefined;
  const first = record.first_token_ms;
  return {
    id: record.id,
    request_id: null,
    upstream_id: null,
    session_id: record.session ?? null,
    model: record.model ?? record.requested,
    provider_name: record.provider === undefined ? null : nameOf(record.provider),
    router: decision?.targets.find(({ router }) => router !== undefined)?.router ?? null,
    streamed: record.stream,
    cancelled: record.status === 499,
    created_at: isoTime(record.at),
    finish_reason: record.finish_reason ?? null,
    native_finish_reason: record.native_finish_reason ?? record.finish_reason ?? null,
    tokens_prompt: usage?.prompt_tokens ?? null,
    tokens_completion: usage?.completion_tokens ?? null,
    native_tokens_prompt: usage?.prompt_tokens ?? null,
    native_tokens_completion: usage?.completion_tokens ?? null,
    native_tokens_reasoning: usage?.reasoning_tokens ?? null,
    native_tokens_cached: usage?.cached_tokens ?? null,
    native_tokens_completion_images: null,
    usage: cost,
    total_cost: cost,
    upstream_inference_cost: ownKeyCost === 0 ? null : usdFromNano(ownKeyCost),
    cache_discount: null,
    is_byok: record.own_key === true,
    latency: first === undefined ? null : Math.round(first),
    generation_time: answered && first !== undefined ? Math.round(record.duration_ms - first) : null,
    moderation_latency: null,
    service_tier: decision?.service_tier ?? null,
    preset_id: null,
    provider_responses: attempts.map((attempt) => responseOf(attempt, record, nameOf)),
    response_cache_source_id: null,
    num_search_results: null,
    num_fetches: countOf(record, 'router:web_fetch'),
    num_searches: countOf(record, 'router:web_search'),
    web_search_engine: null,
    external_user: null,
    app_id: null,
    http_referer: null,
    user_agent: null,
    origin: null,
    api_type: record.format === 'embeddings' ? 'embeddings' : 'completions',
    data_region: null,
    workspace_id: null,
  };
}

function responseOf(
  { endpoint, status, start_ms: startMs, end_ms: endMs, first_token_ms: firstMs = endMs }: LedgerAttempt,
  { account }: LedgerRecord,
  nameOf: (provider: string) => string,
): JsonObject {
  return {
    provider_name: nameOf(partOfEndpoint(endpoint, 'provider', account)),
    endpoint_id: endpoint,
    model_permaslug: partOfEndpoint(endpoint, 'model', account),
    status,
    latency: Math.round(firstMs - startMs),
    is_byok: endpoint.endsWith(`@${account}`),
    routed_service_tier: null,
  };
}

function countOf({ tools = [] }: LedgerRecord, type: string): number | null {
  const calls = tools.filter((tool) => tool.type === type).length;
  return calls === 0 ? null : calls;
}
