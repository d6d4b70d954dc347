import {
  anthropic,
  azure,
  bedrock,
  cloudflare,
  type ChatProviderOptions,
  createRouter,
  google,
  mistral,
  openai,
  openaiCompatible,
  perplexity,
  type ProviderKey,
} from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { batchScene } from '../support/batches.ts';
import { type BatchServerAnswer, endedAtServer, startBatchServer } from '../support/batch-server.ts';
import { answerWith, failWith, startUpstream, type Upstream } from '../support/upstream.ts';

const MODELS = { 'acme/one': { upstreamModel: 'one-up', price: { prompt: 1, completion: 2 } } } as const;
const REQUEST = { model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }] } as const;
const KEYS = [
  { name: 'team-a', apiKey: 'sk-secret-of-team-a' },
  { name: 'team-b', apiKey: 'sk-secret-of-team-b' },
] as const;

function providerOf({ baseURL }: Upstream, options: Pick<ChatProviderOptions, 'keys'>) {
  return openai({ baseURL, models: MODELS, ...options });
}

/** Names of the keys that an upstream was called with. */
function keysOf({ requests }: Upstream): readonly string[] {
  return requests.map(({ headers }) => headers.authorization?.replace('Bearer sk-secret-of-', '') ?? '');
}

describe('several keys of a provider', () => {
  it('are endpoints of their own: one that reaches its rate limit rests while the others serve', async () => {
    const left = new Map([
      ['team-a', 4],
      ['team-b', 100],
    ]);
    await using upstream = await startUpstream();
    const answer = answerWith('Hello there');
    upstream.handler = (request, response, raw) => {
      const name = keysOf(upstream).at(-1) ?? '';
      const count = left.get(name) ?? 0;
      left.set(name, count - 1);
      const refuse = failWith(429, { error: { message: 'slow down' } }, { 'retry-after': '600' });
      (count > 0 ? answer : refuse)(request, response, raw);
    };
    const router = createRouter({ providers: [providerOf(upstream, { keys: KEYS })], environment: fakeEnvironment() });
    for (let count = 0; count < 30; count += 1) {
      expect((await router.chat(REQUEST)).choices[0]?.message.content).toBe('Hello there');
    }
    // Refused until it is evident that this is no chance, and left alone since.
    const refused = -(left.get('team-a') ?? 0);
    expect(refused).toBeGreaterThan(0);
    expect(refused).toBeLessThan(9);
    expect(keysOf(upstream)).toHaveLength(30 + refused);
    const { steps } = await router.explain(REQUEST);
    expect(steps.map(({ tag, key, coolingDown }) => [tag, key, coolingDown])).toEqual([
      ['openai/team-b', 'team-b', false],
      ['openai/team-a', 'team-a', true],
    ]);
    await router.close();
  });

  it('have limits of their own, which are kept before a provider refuses', async () => {
    await using upstream = await startUpstream();
    const keys = [{ ...KEYS[0], rpm: 3 }, KEYS[1]];
    const router = createRouter({ providers: [providerOf(upstream, { keys })] });
    for (let count = 0; count < 20; count += 1) await router.chat(REQUEST);
    // Which of the two is faster is chance.
    expect(keysOf(upstream).filter((name) => name === 'team-a').length).toBeLessThanOrEqual(3);
    expect(keysOf(upstream)).toHaveLength(20);
    await router.close();
  });

  it.each(['adaptive', 'balanced'] as const)('share requests by their weights (%s)', async (strategy) => {
    await using upstream = await startUpstream();
    const keys = [{ ...KEYS[0], weight: 3 }, KEYS[1]];
    const router = createRouter({
      providers: [providerOf(upstream, { keys })],
      strategy,
      environment: fakeEnvironment(),
    });
    for (let count = 0; count < 400; count += 1) await router.chat(REQUEST);
    const first = keysOf(upstream).filter((name) => name === 'team-a').length;
    // 300 expected; five standard deviations are 43.
    expect(first).toBeGreaterThan(255);
    expect(first).toBeLessThan(345);
    await router.close();
  });

  it('keep their sessions, because a prompt cache belongs to a key', async () => {
    await using upstream = await startUpstream();
    const router = createRouter({ providers: [providerOf(upstream, { keys: KEYS })] });
    const ofSession = new Map<number, Set<string>>();
    for (let round = 0; round < 5; round += 1) {
      for (let session = 0; session < 20; session += 1) {
        const messages = [{ role: 'user' as const, content: `${session}: ${'a long story '.repeat(2_000)}` }];
        await router.chat({ ...REQUEST, messages, session_id: `session-${session}` });
        const keys = ofSession.get(session) ?? new Set();
        ofSession.set(session, keys.add(keysOf(upstream).at(-1) ?? ''));
      }
    }
    expect([...ofSession.values()].every(({ size }) => size === 1)).toBe(true);
    expect(new Set(keysOf(upstream)).size).toBe(2);
    await router.close();
  });

  it('are named in preferences, in the ledger and to callers, and never shown', async () => {
    await using upstream = await startUpstream();
    const router = createRouter({ providers: [providerOf(upstream, { keys: KEYS })], ledger: true });
    const { router_metadata: metadata } = (await router.chat({
      ...REQUEST,
      provider: { only: ['openai/team-b'] },
    })) as { router_metadata?: unknown };
    expect(keysOf(upstream)).toEqual(['team-b']);
    const records = (await router.ledger?.read())?.records;
    expect(records).toMatchObject([{ endpoint: 'openai/team-b#acme/one', provider: 'openai' }]);
    const shown = JSON.stringify([
      metadata,
      records,
      await router.explain(REQUEST),
      [...router.internals.services.providers.values()],
    ]);
    expect(shown).not.toContain('secret-of');
    await router.close();
  });

  it('take part in a tag that names them all', async () => {
    await using upstream = await startUpstream();
    const models = { 'acme/one': [{ tag: 'slow' }, { tag: 'fast' }] };
    const router = createRouter({ providers: [openai({ baseURL: upstream.baseURL, keys: KEYS, models })] });
    const { steps } = await router.explain({ ...REQUEST, provider: { only: ['openai/fast'] } });
    expect(steps.map(({ tag }) => tag).sort()).toEqual(['openai/fast/team-a', 'openai/fast/team-b']);
    await router.close();
  });

  it('give an account with a key of its own one endpoint before all of them', async () => {
    await using upstream = await startUpstream();
    const router = createRouter({ providers: [providerOf(upstream, { keys: KEYS })] });
    const account = { id: 'tenant', providerKeys: { openai: { apiKey: 'sk-secret-of-tenant' } } };
    await router.chat(REQUEST, { account });
    const { steps } = await router.explain(REQUEST, { account });
    expect(steps.map(({ key }) => key ?? 'own')).toHaveLength(3);
    expect(steps[0]).toMatchObject({ tag: 'openai', key: undefined });
    expect(keysOf(upstream)).toEqual(['tenant']);
    await router.close();
  });

  it('may be texts alone, functions, and serve models that nobody declared', async () => {
    await using upstream = await startUpstream();
    const keys: readonly ProviderKey[] = ['sk-secret-of-one', () => 'sk-secret-of-two'];
    const router = createRouter({ providers: [openai({ baseURL: upstream.baseURL, keys })] });
    for (const name of ['key-1', 'key-2']) {
      await router.chat({ ...REQUEST, model: 'openai/anything', provider: { only: [`openai/${name}`] } });
    }
    expect(keysOf(upstream)).toEqual(['one', 'two']);
    await router.close();
  });

  it('run a batch at the provider with the key that it was given to', async () => {
    const batch = { id: 'batch_1', object: 'batch', status: 'in_progress', input_file_id: 'file-in' };
    const answer = {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'one-up',
      choices: [{ index: 0, message: { role: 'assistant', content: 'done' }, finish_reason: 'stop' }],
    };
    const answers: Readonly<Record<string, BatchServerAnswer>> = {
      'GET /v1/batches?limit=100': [200, { object: 'list', data: [] }],
      'POST /v1/files': [200, { id: 'file-in', object: 'file', purpose: 'batch' }],
      'POST /v1/batches': [200, batch],
      'GET /v1/batches/batch_1': [200, { ...batch, status: 'completed', output_file_id: 'file-out' }],
      'GET /v1/files/file-out/content': [
        200,
        JSON.stringify({ custom_id: 'r0', response: { status_code: 200, body: answer }, error: null }),
      ],
    };
    await using server = await startBatchServer(({ line }) => answers[line] ?? [404, { error: { message: 'no' } }]);
    const baseURL = `${server.origin}/v1`;
    const provider = openai({ baseURL, keys: KEYS, models: MODELS, nativeBatches: true });
    const scene = batchScene({ providers: [provider] });
    const { id } = await scene.router.batches.create({
      endpoint: '/v1/chat/completions',
      model: 'acme/one',
      provider: { only: ['openai/team-b'] },
      requests: [{ custom_id: 'r0', body: { messages: REQUEST.messages } }],
    });
    await scene.router.batches.start();
    expect(await endedAtServer(scene, id)).toMatchObject({ request_counts: { completed: 1 } });
    expect(new Set(server.requests.map(({ headers }) => headers['authorization']))).toEqual(
      new Set(['Bearer sk-secret-of-team-b']),
    );
    await scene.router.batches.stop({ graceMs: 0 });
  });

  it('are checked at start-up, each fault with its place', () => {
    const make = (keys: readonly unknown[]) => () => mistral({ keys: keys as never });
    expect(make([])).toThrow('providers.mistral.keys must hold a key');
    expect(make(['a b'])).toThrow('providers.mistral.keys[0] must be one line of visible characters');
    expect(make(['abc', 'abc'])).toThrow('providers.mistral.keys[1] must have a name and a key of its own');
    expect(make([{ name: 'A', apiKey: 'abc' }])).toThrow('keys[0].name must be lower-case letters');
    expect(make([{ apiKey: 'abc', rpm: 0 }])).toThrow(/providers\.mistral\.keys\[0\] must be/);
    expect(() => mistral({ apiKey: 'x', keys: ['y'] })).toThrow('take the place of apiKey');
  });
});

