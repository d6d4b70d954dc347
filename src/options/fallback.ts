/** The options of fallback and timeouts. */
import { option, type OptionTable, type ResolvedOf } from './option.ts';

/** What may follow when a stream breaks after its first token. */
export const AFTER_FIRST_TOKEN = ['error', 'continue'] as const;

/** Limits of the attempts for one request. There is no other place where anything is retried. */
export const FALLBACK = {
  /** Upstream calls per request, over all providers and models. Default 8. */
  maxAttempts: option.integer(1, { default: 8 }),
  /**
   * Calls of one endpoint per request. An endpoint is called again when no other is left, and once before another model
   * is tried. Default 3.
   */
  triesPerEndpoint: option.integer(1, { default: 3 }),
  /**
   * Longest wait before a repetition, in milliseconds; when a provider requires more, there is none. Also the time for
   * which a request waits in all where its calls are held back because nearly all of them fail. Default 2,000.
   */
  maxWaitMs: option.ms({ default: 2_000 }),
  /**
   * What follows when a stream of text breaks, stalls, or cannot be read after its first token: `error` ends it with an
   * error. `continue` goes on at the next endpoint of the plan, which is sent the text so far to go on from where it is
   * declared to take that, and answers anew otherwise, as long as it repeats what was sent; both calls are paid for.
   * Default `error`.
   */
  afterFirstToken: option.enum(AFTER_FIRST_TOKEN, { default: 'error' }),
} satisfies OptionTable;

/** Limits of the attempts for one request. There is no other place where anything is retried. */
export interface FallbackPolicy extends ResolvedOf<typeof FALLBACK> {}

/** How long the router waits for providers, plugins and server tools. */
export const TIMEOUTS = {
  /** To make a connection. Default 5,000. */
  connectMs: option.ms({ default: 5_000 }),
  /**
   * From the connection to the first token of a stream; twice as long at most where another endpoint would not be sooner.
   * Default 60,000.
   */
  firstTokenMs: option.ms({ default: 60_000 }),
  /**
   * From the connection to the end of a non-streaming response, which has no first token; twice as long at most in the same
   * case. Default 300,000.
   */
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
