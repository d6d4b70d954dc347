/** Folds the times of calls into the usual speed of an endpoint, and says what a call takes there at the moment. */
import { MINIMUM_CALLS, type SpeedPolicy } from './policy.ts';
import { fading } from '../../fallback/outcomes.ts';

/**
 * How long an endpoint takes, in natural logarithms of milliseconds. Answers in one piece take longer than first tokens
 * of streams, so each kind has a mean of its own; what is common to both is by how much it is later than usual.
 */
export interface EndpointSpeed {
  readonly streaming: UsualTime;
  readonly whole: UsualTime;
  /** Fast mean of how much later than usual calls have been; 0 is as usual. */
  readonly lateness: number;
  /** Monotonic milliseconds of the last change of `lateness`. */
  readonly at: number;
}

/** A robust mean and deviation, of times as if all calls had the usual number of tokens. */
export interface UsualTime {
  readonly calls: number;
  readonly mean: number;
  readonly variance: number;
  /** How times grow with tokens at all endpoints of the model; absent where they were not counted. */
  readonly growth?: Growth | undefined;
  /** Whether times are counted as if all calls had the usual number of tokens, because it is clear how they grow. */
  readonly isScaled?: boolean | undefined;
}

/** Kinds of calls that take their own times. */
export type TimedKind = 'streaming' | 'whole';

/** Weight of a new time in the slow mean, which knows what is usual. */
const SLOW_GAIN = 0.004;

/** Standard deviations by which one time may move the slow mean at most. */
const CLIP_DEVIATIONS = 2.5;

/** Deviation that is assumed until there are measures: that of a lognormal whose slowest percent takes three medians. */
const FIRST_VARIANCE = 0.5 ** 2;

/** Calls that the assumed deviation counts for. */
const FIRST_WEIGHT = 5;

/** Standard deviations above the mean below which 95 % of normal values lie. */
const P95_DEVIATIONS = 1.645;

/** Standard deviations above the mean beyond which a call is not expected any more: one in 30,000 takes longer. */
const LONGEST_DEVIATIONS = 4;

/** Standard deviations above the mean from which a call may be one of a slowdown. */
const FAR_DEVIATIONS = 2;

/** However steady an endpoint was, a call that takes a sixth longer is nothing special. */
const LEAST_VARIANCE = 0.15 ** 2;

/** Nor is one in vain that has not taken this many times as long as the median. */
const LEAST_LONGEST = 3;

const UNKNOWN_TIME: UsualTime = { calls: 0, mean: 0, variance: FIRST_VARIANCE };

/** Speed of an endpoint that was never measured. */
export const UNKNOWN_SPEED: EndpointSpeed = { streaming: UNKNOWN_TIME, whole: UNKNOWN_TIME, lateness: 0, at: 0 };

/** A call, as its time is folded in. */
export interface TimedCall {
  readonly kind: TimedKind;
  /** Milliseconds to the first token of a stream, or to the end of an answer in one piece. */
  readonly ms: number;
  /** Tokens that were computed until then; undefined where they are unknown. */
  readonly tokens?: number | undefined;
  /** How times grow with tokens at all endpoints of its model. */
  readonly growth?: Growth | undefined;
  /** What is expected of the endpoint by what is usual among all that serve its model. */
  readonly expected?: UsualTime | undefined;
  /** True for one that was given up before it had answered. Default false. */
  readonly isGivenUp?: boolean | undefined;
}

/**
 * Folds in how long a call took. The slow mean is clipped, and what lies far above it moves it by no more than the time
 * that has passed: an outage does not become what is usual, also not of an endpoint that was hardly called before it.
 */
export function speedAfter(
  speed: EndpointSpeed,
  policy: SpeedPolicy,
  { kind, ms, tokens, expected, growth, isGivenUp = false }: TimedCall,
  now: number,
): EndpointSpeed {
  const found = scaled(speed[kind], growth ?? speed[kind].growth);
  const own = found ?? speed[kind];
  const time = Math.log(Math.max(1, ms / growthFactor(growth ?? own.growth, tokens)));
  const usual = own.calls > 0 ? own : begun(own, expected, isGivenUp ? Infinity : time);
  const late = usual.calls === 0 ? 0 : time - usual.mean;
  const before = found === undefined ? speed.lateness * fading(now - speed.at) : 0;
  // A few calls of its own, which may be slow ones already, say less than what is expected.
  const isExpected = expected !== undefined && usual.calls < MINIMUM_CALLS && expected.calls >= MINIMUM_CALLS;
  const isFar = isGivenUp || isFarAbove(isExpected ? expected : usual, time);
  const mostGain = !isFar || usual.calls === 0 ? 1 : Math.min(1, sinceChange(speed, now) / policy.settleMs);
  const next = usualAfter(usual, time, mostGain);
  return {
    // Not by a computed name: that costs more than everything else here.
    streaming: kind === 'streaming' ? next : speed.streaming,
    whole: kind === 'whole' ? next : speed.whole,
    lateness: before + policy.fastGain * (late - before),
    at: now,
  };
}

