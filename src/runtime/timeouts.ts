/** How long the router waits for a provider, in milliseconds. */
export interface Timeouts {
  /** To make a connection. Default 5,000. */
  readonly connectMs: number;
  /** From the connection to the first token of a stream. Default 60,000. */
  readonly firstTokenMs: number;
  /** From the connection to the end of a whole answer, which has no first token. Default 300,000. */
  readonly answerMs: number;
  /** Between two signs of life of a stream. Default 60,000. */
  readonly idleMs: number;
  /** All attempts together, up to the first token of a stream or the end of a whole answer. Default 600,000. */
  readonly totalMs: number;
}

/** Default {@link Timeouts}. */
export const DEFAULT_TIMEOUTS: Timeouts = {
  connectMs: 5_000,
  firstTokenMs: 60_000,
  answerMs: 300_000,
  idleMs: 60_000,
  totalMs: 600_000,
};
