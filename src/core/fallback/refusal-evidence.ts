/** Decides whether an endpoint refuses everything for now, or single calls by chance: a sequential test. */

/**
 * What refusals of an endpoint say, as plain data. It is a sequential test as that of the breaker: how many times as likely
 * its latest outcomes are of an endpoint that has nothing left, and takes less than one call in twenty, as of one that
 * refuses its usual share whatever is sent. What is usual is counted only while nothing shows that it has nothing left.
 */
export interface RefusalEvidence {
  /** Refused and accepted calls as far as they are not forgotten; each makes those before it count a little less. */
  readonly refused: number;
  readonly accepted: number;
  /** Natural logarithm of the odds that nothing is left, by the calls since it was last 0. */
  readonly suspicion: number;
  /** What of `refused` the suspicion consists of. */
  readonly suspected: number;
  /** Monotonic time of the refusal that the suspicion began with: a call from before it says nothing against it. */
  readonly since: number;
  /** Monotonic time of the latest refusal. */
  readonly refusedAt: number;
  /** Monotonic time at which a call was last seen to be accepted. */
  readonly acceptedAt: number;
  /** Calls that were counted as accepted before they were answered. */
  readonly ahead: number;
  /** Calls under way at the latest refusal that may be refused as well, or accepted. */
  readonly undecided: number;
  /** The latest refused and accepted calls, of which each makes those before it count clearly less. */
  readonly lately: { readonly refused: number; readonly accepted: number };
  /** Whether it refuses so many more of the latest calls than usual that it gets more than it takes. */
  readonly isOverloaded: boolean;
}

/** Share of its calls that an endpoint accepts at most while it has nothing left. */
const EXHAUSTED_ACCEPTS = 0.05;
/** Outcomes after which an earlier one counts for a third. */
const REMEMBERED_CALLS = 1_000;
const FADING = 1 - 1 / REMEMBERED_CALLS;
/** What an endpoint is taken to have done before its first call: six refusals from then on are evident. */
const PRIOR_ACCEPTED = 1.88;
const PRIOR_REFUSED = 0.12;
/** No endpoint is taken to refuse more seldom: three refusals in a row are needed, however few there were. */
const LEAST_USUAL = 0.009;
/**
 * How many times as likely the outcomes must be. Where each call is refused by the same chance, whatever it is and however
 * the rate changes, so much is reached after about as many calls, counted from any of them, at the earliest.
 */
const EVIDENT_ODDS = 1_000_000;
const EVIDENT = Math.log(EVIDENT_ODDS);
/** Sums of logarithms are this exact. */
const ROUNDING = 1e-9;
/** Milliseconds after which a refusal says nothing of the next one: limits are counted by the minute. */
const WINDOW_MS = 60_000;

/** Outcomes after which an earlier one counts for a third among the latest … */
const LATELY_CALLS = 40;
const LATELY_FADING = 1 - 1 / LATELY_CALLS;
/** … and how many it takes to judge by them. */
const LEAST_LATELY = 15;
/** Calls that it must have answered before it is known what is usual. */
const LEAST_ANSWERED = 8;
/** Share that is refused from which on fewer calls would serve as many, and below which that is over. */
const OVERLOADED_FROM = 0.35;
const OVERLOADED_TO = 0.2;

const NOTHING_REFUSED: RefusalEvidence = {
  refused: PRIOR_REFUSED,
  accepted: PRIOR_ACCEPTED,
  suspicion: 0,
  suspected: 0,
  since: 0,
  refusedAt: -1e12,
  acceptedAt: -1e12,
  ahead: 0,
  undecided: 0,
  lately: { refused: 0, accepted: 0 },
  isOverloaded: false,
};

/** Calls under way beside one that is refused. */
export interface CallsBeside {
  /** Those that have waited so long that they must have been accepted. */
  readonly accepted: number;
  /** Those of them that were sent since the suspicion began. */
  readonly acceptedSince: number;
  /** Those that have not waited for so long, of the calls that were sent since then: a refusal comes before an answer. */
  readonly undecided: number;
  /** Calls that were answered before, as far as they are not forgotten. Default 0. */
  readonly answered?: number | undefined;
}

/** What is beside a call when no other is under way. */
export const NONE_BESIDE: CallsBeside = { accepted: 0, acceptedSince: 0, undecided: 0 };