/**
 * Folds in a call that was given up before it had answered: it would have taken at least as long. Nothing is learnt
 * from one that was not late yet; of an endpoint that was hardly called, such calls are among the first measures, so
 * that one which is always slower than others comes to be known as that.
 */
export function speedAfterGivingUp(
  speed: EndpointSpeed,
  policy: SpeedPolicy,
  call: TimedCall,
  now: number,
): EndpointSpeed {
  const own = speed[call.kind];
  const usual = own.calls > 0 ? own : call.expected;
  if (usual === undefined || (own.calls === 0 && usual.calls < MINIMUM_CALLS)) return speed;
  const late = Math.log(Math.max(1, call.ms / growthFactor(call.growth, call.tokens))) - usual.mean;
  if (own.calls < MINIMUM_CALLS) return late > 0 ? speedAfter(speed, policy, { ...call, isGivenUp: true }, now) : speed;
  const before = speed.lateness * fading(now - speed.at);
  return late <= before ? speed : { ...speed, lateness: before + policy.fastGain * (late - before), at: now };
}

/**
 * What is usual once it is clear how times grow with tokens; undefined where it is known already, or not clear. What was
 * learnt until then is forgotten: an endpoint that had a short prompt first seemed to be fast, and late with all others.
 */
function scaled(usual: UsualTime, growth: Growth | undefined): UsualTime | undefined {
  if (growth === undefined || growth.perTokenMs === 0 || usual.isScaled === true) return undefined;
  const mean = Math.log(Math.max(1, growth.baseMs + growth.perTokenMs * growth.tokens));
  return { ...usual, calls: Math.min(1, usual.calls), mean, variance: FIRST_VARIANCE, isScaled: true };
}

/** An endpoint whose first call takes far longer than is expected of it begins with what is expected. */
function begun(own: UsualTime, expected: UsualTime | undefined, time: number): UsualTime {
  if (expected === undefined || expected.calls < MINIMUM_CALLS) return own;
  return isFarAbove(expected, time) ? { ...own, calls: 1, mean: expected.mean } : own;
}

/** Milliseconds since a time was folded in last; none before the first. */
function sinceChange(speed: EndpointSpeed, now: number): number {
  return speed.streaming.calls + speed.whole.calls === 0 ? 0 : Math.max(0, now - speed.at);
}

function isFarAbove({ mean, variance }: UsualTime, time: number): boolean {
  return time - mean > FAR_DEVIATIONS * Math.sqrt(variance);
}

/** How many times as long as usual calls take at the moment; 1 is as usual. */
export function slownessOf({ lateness, at }: EndpointSpeed, now: number): number {
  return lateness === 0 ? 1 : Math.exp(lateness * fading(now - at));
}

/**
 * Folds in how long a call took at an endpoint into how times grow at all that serve its model, as if all were as fast:
 * what one endpoint shows is too little, and whoever knows its queue to be shorter than it is makes it longer.
 *
 * @param level - How many times as long as at the others a call takes there.
 */
export function grownAfter(speed: EndpointSpeed, { kind, ms, tokens }: TimedCall, level: number): EndpointSpeed {
  const own = speed[kind];
  const next = tokens === undefined ? own : { ...own, growth: growthAfter(own.growth, tokens, ms / level) };
  return kind === 'streaming' ? { ...speed, streaming: next } : { ...speed, whole: next };
}

/** How many times as long as among all that serve its model a call takes at an endpoint; 1 where it is hardly known. */
export function levelOf(speed: EndpointSpeed | undefined, peers: EndpointSpeed | undefined, kind: TimedKind): number {
  if (speed === undefined || peers === undefined || speed[kind].calls < MINIMUM_CALLS) return 1;
  return Math.exp(speed[kind].mean - peers[kind].mean);
}

/** Milliseconds within which 95 % of the calls usually answer; undefined with too few of them. */
export function usualP95({ calls, mean, variance }: UsualTime): number | undefined {
  return calls < MINIMUM_CALLS ? undefined : Math.exp(mean + P95_DEVIATIONS * Math.sqrt(variance));
}

/** Milliseconds within which practically all calls answer that ever do; undefined with too few of them. */
export function usualLongest({ calls, mean, variance }: UsualTime): number | undefined {
  return calls < MINIMUM_CALLS
    ? undefined
    : Math.exp(mean + Math.max(Math.log(LEAST_LONGEST), LONGEST_DEVIATIONS * Math.sqrt(variance)));
}

