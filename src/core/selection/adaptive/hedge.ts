/** Decides when a late call is hedged, and limits what hedges may cost and how many second calls there may be. */
import { fill } from '../../../options/option.ts';
import { TUNING, type Tuning } from '../../../options/selection.ts';
import type { RoutedRequest } from '../../../contracts/request.ts';
import { usualMedian, usualP95, type UsualTime } from './speed.ts';

/** When a second endpoint is called because the first is late. */
export interface HedgePolicy {
  /** Times the 95th percentile of the usual time after which a call is late whose endpoint may hang. */
  readonly lateAfter: number;
  /** The same where no more than this call suggests that the endpoint hangs. */
  readonly answeringLateAfter: number;
  /** No call is late before so many milliseconds. */
  readonly minimumMs: number;
  /** Times the median after which a probe of an endpoint that was out is hedged. */
  readonly probeLateAfter: number;
  /** Share of the cost of all answers that hedges may cost. */
  readonly share: number;
}

/** The policy with what a program has tuned. */
export function hedgePolicy({ hedgeAfter, hedgeShare }: Tuning): HedgePolicy {
  return {
    // One call in twenty is as late as the percentile itself, so a little later.
    lateAfter: 1.1,
    answeringLateAfter: hedgeAfter,
    // A second call that saves less is not noticed.
    minimumMs: 300,
    // What a probe is for is not worth the time of its request.
    probeLateAfter: 1.2,
    share: hedgeShare,
  };
}

/** The usual {@link HedgePolicy}. */
export const DEFAULT_HEDGE_POLICY: HedgePolicy = hedgePolicy(fill(TUNING));

/**
 * Milliseconds after which a call is late enough for a second one; undefined when too little is known of the endpoint.
 *
 * @param call - Whether it finds out if an endpoint is back, whether its endpoint may be one that hangs, and how many
 * times as long as usual it may take by its tokens.
 */
export function hedgeDelay(
  usual: UsualTime,
  policy: HedgePolicy,
  { isProbe, isSuspect, factor = 1 }: { readonly isProbe: boolean; readonly isSuspect: boolean; factor?: number },
): number | undefined {
  const median = usualMedian(usual);
  const p95 = usualP95(usual);
  if (median === undefined || p95 === undefined) return undefined;
  return Math.max(
    policy.minimumMs,
    factor *
      (isProbe ? policy.probeLateAfter * median : (isSuspect ? policy.lateAfter : policy.answeringLateAfter) * p95),
  );
}

/** What hedges may cost: every answer pays in a share of what it cost. */
export interface HedgeBudget {
  readonly usd: number;
  /** Mean cost of an answer, for the bound of what is saved. */
  readonly meanUsd: number;
}

/** A budget that nothing has been paid into. */
export const EMPTY_HEDGE_BUDGET: HedgeBudget = { usd: 0, meanUsd: 0 };

/** Requests' worth of the share for hedges that may be saved up. */
const SAVED_REQUESTS = 2_000;
/** Weight of an answer in the mean cost. */
const MEAN_GAIN = 0.01;

/** Pays in for an answer. */
export function budgetAfterAnswer(hedgeBudget: HedgeBudget, policy: HedgePolicy, usd: number): HedgeBudget {
  const meanUsd = hedgeBudget.meanUsd === 0 ? usd : hedgeBudget.meanUsd + MEAN_GAIN * (usd - hedgeBudget.meanUsd);
  const most = policy.share * SAVED_REQUESTS * meanUsd;
  return { usd: Math.min(Math.max(most, hedgeBudget.usd), hedgeBudget.usd + policy.share * usd), meanUsd };
}

/**
 * Sets aside what a hedge may cost, before it begins; undefined when there is not enough. So hedges never cost more than
 * was paid in, however many are under way.
 *
 * @param mostUsd - What the more expensive of its two calls costs when it is given up.
 */
