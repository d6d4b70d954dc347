/** One HTTP call and its reply, independent of the host that serves them. */

/** Reads the bytes of a body that nobody has read yet. */
export interface UnreadBody {
  readonly type: 'unread';
  /**
   * Collects the body.
   *
   * @param onBytes - Is called with every piece, so that bytes are counted while they come; what it throws ends the
   * reading. Hosts that cannot do so leave it out.
   * @throws {@link BodyError} when it is larger than `maxBytes`, cut short, too slow, or read already.
   */
  collect(maxBytes: number, timeoutMs: number, onBytes?: (bytes: number) => void): Promise<Uint8Array>;
  /**
   * Reads the body piece by piece: nothing is taken from the connection while the reader is busy with a piece. Ending
   * early leaves the rest unread. Left out by hosts that only have whole bodies.
   *
   * @param idleMs - Milliseconds that may pass between two pieces.
   * @throws {@link BodyError} when it is larger than `maxBytes`, cut short, too slow, or read already.
   */
  chunks?(maxBytes: number, idleMs: number): AsyncIterable<Uint8Array>;
}

/** A body that the host has parsed before us. */
export interface ParsedBody {
  readonly type: 'parsed';
  readonly value: unknown;
}

/** One request, without anything of the host that received it. */
export interface HttpCall {
  /** In capitals. */
  readonly method: string;
  /** Path below the mount, beginning with a slash, still escaped, without the query. */
  readonly path: string;
  /** Query without the question mark; empty when there is none. */
  readonly query: string;
  /** A header by its lower-case name. */
  readonly header: (name: string) => string | undefined;
  /** Lower-case names of all headers, where the host gives them: then nobody has to request many that are not there. */
  readonly headerNames?: (() => readonly string[]) | undefined;
  readonly body: UnreadBody | ParsedBody;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /** Keeps the runtime alive for work that outlasts the connection, where it would end with it otherwise. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
  /** Address of the other end of the connection, where the host gives it. */
  readonly remoteAddress?: string | undefined;
  /** Version of HTTP of the other end, such as `1.1`, where the host gives it. */
  readonly httpVersion?: string | undefined;
}

/** What identifies the caller. */
export type CallOrigin = Pick<HttpCall, 'header' | 'headerNames' | 'remoteAddress' | 'httpVersion'>;

/** Header names and values. */
export type HttpHeaders = Readonly<Record<string, string>>;

/**
 * The frames of a stream, made when they are requested. To be written one after the other, waiting while the client
 * does not read. Ending early ends the call upstream.
 */
export interface Frames extends AsyncIterator<string, undefined, undefined>, AsyncIterable<string> {
  /** True once the last frame was handed out, so that it can be written together with the end. */
  readonly ended: boolean;
}

/** An answer that is sent at once. */
export interface CompleteReply {
  readonly type: 'whole';
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly body: string;
}

/** The answer to an {@link HttpCall}. */
export type HttpReply =
  | CompleteReply
  | {
      readonly type: 'stream';
      readonly status: number;
      readonly headers: HttpHeaders;
      readonly frames: Frames;
      /** Milliseconds that a client may leave a frame unread before its connection is closed. */
      readonly stallMs: number;
    };

/** Why a body could not be read. */
export class BodyError extends Error {
  override readonly name = 'BodyError';
  /** `taken` where the host had read the body, or a part of it, before. */
  readonly reason: 'too_large' | 'timeout' | 'incomplete' | 'taken';

  constructor(reason: BodyError['reason']) {
    super(reason);
    this.reason = reason;
  }
}
