/** Decides which rate limits apply to a request and what it takes of each. */
import type { RateLimits } from '../../options/spending.ts';
import type { RateLimitName, LimitedTag, RateShare } from '../../contracts/account-limits.ts';

export type { FreeModelLimits, RateLimits } from '../../options/spending.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/**
 * Slots of a minute. What was used is forgotten slot by slot, so that no minute, whenever it begins, holds more than the
 * limit; a limit is free again up to a slot late.
 */
export const MINUTE_SLOT_MS = 5_000;

/** The limits of an account: its own, and those for everybody where it has none. Undefined where nothing is limited. */
export function limitsFor(everybody: RateLimits, own: RateLimits | undefined): RateLimits | undefined {
  const limits: RateLimits = {
    requestsPerMinute: own?.requestsPerMinute ?? everybody.requestsPerMinute,
    tokensPerMinute: own?.tokensPerMinute ?? everybody.tokensPerMinute,
    freeModels: own?.freeModels ?? everybody.freeModels,
  };
  const { requestsPerMinute, tokensPerMinute, freeModels } = limits;
  return requestsPerMinute === undefined && tokensPerMinute === undefined && freeModels === undefined
    ? undefined
    : limits;
}

/** The values of a request that have limits, or budgets, of their own. */
export function tagsOf<Limits>(
  {
    tags,
    session,
  }: { readonly tags?: Readonly<Record<string, Limits>> | undefined; readonly session?: Limits | undefined },
  request: {
    readonly metadata?: Readonly<Record<string, string>> | undefined;
    readonly session: { readonly id?: string | undefined };
  },
): readonly LimitedTag<Limits>[] {
  const found: LimitedTag<Limits>[] = [];
  for (const key in tags) {
    const limits = tags[key];
    const value =
      request.metadata !== undefined && Object.hasOwn(request.metadata, key) ? request.metadata[key] : undefined;
    if (limits !== undefined && value !== undefined) found.push({ key, value, limits });
  }
  const { id } = request.session;
  if (session !== undefined && id !== undefined) found.push({ key: undefined, value: id, limits: session });
  return found;
}

/**
 * What a request takes of each limit that it is held to.
 *
 * @param tokens - Likely tokens of prompt and answer. A request that is larger than the limit takes all of it, so that
 * it has its turn in a quiet minute.
 * @param now - Epoch milliseconds.
 */
export function sharesOf(
  limits: RateLimits,
  tags: readonly LimitedTag[],
  requested: { readonly tokens: number; readonly isFree: boolean },
  now: number,
): readonly RateShare[] {
  const shares: RateShare[] = [];
  addShares(shares, limits, undefined, requested, now);
  for (const tag of tags) addShares(shares, tag.limits, tag, requested, now);
  return shares;
}

function addShares(
  shares: RateShare[],
  { requestsPerMinute, tokensPerMinute, freeModels }: RateLimits,
  tag: LimitedTag | undefined,
  requested: { readonly tokens: number; readonly isFree: boolean },
  now: number,
): void {
  const free = requested.isFree ? freeModels : undefined;
  const add = (name: RateLimitName, limit: number | undefined, by: number, slotMs: number, slotsBefore: number) => {
    if (limit === undefined || limit === Infinity) return;
    shares.push({ name, tag, limit, by: Math.max(1, by), slotMs, slot: Math.floor(now / slotMs), slotsBefore });
  };
  const inMinute = MINUTE_MS / MINUTE_SLOT_MS;
  // A day is the calendar's, as it is at the original service.
  add('free-models-per-day', free?.requestsPerDay, 1, DAY_MS, 0);
  add('free-models-per-min', free?.requestsPerMinute, 1, MINUTE_SLOT_MS, inMinute);
  add('requests-per-min', requestsPerMinute, 1, MINUTE_SLOT_MS, inMinute);
  if (tokensPerMinute === undefined) return;
  add('tokens-per-min', tokensPerMinute, Math.min(requested.tokens, tokensPerMinute), MINUTE_SLOT_MS, inMinute);
}
