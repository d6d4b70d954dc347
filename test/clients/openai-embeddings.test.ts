import OpenAI, { APIError } from 'openai';
import { type Router, createRouter, openaiCompatible } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { embeddingProvider, vectorOf } from '../support/embedding-upstream.ts';
import { MOUNTS } from '../support/mounts.ts';
import { type Upstream, failWith, startUpstream } from '../support/upstream.ts';

interface Scene extends AsyncDisposable {
  readonly client: OpenAI;
  /** Writes base64 when it is asked for it. */
  readonly first: Upstream;
  /** Is never asked for base64 and writes numbers. */
  readonly second: Upstream;
}

const EMBEDS = { outputModalities: ['embeddings'], price: { prompt: 1, completion: 0 } } as const;

async function open(mount: (typeof MOUNTS)[string]): Promise<Scene> {
  const first = await startUpstream(embeddingProvider);
  const second = await startUpstream(embeddingProvider);
  const models = { 'acme/embed': EMBEDS } as const;
  const router: Router = createRouter({
    providers: [
      openaiCompatible({
        slug: 'first',
        name: 'First',
        baseURL: first.baseURL,
        models,
        quirks: { embeddings: { base64: true } },
      }),
      openaiCompatible({ slug: 'second', name: 'Second', baseURL: second.baseURL, models }),
    ],
    allowAnonymous: true,
    fallback: { triesPerEndpoint: 1 },
  });
  const mounted = await mount(router);
  return {
    client: new OpenAI({ baseURL: mounted.baseURL, apiKey: 'any', maxRetries: 0 }),
    first,
    second,
    async [Symbol.asyncDispose]() {
      await mounted[Symbol.asyncDispose]();
      await router.close();
      await first[Symbol.asyncDispose]();
      await second[Symbol.asyncDispose]();
    },
  };
}

const request = { model: 'acme/embed', input: ['One', 'Another'], provider: { order: ['first', 'second'] } };

describe.each(Object.entries(MOUNTS))('embeddings of the openai package over %s', (_name, mount) => {
  it('come decoded by default, and exactly so by each format, from servers that write either', async () => {
    await using scene = await open(mount);
    const wanted = request.input.map((text) => vectorOf(text));
    for (const order of [['first'], ['second']]) {
      for (const format of [undefined, 'float'] as const) {
        const body = { ...request, provider: { order }, ...(format === undefined ? {} : { encoding_format: format }) };
        const answer = await scene.client.embeddings.create(body);
        expect(answer.data.map(({ embedding }) => [...embedding])).toEqual(wanted);
        expect(answer.data.map(({ index }) => index)).toEqual([0, 1]);
        expect(answer).toMatchObject({
          object: 'list',
          model: 'acme/embed',
          usage: { prompt_tokens: 8, total_tokens: 8 },
        });
        expect(answer).toMatchObject({ usage: { cost: 0.000008 } });
      }
    }
    expect(scene.first.requests.map(({ body }) => body['encoding_format'])).toEqual(['base64', 'base64']);
    expect(scene.second.requests.map(({ body }) => body['encoding_format'])).toEqual([undefined, undefined]);
    expect(scene.first.requests[0]).toMatchObject({
      path: '/v1/embeddings',
      body: { model: 'acme/embed', input: request.input },
    });
  });

  it('fall back to the next provider, and tell about it', async () => {
    await using scene = await open(mount);
    scene.first.handler = failWith(503);
    const answer = await scene.client.embeddings.create(request, { headers: { 'X-Router-Metadata': 'enabled' } });
    expect(answer.data.map(({ embedding }) => [...embedding])).toEqual(request.input.map((text) => vectorOf(text)));
    expect(answer).toMatchObject({
      provider: 'Second',
      router_metadata: {
        attempts: [
          { provider: 'First', status: 503 },
          { provider: 'Second', status: 200 },
        ],
      },
    });
    expect([scene.first.requests.length, scene.second.requests.length]).toEqual([1, 1]);
  });

  it('have the length that was asked for, and take tokens', async () => {
    await using scene = await open(mount);
    const answer = await scene.client.embeddings.create({ model: 'acme/embed', input: [[1, 2], [3]], dimensions: 5 });
    expect(answer.data.map(({ embedding }) => embedding.length)).toEqual([5, 5]);
  });

  it('fail with typed errors', async () => {
    await using scene = await open(mount);
    const bad = scene.client.embeddings.create({ model: 'acme/embed', input: '' });
    await expect(bad).rejects.toMatchObject({ status: 400, message: expect.stringContaining('input') as string });
    const limited = failWith(429, { error: { message: 'slow down' } }, { 'retry-after': '7' });
    scene.first.handler = limited;
    scene.second.handler = limited;
    const error = await scene.client.embeddings.create(request).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(APIError);
    expect((error as APIError).status).toBe(429);
    expect((error as APIError).headers?.get('retry-after')).toBe('7');
  });
});