/** Milliseconds within which half of the calls usually answer; undefined with too few of them. */
export function usualMedian({ calls, mean }: UsualTime): number | undefined {
  return calls < MINIMUM_CALLS ? undefined : Math.exp(mean);
}

const KINDS: readonly TimedKind[] = ['streaming', 'whole'];

/**
 * How long an endpoint usually takes, as far as it was called itself, and otherwise as long as all that serve its model.
 * One that was hardly called takes by as much longer or shorter than these as its few calls of either kind show, and
 * endpoints differ by about as much as the calls of one.
 *
 * @param peers - All endpoints of the model together.
 */
export function usualAmongPeers(
  speed: EndpointSpeed | undefined,
  peers: EndpointSpeed | undefined,
  kind: TimedKind,
): UsualTime | undefined {
  const own = speed?.[kind];
  const usual = peers?.[kind];
  if (own !== undefined && own.calls >= MINIMUM_CALLS) {
    return usual?.growth === undefined ? own : { ...own, growth: usual.growth };
  }
  if (peers === undefined || usual === undefined) return undefined;
  let calls = 0;
  let longer = 0;
  for (const each of KINDS) {
    const known = speed?.[each];
    if (known === undefined || peers[each].calls === 0) continue;
    const counted = Math.min(known.calls, MINIMUM_CALLS);
    calls += counted;
    longer += counted * (known.mean - peers[each].mean);
  }
  return {
    calls: usual.calls,
    mean: usual.mean + longer / (calls + 1),
    variance: usual.variance * (1 + 1 / (calls + 1)),
    growth: usual.growth,
    isScaled: usual.isScaled,
  };
}

/** @param mostGain - The most that the time may count for; less than 1: it is not counted among the calls. */
function usualAfter(usual: UsualTime, time: number, mostGain: number): UsualTime {
  const { calls, mean, variance } = usual;
  if (calls === 0) return { ...usual, calls: 1, mean: time };
  const bound = CLIP_DEVIATIONS * Math.sqrt(variance);
  const late = Math.max(-bound, Math.min(bound, time - mean));
  const gain = Math.min(mostGain, Math.max(SLOW_GAIN, 1 / (calls + 1)));
  const varianceGain = Math.min(mostGain, Math.max(SLOW_GAIN, 1 / (calls + FIRST_WEIGHT)));
  const varied = variance + varianceGain * (late ** 2 - variance);
  return {
    ...usual,
    calls: calls + (mostGain < 1 ? 0 : 1),
    mean: mean + gain * late,
    variance: Math.max(LEAST_VARIANCE, varied),
  };
}

/**
 * What the first token of a call takes at an endpoint at the moment, in milliseconds. Endpoints of about the same cost are
 * compared by it.
 */
export interface Timing {
  /** Of a call without any tokens. */
  readonly baseMs: number;
  /** Of each token of its prompt that is in no cache. */
  readonly perTokenMs: number;
  /** For the calls that wait there already. */
  readonly queueMs: number;
}

/** Calls after which an endpoint is known well enough to be compared; those before find out. */
export const FIRST_CALLS = 3;
/** Milliseconds without a call after which it is not known any more. */
const KNOWN_MS = 7_200_000;

/** Whether an endpoint that was called last at a time is still as it was then. */
export function isKnownStill(calledAt: number, now: number): boolean {
  return now - calledAt <= KNOWN_MS;
}

/** By how much each call under way makes the others slower. */
const PER_CALL = 0.01;

/**
 * What a call takes at an endpoint.
 *
 * @param usual - What is usual there, or until that is known at all endpoints of the model.
 * @param calls - Calls under way.
 * @param waitingTokens - Tokens that are to be computed for those that wait for their answer.
 */
export function timingOf(usual: UsualTime | undefined, calls: number, waitingTokens: number): Timing {
  const crowding = 1 + PER_CALL * calls;
  const usualMs = usual === undefined || usual.calls === 0 ? UNKNOWN_MS : Math.exp(usual.mean);
  const growth = usual?.growth;
  if (growth === undefined || growth.perTokenMs === 0) return { baseMs: usualMs * crowding, perTokenMs: 0, queueMs: 0 };
  const { baseMs, perTokenMs, tokens } = growth;
  // As long as a call of the usual length usually takes there.
  const scale = (usualMs / (baseMs + perTokenMs * tokens)) * crowding;
  return {
    baseMs: baseMs * scale,
    perTokenMs: perTokenMs * scale,
    queueMs: perTokenMs * scale * waitingTokens,
  };
}

