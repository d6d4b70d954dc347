import { option, type OptionTable, type ResolvedOf } from '../option.ts';

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
