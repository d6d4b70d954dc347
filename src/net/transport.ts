/** The contract of transports, and how their responses are read. */
import { TextPieces, wholeText } from '../platform/decode-text.ts';
import { type MaybePromise, PENDING, type Pollable, pollable, whenThere } from '../platform/wait.ts';
import { type AttemptFailure, failure as failureOf } from '../contracts/failure.ts';

/** One HTTP request to a provider. */
export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: URL;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body?: string | undefined;
  /** The same body in parts, where it has long texts: joining them would copy each of their characters once more. */
  readonly bodyParts?: readonly string[] | undefined;
  readonly signal: AbortSignal;
  /** Most bytes of a response, after decompression. */
  readonly maxBytes: number;
  readonly connecting?: (() => void) | undefined;
  readonly connected?: (() => void) | undefined;
}

/** The answer to a {@link TransportRequest}. Its body must be read to the end or cancelled. */
export interface TransportResponse {
  readonly status: number;
  /** A header by its lower-case name. */
  header(name: string): string | undefined;
  /**
   * The bytes that arrived since the last call, at once where there are some; undefined at the end. Rejects with a
   * {@link TransportError}.
   */
  read(): MaybePromise<readonly Uint8Array[] | undefined>;
  /** Drops the rest and frees the connection. */
  cancel(): void;
}

/** Sends one request and resolves when the response's headers are in. Rejects with a {@link TransportError}. */
export interface Transport {
  send(request: TransportRequest): Promise<TransportResponse>;
  close(): Promise<void>;
}

/** Decides whether a connection to an address may be made for a host, written `host:port`. */
export type AddressGuard = (hostAndPort: string, address: string) => boolean;

/** Headers that a response may have. */
export const MAX_HEADERS = 100;

/** The failure of a response with more than {@link MAX_HEADERS}. */
export function tooManyHeaders(): TransportError {
  return new TransportError(failureOf('bad_response', `The provider sent more than ${MAX_HEADERS} headers`));
}

/** A failure of the connection, wrapped so that it can travel through promises. Never leaves the providers. */
export class TransportError extends Error {
  override readonly name = 'TransportError';
  readonly failure: AttemptFailure;

  constructor(failure: AttemptFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** Reads a body to its end as text: in one turn when all of it is there. */
export function readText(response: TransportResponse): MaybePromise<string> {
  const bytes = pollable(response);
  const begin = bytes.poll(ignored);
  if (begin === undefined) return '';
  if (begin === PENDING || begin.length !== 1) return readOn(bytes, begin === PENDING ? [] : begin);
  // Nearly every answer is there at once, in one piece.
  const next = bytes.poll(ignored);
  if (next === undefined) return wholeText(begin[0] as Uint8Array);
  return readOn(bytes, next === PENDING ? begin : [...begin, ...next]);
}

/** Nobody is woken: who polls with this polls again before anything else happens. */
function ignored(): void {}

/** The text of what was read of a body, and of the rest. */
function readOn(
  bytes: Pollable<readonly Uint8Array[] | undefined>,
  begun: readonly Uint8Array[],
): MaybePromise<string> {
  const pieces = new TextPieces();
  let text = '';
  for (const chunk of begun) text += pieces.decode(chunk);
  return whenThere((wake) => {
    for (let chunks = bytes.poll(wake); chunks !== PENDING; chunks = bytes.poll(wake)) {
      if (chunks === undefined) return text + pieces.end();
      for (const chunk of chunks) text += pieces.decode(chunk);
    }
    return PENDING;
  });
}

/** Reads the beginning of a body as text and drops the rest. A body that ends early ends where it broke. */
export async function readStart(response: TransportResponse, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let left = maxBytes;
  try {
    for (let chunks = await response.read(); chunks !== undefined; chunks = await response.read()) {
      for (const chunk of chunks) {
        text += decoder.decode(chunk.subarray(0, left), STREAMED);
        left -= chunk.byteLength;
        if (left > 0) continue;
        response.cancel();
        return text;
      }
    }
  } catch {
    // What was read before is enough, and nothing at all is no reason to forget the status.
  }
  return text;
}

const STREAMED = { stream: true } as const;
