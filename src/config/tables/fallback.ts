import { option, type OptionTable, type ResolvedOf } from '../option.ts';

/** How long to wait between tries of the same endpoint. */
export const BACKOFF = {
  /** Milliseconds before the first repetition, at most; doubles with each. Default 250. */
  baseMs: option.ms({ default: 250 }),
  /** Longest wait in milliseconds. Default 8,000. */
  capMs: option.ms({ default: 8_000 }),
} satisfies OptionTable;

/** How long to wait between tries of the same endpoint. */
export interface BackoffPolicy extends ResolvedOf<typeof BACKOFF> {}

/** What may follow when a stream breaks after its first token. */
export const AFTER_FIRST_TOKEN = ['error', 'continue'] as const;

/** Limits of the attempts for one request. There is no other place where anything is retried. */
export const FALLBACK = {
  /** Upstream calls per request, over all providers and models. Default 8. */
  maxAttempts: option.whole(1, { default: 8 }),
  /** Calls of one endpoint per request. Repetitions happen only when nothing else is left. Default 2. */
  triesPerEndpoint: option.whole(1, { default: 2 }),
  /** Waits between tries of the same endpoint. */
  backoff: option.section<BackoffPolicy>(BACKOFF),
  /** Longest wait before a repetition, in milliseconds; when a provider asks for more, there is none. Default 2,000. */
  maxWaitMs: option.ms({ default: 2_000 }),
  /**
   * What follows when a stream of text breaks, stalls, or cannot be read after its first token: `error` ends it with an
   * error. `continue` goes on at the next endpoint of the plan, which is sent the text so far to go on from where it is
   * declared to take that, and answers anew otherwise, as long as it repeats what was sent; both calls are paid for.
   * Default `error`.
   */
  afterFirstToken: option.word(AFTER_FIRST_TOKEN, { default: 'error' }),
} satisfies OptionTable;

/** Limits of the attempts for one request. There is no other place where anything is retried. */
export interface FallbackPolicy extends ResolvedOf<typeof FALLBACK> {}

/** When the circuit breaker of an endpoint opens, and for how long. */
export const BREAKER = {
  /** Opens when more than this share of the last minute's calls failed. Default 0.5. */
  failureRatio: option.share({ default: 0.5 }),
  /** Fewer calls than this in the last minute never open it. Default 5. */
  minimumCalls: option.whole(0, { default: 5 }),
  /** Milliseconds of the first opening. Default 2,500. */
  openMs: option.ms({ default: 2_500 }),
  /** Longest opening in milliseconds. Default 30,000. */
  maxOpenMs: option.ms({ default: 30_000 }),
  /** Probes at a time when half open. Default 1. */
  probes: option.whole(1, { default: 1 }),
  /** Failures in a row that open it, however few calls there were. Default 3. */
  inARow: option.whole(1, { default: 3 }),
  /** The same for an endpoint that has not been well. Default 2. */
  inARowUnwell: option.whole(1, { default: 2 }),
  /** Health below which an endpoint counts as unwell for that. Default 0.75. */
  unwellBelow: option.share({ default: 0.75 }),
  /** How many times as long as the one before an opening lasts. Default 1.2. */
  growth: option.amount({ default: 1.2 }),
  /** Share by which an opening may be longer or shorter, so that instances do not probe together. Default 0.2. */
  jitter: option.share({ default: 0.2 }),
  /**
   * Time until the first call that is let through although all endpoints of a request cool down or have an open breaker;
   * twice as long before each further one that fails. Default 1,000.
   */
  lastResortMs: option.ms({ default: 1_000 }),
  /** Longest time between two such calls. Default 10,000. */
  mostLastResortMs: option.ms({ default: 10_000 }),
} satisfies OptionTable;

/** When a breaker opens and for how long. */
export interface BreakerPolicy extends ResolvedOf<typeof BREAKER> {}

/** How many repetitions all requests together may make in ten seconds. */
export const RETRY_BUDGET = {
  /** Repetitions per request. Default 0.2. */
  ratio: option.amount({ default: 0.2 }),
  /** Repetitions that are always allowed in ten seconds. Default 5. */
  floor: option.amount({ default: 5 }),
} satisfies OptionTable;

/** Options of the retry budget. */
export interface RetryBudgetPolicy extends ResolvedOf<typeof RETRY_BUDGET> {}

/** How long the router waits for providers, plugins and server tools. */
export const TIMEOUTS = {
  /** To make a connection. Default 5,000. */
  connectMs: option.ms({ default: 5_000 }),
  /** From the connection to the first token of a stream. Default 60,000. */
  firstTokenMs: option.ms({ default: 60_000 }),
  /** From the connection to the end of a non-streaming response, which has no first token. Default 300,000. */
  answerMs: option.ms({ default: 300_000 }),
  /** Between two signs of life of a stream. Default 60,000. */
  idleMs: option.ms({ default: 60_000 }),
  /**
   * All attempts of a request together, up to the first token of a stream or the end of a non-streaming response.
   * Default 600,000.
   */
  totalMs: option.ms({ default: 600_000 }),
  /** One hook of a plugin that sets no time of its own. Default 10,000. */
  pluginMs: option.ms({ default: 10_000 }),
  /** One call of a server tool that sets no time of its own. Default 30,000. */
  serverToolMs: option.ms({ default: 30_000 }),
} satisfies OptionTable;

/** How long the router waits for providers, plugins and server tools, in milliseconds. */
export interface Timeouts extends ResolvedOf<typeof TIMEOUTS> {}
