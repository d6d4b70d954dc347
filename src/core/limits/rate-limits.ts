/** Decides which rate limits apply to a request and what it takes of each. */
import type { RateLimits } from '../../options/spending.ts';
import type { RateClaim, RateLimitName, LimitedTag, RateShare } from '../../contracts/account-limits.ts';

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
export function limitedTags<Limits>(
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
 * What a request takes of each limit that it is held to. One that is larger than the limit takes all of it, so that it has
 * its turn in a quiet minute.
 *
 * @param now - Epoch milliseconds.
 */
export function sharesOf(claim: RateClaim, now: number): readonly RateShare[] {
  const shares: RateShare[] = [];
  addShares(shares, claim, undefined, now);
  for (const tag of claim.tags ?? []) addShares(shares, claim, tag, now);
  return shares;
}

function addShares(shares: RateShare[], claim: RateClaim, tag: LimitedTag | undefined, now: number): void {
  const { requestsPerMinute, tokensPerMinute, freeModels } = tag?.limits ?? claim.limits;
  const free = claim.isFree ? freeModels : undefined;
  const add = (name: RateLimitName, limit: number | undefined, by: number, window: SlotWindow): void => {
    if (limit === undefined || limit === Infinity) return;
    const { slotMs, slotsBefore } = window;
    shares.push({ name, tag, limit, by: Math.max(1, by), slotMs, slot: Math.floor(now / slotMs), slotsBefore });
  };
  add('free-models-per-day', free?.requestsPerDay, 1, DAY);
  add('free-models-per-min', free?.requestsPerMinute, 1, MINUTE);
  add('requests-per-min', requestsPerMinute, 1, MINUTE);
  if (tokensPerMinute !== undefined) {
    add('tokens-per-min', tokensPerMinute, Math.min(claim.tokens, tokensPerMinute), MINUTE);
  }
}

/** A window of time, in slots: the current one, and so many before it. */
type SlotWindow = Pick<RateShare, 'slotMs' | 'slotsBefore'>;

const MINUTE: SlotWindow = { slotMs: MINUTE_SLOT_MS, slotsBefore: MINUTE_MS / MINUTE_SLOT_MS };
/** A day is the calendar's, as it is at the original service. */
const DAY: SlotWindow = { slotMs: DAY_MS, slotsBefore: 0 };
