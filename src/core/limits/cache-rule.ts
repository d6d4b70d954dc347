/** Decides whether and how a request uses the response cache. */
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { RequestedCache } from '../../contracts/state-store.ts';

/** What the router does by default. */
export interface CachePolicy {
  readonly enabled: boolean;
  readonly ttlSeconds: number;
}

/** How one request uses the cache. */
export interface CacheRule {
  readonly ttlSeconds: number;
  readonly clear: boolean;
}

/** The longest time that an answer is kept: a day. */
const MAX_TTL_SECONDS = 86_400;

/** Whether the response cache is requested (gaps 9.3): by the request, its preset, or the configuration. */
function wantsCache(
  { responseCache: preset }: Pick<NormalizedRequest, 'responseCache'>,
  requestedCache: RequestedCache | undefined,
  policy: CachePolicy,
): boolean {
  return requestedCache?.enabled ?? preset?.enabled ?? policy.enabled;
}

/**
 * Whether and how a request uses the response cache (gaps 9.4). A preset that says no is not overruled. Prompts that
 * must not be retained are not kept here either, nor is what only one API format can say: answers are kept in the chat
 * form.
 */
export function cacheRule(
  request: NormalizedRequest,
  requestedCache: RequestedCache,
  policy: CachePolicy,
): CacheRule | undefined {
  const { responseCache: preset, preferences, native, echoUpstreamBody } = request;
  if (preset?.enabled === false) return undefined;
  if (!wantsCache(request, requestedCache, policy)) return undefined;
  if (preferences.zeroDataRetention || echoUpstreamBody || native?.requiredBy !== undefined) return undefined;
  const seconds = Math.trunc(requestedCache.ttlSeconds ?? preset?.ttlSeconds ?? policy.ttlSeconds);
  return { ttlSeconds: Math.min(MAX_TTL_SECONDS, Math.max(1, seconds)), clear: requestedCache.clear === true };
}
