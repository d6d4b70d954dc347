import { type ModelCard, type Router, apiKeys, createRouter } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { embeddingStub, embedsWith, failsWith } from '../support/embedding-providers.ts';
import { type Answered, send } from '../support/http-call.ts';

const body = { model: 'acme/embed', input: ['a', 'b'] };

function routerWith(...behaviours: Parameters<typeof embeddingStub>[1]): Router {
  return createRouter({ providers: [embeddingStub('first', behaviours)], fallback: { triesPerEndpoint: 1 } });
}

function post(router: Router, init: Parameters<typeof send>[1] = {}): Promise<Answered> {
  return send(router, { method: 'POST', path: '/embeddings', body, ...init });
}

describe('POST /embeddings', () => {
  it('answers with the vectors, the id and nothing of the metadata', async () => {
    const { status, headers, json } = await post(routerWith(embedsWith()));
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('application/json');
    expect(headers['x-generation-id']).toBe(json['id']);
    expect(json).toMatchObject({ object: 'list', data: [{ embedding: [0, 0.5] }, { embedding: [1, 0.5] }] });
    expect(json).not.toHaveProperty('router_metadata');
  });

  it('adds the metadata under the name that was asked for', async () => {
    const router = routerWith(embedsWith());
    const ours = await post(router, { headers: { 'x-router-metadata': 'enabled' } });
    expect(ours.json['router_metadata']).toMatchObject({ attempt: 1, requested: 'acme/embed' });
    const theirs = await post(router, { headers: { 'x-openrouter-metadata': 'enabled' } });
    expect(theirs.json['openrouter_metadata']).toMatchObject({ attempt: 1 });
  });

  it('tells what is wrong with a body', async () => {
    const bad = await post(routerWith(embedsWith()), { body: { ...body, input: [''] } });
    expect(bad.status).toBe(400);
    expect(bad.error).toMatchObject({ code: 400, message: 'input[0] must not be empty.' });
    expect(bad.error.metadata).toMatchObject({ path: 'input[0]', error_type: 'invalid_prompt' });
  });

  it('relays failures with their status, the id and the time to wait', async () => {
    const failing = failsWith('rate_limited', { status: 429, retryAfterMs: 7_000 });
    const { status, headers, error } = await post(routerWith(failing));
    expect(status).toBe(429);
    expect(headers['retry-after']).toBe('7');
    expect(headers['x-generation-id']).toMatch(/^gen-/);
    expect(error.metadata).toMatchObject({ provider_name: 'FIRST', error_type: 'rate_limit_exceeded' });
  });

  it('wants a key that may call models', async () => {
    const router: Router = createRouter({
      providers: [embeddingStub('first', [embedsWith()])],
      authenticate: apiKeys([
        { key: 'sk-a-key-for-calling-models', id: 'a' },
        { key: 'sk-a-key-for-managing-only', id: 'a', scopes: ['management'] },
      ]),
    });
    const as = (key: string): Promise<Answered> => post(router, { headers: { authorization: `Bearer ${key}` } });
    expect((await post(router)).status).toBe(401);
    expect((await as('sk-a-key-for-calling-models')).status).toBe(200);
    expect((await as('sk-a-key-for-managing-only')).status).toBe(403);
  });

  it('takes POST only', async () => {
    const wrong = await send(routerWith(embedsWith()), { method: 'GET', path: '/embeddings' });
    expect(wrong.status).toBe(405);
    expect(wrong.headers['allow']).toBe('POST');
  });

  it('gives its place back, however it ends', async () => {
    const router: Router = createRouter({
      providers: [embeddingStub('first', [failsWith('invalid_request', { status: 400 }), embedsWith()])],
      limits: { concurrentRequests: 1 },
    });
    expect((await post(router)).status).toBe(400);
    expect((await post(router, { body: {} })).status).toBe(400);
    expect((await post(router)).status).toBe(200);
    expect((await post(router)).status).toBe(200);
  });
});

describe('GET /models', () => {
  const router: Router = createRouter({
    // Those of the default plugins are router models, which are listed elsewhere.
    plugins: [],
    providers: [
      embeddingStub('first', [embedsWith()], { outputModalities: ['embeddings'], parameters: ['dimensions'] }),
      {
        ...embeddingStub('second', [embedsWith()]),
        models: { 'acme/chat': {}, 'acme/both': { outputModalities: ['text', 'embeddings'] } },
      },
    ],
  });

  async function cards(query: string): Promise<readonly ModelCard[]> {
    const { json } = await send(router, { method: 'GET', path: '/models', query });
    return json['data'] as readonly ModelCard[];
  }

  it('lists models for embeddings when they are asked for', async () => {
    const ids = async (query: string): Promise<readonly string[]> => (await cards(query)).map(({ id }) => id).sort();
    expect(await ids('')).toEqual(['acme/both', 'acme/chat']);
    expect(await ids('output_modalities=embeddings')).toEqual(['acme/both', 'acme/embed']);
    expect(await ids('output_modalities=all')).toEqual(['acme/both', 'acme/chat', 'acme/embed']);
  });

  it('shows what they put out and which of their own parameters they take', async () => {
    const card = (await cards('output_modalities=embeddings')).find(({ id }) => id === 'acme/embed');
    expect(card?.architecture).toMatchObject({ output_modalities: ['embeddings'], modality: 'text->embeddings' });
    expect(card?.supported_parameters).toEqual(['dimensions']);
  });
});
