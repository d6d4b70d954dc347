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
  openai: { keptMs: 24 * HOUR, leastTokens: 1_024, leastForSome: 1_024 },
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
  { provider, model, implicitCaching }: Pick<Endpoint, 'provider' | 'model' | 'implicitCaching'>,
  request: Pick<NormalizedRequest, 'cache' | 'messages' | 'tools' | 'extra'>,
  { takesMarks }: { readonly takesMarks: boolean },
): CacheRules {
  const needsMarks = takesMarks && !implicitCaching;
  const rules = (Object.hasOwn(VENDORS, provider) ? VENDORS[provider] : undefined) ?? (needsMarks ? ANTHROPIC : USUAL);
  const usualMs = provider === 'openai' ? keptByOpenAi(model, request) : rules.keptMs;
  const keptMs = isKeptLonger(request) ? Math.max(usualMs, HOUR) : usualMs;
  return { ...rules, keptMs, needsMarks };
}

/**
 * OpenAI keeps prompts for half an hour after their last use from GPT-5.6 on, for a day by default from GPT-5 and
 * GPT-4.1 on, and for an hour at most before.
 */
function keptByOpenAi(model: string, { cache, extra }: Pick<NormalizedRequest, 'cache' | 'extra'>): number {
  const [, major = '', minor = '0'] = /gpt-(\d+)(?:\.(\d+))?/.exec(model) ?? [];
  if (Number(major) > 5 || (major === '5' && Number(minor) > 5)) {
    return cache.options?.['ttl'] === '12h' ? 12 * HOUR : 30 * MINUTE;
  }
  const isDay = major === '5' || (major === '4' && minor === '1');
  const { prompt_cache_retention: retention } = extra;
  return retention === '24h' || (isDay && retention !== 'in_memory') ? 24 * HOUR : HOUR;
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
