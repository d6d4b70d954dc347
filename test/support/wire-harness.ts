import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Provider } from 'signalbox';
import {
  type ProviderAbility,
  type ProviderCheck,
  type ProviderHarness,
  type ScriptedAnswer,
  type ScriptedExchange,
  providerChecks,
} from 'signalbox/testing';

/** How one wire writes scripted answers. */
export interface ScriptedWire {
  /** Body of a whole answer. */
  whole(answer: ScriptedAnswer): string;
  /** Everything of a stream but its end. */
  events(answer: ScriptedAnswer): string;
  /** The end of a stream: finish, usage and end mark. */
  ending(answer: ScriptedAnswer): string;
  /** Body of an answer with an error status. */
  error(message: string, status: number): string;
  /** An error inside a stream. */
  streamError(message: string): string;
  /** Body of an answer to a call for embeddings; left out for wires that have none. */
  embeddings?(call: EmbeddingsAsked): string;
}

/** A call for embeddings, as the upstream got it. */
export interface EmbeddingsAsked {
  readonly body: Readonly<Record<string, unknown>>;
  readonly tokensPerInput: number;
}

/** A provider of some wire, and a server on loopback that plays its upstream. */
export interface WireHarness extends ProviderHarness, AsyncDisposable {
  /** Connections that are open at this moment. */
  readonly connections: number;
}

/** The provider's own key in checks. */
export const CHECKED_KEY = 'sk-own-key-of-the-provider+/=9876';

/**
 * Starts a {@link WireHarness}.
 *
 * @param providerAt - Makes the provider, with {@link CHECKED_KEY} as its key; the address ends in `/v1`.
 */
export async function wireHarness(wire: ScriptedWire, providerAt: (baseURL: string) => Provider): Promise<WireHarness> {
  let exchange: ScriptedExchange = { type: 'silence' };
  let calls: string[] = [];
  let sentBytes = 0;
  let underWay = 0;
  let connections = 0;
  const server = createServer((request, response) => {
    underWay += 1;
    response.on('close', () => (underWay -= 1));
    void readCall(request).then((call) => {
      calls.push(call);
      sentBytes += play(exchange, wire, response, call);
    });
  });
  server.on('connection', (socket) => {
    connections += 1;
    socket.on('close', () => (connections -= 1));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const provider = providerAt(`http://127.0.0.1:${port}/v1`);
  return {
    provider,
    apiKey: CHECKED_KEY,
    abilities: new Set([...ABILITIES, ...(wire.embeddings === undefined ? [] : ['embeddings' as const])]),
    play(next) {
      exchange = next;
      calls = [];
      sentBytes = 0;
    },
    get calls() {
      return calls;
    },
    get sentBytes() {
      return sentBytes;
    },
    get underWay() {
      return underWay;
    },
    get connections() {
      return connections;
    },
    async [Symbol.asyncDispose]() {
      await provider.close?.();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The checks that mean something for a wire. */
export function checksOf(wire: ScriptedWire): readonly ProviderCheck[] {
  return providerChecks.filter(({ needs }) => 'embeddings' in wire || !needs.includes('embeddings'));
}

const ABILITIES: readonly ProviderAbility[] = ['reasoning', 'tools', 'usage', 'bytes', 'cancellation'];

async function readCall(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const bytes of request) chunks.push(bytes as Buffer);
  const head = `${request.method} ${request.url}\n${request.rawHeaders.join('\n')}`;
  return `${head}\n\n${Buffer.concat(chunks).toString()}`;
}

/** Does what was scripted; gives the number of bytes in the body. */
function play(exchange: ScriptedExchange, wire: ScriptedWire, response: ServerResponse, call: string): number {
  switch (exchange.type) {
    case 'silence':
      return 0;
    case 'answer': {
      const { form, answer, cutAt } = exchange;
      const body = form === 'whole' ? wire.whole(answer) : wire.events(answer) + wire.ending(answer);
      return send(response, 200, {}, form === 'whole' ? 'application/json' : 'text/event-stream', body, cutAt);
    }
    case 'error': {
      const { status, message, headers = {} } = exchange;
      return send(response, status, headers, 'application/json', wire.error(message, status));
    }
    case 'embeddings': {
      const body = JSON.parse(call.slice(call.indexOf('\n\n'))) as EmbeddingsAsked['body'];
      const { tokensPerInput } = exchange;
      return send(response, 200, {}, 'application/json', wire.embeddings?.({ body, tokensPerInput }) ?? '{}');
    }
    case 'body':
      return send(response, exchange.status, {}, exchange.contentType, exchange.body);
    case 'stream error': {
      const error = wire.streamError(exchange.message);
      return send(response, 200, {}, 'text/event-stream', wire.events(exchange.answer) + error);
    }
    case 'unfinished': {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const body = wire.events(exchange.answer);
      response.write(body, () => {
        if (exchange.ending === 'end') response.end();
        if (exchange.ending === 'cut') setTimeout(() => response.destroy(), 10);
      });
      return Buffer.byteLength(body);
    }
  }
}

function send(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  contentType: string,
  body: string,
  cutAt?: number,
): number {
  const bytes = Buffer.from(body);
  response.writeHead(status, { 'content-type': contentType, ...headers });
  if (cutAt === undefined) {
    response.end(bytes);
  } else {
    response.write(bytes.subarray(0, cutAt), () => setImmediate(() => response.end(bytes.subarray(cutAt))));
  }
  return bytes.length;
}