describe('one vendor more than once', () => {
  it('has a slug for each, with the dialect, the record and the prices of the vendor', async () => {
    await using upstream = await startUpstream();
    const { baseURL } = upstream;
    const catalog = {
      version: 1,
      origins: [{ source: 'test', date: '2026-11-26', licence: 'MIT' }],
      vendors: {
        openai: { 'gpt-x': { endpoint: { price: { prompt: 5, completion: 7 } }, from: { price: 0 } } },
      },
    } as const;
    const router = createRouter({
      catalog: catalog as never,
      providers: [
        openai({ baseURL, apiKey: 'one', slug: 'openai-us', models: { 'openai/gpt-x': {} } }),
        openai({ baseURL, apiKey: 'two', slug: 'openai-eu', models: { 'openai/gpt-x': { region: 'eu' } } }),
      ],
    });
    const { steps } = await router.explain({ ...REQUEST, model: 'openai/gpt-x' });
    expect(new Map(steps.map(({ tag, price }) => [tag, price]))).toEqual(
      new Map([
        ['openai-eu/eu', undefined],
        ['openai-us', { prompt: 5, completion: 7 }],
      ]),
    );
    await router.chat({ ...REQUEST, model: 'openai/gpt-x', max_tokens: 5, provider: { only: ['openai-eu'] } });
    expect(upstream.requests[0]?.body).toMatchObject({ model: 'gpt-x', max_completion_tokens: 5 });
    await router.close();
  });

  it('is possible with every vendor', () => {
    const options = { slug: 'second', apiKey: 'key' };
    const all = [
      openai(options),
      mistral(options),
      anthropic(options),
      google(options),
      azure({ ...options, resource: 'r', models: {} }),
      bedrock({ ...options, region: 'eu-central-1' }),
      perplexity(options),
      cloudflare({ ...options, baseURL: 'https://llm.example.com' }),
      openaiCompatible({ ...options, baseURL: 'https://llm.example.com' }),
    ];
    expect(all.map(({ slug }) => slug)).toEqual(all.map(() => 'second'));
    expect(() => openai({ slug: 'Second', apiKey: 'key' })).toThrow('providers.Second.slug must be');
  });
});
