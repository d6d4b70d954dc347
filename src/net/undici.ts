import { Agent, buildConnector, type Dispatcher, Pool } from 'undici';
import { guardedConnector, type Lookup } from './guarded-connector.ts';
import type { AddressGuard, Transport, TransportRequest } from './transport.ts';
import { type SendAgain, UndiciCall } from './undici-call.ts';
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

/** Servers whose connections are kept for good; a provider has one or two. */
const MAX_POOLS = 8;

const CONNECTOR = { timeout: MAX_CONNECT_MS, allowH2: false, autoSelectFamily: true } as const;

function transportOver(connector: buildConnector.connector): Transport {
  let opened = 0;
  const connect: buildConnector.connector = (options, callback) =>
    connector(options, (...result) => {
      opened += 1;
      callback(...result);
    });
  const options: Agent.Options = { connect, allowH2: false, headersTimeout: 0, bodyTimeout: 0 };
  // An agent looks after pools that come and go, at a cost for every call.
  const others = new Agent(options);
  const pools = new Map<string, Dispatcher>();
  const fresh = new Agent({ ...options, pipelining: 0 });
  const again: SendAgain = (call, request) => dispatch(fresh, request.url.origin, request, call);

  function poolOf(origin: string): Dispatcher {
    const known = pools.get(origin);
    if (known !== undefined) return known;
    if (pools.size >= MAX_POOLS) return others;
    const pool = new Pool(origin, options);
    pools.set(origin, pool);
    return pool;
  }

  return {
    send(request) {
      if (request.signal.aborted) return Promise.reject(cancelled());
      const before = opened;
      const call = new UndiciCall(request, () => opened === before, again);
      const { origin } = request.url;
      dispatch(poolOf(origin), origin, request, call);
      return call.response;
    },
    async close() {
      await Promise.all([others, fresh, ...pools.values()].map((one) => one.destroy()));
    },
  };
}

/** A text of ASCII alone is the same bytes in both encodings, and this one is written faster. */
function bytesOf(text: string): Buffer {
  return Buffer.from(text, Buffer.byteLength(text) === text.length ? 'latin1' : 'utf8');
}

function dispatch(dispatcher: Dispatcher, origin: string, request: TransportRequest, call: UndiciCall): void {
  const { url, method, headers, body } = request;
  request.connecting?.();
  dispatcher.dispatch(
    {
      origin,
      path: url.pathname + url.search,
      method,
      headers: headers as string[],
      // As bytes: undici would convert a text itself, and hold on to both.
      body: body === undefined ? null : bytesOf(body),
    },
    call,
  );
}
