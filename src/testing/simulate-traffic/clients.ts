/** What simulated traffic is sent through: routers, which get providers, and clients without one. */
import type { Provider } from '../../contracts/provider.ts';
import type { CallOptions } from '../../router/router.ts';
import type { ChatRequest } from '../../protocol/chat-request.ts';
import type { SimulatedServer } from './simulated-server.ts';
import { SIMULATED_MODEL } from './world.ts';
import type { ProviderReply } from '../../contracts/provider-reply.ts';
import { failedReply } from '../../contracts/provider.ts';
import { failure } from '../../contracts/failure.ts';
import { CAME_IN_BAND, readByClient, readByRouter, thrownByClient } from './faults.ts';

/** Whatever answers requests as a router does: a router, or a client to compare it with. */
export interface TrafficClient {
  /** Resolves with a non-streaming response; rejects with a `RouterError` when there is none. */
  chat(request: ChatRequest, options?: CallOptions): Promise<unknown>;
  /** A streaming response: its first part counts as its first token. Throws a `RouterError` when it fails. */
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
      return server.answer(call).then((reply): ProviderReply => {
        if (reply.type === 'refused') return failedReply(readByRouter(reply.response, server.wallClock()));
        return reply.type === 'garbled' ? reply.reply : reply;
      });
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
  const open = async (
    { metadata, stream }: ChatRequest,
    { account, signal = new AbortController().signal }: CallOptions,
  ): Promise<ProviderReply> => {
    const request = { metadata: metadata ?? undefined, stream: stream === true };
    const reply = await server.answer({ request, signal, apiKey: ownKey(account) });
    if (reply.type === 'refused') throw readByClient(reply.response, server.wallClock());
    const isInBand = reply.type === 'garbled';
    const own = isInBand ? reply.reply : reply;
    if (own.type === 'failed') throw thrownByClient(own.failure, isInBand ? CAME_IN_BAND : {});
    return own;
  };
  return {
    chat: (request, options = {}) => open({ ...request, stream: false }, options),
    async *stream(request, options = {}) {
      const reply = await open({ ...request, stream: true }, options);
      if (reply.type !== 'stream') return yield reply;
      let parts = 0;
      for (let pieces = await reply.stream.read(); pieces !== undefined; pieces = await reply.stream.read()) {
        for (const piece of pieces) {
          if (typeof piece !== 'string' && piece.type === 'failure') throw thrownByClient(piece.failure, CAME_IN_BAND);
          parts += 1;
          yield piece;
        }
      }
      if (parts === 0) throw thrownByClient(NOTHING, CAME_IN_BAND);
    },
  };
}

const NOTHING = failure('bad_response', 'The stream ended with nothing in it');

/** The key that an account brings for any provider: in a simulated world they are all the same. */
function ownKey(account: CallOptions['account']): string | undefined {
  const [own] = Object.values(account?.providerKeys ?? {});
  return typeof own?.apiKey === 'string' ? own.apiKey : undefined;
}
