/** Fetches URLs that users give, with redirects, limits and the address guard; loaded on first use. */
import { fill } from '../options/option.ts';
import { OUTBOUND, type OutboundOptions } from '../options/http.ts';
import { type AddressGuard, type Transport, TransportError, type TransportResponse } from './transport.ts';
import type { Environment, Timer } from '../platform/environment.ts';
import { wait } from '../platform/wait.ts';
import { OutboundError } from './outbound-error.ts';
import { checkOutboundUrl, isAllowedHost, isPublicAddress, type OutboundRules } from './outbound-url.ts';
import type {
  GuardedTransportFactory,
  Outbound,
  OutboundRequest,
  OutboundResponse,
  OutboundStream,
} from './outbound-request.ts';

/** All failures to connect take at least this many milliseconds, so that their time tells nothing. */
const FAILURE_FLOOR_MS = 250;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Headers that only the origin they were meant for may see. */
const PRIVATE_HEADERS = new Set(['authorization', 'cookie', 'proxy-authorization', 'x-api-key']);

/** Opens the entry point. Its connections are its own: nothing that users request travels on those to providers. */
export function guardedOutbound(
  options: OutboundOptions,
  environment: Environment,
  createTransport: GuardedTransportFactory,
): Outbound {
  const allowedHosts = new Set(options.allowedHosts);
  const ports = new Set(fill(OUTBOUND, options).ports);
  const guard: AddressGuard = (host, address) => isAllowedHost(host, allowedHosts) || isPublicAddress(address);
  let transport: Promise<Transport> | undefined;

  async function follow(
    request: OutboundRequest,
    signal: AbortSignal,
  ): Promise<{ readonly response: TransportResponse; readonly url: URL }> {
    const rules: OutboundRules = { schemes: request.schemes ?? 'any', ports, allowedHosts };
    let url = checkOutboundUrl(request.url, rules);
    let { headers = [], method = 'GET', body } = request;
    for (let redirects = 0; ; redirects += 1) {
      request.admit?.(url);
      transport ??= createTransport(guard);
      const response = await (await transport).send({ method, url, headers, body, signal, maxBytes: Infinity });
      const location = REDIRECTS.has(response.status) ? response.header('location') : undefined;
      if (location === undefined || request.maxRedirects === undefined) return { response, url };
      response.cancel();
      if (redirects >= request.maxRedirects) throw new OutboundError('redirects', 'The URL redirects too often');
      const next = checkOutboundUrl(URL.canParse(location, url.href) ? new URL(location, url).href : location, rules);
      if (next.origin !== url.origin) headers = withoutPrivate(headers);
      if (response.status !== 307 && response.status !== 308) {
        method = 'GET';
        body = undefined;
      }
      url = next;
    }
  }

  return {
    async fetch(request) {
      const limits = new RequestLimits(request, environment);
      try {
        const { response, url } = await follow(request, limits.signal);
        return await collect(response, url, request.maxBytes);
      } catch (error) {
        throw await limits.problem(error);
      } finally {
        limits.end();
      }
    },

    async open(request) {
      const limits = new RequestLimits(request, environment);
      try {
        const { response, url } = await follow(request, limits.signal);
        return streamed(response, url, limits, request.maxBytes);
      } catch (error) {
        const problem = await limits.problem(error);
        limits.end();
        throw problem;
      }
    },

    async check(url, schemes) {
      checkOutboundUrl(url, { schemes, ports, allowedHosts });
      return Promise.resolve();
    },

    async close() {
      await (await transport)?.close();
    },
  };
}

/** The time of a request and the signal of its caller, as one signal; and what an error means under them. */
class RequestLimits {
  readonly #environment: Environment;
  readonly #client: AbortSignal | undefined;
  readonly #startedAt: number;
  readonly #controller = new AbortController();
  readonly #timer: Timer;

  constructor({ timeoutMs, signal }: OutboundRequest, environment: Environment) {
    this.#environment = environment;
    this.#client = signal;
    this.#startedAt = environment.now();
    this.#timer = environment.setTimer(this.#giveUp, timeoutMs);
    signal?.addEventListener('abort', this.#giveUp);
    if (signal?.aborted === true) this.#giveUp();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  async problem(error: unknown): Promise<OutboundError> {
    const problem = problemOf(error, this.#client, this.signal);
    const left = FAILURE_FLOOR_MS - (this.#environment.now() - this.#startedAt);
    if (problem.problem === 'unreachable' && left > 0) await wait(this.#environment, left, this.signal);
    return problem;
  }

  end(): void {
    this.#environment.clearTimer(this.#timer);
    this.#client?.removeEventListener('abort', this.#giveUp);
  }

  readonly #giveUp = (): void => this.#controller.abort();
}

/** A response that is read as it comes, within the limits of its request. */
function streamed(response: TransportResponse, url: URL, limits: RequestLimits, maxBytes: number): OutboundStream {
  const cancel = (): void => {
    limits.end();
    response.cancel();
  };
  let left = maxBytes;
  const read = async (): Promise<readonly Uint8Array[] | undefined> => {
    try {
      const chunks = await response.read();
      if (chunks === undefined) limits.end();
      for (const chunk of chunks ?? []) left -= chunk.byteLength;
      if (left < 0) throw new OutboundError('too_large', `The URL sent more than ${maxBytes} bytes`);
      return chunks;
    } catch (error) {
      const problem = await limits.problem(error);
      cancel();
      throw problem;
    }
  };
  return { status: response.status, url, header: (name) => response.header(name), read, cancel };
}

async function collect(response: TransportResponse, url: URL, maxBytes: number): Promise<OutboundResponse> {
  const parts: Uint8Array[] = [];
  let size = 0;
  let truncated = false;
  for (let chunks = await response.read(); chunks !== undefined && !truncated; chunks = await response.read()) {
    for (const chunk of chunks) {
      const room = maxBytes - size;
      truncated ||= chunk.byteLength > room;
      const kept = chunk.subarray(0, room);
      parts.push(kept);
      size += kept.byteLength;
    }
    if (!truncated) continue;
    response.cancel();
    break;
  }
  const body = new Uint8Array(size);
  let offset = 0;
  for (const part of parts) {
    body.set(part, offset);
    offset += part.byteLength;
  }
  return { status: response.status, url, header: (name) => response.header(name), body, truncated };
}

function problemOf(error: unknown, caller: AbortSignal | undefined, own: AbortSignal): OutboundError {
  if (error instanceof OutboundError) return error;
  if (caller?.aborted === true) return new OutboundError('aborted', 'The request was given up');
  if (own.aborted || (error instanceof TransportError && error.failure.kind === 'timeout')) {
    return new OutboundError('timeout', 'The URL did not answer in time');
  }
  if (error instanceof TransportError) return new OutboundError('unreachable', 'The URL could not be reached');
  throw error;
}

function withoutPrivate(headers: readonly string[]): readonly string[] {
  return headers.filter((_, index) => !PRIVATE_HEADERS.has((headers[index - (index % 2)] ?? '').toLowerCase()));
}