/** Where nothing is known of any endpoint, they are alike. */
const UNKNOWN_MS = 1_000;

/** Milliseconds until the first token of a call of so many tokens. */
export function expectedMs({ baseMs, perTokenMs, queueMs }: Timing, tokens: number): number {
  return Math.max(1, baseMs + perTokenMs * tokens + queueMs);
}

/**
 * How the times of an endpoint grow with the tokens that are computed until then: those of the prompt that no cache has,
 * and those of the calls that wait before it. What is usual for a long prompt is late for a short one, and who waits in a
 * queue is not slow. A line through the latest calls, as long as it is clear that there is one.
 */
export interface Growth {
  /** Calls, the latest counting most. */
  readonly calls: number;
  /** Sums over them, each call weighed by the inverse square of the time that was expected. */
  readonly sums: GrowthSums;
  /** Milliseconds of a call without any tokens, and of each token; the latter is 0 where nothing is clear. */
  readonly baseMs: number;
  readonly perTokenMs: number;
  /** Tokens of a call in the mean of the first calls: means of times are those of such a call, so it stays what it is. */
  readonly tokens: number;
}

interface GrowthSums {
  readonly weight: number;
  readonly x: number;
  readonly y: number;
  readonly xx: number;
  readonly xy: number;
  readonly yy: number;
}

const NO_GROWTH: Growth = {
  calls: 0,
  sums: { weight: 0, x: 0, y: 0, xx: 0, xy: 0, yy: 0 },
  baseMs: 0,
  perTokenMs: 0,
  tokens: 0,
};

/** Share of what is known that remains with each call: about the latest two hundred count. */
const KEPT = 0.995;
const REFERENCE_CALLS = 50;
/** Calls that show whether there is a line. */
const LEAST_CALLS = 12;
/** Standard errors by which a slope must differ from none: times that have nothing to do with tokens show one by chance. */
const CLEAR_ERRORS = 4;
/** Times as long as expected beyond which a time says something about an outage. */
const MOST_TIMES_LATE = 4;

/** Folds in a call of so many tokens. */
export function growthAfter(growth: Growth = NO_GROWTH, tokens: number, ms: number): Growth {
  const { sums, calls } = growth;
  const mean = sums.weight === 0 ? ms : sums.y / sums.weight;
  const expected = growth.perTokenMs > 0 ? growth.baseMs + growth.perTokenMs * tokens : mean;
  const y = calls < LEAST_CALLS ? ms : Math.min(ms, MOST_TIMES_LATE * expected);
  const weight = 1 / Math.max(1, expected) ** 2;
  const next = {
    weight: KEPT * sums.weight + weight,
    x: KEPT * sums.x + weight * tokens,
    y: KEPT * sums.y + weight * y,
    xx: KEPT * sums.xx + weight * tokens * tokens,
    xy: KEPT * sums.xy + weight * tokens * y,
    yy: KEPT * sums.yy + weight * y * y,
  };
  const known = KEPT * calls + 1;
  const reference = known > REFERENCE_CALLS ? growth.tokens : growth.tokens + (tokens - growth.tokens) / known;
  return { calls: known, sums: next, tokens: reference, ...lineThrough(next, known) };
}

function lineThrough({ weight, x, y, xx, xy, yy }: GrowthSums, calls: number): Pick<Growth, 'baseMs' | 'perTokenMs'> {
  const meanX = x / weight;
  const meanY = y / weight;
  const spreadX = xx / weight - meanX ** 2;
  const spreadY = yy / weight - meanY ** 2;
  const slope = spreadX > 0 ? (xy / weight - meanX * meanY) / spreadX : 0;
  const left = Math.max(0, spreadY - slope ** 2 * spreadX);
  const isClear = calls >= LEAST_CALLS && slope > 0 && slope ** 2 * spreadX * calls > CLEAR_ERRORS ** 2 * left;
  if (!isClear) return { baseMs: meanY, perTokenMs: 0 };
  const baseMs = meanY - slope * meanX;
  // A line through the origin where the best one would begin below it.
  return baseMs >= 0 ? { baseMs, perTokenMs: slope } : { baseMs: 0, perTokenMs: xy / xx };
}

/** How many times as long as a call of the usual length one of so many tokens takes; 1 where that is unknown. */
export function growthFactor(growth: Growth | undefined, tokens: number | undefined): number {
  if (growth === undefined || growth.perTokenMs === 0 || tokens === undefined) return 1;
  const { baseMs, perTokenMs } = growth;
  return (baseMs + perTokenMs * tokens + LEAST_MS) / (baseMs + perTokenMs * growth.tokens + LEAST_MS);
}

/** Nothing takes no time at all. */
const LEAST_MS = 1;
