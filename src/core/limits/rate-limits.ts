import type { RateLimits } from '../../config/tables/spending.ts';

export type { FreeModelLimits, RateLimits } from '../../config/tables/spending.ts';

/** Which limit it is. Those of free models have the names that clients look for (gaps 7.6). */
export type RateLimitName = 'requests-per-min' | 'tokens-per-min' | 'free-models-per-min' | 'free-models-per-day';

/** A value of the request that has limits of its own: a declared key of its `metadata`, or its session. */
export interface LimitedTag<Limits = RateLimits> {
  /** The key of the metadata; undefined for the session. */
  readonly key: string | undefined;
  readonly value: string;
  readonly limits: Limits;
}

/** What a request takes of one limit. */
export interface RateShare {
  readonly name: RateLimitName;
  /** Whose limit it is; undefined for the account's. */
  readonly tag: LimitedTag | undefined;
  readonly limit: number;
  readonly by: number;
  /** Milliseconds of one slot. A window is as many slots as make up its length, and the one that has begun. */
  readonly slotMs: number;
  /** Number of the slot, counted from 1970. */
  readonly slot: number;
  /** Slots before this one that belong to the same window. */
  readonly slotsBefore: number;
}

/** What a request took of the tokens of a minute, until it is known what it used. Plain data. */
export interface RateTicket {
  readonly account: string;
  /** Number of the slot in which it was taken. */
  readonly slot: number;
  readonly tokens: readonly { readonly tag: LimitedTag | undefined; readonly taken: number }[];
}

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
  asked: { readonly tokens: number; readonly isFree: boolean },
  now: number,
): readonly RateShare[] {
  const shares: RateShare[] = [];
  addShares(shares, limits, undefined, asked, now);
  for (const tag of tags) addShares(shares, tag.limits, tag, asked, now);
  return shares;
}

function addShares(
  shares: RateShare[],
  { requestsPerMinute, tokensPerMinute, freeModels }: RateLimits,
  tag: LimitedTag | undefined,
  asked: { readonly tokens: number; readonly isFree: boolean },
  now: number,
): void {
  const free = asked.isFree ? freeModels : undefined;
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
  add('tokens-per-min', tokensPerMinute, Math.min(asked.tokens, tokensPerMinute), MINUTE_SLOT_MS, inMinute);
}
