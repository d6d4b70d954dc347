/** A connection: how to send a command, and how to let go of it. */
export interface RedisConnection {
  readonly send: (command: string[]) => Promise<unknown>;
  readonly close: () => Promise<void>;
}
