import { option, type OptionTable, type ResolvedOf } from './option.ts';

/** Choices of the embedding program about the selection of endpoints. */
export const SELECTION = {
  /**
   * What to do with an ability that is not declared: `allow` sends the request and lets the provider decide,
   * `exclude` treats it as absent. Default `allow`.
   */
  unknownCapability: option.enum(['allow', 'exclude'], { default: 'allow' }),
  /**
   * `exclude`: no endpoint without tool support gets a request with tools. `prefer`: it may, when none supports them.
   * Default `exclude`.
   */
  toolSupport: option.enum(['exclude', 'prefer'], { default: 'exclude' }),
} satisfies OptionTable;

/** Choices of the embedding program about selection. */
export interface SelectionPolicy extends ResolvedOf<typeof SELECTION> {}

const aboveNothing = { right: 'a number above 0', least: Number.MIN_VALUE };

/** How the times to the first token of an endpoint are followed. */
export const SPEED = {
  /** Weight of a new time in the fast mean, which notices that an endpoint slows down. Default 0.2. */
  fastGain: option.share({ default: 0.2 }),
  /** Time after which about two thirds of a slowdown that lasts counts as usual. Default 900,000. */
  settleMs: option.number(aboveNothing, { default: 900_000, unit: 'milliseconds' }),
} satisfies OptionTable;

/** How the times to the first token of an endpoint are followed. */
export interface SpeedPolicy extends ResolvedOf<typeof SPEED> {}

/** How many calls at a time an endpoint gets before it is slow by them. */
export const CONCURRENCY_LIMIT = {
  /**
   * Calls at a time that an endpoint gets until it has answered among so many in time; then twice as many. Default 3.
   */
  firstLimit: option.number(aboveNothing, { default: 3 }),
  /** Share of the calls at a time that remains when they make an endpoint slow. Default 0.7. */
  afterOverload: option.share({ default: 0.7 }),
  /** Calls at a time by which that grows again with each answer in time. Default 0.02. */
  perSuccess: option.amount({ default: 0.02 }),
  /** Power by which calls beyond the limit cost health: at twice as many, 2 leaves a quarter. 0: none. Default 2. */
  weight: option.amount({ default: 2 }),
  /**
   * Times as many calls as the limit beyond which no further one is sent, once it is known, unless the endpoint gets at
   * least as much done with them. Default 2.
   */
  mostOver: option.number(aboveNothing, { default: 2 }),
} satisfies OptionTable;

/** How many calls at a time an endpoint gets before it is slow by them. */
export interface ConcurrencyLimitPolicy extends ResolvedOf<typeof CONCURRENCY_LIMIT> {}

/** Constants of the strategy `adaptive`, and of the health that every strategy looks at. */
export const ADAPTIVE = {
  /** How sharply cheaper endpoints are preferred: one is drawn ∝ (expected cost with its failures)⁻ⁿ. Default 12. */
  sharpness: option.amount({ default: 12 }),
  /** The same once the account has had answers from the model, so that it is known what they cost. Default 24. */
  knownSharpness: option.amount({ default: 24 }),
  /** Share by which a success moves health towards 1. Default 0.1. */
  afterSuccess: option.share({ default: 0.1 }),
  /** Health that an endpoint has at least after a probe that succeeded. Default 0.95. */
  afterProbe: option.share({ default: 0.95 }),
  /** First tokens may come this many times as late as usual before it costs health. Default 2. */
  toleratedSlowness: option.number(aboveNothing, { default: 2 }),
  /** Health below which a `sort` puts an endpoint behind the others. Default 0.7. */
  degradedBelow: option.share({ default: 0.7 }),
  /**
   * Further requests that count where a session has its prompt cached: it moves when that is cheaper with them. 0 looks
   * at each request by itself. Default 3.
   */
  furtherRequests: option.amount({ default: 3 }),
  /** How the times to the first token are followed. */
  speed: option.section<SpeedPolicy>(SPEED),
  /** How many calls at a time an endpoint gets. */
  concurrencyLimit: option.section<ConcurrencyLimitPolicy>(CONCURRENCY_LIMIT),
} satisfies OptionTable;

/**
 * Constants of the strategy `adaptive`. Each default was found by simulation (`docs/routing.md`). Unstable: a later version
 * may rename or drop any of them.
 */
