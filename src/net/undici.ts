import { Agent, buildConnector } from 'undici';
import { guardedConnector, type Lookup } from './guarded-connector.ts';
import type { AddressGuard, Transport, TransportRequest } from './transport.ts';
import { UndiciCall } from './undici-call.ts';
import { cancelled } from './undici-response.ts';

/** A connection attempt that nobody waits for any more still ends after this many milliseconds. */
const MAX_CONNECT_MS = 60_000;

/**
 * Transport for Node: undici's `dispatch` with our own handlers, about a tenth of the CPU of `fetch`. Its own timeouts
 * are off, because deadlines are the router's business.
 */
export function createTransport(): Transport {
  return transportOver(buildConnector(CONNECTOR));
}

/**
 * A transport for URLs that users give: every address is checked when it is dialled, also those that a name leads to,
 * so nothing can change between the check and the connection.
 */
export function createGuardedTransport(guard: AddressGuard, lookup?: Lookup): Transport {
  return transportOver(guardedConnector(guard, CONNECTOR, lookup));
}

const CONNECTOR = { timeout: MAX_CONNECT_MS, allowH2: false, autoSelectFamily: true } as const;

function transportOver(connector: buildConnector.connector): Transport {
  let opened = 0;
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
      const call = dispatch(pooled, request, () => opened === before);
      return call.response.catch((error: unknown) => {
        if (!call.wasStale || request.signal.aborted) throw error;
        return dispatch(fresh, request, () => false).response;
      });
    },
    async close() {
      await Promise.all([pooled.destroy(), fresh.destroy()]);
    },
  };
}

function dispatch(agent: Agent, request: TransportRequest, usedOldConnection: () => boolean): UndiciCall {
  const call = new UndiciCall(request, usedOldConnection);
  const { url, method, headers, body } = request;
  request.connecting?.();
  agent.dispatch(
    {
      origin: url.origin,
      path: url.pathname + url.search,
      method,
      headers: headers as string[],
      // As bytes: undici would convert a text itself, and hold on to both.
      body: body === undefined ? null : Buffer.from(body),
    },
    call,
  );
  return call;
}
