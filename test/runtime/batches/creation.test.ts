import { defaultPlugins, type NewBatch, type RouterConfig, web } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { batchScene, chatBatch, requests } from '../../support/batches.ts';
import { embedsWith, embeddingStub } from '../../support/embedding-providers.ts';
import { refusal } from '../../support/refusal.ts';

const BODY = { messages: [{ role: 'user', content: 'Hi' }] };

/** Drafts and batches that are in a store, by looking at what a sweep of everything finds. */
async function leftovers({ store, environment }: ReturnType<typeof batchScene>): Promise<number> {
  await environment.advance(1);
  return store.sweep({ draftMs: 0, limit: 100 });
}

describe('a batch that is wrong', () => {
  it.each<[string, Partial<NewBatch>, string]>([
    ['an endpoint that there is none', { endpoint: '/v1/images' as never }, 'endpoint must be one of'],
    ['another window', { completion_window: '48h' as never }, 'completion_window must be "24h"'],
    [
      'other preferences',
      { provider: { sort: 'price' } as never },
      'provider has a member that is not known here: "sort"',
    ],
    ['plain HTTP', { callback_url: 'http://example.com/hook' }, 'callback_url must begin with https://'],
    ['a private address', { callback_url: 'https://10.0.0.1/hook' }, 'callback_url must lead to a host on the public'],
    ['no requests', { requests: [] }, 'requests must have at least 1 item'],
    [
      'no custom_id',
      { requests: [{ custom_id: 'a', body: BODY }, { body: BODY } as never] },
      'requests[1].custom_id is required',
    ],
    ['no body', { requests: [{ custom_id: 'a' } as never] }, 'requests[0].body is required'],
    [
      'the same custom_id twice',
      { requests: ['a', 'b', 'c', 'b'].map((name) => ({ custom_id: name, body: BODY })) },
      'requests[3].custom_id is the same as that of requests[1]',
    ],
    [
      'two models',
      { requests: [{ custom_id: 'a', body: { ...BODY, model: 'acme/two' } }] },
      'requests[0].body.model must be "acme/one", the model of the whole batch, not "acme/two"',
    ],
    ['no model at all', { model: undefined }, 'requests[0].body.model is required'],
    [
      'what is no JSON',
      { requests: [{ custom_id: 'a', body: { ...BODY, big: 1n } as never }] },
      'requests[0].body.big must be JSON',
    ],
  ])('with %s is refused, and nothing of it is left', async (_name, wrong, message) => {
    const scene = batchScene();
    const error = await refusal(scene.router.batches.create({ ...chatBatch(3), ...wrong }));
    expect(error).toMatchObject({ status: 400, message: expect.stringContaining(message) as string });
    expect(await leftovers(scene)).toBe(0);
  });

  it('leaves nothing behind when its source fails in the middle', async () => {
    const scene = batchScene();
    function* broken() {
      yield* requests(450) as Iterable<never>;
      throw new Error('cursor closed');
    }
    await expect(scene.router.batches.create(chatBatch(0, { requests: broken() }))).rejects.toThrow('cursor closed');
    expect(await leftovers(scene)).toBe(0);
  });
});

