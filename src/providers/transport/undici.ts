import { type Dispatcher, Agent, buildConnector } from 'undici';
import { connectionFailure } from './connection-failure.ts';
import { needsDecoding, startDecoding } from './content-decoding.ts';
import { UndiciResponse } from './undici-response.ts';
import { type Transport, TransportError, type TransportRequest, type TransportResponse } from './transport.ts';

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
  /** True when the call went out on a connection that had been closed by the other side before it was used. */
  wasStale(error: unknown): boolean;
}

function dispatch(agent: Agent, request: TransportRequest, usedOldConnection: () => boolean): Sent {
  let reused = false;
  let rawCode: unknown;
  const response = new Promise<TransportResponse>((resolve, reject) => {
    const answer = new UndiciResponse(request.signal, request.maxBytes, reject);
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(controller) {
        reused = usedOldConnection();
        request.connected?.();
        answer.attach(controller);
      },
      onResponseStart(_controller, status, headers) {
        if (status < 200) return;
        answer.begin(status, headers);
        if (needsDecoding(headers['content-encoding'])) {
          const problem = startDecoding(answer, String(headers['content-encoding']));
          if (problem !== undefined) return answer.abort(new TransportError(problem));
        }
        resolve(answer);
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
    wasStale: () => reused && typeof rawCode === 'string' && STALE.has(rawCode) && !request.signal.aborted,
  };
}
