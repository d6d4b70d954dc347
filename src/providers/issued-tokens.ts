import type { ProviderKey, ProviderKeyFunction, ProviderToken } from '../options/accounts.ts';
import { readStart, TransportError, type TransportResponse } from '../net/transport.ts';
import type { MaybePromise } from '../platform/wait.ts';
import { failure, NO_TOKEN } from '../contracts/failure.ts';
import type { ApiExchange } from './api-exchange.ts';

/**
 * Keys that a function gives: called one at a time, their tokens kept until they expire, and replaced when a provider
 * refuses them. Loaded by the first call that needs one.
 */

/** Milliseconds that a function may take. */
const LONGEST_MS = 30_000;
/** A token is replaced this long before it expires, or earlier by a tenth of its life if that is less. */
const EARLY_MS = 60_000;
/** A time before this is not in milliseconds: it is March of 1973, and in seconds the year 5138. */
const EARLIEST_TIME = 1e11;
/** Bytes that are read of an answer that refuses a token. */
const MAX_REFUSAL_BYTES = 64 * 1024;

/** A token and its life, in epoch milliseconds. */
interface KeptToken {
  readonly token: string;
  readonly expiresAt: number;
  readonly renewAt: number;
}

/** The tokens of one function. */
class TokenSource {
  readonly #give: ProviderKeyFunction;
  #kept: KeptToken | undefined;
  #asking: Promise<string> | undefined;

  constructor(give: ProviderKeyFunction) {
    this.#give = give;
  }

  /** A token that is valid. One that is about to expire still serves, while the next one is fetched. */
  current(): MaybePromise<string> {
    const now = Date.now();
    const kept = this.#kept;
    if (kept === undefined || now >= kept.expiresAt) return this.#ask();
    if (now >= kept.renewAt) {
      // Where it fails, the kept one serves on; where that is over, its failure is seen.
      this.#ask().catch(() => {});
    }
    return kept.token;
  }

  /** A token after one was refused: the one that others have fetched by now, or a new one. */
  after(refused: string): MaybePromise<string> {
    if (this.#kept?.token === refused) this.#kept = undefined;
    return this.#asking ?? this.#kept?.token ?? this.#ask();
  }

  #ask(): Promise<string> {
    this.#asking ??= this.#fetch().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #fetch(): Promise<string> {
    try {
      const { token, expiresAt } = issuedOf(await withinTime(async () => this.#give()));
      const now = Date.now();
      const life = (expiresAt ?? now) - now;
      this.#kept =
        expiresAt !== undefined && life > 0
          ? { token, expiresAt, renewAt: expiresAt - Math.min(EARLY_MS, life / 10) }
          : undefined;
      return token;
    } catch (thrown) {
      // What a program's own function says may hold secrets: only the operator sees it.
      throw new TransportError(failure('adapter', NO_TOKEN, { thrown }));
    }
  }
}

/** By function, so that providers and accounts with the same one share its tokens. */
const SOURCES = new WeakMap<ProviderKeyFunction, TokenSource>();

function sourceOf(give: ProviderKeyFunction): TokenSource {
  let source = SOURCES.get(give);
  if (source === undefined) SOURCES.set(give, (source = new TokenSource(give)));
  return source;
}

/**
 * Sends a request with a token of a function, and once more with another one if the provider refuses the first. Rejects
 * with a {@link TransportError}.
 */
export async function sendWithToken(
  give: ProviderKeyFunction,
  send: (token: string) => ApiExchange,
): Promise<ApiExchange> {
  const source = sourceOf(give);
  const token = await source.current();
  const exchange = send(token);
  const response = await exchange.response;
  const { status } = response;
  if (status !== 401 && status !== 403) return exchange;
  const refusal = await readStart(response, MAX_REFUSAL_BYTES);
  if (status === 401 || SAYS_EXPIRED.test(refusal)) {
    const next = await source.after(token);
    if (next !== token) return send(next);
  }
  return { ...exchange, response: Promise.resolve(withBody(response, refusal)) };
}

/** Some providers answer 403 to a token that has expired. */
const SAYS_EXPIRED = /\bexpired\b|ExpiredToken/i;

/**
 * Makes a call with a key: the one given, or one that its function gives.
 *
 * @param apiKey - A key, or a function that gives keys or tokens.
 * @param call - Makes the call.
 * @param isRefused - Whether the result says that the key is not accepted. Then the call is made once more with another
 * token, if the function gives another.
 * @throws What the call throws; `Error` where the function fails.
 */
export async function withKey<Result>(
  apiKey: ProviderKey,
  call: (key: string) => Promise<Result>,
  isRefused: (result: Result) => boolean,
): Promise<Result> {
  if (typeof apiKey === 'string') return call(apiKey);
  const source = sourceOf(apiKey);
  const token = await source.current();
  const result = await call(token);
  if (!isRefused(result)) return result;
  const next = await source.after(token);
  return next === token ? result : call(next);
}

/** What a function gave, if it can be right. */
function issuedOf(given: unknown): ProviderToken {
  const { token, expiresAt } = (typeof given === 'string' ? { token: given } : Object(given)) as {
    token?: unknown;
    expiresAt?: unknown;
  };
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) {
    throw new TypeError('apiKey must give one line of visible characters, or { token, expiresAt } with such a token');
  }
  if (expiresAt === undefined) return { token };
  if (typeof expiresAt !== 'number' || !(expiresAt >= EARLIEST_TIME)) {
    throw new TypeError('expiresAt must be epoch milliseconds, such as Date.now() + 3_600_000; it may be in seconds');
  }
  return { token, expiresAt };
}

/** Waits for a function, but not for ever: all calls would wait with it. */
async function withinTime<Value>(run: () => Promise<Value>): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new Error(`apiKey did not give a key within ${LONGEST_MS / 1_000} seconds`);
    timer = setTimeout(() => reject(error), LONGEST_MS);
  });
  try {
    return await Promise.race([run(), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A response whose body was read, to be read again. */
function withBody(response: TransportResponse, text: string): TransportResponse {
  let chunks: readonly Uint8Array[] | undefined = [new TextEncoder().encode(text)];
  return {
    status: response.status,
    header: (name) => response.header(name),
    read() {
      const read = chunks;
      chunks = undefined;
      return Promise.resolve(read);
    },
    cancel: () => response.cancel(),
  };
}