/** Folds in a refusal. */
export function evidenceAfterRefusal(
  known: RefusalEvidence | undefined,
  { accepted, acceptedSince, undecided, answered = 0 }: CallsBeside,
  now: number,
): RefusalEvidence {
  const before = known ?? NOTHING_REFUSED;
  const isOld = Math.abs(now - before.refusedAt) >= WINDOW_MS;
  // An endpoint with nothing left accepts nothing in between, so what was refused before is what is usual.
  const suspected = isOld || acceptedSince > 0 ? 0 : before.suspected;
  const usual = usualShare({ ...before, suspected });
  const against = againstExhaustion(usual);
  const left = isOld ? 0 : Math.max(0, before.suspicion - acceptedSince * against);
  const suspicion = left + Math.max(0, Math.log((1 - EXHAUSTED_ACCEPTS) / usual));
  const lately = {
    refused: before.lately.refused * LATELY_FADING + 1,
    accepted: before.lately.accepted * LATELY_FADING + accepted,
  };
  return {
    refused: before.refused * FADING + 1,
    accepted: before.accepted * FADING + accepted,
    lately: isOld ? { refused: 1, accepted } : lately,
    isOverloaded: !isOld && (isOverload(lately, before, answered) || stays(before, lately)),
    // Not more than is enough, so that it is as soon over as it came.
    suspicion: Math.min(EVIDENT + undecided * against, suspicion),
    suspected: left === 0 ? 1 : suspected * FADING + 1,
    since: left === 0 ? now : before.since,
    refusedAt: now,
    acceptedAt: accepted > 0 ? now : before.acceptedAt,
    ahead: before.ahead + accepted,
    undecided,
  };
}

/**
 * Folds in that a call was accepted.
 *
 * @param startedAt - When it was sent. Of what is left since then, only a later one says something.
 */
export function evidenceAfterAcceptance(known: RefusalEvidence, startedAt: number, now: number): RefusalEvidence {
  const { refusedAt, since, undecided, ahead } = known;
  const says = known.suspicion > 0 && startedAt >= since;
  const lately = {
    refused: known.lately.refused * LATELY_FADING,
    accepted: known.lately.accepted * LATELY_FADING + Number(ahead === 0),
  };
  return {
    refused: known.refused * FADING,
    accepted: known.accepted * FADING + Number(ahead === 0),
    suspicion: says ? Math.max(0, known.suspicion - againstExhaustion(usualShare(known))) : known.suspicion,
    suspected: says ? 0 : known.suspected * FADING,
    since,
    refusedAt,
    acceptedAt: now,
    ahead: Math.max(0, ahead - 1),
    undecided,
    lately,
    isOverloaded: stays(known, lately),
  };
}

/**
 * Whether so many of the latest calls were refused as is unlikely by what was usual before them: a limit that is exceeded
 * refuses some calls between those that it takes. A chance that is always the same is what is usual.
 */
function isOverload(lately: RefusalEvidence['lately'], before: RefusalEvidence, answered: number): boolean {
  // What is usual has to be known.
  if (answered < LEAST_ANSWERED) return false;
  const calls = lately.refused + lately.accepted;
  const share = lately.refused / calls;
  if (calls < LEAST_LATELY || share < OVERLOADED_FROM) return false;
  const refused = Math.max(0, before.refused - lately.refused);
  const accepted = Math.max(0, before.accepted - lately.accepted) + answered;
  const usual = Math.max(LEAST_USUAL, refused / Math.max(1, refused + accepted));
  if (usual >= share) return false;
  const unlike = share * Math.log(share / usual) + (1 - share) * Math.log(Math.max(1e-9, 1 - share) / (1 - usual));
  return calls * unlike >= EVIDENT;
}

function stays({ isOverloaded }: RefusalEvidence, { refused, accepted }: RefusalEvidence['lately']): boolean {
  return isOverloaded && refused >= OVERLOADED_TO * (refused + accepted);
}

/** Whether an endpoint refuses everything for now, or gets clearly more than it takes. */
export function isExhausted(known: RefusalEvidence | undefined): boolean {
  if (known === undefined) return false;
  if (known.isOverloaded) return true;
  if (known.suspicion < EVIDENT) return false;
  return known.suspicion >= EVIDENT + known.undecided * againstExhaustion(usualShare(known)) - ROUNDING;
}

/** Share of its calls that an endpoint usually refuses: without those that have raised the suspicion. */
function usualShare({ refused, accepted, suspected }: RefusalEvidence): number {
  const usual = Math.max(0, refused - suspected);
  return Math.max(LEAST_USUAL, usual / Math.max(Number.EPSILON, usual + accepted));
}

/** What one accepted call says against nothing being left. */
function againstExhaustion(usual: number): number {
  return Math.max(0, Math.log((1 - usual) / EXHAUSTED_ACCEPTS));
}
