import { type Dispatcher, Agent, buildConnector } from 'undici';
import { connectionFailure } from './connection-failure.ts';
import { decodeContent } from './content-decoding.ts';
import { UndiciResponse, cancelled } from './undici-response.ts';
import {
  MAX_HEADERS,
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
  tooManyHeaders,
} from './transport.ts';

/** Errors of a socket that the other side had closed while it lay idle. */
const STALE = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** A connection attempt that nobody waits for any more still ends after this many milliseconds. */
const MAX_CONNECT_MS = 60_000;

/**
 * Transport for Node: undici's `dispatch` with our own handlers, about a tenth of the CPU of `fetch`. Its own timeouts
 * are off, because deadlines are the router's business.
 */
export function createTransport(): Transport {
  let opened = 0;
  const connector = buildConnector({ timeout: MAX_CONNECT_MS, allowH2: false, autoSelectFamily: true });
  const connect: buildConnector.connector = (options, callback) =>
    connector(options, (...result) => {
      opened += 1;
      callback(...result);
    });
  const options: Agent.Options = { connect, allowH2: false, headersTimeout: 0, bodyTimeout: 0 };
  const pooled = new Agent(options);
  const fresh = new Agent({ ...options, pipelining: 0 });

  return {
    async send(request) {
      if (request.signal.aborted) throw cancelled();
      const before = opened;
      const sent = dispatch(pooled, request, () => opened === before);
      return sent.response.catch((error: unknown) => {
        if (!sent.wasStale(error)) throw error;
        return dispatch(fresh, request, () => false).response;
      });
    },
    async close() {
      await Promise.all([pooled.destroy(), fresh.destroy()]);
    },
  };
}

interface Sent {
  readonly response: Promise<TransportResponse>;
  /**
   * True when the call went out on a connection that the other side had closed before it was used: it failed like
   * one, and not a single byte came back.
   */
  wasStale(error: unknown): boolean;
}

/** undici tells when the first byte of a response came, which its types do not know. */
type Handler = Dispatcher.DispatchHandler & { readonly onResponseStarted: () => void };

function dispatch(agent: Agent, request: TransportRequest, usedOldConnection: () => boolean): Sent {
  let reused = false;
  let answered = false;
  let rawCode: unknown;
  const response = new Promise<TransportResponse>((resolve, reject) => {
    const answer = new UndiciResponse(request.signal, request.maxBytes, reject);
    const handler: Handler = {
      onRequestStart(controller) {
        reused = usedOldConnection();
        request.connected?.();
        answer.attach(controller);
      },
      onResponseStarted() {
        answered = true;
      },
      onResponseStart(_controller, status, headers) {
        if (status < 200) return;
        if (countHeaders(headers) > MAX_HEADERS) return answer.abort(tooManyHeaders());
        answer.begin(status, headers);
        resolve(answer);
        decodeContent(answer, headers['content-encoding']);
      },
      onResponseData(_controller, chunk) {
        answer.push(chunk);
      },
      onResponseEnd() {
        answer.end();
      },
      onResponseError(_controller, error) {
        rawCode = (error as { code?: unknown } | null)?.code;
        answer.fail(error instanceof TransportError ? error : new TransportError(connectionFailure(error)));
      },
    };
    request.connecting?.();
    agent.dispatch(
      {
        origin: request.url.origin,
        path: request.url.pathname + request.url.search,
        method: request.method,
        headers: request.headers as string[],
        body: request.body ?? null,
      },
      handler,
    );
  });
  return {
    response,
    wasStale: () => reused && !answered && typeof rawCode === 'string' && STALE.has(rawCode) && !request.signal.aborted,
  };
}

/** Headers of a response; one that was sent several times counts as often. */
function countHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): number {
  let count = 0;
  for (const name in headers) count += Array.isArray(headers[name]) ? headers[name].length : 1;
  return count;
}
