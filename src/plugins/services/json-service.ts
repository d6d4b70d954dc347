/** Calls services of plugins that speak JSON over HTTP. */
import { headerText, httpAddress, milliseconds, nonEmptyString, sender } from '../../options/values.ts';
import { timerMs } from '../../platform/environment.ts';
import { errorOf, RouterError } from '../../protocol/router-error.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { readText, type Transport, TransportError, type TransportResponse } from '../../net/transport.ts';
import * as read from '../../platform/json.ts';
import { loadTransport } from '../../net/load-transport.ts';

/** How a service of the program's own choice is reached. */
interface JsonServiceOptions {
  /** What it is called in errors, for example `The search engine exa`. */
  readonly name: string;
  /** How requests are sent. Default: undici on Node, `fetch` elsewhere. */
  readonly transport?: Transport | undefined;
  /** Milliseconds that a call may take unless it says otherwise. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /** Bytes that an answer may have. Default 10,000,000. */
  readonly maxBytes?: number | undefined;
}

/** Options that every service with a key and a model has. */
export const SERVICE_OPTIONS = {
  apiKey: headerText,
  baseURL: httpAddress,
  model: nonEmptyString,
  timeoutMs: milliseconds,
  transport: sender,
} as const;

/** One call of a {@link JsonService}. */
interface JsonCall {
  readonly url: URL;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  /** Sent with `POST`; without one, `GET`. */
  readonly body?: JsonObject | undefined;
  readonly signal: AbortSignal;
  readonly timeoutMs?: number | undefined;
  /** What a 400, 413 or 422 means where the caller's own input is sent on: the caller then gets a 400 that says so. */
  readonly refusedInput?: string | undefined;
}

const DEFAULT_MAX_BYTES = 10_000_000;
const DEFAULT_TIMEOUT_MS = 10_000;
/** Statuses by which services say that what they were given is wrong. */
const REFUSALS: ReadonlySet<number> = new Set([400, 413, 422]);

/**
 * Calls a service that speaks JSON over HTTP. What it says when it fails is told to nobody: it may hold our key. An
 * answer of 401 or 403 is our key's fault and so, for the caller, a 502 like all others.
 */
export class JsonService {
  readonly #options: JsonServiceOptions;
  #transport: Promise<Transport> | undefined;

  constructor(options: JsonServiceOptions) {
    this.#options = options;
  }

  /**
   * @throws {@link RouterError} with 502, with 503 when the service is overloaded, or 400 for input that it refuses.
   */
  async call({
    url,
    headers,
    body,
    signal,
    timeoutMs = this.#options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    refusedInput,
  }: JsonCall): Promise<JsonObject> {
    const timeout = AbortSignal.timeout(timerMs(timeoutMs));
    try {
      const response = await (
        await this.#loaded()
      ).send({
        method: body === undefined ? 'GET' : 'POST',
        url,
        headers: [
          'accept',
          'application/json',
          ...(body === undefined ? [] : ['content-type', 'application/json']),
          ...headers,
        ],
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.any([signal, timeout]),
        maxBytes: this.#options.maxBytes ?? DEFAULT_MAX_BYTES,
      });
      return await this.#read(response, refusedInput);
    } catch (error) {
      signal.throwIfAborted();
      if (timeout.aborted) throw this.#failure('did not answer in time');
      if (error instanceof TransportError) throw this.#failure('could not be reached');
      throw error;
    }
  }

  async close(): Promise<void> {
    const transport = this.#transport;
    this.#transport = undefined;
    // A transport of the program's own is closed by the program.
    if (this.#options.transport === undefined) await (await transport)?.close();
  }

  #loaded(): Promise<Transport> {
    this.#transport ??=
      this.#options.transport === undefined ? loadTransport() : Promise.resolve(this.#options.transport);
    return this.#transport;
  }

  async #read(response: TransportResponse, refusedInput: string | undefined): Promise<JsonObject> {
    const { status } = response;
    if (status !== 200) {
      response.cancel();
      if (status === 429) throw this.#failure('is called too often (429)', 503);
      if (status === 401 || status === 403)
        throw this.#failure(`does not accept the key that is configured here (${status})`);
      if (refusedInput !== undefined && REFUSALS.has(status)) {
        throw errorOf(400, refusedInput);
      }
      throw this.#failure(`answered ${status}`);
    }
    const answer = read.parseObject(await readText(response));
    if (answer === undefined) throw this.#failure('answered with something that is not JSON');
    return answer;
  }

  #failure(what: string, status: 502 | 503 = 502): RouterError {
    return new RouterError({
      status,
      errorType: status === 503 ? 'provider_overloaded' : 'provider_unavailable',
      message: `${this.#options.name} ${what}`,
    });
  }
}
