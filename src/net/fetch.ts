/** The transport over the platform's own `fetch`, for every platform but Node. */
import type { NetworkOptions } from '../options/http.ts';
import { connectionFailure } from './connection-failure.ts';
import {
  type AddressGuard,
  MAX_HEADERS,
  tooManyHeaders,
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from './transport.ts';
import { failure } from '../contracts/failure.ts';

/**
 * Transport over the runtime's own `fetch`, for every runtime that is not Node.
 *
 * @throws {@link TransportError} for a network, because `fetch` chooses the way by itself.
 */
export function createTransport(network?: NetworkOptions, fetchFunction: typeof fetch = globalThis.fetch): Transport {
  if (network !== undefined) {
    throw new TransportError(
      failure('adapter', 'net.proxy and net.ca work on Node only; here, fetch chooses the connection'),
    );
  }
  return {
    async send(request) {
      const { method, url, body = null, signal } = request;
      const headers = headersOf(request.headers);
      // A provider never gets to choose where our key is sent next.
      const redirect = 'manual';
      const response = await fetchFunction(url, { method, headers, body, signal, redirect }).catch((error: unknown) => {
        throw failureOf(error, signal);
      });
      const answer = new FetchResponse(response, request);
      if ([...response.headers].length <= MAX_HEADERS) return answer;
      answer.cancel();
      throw tooManyHeaders();
    },
    close: () => Promise.resolve(),
  };
}

/**
 * A transport for URLs that users give. `fetch` does not tell which address a name leads to: outside Node only the URL
 * itself is checked, so run it where the network keeps private addresses out of reach, as Workers do.
 */
export function createGuardedTransport(_guard: AddressGuard, _lookup?: undefined, network?: NetworkOptions): Transport {
  return createTransport(network);
}

/** Status that stands for a redirect where the runtime hides the real one. */
const HIDDEN_REDIRECT = 302;

class FetchResponse implements TransportResponse {
  readonly status: number;
  readonly #headers: Headers;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  readonly #signal: AbortSignal;
  #left: number;

  constructor(response: Response, { maxBytes, signal }: TransportRequest) {
    this.status = response.type === 'opaqueredirect' ? HIDDEN_REDIRECT : response.status;
    this.#headers = response.headers;
    this.#reader = response.body?.getReader();
    this.#signal = signal;
    this.#left = maxBytes;
  }

  header(name: string): string | undefined {
    return this.#headers.get(name) ?? undefined;
  }

  async read(): Promise<readonly Uint8Array[] | undefined> {
    if (this.#reader === undefined) return undefined;
    const { done, value } = await this.#reader.read().catch((error: unknown) => {
      throw failureOf(error, this.#signal);
    });
    if (done) return undefined;
    this.#left -= value.byteLength;
    if (this.#left >= 0) return [value];
    this.cancel();
    throw new TransportError(failure('bad_response', 'The provider sent more than is accepted'));
  }

  cancel(): void {
    this.#reader?.cancel().catch(() => {
      // The connection is gone already, which is what was wanted.
    });
  }
}

/** A call that was given up fails in many words, depending on the runtime and the moment; the signal tells for sure. */
function failureOf(error: unknown, signal: AbortSignal): TransportError {
  return new TransportError(signal.aborted ? failure('aborted', 'The call was cancelled') : connectionFailure(error));
}

/** `fetch` reports a malformed header like a broken connection, so it is looked for before. */
function headersOf(flat: readonly string[]): Headers {
  const headers = new Headers();
  try {
    for (let index = 0; index + 1 < flat.length; index += 2) headers.append(flat[index] ?? '', flat[index + 1] ?? '');
  } catch {
    throw new TransportError(failure('adapter', 'A header of the request is malformed'));
  }
  return headers;
}
