/** How providers keep prompts in their caches, as they say it in their documentation. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { CacheRules } from './cache-cause.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Kept for so long at most, and nothing shorter. */
type VendorRules = Omit<CacheRules, 'needsMarks'>;

/** Of vendors that say nothing: what holds for nearly all. */
const USUAL: VendorRules = { keptMs: HOUR, leastTokens: 256, leastForSome: 4_096 };

/** Of Anthropic's API, whoever serves it. */
const ANTHROPIC: VendorRules = { keptMs: 5 * MINUTE, leastTokens: 512, leastForSome: 4_096 };

/** By the slug of the provider, after the pages on prompt (context) caching of each; they change, so causes are hints. */
const VENDORS: Readonly<Record<string, VendorRules>> = {
  anthropic: ANTHROPIC,
  openai: { keptMs: HOUR, leastTokens: 1_024, leastForSome: 1_024 },
  azure: { keptMs: HOUR, leastTokens: 1_024, leastForSome: 1_024 },
  google: { keptMs: HOUR, leastTokens: 1_024, leastForSome: 4_096 },
  vertex: { keptMs: HOUR, leastTokens: 1_024, leastForSome: 4_096 },
  deepseek: { keptMs: 24 * HOUR, leastTokens: 64, leastForSome: 64 },
};

/**
 * The rules of an endpoint for a request.
 *
 * @param api - Whether marks for the cache are words of the endpoint's API: where they are needed, it is Anthropic's.
 */
export function cacheRulesOf(
  { provider, implicitCaching }: Pick<Endpoint, 'provider' | 'implicitCaching'>,
  request: Pick<NormalizedRequest, 'cache' | 'messages' | 'tools'>,
  { takesMarks }: { readonly takesMarks: boolean },
): CacheRules {
  const needsMarks = takesMarks && !implicitCaching;
  const rules = (Object.hasOwn(VENDORS, provider) ? VENDORS[provider] : undefined) ?? (needsMarks ? ANTHROPIC : USUAL);
  const keptMs = isKeptLonger(request) ? Math.max(rules.keptMs, HOUR) : rules.keptMs;
  return { ...rules, keptMs, needsMarks };
}

/** Whether the caller has asked for the longer time of Anthropic's caches. */
function isKeptLonger({ cache, messages, tools }: Pick<NormalizedRequest, 'cache' | 'messages' | 'tools'>): boolean {
  if (cache.control?.ttl === '1h' || tools.some(({ cache_control: mark }) => mark?.ttl === '1h')) return true;
  return messages.some(
    ({ content }) =>
      Array.isArray(content) &&
      (content as readonly { readonly cache_control?: { readonly ttl?: string | null } | null }[]).some(
        ({ cache_control: mark }) => mark?.ttl === '1h',
      ),
  );
}