export interface AdaptivePolicy extends ResolvedOf<typeof ADAPTIVE> {}

/** How fast an endpoint is called once it has refused. */
export const PACER = {
  /** Share of the rate that remains after a refusal. Default 0.95. */
  afterRefusal: option.share({ default: 0.95 }),
  /** Slowest rate in calls per second, at which an endpoint that refuses everything is still called. Default 1. */
  slowestPerSecond: option.number(aboveNothing, { default: 1 }),
  /** Time for which an endpoint is not called after a 429 that does not say when to come back. Default 1,000. */
  refusalMs: option.ms({ default: 1_000 }),
  /** Calls per second by which the rate grows with each success. Default 0.015. */
  perSuccess: option.amount({ default: 0.015 }),
  /**
   * Seconds' worth of the rate that may be sent at once, after a while in which less was sent; at least eight calls,
   * unless it is 0. Default 2.
   */
  burstSeconds: option.amount({ default: 2, unit: 'seconds' }),
  /** Time that a request waits at most for a free endpoint; 0 refuses at once. Default 2,750. */
  maxWaitMs: option.ms({ default: 2_750 }),
  /**
   * Time that a request waits at most for a place where its prompt is cached, although another endpoint is free; as
   * much shorter as it saves less than all of the cost there. 0: it never does. Default 600.
   */
  warmWaitMs: option.ms({ default: 600 }),
  /** Seconds' worth of the rates of all endpoints that may wait at a time. Default 2.75. */
  queueSeconds: option.amount({ default: 2.75, unit: 'seconds' }),
  /** Further endpoints that may be called after a 429, per request. Default 3. */
  retriesPerRequest: option.amount({ default: 3 }),
  /** Such retries that may be saved up. Default 20. */
  mostRetries: option.amount({ default: 20 }),
  /**
   * Time for which a provider is believed that says with an answer what it will still take (`x-ratelimit-*`); 0 does
   * not look at it. Default 60,000.
   */
  reportedMs: option.ms({ default: 60_000 }),
} satisfies OptionTable;

/** How fast an endpoint may be called, found out from its refusals. */
export interface PacerPolicy extends ResolvedOf<typeof PACER> {}

/** When an endpoint whose calls do not answer is taken for one that hangs. */
export const HANG_DETECTION = {
  /**
   * Logarithm of the likelihood of so much silence below which it is no longer taken for chance: 1 in 160,000. Default
   * -12.
   */
  threshold: option.number({ right: 'a number below 0', least: -1e6, most: 0 }, { default: -12 }),
  /** Share of calls that never answer although nothing is wrong. Default 0.015. */
  lostShare: option.share({ default: 0.015 }),
  /**
   * Milliseconds without a first token after which an endpoint that has never answered is taken for one that hangs
   * while nothing is known of its model either: another one is called beside it. For non-streaming responses, and for
   * endpoints whose own time limit is longer than the router's, it is longer in the same proportion. Default 9,000.
   */
  firstResponseMs: option.ms({ default: 9_000 }),
} satisfies OptionTable;

/** When an endpoint whose calls do not answer is taken for one that hangs. */
export interface HangDetectionPolicy extends ResolvedOf<typeof HANG_DETECTION> {}

/** When a second endpoint is called because the first is late. */
export const HEDGE = {
  /** Times the 95th percentile of the usual time after which a call is late whose endpoint may hang. Default 1.1. */
  lateAfter: option.number(aboveNothing, { default: 1.1 }),
  /** The same where no more than this call suggests that the endpoint hangs. Default 2. */
  answeringLateAfter: option.number(aboveNothing, { default: 2 }),
  /** No call is late before this time. Default 300. */
  minimumMs: option.ms({ default: 300 }),
  /** Times the median after which a probe of an endpoint that was out is hedged. Default 1.2. */
  probeLateAfter: option.number(aboveNothing, { default: 1.2 }),
  /**
   * Share of the cost of all answers that hedges may cost. Those beside silent endpoints are free, and so, in
   * proportion, are those beside calls that fail after seconds. Default 0.012.
   */
  share: option.share({ default: 0.012 }),
} satisfies OptionTable;

/** When a second endpoint is called because the first is late. */
export interface HedgePolicy extends ResolvedOf<typeof HEDGE> {}
