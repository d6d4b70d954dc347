import {
  type CallOptions,
  type ChatRequest,
  type EndpointDeclaration,
  createRouter,
  openaiCompatible,
} from 'signalbox';
import type { VendorQuirks, RouterConfig } from 'signalbox';
import type { Body } from './chat-bodies.ts';
import { type ReceivedRequest, startUpstream } from './upstream.ts';

/** How the provider behind {@link sentUpstream} is set up. */
export interface SentOptions {
  readonly endpoint?: EndpointDeclaration | undefined;
  readonly dialect?: VendorQuirks | undefined;
  readonly config?: Omit<RouterConfig, 'providers'> | undefined;
  readonly call?: CallOptions | undefined;
}

/** Sends a request through a router to a real server, and gives what that server received. */
export async function sentUpstream(fields: Body, options: SentOptions = {}): Promise<ReceivedRequest> {
  const [request] = await allSentUpstream([[fields, options.call]], options);
  if (request === undefined) throw new Error('nothing was sent');
  return request;
}

/** Sends several requests through one router, and gives what the server behind it received. */
export async function allSentUpstream(
  calls: readonly (readonly [fields: Body, options?: CallOptions | undefined])[],
  { endpoint = {}, dialect, config }: SentOptions = {},
): Promise<readonly ReceivedRequest[]> {
  await using upstream = await startUpstream();
  const provider = openaiCompatible({
    slug: 'up',
    name: 'Up',
    baseURL: upstream.baseURL,
    models: { 'acme/one': endpoint },
    quirks: dialect,
  });
  const router = createRouter({ ...config, providers: [provider] });
  for (const [fields, options] of calls) {
    const body = { model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }], ...fields };
    await router.chat(body as unknown as ChatRequest<'acme/one'>, options);
  }
  await router.close();
  return upstream.requests;
}
