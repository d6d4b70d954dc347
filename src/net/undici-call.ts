import type { Dispatcher } from 'undici';
import { connectionFailure } from './connection-failure.ts';
import { decodeContent } from './content-decoding.ts';
import {
  MAX_HEADERS,
  tooManyHeaders,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from './transport.ts';
import { UndiciResponse } from './undici-response.ts';

/** Sends a request once more, on a connection of its own. */
export type SendAgain = (call: UndiciCall, request: TransportRequest) => void;

/** Errors of a socket that the other side had closed while it lay idle. */
const STALE = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** undici tells when the first byte of a response came, which its types do not know. */
type Handler = Dispatcher.DispatchHandler & { readonly onResponseStarted: () => void };

/**
 * One dispatch of undici, as its handler. undici holds on to handlers for a while after a call, so everything that
 * belongs to the request is let go when the call is over; else the collector would carry every prompt along.
 */
export class UndiciCall implements Handler {
  readonly response: Promise<TransportResponse>;
  #request: TransportRequest | undefined;
  #usedOldConnection: (() => boolean) | undefined;
  #again: SendAgain | undefined;
  #answer: UndiciResponse | undefined;
  #resolve: ((answer: UndiciResponse) => void) | undefined;
  #reused = false;
  #answered = false;

  /**
   * @param usedOldConnection - Whether no connection was opened between the dispatch and its start.
   * @param again - Used once, when the request went out on a connection that the other side had closed before.
   */
  constructor(request: TransportRequest, usedOldConnection: () => boolean, again: SendAgain) {
    this.#request = request;
    this.#usedOldConnection = usedOldConnection;
    this.#again = again;
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#answer = new UndiciResponse(request.signal, request.maxBytes, (error) => {
        this.#release();
        reject(error);
      });
    });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#reused = this.#usedOldConnection?.() ?? false;
    this.#request?.connected?.();
    if (this.#answer === undefined) controller.abort(new Error('The call is over'));
    else this.#answer.attach(controller);
  }

  onResponseStarted(): void {
    this.#answered = true;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    const answer = this.#answer;
    if (answer === undefined || status < 200) return;
    if (countHeaders(headers) > MAX_HEADERS) return answer.abort(tooManyHeaders());
    answer.begin(status, headers);
    this.#resolve?.(answer);
    decodeContent(answer, headers['content-encoding']);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    this.#answer?.push(chunk);
  }

  onResponseEnd(): void {
    this.#answer?.end();
    this.#release();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    const request = this.#request;
    const again = this.#again;
    if (request !== undefined && again !== undefined && !request.signal.aborted && this.#isStale(error)) {
      this.#again = undefined;
      return again(this, request);
    }
    this.#answer?.fail(error instanceof TransportError ? error : new TransportError(connectionFailure(error)));
    this.#release();
  }

  /**
   * True when the call went out on a connection that the other side had closed before it was used: it failed like
   * one, and not a single byte came back.
   */
  #isStale(error: Error): boolean {
    const code = (error as { code?: unknown } | null)?.code;
    return this.#reused && !this.#answered && typeof code === 'string' && STALE.has(code);
  }

  #release(): void {
    this.#request = undefined;
    this.#usedOldConnection = undefined;
    this.#again = undefined;
    this.#answer = undefined;
    this.#resolve = undefined;
  }
}

/** Headers of a response; one that was sent several times counts as often. */
function countHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): number {
  let count = 0;
  for (const name in headers) count += Array.isArray(headers[name]) ? headers[name].length : 1;
  return count;
}
