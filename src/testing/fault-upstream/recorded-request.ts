/** A request that the upstream has received. */
export interface RecordedRequest {
  /** Counted from 1 over all connections. */
  readonly number: number;
  /** Connection it came on, counted from 1. */
  readonly connection: number;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The body as JSON; its text when it is not JSON; undefined while, or if, it has not been read to its end. */
  readonly body: unknown;
  /** Milliseconds after its headers at which the client closed the connection, if it did so before the answer was over. */
  readonly closedAfterMs: number | undefined;
}