export function budgetAfterHedge(hedgeBudget: HedgeBudget, mostUsd: number): HedgeBudget | undefined {
  return hedgeBudget.usd < mostUsd ? undefined : { ...hedgeBudget, usd: hedgeBudget.usd - mostUsd };
}

/** How late calls of an endpoint ended that were waited for; older ones weigh less. */
export interface LateEnds {
  readonly answered: number;
  readonly failed: number;
}

/** One that answered: of an endpoint of which nothing is known, late calls answer. */
export const NO_LATE_ENDS: LateEnds = { answered: 1, failed: 0 };

const LATE_ENDS_KEPT = 0.98;

/** Notes how a late call ended. */
export function lateEndsAfter({ answered, failed }: LateEnds, end: keyof LateEnds): LateEnds {
  return end === 'failed'
    ? { answered: answered * LATE_ENDS_KEPT, failed: failed * LATE_ENDS_KEPT + 1 }
    : { answered: answered * LATE_ENDS_KEPT + 1, failed: failed * LATE_ENDS_KEPT };
}

/**
 * Share of its late calls that answer after all. A hedge gives up a call for nothing only as often as that: beside calls
 * that fail after seconds, hedges cost as good as nothing, and there may be as many as there are such failures.
 */
export function lateAnswerShare({ answered, failed }: LateEnds): number {
  return answered / (answered + failed);
}

/** Puts back what a hedge did not cost of what was set aside for it. */
export function budgetAfterLoser(hedgeBudget: HedgeBudget, setAsideUsd: number, lostUsd: number): HedgeBudget {
  return { ...hedgeBudget, usd: hedgeBudget.usd + setAsideUsd - lostUsd };
}

/**
 * Second calls for requests whose first one may not answer any more. Where everything is slow, each of them makes it
 * slower for the others, so there is a limit to them: a tenth of the calls of about the last minute.
 */
export interface Rescues {
  /** Requests and second calls, of which older ones weigh less. */
  readonly requests: number;
  readonly rescues: number;
  /** Monotonic milliseconds of the last change. */
  readonly at: number;
}

/** Nothing was sent yet. */
export const NO_RESCUES: Rescues = { requests: 0, rescues: 0, at: 0 };

const FORGET_MS = 60_000;
const RESCUED_SHARE = 0.1;
/** Second calls that there may be however few requests there are. */
const LEAST_RESCUES = 8;

/** The same at a later time, with further requests. */
export function rescuesNow({ requests, rescues, at }: Rescues, now: number, more = 0): Rescues {
  const left = now <= at ? 1 : Math.exp((at - now) / FORGET_MS);
  return { requests: requests * left + more, rescues: rescues * left, at: Math.max(now, at) };
}

/** Whether there may be one more. */
export function mayRescue({ requests, rescues }: Rescues): boolean {
  return rescues < LEAST_RESCUES + RESCUED_SHARE * requests;
}

/** Tools that a caller runs itself: asking twice does nothing twice. */
const HARMLESS: ReadonlySet<string> = new Set(['function', 'custom']);

/** Whether a request may be sent to a second endpoint while the first is at work. */
export function mayHedge(policy: HedgePolicy | false, request: RoutedRequest): boolean {
  return policy !== false && request.preferences.allowFallbacks && !runsProviderTools(request);
}

/**
 * Whether a request makes a provider run tools, which may have effects: code, remote servers, a computer. Such a request
 * must never be sent to two providers at a time.
 */
export function runsProviderTools({ native, extra }: RoutedRequest): boolean {
  if (extra['mcp_servers'] !== undefined || extra['container'] !== undefined) return true;
  const tools = native?.body['tools'];
  return Array.isArray(tools) && tools.some((tool) => !isHarmless(tool));
}

function isHarmless(tool: unknown): boolean {
  if (typeof tool !== 'object' || tool === null) return false;
  const { type } = tool as { readonly type?: unknown };
  return type === undefined || (typeof type === 'string' && HARMLESS.has(type));
}
