/** How long the router waits for providers and plugins, in milliseconds. */
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
  /** For one hook of a plugin that sets no time of its own. Default 10,000. */
  readonly pluginMs: number;
  /** For one call of a server tool that sets no time of its own. Default 30,000. */
  readonly serverToolMs: number;
}

/** Default {@link Timeouts}. */
export const DEFAULT_TIMEOUTS: Timeouts = {
  connectMs: 5_000,
  firstTokenMs: 60_000,
  answerMs: 300_000,
  idleMs: 60_000,
  totalMs: 600_000,
  pluginMs: 10_000,
  serverToolMs: 30_000,
};
