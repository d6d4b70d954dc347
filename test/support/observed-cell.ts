import { type Router, type RouterConfig, createRouter, openaiCompatible } from 'signalbox';
import { MOUNTS, type Mounted } from './mounts.ts';
import { type Upstream, type UpstreamHandler, answerWith, failWith, startUpstream } from './upstream.ts';

/** Key of both providers. No span, metric or log line may ever hold it. */
export const OBSERVED_KEY = 'sk-observed-7be1f0c2a9d4';
/** What is asked and what is said. Nothing may ever hold them either. */
export const PROMPT = 'the quarterly figures of Lindqvist';
export const ANSWER = 'Nobody knows them';
/** The end user and other things that callers say. */
export const END_USER = 'lena@lindqvist.example';

/** Everything that must never be recorded. */
export const SECRETS = [OBSERVED_KEY, PROMPT, ANSWER, END_USER];

/** Two providers of one model on real sockets, and a router that is mounted. */
export interface ObservedCell extends AsyncDisposable {
  readonly router: Router;
  readonly mounted: Mounted;
  readonly first: Upstream;
  readonly second: Upstream;
}

/** Starts an {@link ObservedCell}. The first provider fails unless it is told otherwise; what it says repeats the prompt. */
export async function startObservedCell(
  handlers: { readonly first?: UpstreamHandler; readonly second?: UpstreamHandler } = {},
  config: Omit<RouterConfig, 'providers'> = {},
): Promise<ObservedCell> {
  const first = await startUpstream(handlers.first ?? failWith(500, { error: { message: `cannot do ${PROMPT}` } }));
  const second = await startUpstream(handlers.second ?? answerWith(ANSWER));
  const model = { price: { prompt: 1, completion: 2 } };
  const router: Router = createRouter({
    providers: [
      openaiCompatible({ slug: 'first', apiKey: OBSERVED_KEY, baseURL: first.baseURL, models: { 'acme/one': model } }),
      openaiCompatible({
        slug: 'second',
        apiKey: OBSERVED_KEY,
        baseURL: second.baseURL,
        models: { 'acme/one': model },
      }),
    ],
    fallback: { triesPerEndpoint: 1 },
    allowAnonymous: true,
    on: { warning: () => {} },
    ...config,
  });
  const mount = MOUNTS['node'];
  if (mount === undefined) throw new RangeError('There is no mount "node"');
  const mounted = await mount(router);
  return {
    router,
    mounted,
    first,
    second,
    async [Symbol.asyncDispose]() {
      await mounted[Symbol.asyncDispose]();
      await router.close();
      await Promise.all([first, second].map((upstream) => upstream[Symbol.asyncDispose]()));
    },
  };
}

/** A request for the model of both providers, the first one first. */
export function asking(more: object = {}) {
  return {
    model: 'acme/one',
    messages: [{ role: 'user' as const, content: PROMPT }],
    provider: { order: ['first', 'second'] },
    user: END_USER,
    metadata: { mail: END_USER },
    ...more,
  };
}

/** Asks over HTTP and reads the whole answer. */
export async function post({ mounted }: ObservedCell, body: object, headers: Record<string, string> = {}) {
  const response = await fetch(`${mounted.baseURL}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, id: response.headers.get('x-generation-id'), text: await response.text() };
}
