import { OutboundError } from '../../net/outbound-url.ts';
import type { Outbound, OutboundStream } from '../../net/outbound.ts';

/** How requests to an MCP server are bounded. */
export interface GuardedFetchOptions {
  readonly outbound: Outbound;
  /** Milliseconds for a request, up to the end of its response. */
  readonly timeoutMs: number;
  /** Bytes of an answer. */
  readonly maxBytes: number;
  /** Told when a response ends early or is too large: whoever waits for what was in it would wait for nothing. */
  readonly onBroken: () => void;
}

/** Headers of answers that the protocol has a meaning for. */
const HEADERS = ['content-type', 'location', 'mcp-session-id', 'www-authenticate'] as const;

/** A `fetch` for the SDK of MCP that goes through the guarded connection. */
export function guardedFetch({ outbound, onBroken, ...bounds }: GuardedFetchOptions): typeof globalThis.fetch {
  return async (input, init = {}) => {
    const headers = new Headers(init.headers);
    // The stream for what servers say unasked would hold a connection for every server; lists are asked for again.
    if (init.method === 'GET' && !headers.has('last-event-id')) return new Response(null, { status: 405 });
    const stream = await outbound.open({
      url: input instanceof Request ? input.url : String(input),
      method: methodOf(init.method),
      headers: [...headers].flat(),
      body: typeof init.body === 'string' ? init.body : undefined,
      signal: init.signal ?? undefined,
      ...bounds,
    });
    const { status } = stream;
    const told = new Headers();
    for (const name of HEADERS) {
      const value = stream.header(name);
      if (value !== undefined) told.set(name, value);
    }
    if (EMPTY.has(status)) {
      stream.cancel();
      return new Response(null, { status, headers: told });
    }
    return new Response(bodyOf(stream, onBroken), { status: status < 200 ? 502 : status, headers: told });
  };
}

/** Statuses whose answers have no body. */
const EMPTY: ReadonlySet<number> = new Set([204, 205, 304]);

function methodOf(method: string | undefined): 'GET' | 'POST' | 'DELETE' {
  return method === 'POST' || method === 'DELETE' ? method : 'GET';
}

function bodyOf(stream: OutboundStream, onBroken: () => void): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    async pull(controller) {
      try {
        const chunks = await stream.read();
        if (chunks === undefined) controller.close();
        for (const chunk of chunks ?? []) controller.enqueue(new Uint8Array(chunk));
      } catch (error) {
        controller.error(error);
        if (error instanceof OutboundError && BROKEN.has(error.problem)) onBroken();
      }
    },
    cancel: () => stream.cancel(),
  });
}

const BROKEN: ReadonlySet<OutboundError['problem']> = new Set(['unreachable', 'too_large']);
