import { failure } from '../../core/fallback/failure.ts';
import { connectionFailure } from './connection-failure.ts';
import { type Transport, TransportError, type TransportResponse } from './transport.ts';

/** Transport over the runtime's own `fetch`, for every runtime that is not Node. */
export function createTransport(fetchFunction: typeof fetch = globalThis.fetch): Transport {
  return {
    async send(request) {
      const response = await fetchFunction(request.url, {
        method: request.method,
        headers: pairs(request.headers),
        body: request.body ?? null,
        signal: request.signal,
        // A provider never gets to choose where our key is sent next.
        redirect: 'manual',
      }).catch((error: unknown) => {
        throw new TransportError(connectionFailure(error));
      });
      return new FetchResponse(response, request.maxBytes);
    },
    close: () => Promise.resolve(),
  };
}

class FetchResponse implements TransportResponse {
  readonly status: number;
  readonly #headers: Headers;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #left: number;

  constructor(response: Response, maxBytes: number) {
    this.status = response.status;
    this.#headers = response.headers;
    this.#reader = response.body?.getReader();
    this.#left = maxBytes;
  }

  header(name: string): string | undefined {
    return this.#headers.get(name) ?? undefined;
  }

  async read(): Promise<readonly Uint8Array[] | undefined> {
    if (this.#reader === undefined) return undefined;
    const { done, value } = await this.#reader.read().catch((error: unknown) => {
      throw new TransportError(connectionFailure(error));
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

function pairs(flat: readonly string[]): [string, string][] {
  const result: [string, string][] = [];
  for (let index = 0; index + 1 < flat.length; index += 2) result.push([flat[index] ?? '', flat[index + 1] ?? '']);
  return result;
}
