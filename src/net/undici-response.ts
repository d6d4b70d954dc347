import type { Dispatcher } from 'undici';
import { failure } from '../core/fallback/failure.ts';
import type { MaybePromise } from '../platform/wait.ts';
import { TransportError, type TransportResponse } from './transport.ts';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Bytes that may wait to be read before the connection is paused. */
const HIGH_WATER = 256 * 1024;

/** A step between the wire and the reader, such as decompression. */
export interface ByteFilter {
  write(chunk: Uint8Array): void;
  end(): void;
  /** Stops and continues the output, for a reader who does not keep up. */
  pause(): void;
  resume(): void;
  destroy(): void;
}

/**
 * The response side of one undici dispatch. Bytes wait here until they are read; what arrived together is read
 * together, and a reader who does not come pauses the connection instead of filling memory.
 */
export class UndiciResponse implements TransportResponse {
  status = 0;
  #headers: Headers = {};
  #controller: Dispatcher.DispatchController | undefined;
  #filter: ByteFilter | undefined;
  #queue: Uint8Array[] = [];
  #queued = 0;
  #left: number;
  #ended = false;
  #error: TransportError | undefined;
  #wake: (() => void) | undefined;
  #signal: AbortSignal | undefined;
  readonly #onAbort = (): void => this.cancel();
  readonly #awaitBytes = (resolve: () => void): void => void (this.#wake = resolve);
  readonly #readOn = (): MaybePromise<readonly Uint8Array[] | undefined> => {
    this.#wake = undefined;
    return this.read();
  };
  readonly #onFailure: (error: TransportError) => void;

  /** @param onFailure - Told of the first failure, also of one before any header came. */
  constructor(signal: AbortSignal, maxBytes: number, onFailure: (error: TransportError) => void) {
    this.#signal = signal;
    this.#left = maxBytes;
    this.#onFailure = onFailure;
    signal.addEventListener('abort', this.#onAbort);
  }

  /** The connection is there and the request is being written. */
  attach(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#signal?.aborted === true) controller.abort(cancelled());
  }

  begin(status: number, headers: Headers): void {
    this.status = status;
    this.#headers = headers;
  }

  /** Puts a filter between the wire and the reader; its output comes back through {@link UndiciResponse.deliver}. */
  filterThrough(filter: ByteFilter): void {
    this.#filter = filter;
  }

  push(chunk: Uint8Array): void {
    if (this.#filter === undefined) this.deliver(chunk);
    else this.#filter.write(chunk);
  }

  /** Bytes for the reader. */
  deliver(chunk: Uint8Array): void {
    if (this.#ended) return;
    this.#left -= chunk.byteLength;
    if (this.#left < 0) {
      this.abort(new TransportError(failure('bad_response', 'The provider sent more than is accepted')));
      return;
    }
    this.#queue.push(chunk);
    this.#queued += chunk.byteLength;
    if (this.#queued > HIGH_WATER) {
      this.#controller?.pause();
      this.#filter?.pause();
    }
    this.#wake?.();
  }

  end(): void {
    if (this.#filter === undefined) this.finish();
    else this.#filter.end();
  }

  /** Nothing more will be delivered. */
  finish(): void {
    this.#ended = true;
    this.#release();
    this.#wake?.();
  }

  /** The connection failed. What was read before stays valid. */
  fail(error: TransportError): void {
    if (this.#ended) return;
    this.#error = error;
    this.finish();
    this.#onFailure(error);
  }

  /** Fails and closes the connection. */
  abort(error: TransportError): void {
    this.fail(error);
    this.#controller?.abort(error);
  }

  header(name: string): string | undefined {
    const value = this.#headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  read(): MaybePromise<readonly Uint8Array[] | undefined> {
    if (this.#queue.length > 0) return this.#take();
    if (this.#error !== undefined) return Promise.reject(this.#error);
    if (this.#ended) return undefined;
    // Read a little later than the first bytes come: more may come in the same turn.
    return new Promise<void>(this.#awaitBytes).then(this.#readOn);
  }

  #take(): readonly Uint8Array[] {
    const chunks = this.#queue;
    const paused = this.#queued > HIGH_WATER;
    this.#queue = [];
    // Counted anew first: resuming may deliver more, and pause again, before it returns.
    this.#queued = 0;
    if (paused) {
      this.#controller?.resume();
      this.#filter?.resume();
    }
    return chunks;
  }

  cancel(): void {
    this.#queue = [];
    if (!this.#ended) this.abort(cancelled());
  }

  #release(): void {
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#signal = undefined;
    if (this.#error !== undefined) this.#filter?.destroy();
  }
}

/** The failure of a call that nobody wants any more. */
export function cancelled(): TransportError {
  return new TransportError(failure('aborted', 'The call was cancelled'));
}
