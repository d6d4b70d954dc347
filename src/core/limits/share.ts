/** Decides how much one account may hold of something that all accounts share: places, bytes, turns. */

/** Something limited, and who holds how much of it, in its own unit. */
export interface Holdings {
  /** What there is of it. */
  readonly limit: number;
  /** What all accounts hold. */
  readonly held: number;
  /** What the account holds that wants more. */
  readonly own: number;
}

/** What one account may have of it. */
export interface ShareRule {
  /** What an account gets wherever there is room for it, however much others hold: the size of one request. Default 1. */
  readonly unit?: number | undefined;
  /** A limit for one account below half of all. Default: none. */
  readonly most?: number | undefined;
}

/** How many accounts there can be. */
export type AccountNumber = 'one' | 'several';

/** How many accounts an authentication can have; without any, everybody is the anonymous one. */
export function accountsOf(authenticate: { readonly accounts?: number | undefined } | undefined): AccountNumber {
  return authenticate === undefined || authenticate.accounts === 1 ? 'one' : 'several';
}

/** `share`: the account has its part. `full`: others have the rest. */
export type ShareVerdict = 'granted' | 'share' | 'full';

/**
 * What an account may hold beside what stays free. With two, one greedy account leaves half, two leave a fifth, five an
 * eleventh: whoever comes next always finds room, however many there are before it.
 */
const TIMES_FREE = 2;

/**
 * Readers of one kept stream at a time, at one instance: more than the tabs and devices of one conversation. Without a
 * limit, one stream would be enough to hold the places of many requests.
 */
export const MAX_READERS = 8;

/** What one account may hold at most. */
export function shareOf(limit: number, { unit = 1, most = Infinity }: ShareRule): number {
  return Math.min(most, Math.max(unit, Math.floor(limit / 2)));
}

/**
 * Whether an account may hold more. It gets half at most, and no more than twice what it leaves free, so that half of
 * everything is there for whoever comes next.
 */
export function mayHold(holdings: Holdings, rule: ShareRule, more: number): ShareVerdict {
  const { limit, held } = holdings;
  const own = holdings.own + more;
  const free = limit - held - more;
  if (own > shareOf(limit, rule)) return 'share';
  if (free < 0) return 'full';
  return own <= (rule.unit ?? 1) || own <= TIMES_FREE * free ? 'granted' : 'share';
}
