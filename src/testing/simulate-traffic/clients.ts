/** What simulated traffic is sent through: routers, which get providers, and clients without one. */
import type { Provider } from '../../contracts/provider.ts';
import { RouterError } from '../../protocol/router-error.ts';
import type { CallOptions } from '../../router/router.ts';
import type { ChatRequest } from '../../protocol/chat-request.ts';
import type { SimulatedServer } from './simulated-server.ts';
import { SIMULATED_MODEL } from './world.ts';
import type { ProviderReply } from '../../contracts/provider-reply.ts';
import { type AttemptFailure, FAILURE_RULES } from '../../contracts/failure.ts';

/** Whatever answers requests as a router does: a router, or a client to compare it with. */
export interface TrafficClient {
  /** Resolves with a non-streaming response; rejects with a {@link RouterError} when there is none. */
  chat(request: ChatRequest, options?: CallOptions): Promise<unknown>;
  /** A streaming response: its first part counts as its first token. Throws a {@link RouterError} when it fails. */
  stream(request: ChatRequest, options?: CallOptions): AsyncIterable<unknown>;
}

/** One provider for each slug, with all of its endpoints. */
export function providersOf(servers: readonly SimulatedServer[]): readonly Provider[] {
  const groups = new Map<string, SimulatedServer[]>();
  for (const server of servers) {
    const { name, provider = name } = server.endpoint;
    const own = groups.get(provider);
    if (own === undefined) groups.set(provider, [server]);
    else own.push(server);
  }
  return [...groups].map(([slug, own]) => ({
    slug,
    name: slug,
    models: { [SIMULATED_MODEL]: own.map((server) => server.declaration()) },
    chat: (call) => {
      const { tag } = call.endpoint;
      const server = own.find(({ endpoint }) => tag === slug || tag === `${slug}/${endpoint.name}`);
      if (server === undefined) throw new RangeError(`a call is for an endpoint of its provider, not for "${tag}"`);
      return server.answer(call);
    },
  }));
}

/** A client that sends each request to one endpoint, once. */
export function directClient(servers: readonly SimulatedServer[], name: string): TrafficClient {
  const server = servers.find(({ endpoint }) => endpoint.name === name);
  if (server === undefined) {
    const names = servers.map(({ endpoint }) => `"${endpoint.name}"`).join(', ');
    throw new RangeError(`The world has no endpoint "${name}"; it has ${names}`);
  }
  const open = ({ metadata, stream }: ChatRequest, signal: AbortSignal): Promise<ProviderReply> =>
    server.answer({ request: { metadata: metadata ?? undefined, stream: stream === true }, signal });
  return {
    async chat(request, { signal = new AbortController().signal } = {}) {
      const reply = await open({ ...request, stream: false }, signal);
      if (reply.type === 'failed') throw thrown(reply.failure);
      return reply;
    },
    async *stream(request, { signal = new AbortController().signal } = {}) {
      const reply = await open({ ...request, stream: true }, signal);
      if (reply.type === 'failed') throw thrown(reply.failure);
      if (reply.type === 'whole') return yield reply.result;
      for (let pieces = await reply.stream.read(); pieces !== undefined; pieces = await reply.stream.read()) {
        for (const piece of pieces) {
          if (typeof piece !== 'string' && piece.type === 'failure') throw thrown(piece.failure);
          yield piece;
        }
      }
    },
  };
}

function thrown({ kind, message, retryAfterMs }: AttemptFailure): RouterError {
  const { status, errorType } = FAILURE_RULES[kind];
  return new RouterError({ status, errorType, message, retryAfterMs });
}
