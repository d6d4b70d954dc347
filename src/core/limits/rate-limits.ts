import type { RateLimits } from '../../config/tables/spending.ts';

export type { FreeModelLimits, RateLimits } from '../../config/tables/spending.ts';

/** Which limit it is. Those of free models have the names that clients look for (gaps 7.6). */
export type RateLimitName = 'requests-per-min' | 'tokens-per-min' | 'free-models-per-min' | 'free-models-per-day';

/** What a request takes of one limit. */
export interface RateShare {
  readonly name: RateLimitName;
  readonly limit: number;
  readonly by: number;
  /** Number of the minute or day, counted from 1970. */
  readonly window: number;
  /** Epoch milliseconds at which the window ends. */
  readonly resetsAt: number;
}

/** What a request took of the tokens of a minute, until it is known what it used. Plain data. */
export interface RateTicket {
  readonly account: string;
  /** Number of the minute. */
  readonly window: number;
  readonly tokens: number;
}

/** A minute in milliseconds: the window of the limits per minute. */
export const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** The limits of an account: its own, and those for everybody where it has none. Undefined where nothing is limited. */
export function limitsFor(everybody: RateLimits, own: RateLimits | undefined): RateLimits | undefined {
  const limits: RateLimits = {
    requestsPerMinute: own?.requestsPerMinute ?? everybody.requestsPerMinute,
    tokensPerMinute: own?.tokensPerMinute ?? everybody.tokensPerMinute,
    freeModels: own?.freeModels ?? everybody.freeModels,
  };
  return Object.values(limits).every((limit) => limit === undefined) ? undefined : limits;
}

/**
 * What a request takes of each limit that it is held to.
 *
 * @param tokens - Likely tokens of prompt and answer. A request that is larger than the limit takes all of it, so that
 * it has its turn in a quiet minute.
 * @param now - Epoch milliseconds.
 */
export function sharesOf(
  { requestsPerMinute, tokensPerMinute, freeModels }: RateLimits,
  { tokens, isFree }: { readonly tokens: number; readonly isFree: boolean },
  now: number,
): readonly RateShare[] {
  const free = isFree ? freeModels : undefined;
  return [
    ...share('free-models-per-day', free?.requestsPerDay, 1, DAY_MS, now),
    ...share('free-models-per-min', free?.requestsPerMinute, 1, MINUTE_MS, now),
    ...share('requests-per-min', requestsPerMinute, 1, MINUTE_MS, now),
    ...share('tokens-per-min', tokensPerMinute, Math.min(tokens, tokensPerMinute ?? tokens), MINUTE_MS, now),
  ];
}

function share(
  name: RateLimitName,
  limit: number | undefined,
  by: number,
  lengthMs: number,
  now: number,
): readonly RateShare[] {
  if (limit === undefined || limit === Infinity) return [];
  const window = Math.floor(now / lengthMs);
  return [{ name, limit, by: Math.max(1, by), window, resetsAt: (window + 1) * lengthMs }];
}