describe('the validation', () => {
  const wrong: readonly [string, NewBatch['endpoint'], Record<string, unknown>, string][] = [
    ['a stream', '/v1/chat/completions', { ...BODY, stream: true }, 'requests[1].body.stream must be false'],
    ['a bad message', '/v1/chat/completions', { messages: [{ role: 'user' }] }, 'requests[1].body.messages[0].content'],
    [
      'pictures as output',
      '/v1/chat/completions',
      { ...BODY, modalities: ['text', 'image'] },
      'requests[1].body.modalities[1] must be "text"',
    ],
    [
      'sound as output',
      '/v1/chat/completions',
      { ...BODY, audio: { voice: 'a', format: 'mp3' } },
      'requests[1].body.audio cannot be used',
    ],
    [
      'a server tool',
      '/v1/chat/completions',
      { ...BODY, tools: [{ type: 'router:web_search' }] },
      'requests[1].body.tools[0] is a tool that the service runs',
    ],
    [
      'a plugin that searches',
      '/v1/chat/completions',
      { ...BODY, plugins: [{ id: 'web' }] },
      'requests[1].body.plugins[0] uses tools',
    ],
    [
      'a hosted tool',
      '/v1/responses',
      { input: 'Hi', tools: [{ type: 'file_search' }] },
      'requests[1].body.tools[0] is a tool that the service runs',
    ],
    ['no max_tokens', '/v1/messages', BODY, 'requests[1].body.max_tokens is required'],
    [
      'a hosted tool',
      '/v1/messages',
      { ...BODY, max_tokens: 5, tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
      'requests[1].body.tools[0] is a tool that the service runs',
    ],
    ['no input', '/v1/embeddings', {}, 'requests[1].body.input is required'],
  ];
  const good: Readonly<Record<string, object>> = {
    '/v1/chat/completions': BODY,
    '/v1/responses': { input: 'Hi' },
    '/v1/messages': { ...BODY, max_tokens: 5 },
    '/v1/embeddings': { input: 'Hi' },
  };

  it.each(wrong)('fails all of a batch with %s for %s, naming the request', async (_name, endpoint, body, message) => {
    const embedding = endpoint === '/v1/embeddings';
    const { router } = batchScene(embedding ? { providers: [embeddingStub('up', [embedsWith()])] } : {});
    const model = embedding ? 'acme/embed' : 'acme/one';
    const list = [good[endpoint], body, { nonsense: true }].map((one, index) => ({
      custom_id: `n${index}`,
      body: one as never,
    }));
    const { id } = await router.batches.create({ endpoint, model, requests: list });
    await router.batches.tick();
    const batch = await router.batches.retrieve(id);
    expect(batch).toMatchObject({ status: 'failed', usage: null, results: null });
    expect(batch.error?.message).toContain(message);
    expect(batch.error?.message).toContain('custom_id "n1"');
  });

  it.each<[string, string, object, RouterConfig, string]>([
    ['the name of its model', 'acme/one:online', BODY, {}, 'body.model uses tools'],
    ['its model', 'router/fusion', BODY, {}, 'body.model uses tools'],
    [
      'a preset',
      'acme/one',
      { ...BODY, preset: 'clock' },
      { presets: { clock: { tools: [{ type: 'router:datetime' }] } } },
      'body.tools uses tools',
    ],
    [
      'the plugin of a preset',
      'acme/one',
      { ...BODY, preset: 'reader' },
      { presets: { reader: { plugins: [{ id: 'web-fetch' }] } } },
      'body.plugins uses tools',
    ],
  ])('finds the tools of the service behind %s too', async (_what, model, body, config, message) => {
    const { router } = batchScene({
      plugins: defaultPlugins([web({ engines: [{ id: 'stub', search: () => Promise.reject(new Error('no')) }] })]),
      ...config,
    });
    const { id } = await router.batches.create(
      chatBatch(1, { model, requests: [{ custom_id: 'a', body: body as never }] }),
    );
    await router.batches.tick();
    const { status, error } = await router.batches.retrieve(id);
    expect([status, error?.message]).toEqual(['failed', expect.stringContaining(message)]);
  });

  it('leaves a default of the account to whoever has set it', async () => {
    const { router } = batchScene({ pluginDefaults: [{ id: 'web-fetch' }] });
    const { id } = await router.batches.create(chatBatch(1));
    await router.batches.tick();
    expect((await router.batches.retrieve(id)).status).toBe('completed');
  });

  it('fails a batch for a model that nobody serves', async () => {
    const { router } = batchScene();
    const { id } = await router.batches.create(chatBatch(1, { model: 'acme/none' }));
    await router.batches.tick();
    expect((await router.batches.retrieve(id)).error?.message).toContain(
      'requests[0].body: acme/none is not a valid model ID',
    );
  });
});

describe('an Idempotency-Key', () => {
  it('gives the same batch again, for the same content of the same account', async () => {
    const { router } = batchScene();
    const first = await router.batches.create(chatBatch(300), { idempotencyKey: 'k' });
    await router.batches.tick();
    const again = await router.batches.create(chatBatch(300), { idempotencyKey: 'k' });
    expect(again).toMatchObject({ id: first.id, status: 'completed' });
    const other = await router.batches.create(chatBatch(300), { idempotencyKey: 'k', account: { id: 'other' } });
    expect(other.id).not.toBe(first.id);
    expect((await router.batches.list()).data).toHaveLength(1);
  });

  it('is refused with other content', async () => {
    const { router } = batchScene();
    await router.batches.create(chatBatch(3), { idempotencyKey: 'k' });
    for (const changed of [
      chatBatch(4),
      chatBatch(3, { completion_window: '24h' }),
      chatBatch(3, { requests: requests(3, 'x') }),
    ]) {
      expect(await refusal(router.batches.create(changed, { idempotencyKey: 'k' }))).toMatchObject({ status: 422 });
    }
    expect(await refusal(router.batches.create(chatBatch(3), { idempotencyKey: '' }))).toMatchObject({ status: 400 });
    expect((await router.batches.list()).data).toHaveLength(1);
  });

  it('is forgotten after a day', async () => {
    const { router, environment } = batchScene();
    const first = await router.batches.create(chatBatch(1), { idempotencyKey: 'k' });
    await environment.advance(86_400_001);
    expect((await router.batches.create(chatBatch(2), { idempotencyKey: 'k' })).id).not.toBe(first.id);
  });
});
