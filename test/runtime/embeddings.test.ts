import {
  type AttemptEvent,
  type CallOptions,
  type EmbeddingRequest,
  type EmbeddingResult,
  type ErrorEvent,
  type ResultEvent,
  type Router,
  type RouterConfig,
  type RouterError,
  ConfigError,
  createRouter,
} from 'signalbox';
import { type FakeEnvironment, fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import {
  type Embeds,
  type EmbeddingStub,
  answersAfter,
  embeddingStub,
  embedsWith,
  failsWith,
  isDeaf,
} from '../support/embedding-providers.ts';
// Loaded by the first request that needs it, which takes real time; the clock of these tests has none.
import '../../src/router/embed.ts';

interface Bench {
  readonly environment: FakeEnvironment;
  readonly router: Router;
  readonly attempts: AttemptEvent[];
  readonly results: ResultEvent[];
  readonly errors: ErrorEvent[];
}

function benchOf(
  providers: readonly EmbeddingStub[],
  config: Partial<RouterConfig> = {},
  environment = fakeEnvironment(),
): Bench {
  const [attempts, results, errors]: [AttemptEvent[], ResultEvent[], ErrorEvent[]] = [[], [], []];
  const router: Router = createRouter({
    environment,
    identitySecret: 'a secret of a test',
    timeouts: { connectMs: 200, firstTokenMs: 1_000, answerMs: 2_000, totalMs: 6_000 },
    ...config,
    on: {
      attempt: (event) => void attempts.push(event),
      result: (event) => void results.push(event),
      error: (event) => void errors.push(event),
      warning: () => {},
    },
    providers,
  });
  return { environment, router, attempts, results, errors };
}

const ORDERED = { provider: { order: ['first', 'second'] } } as const;

/** Embeds and lets as much time pass as it takes; gives the result or what was thrown. */
async function embed(
  { router, environment }: Bench,
  request: Partial<EmbeddingRequest> = {},
  options?: CallOptions,
): Promise<EmbeddingResult | RouterError> {
  let outcome: unknown;
  router.embed({ model: 'acme/embed', input: ['a', 'b'], ...ORDERED, ...request }, options).then(
    (result) => (outcome = result),
    (error: unknown) => (outcome = error),
  );
  await environment.advance(60_000);
  expect(outcome).toBeDefined();
  expect(environment.pendingTimers).toBe(0);
  return outcome as EmbeddingResult | RouterError;
}

describe('embeddings', () => {
  it('come in the order of the inputs, priced, with the id of the answer', async () => {
    const bench = benchOf([embeddingStub('first', [embedsWith()])]);
    expect(await embed(bench)).toEqual({
      id: expect.stringMatching(/^gen-\d+-\w{20}$/) as string,
      object: 'list',
      model: 'acme/embed',
      provider: 'FIRST',
      data: [
        { object: 'embedding', index: 0, embedding: [0, 0.5] },
        { object: 'embedding', index: 1, embedding: [1, 0.5] },
      ],
      usage: {
        prompt_tokens: 10,
        total_tokens: 10,
        cost: 0.00001,
        is_byok: false,
        cost_details: {
          upstream_inference_cost: 0.00001,
          upstream_inference_prompt_cost: 0.00001,
          upstream_inference_completions_cost: 0,
        },
      },
    });
  });

  it('are written as the caller wants them, exactly, whichever way the provider gave them', async () => {
    const floats = Float32Array.of(0.1, -2.5, 1e-40);
    for (const vectors of [[floats], [[...floats]]]) {
      const bench = benchOf([embeddingStub('first', [embedsWith(vectors)])]);
      const numbers = await bench.router.embed({ model: 'acme/embed', input: 'a' });
      expect(numbers.data[0]?.embedding).toEqual([...floats]);
      const text = await bench.router.embed({ model: 'acme/embed', input: 'a', encoding_format: 'base64' });
      const bytes = Buffer.from(text.data[0]?.embedding ?? '', 'base64');
      expect(new Float32Array(new Uint8Array(bytes).buffer)).toEqual(floats);
    }
  });

  it('fall back to the next endpoint, and tell about it when asked', async () => {
    const second = embeddingStub('second', [embedsWith()]);
    const bench = benchOf([embeddingStub('first', [failsWith('server', { status: 500 })]), second]);
    const result = await embed(bench, {}, { metadata: true });
    expect(result).toMatchObject({
      provider: 'SECOND',
      router_metadata: {
        requested: 'acme/embed',
        strategy: 'direct',
        attempt: 2,
        endpoints: { total: 2 },
        attempts: [
          { provider: 'FIRST', model: 'acme/embed', status: 500 },
          { provider: 'SECOND', model: 'acme/embed', status: 200 },
        ],
      },
    });
    expect(second.calls).toHaveLength(1);
  });

  it('are tried again at the only endpoint when its failure allows it', async () => {
    const only = embeddingStub('first', [failsWith('overloaded', { status: 503 }), embedsWith()]);
    expect(await embed(benchOf([only]))).toMatchObject({ object: 'list' });
    expect(only.calls).toHaveLength(2);
  });

  it.each<readonly [string, Embeds, number, number]>([
    ['400', failsWith('invalid_request', { status: 400 }), 400, 0],
    ['401', failsWith('credentials', { status: 401 }), 502, 1],
    ['404', failsWith('model_not_found', { status: 404 }), 404, 1],
    ['429', failsWith('rate_limited', { status: 429, retryAfterMs: 90_000 }), 429, 1],
    ['503', failsWith('overloaded', { status: 503, retryAfterMs: 90_000 }), 503, 1],
    ['silence', isDeaf, 524, 1],
  ])(
    'end in a true status after a %s, and ask the next endpoint only where that helps',
    async (_name, behave, status, asked) => {
      const alone = await embed(benchOf([embeddingStub('first', [behave])]));
      expect(alone).toMatchObject({ status });
      const second = embeddingStub('second', [embedsWith()]);
      const backed = await embed(benchOf([embeddingStub('first', [behave]), second]));
      expect(second.calls).toHaveLength(asked);
      expect(backed).toMatchObject(asked === 1 ? { object: 'list' } : { status });
    },
  );

  it.each<readonly [string, readonly unknown[]]>([
    ['too few', [[1, 2]]],
    ['too many', [[1], [2], [3]]],
    ['none', []],
    ['of different lengths', [[1, 2], [1]]],
    ['empty', [[], []]],
    [
      'with NaN in them',
      [
        [1, NaN],
        [1, 2],
      ],
    ],
    [
      'with infinity in them',
      [
        [1, 2],
        [1, -Infinity],
      ],
    ],
    [
      'beyond 32 bits',
      [
        [1, 2],
        [1, 1e39],
      ],
    ],
    [
      'with null in them',
      [
        [1, null],
        [1, 2],
      ],
    ],
    [
      'with text in them',
      [
        [1, '2'],
        [1, 2],
      ],
    ],
    ['with holes in them', [[1, 2], Object.assign([], { length: 2 })]],
    ['that are null', [null, [1]]],
    ['that are text', ['ab', 'cd']],
  ])('that are %s never end as a success', async (_name, vectors) => {
    const alone = await embed(benchOf([embeddingStub('first', [embedsWith(vectors)])]));
    expect(alone).toMatchObject({ status: 502, errorType: 'provider_unavailable' });
    const backed = await embed(
      benchOf([embeddingStub('first', [embedsWith(vectors)]), embeddingStub('second', [embedsWith()])]),
    );
    expect(backed).toMatchObject({ provider: 'SECOND' });
  });

  it('that ignore the length that was asked for never end as a success', async () => {
    const bench = benchOf([embeddingStub('first', [embedsWith()]), embeddingStub('second', [embedsWith([[1], [2]])])]);
    expect(await embed(bench, { dimensions: 1 })).toMatchObject({ provider: 'SECOND' });
  });

  it.each<readonly [string, Embeds]>([
    [
      'throws',
      () => {
        throw new TypeError('boom');
      },
    ],
    // oxlint-disable-next-line prefer-promise-reject-errors
    ['rejects with nonsense', () => Promise.reject('nonsense')],
    ['gives nothing', () => undefined],
    ['gives null', () => Promise.resolve(null)],
    ['gives an answer to a chat', () => Promise.resolve({ type: 'whole', result: { choices: [] } })],
    ['gives no vectors', () => Promise.resolve({ type: 'embedded', result: {} })],
    ['fails in a way that does not exist', () => Promise.resolve({ type: 'failed', failure: { kind: '__proto__' } })],
  ])('survive an adapter that %s', async (_name, behave) => {
    const bench = benchOf([embeddingStub('first', [behave]), embeddingStub('second', [embedsWith()])]);
    expect(await embed(bench)).toMatchObject({ provider: 'SECOND' });
    expect(await embed(benchOf([embeddingStub('first', [behave])]))).toMatchObject({ status: 502 });
  });

  it('end when their whole time is up', async () => {
    const environment = fakeEnvironment();
    const slow = embeddingStub('first', [answersAfter(environment, 1_800)]);
    const bench = benchOf([slow], { timeouts: { answerMs: 5_000, firstTokenMs: 500, totalMs: 1_000 } }, environment);
    expect(await embed(bench)).toMatchObject({ status: 408 });
    expect(slow.calls[0]?.signal.aborted).toBe(true);
  });

  it('end upstream when the caller goes away', async () => {
    const environment = fakeEnvironment();
    const slow = embeddingStub('first', [answersAfter(environment, 1_500)]);
    const bench = benchOf([slow, embeddingStub('second', [embedsWith()])], {}, environment);
    const controller = new AbortController();
    const running = bench.router
      .embed({ model: 'acme/embed', input: 'a', ...ORDERED }, { signal: controller.signal })
      .catch((error: unknown) => error);
    await environment.advance(100);
    controller.abort(new Error('enough'));
    expect(await running).toMatchObject({ message: 'enough' });
    await environment.settle();
    expect(slow.calls[0]?.signal.aborted).toBe(true);
    expect(bench.errors).toMatchObject([{ status: 499, request: { operation: 'embeddings' } }]);
    expect(bench.attempts).toMatchObject([{ failure: { kind: 'aborted' } }]);
    await environment.advance(5_000);
    expect(environment.pendingTimers).toBe(0);
  });

  it('are told in events, with the usage of attempts that failed as well', async () => {
    const wrong = embeddingStub('first', [embedsWith([[1]], { prompt_tokens: 4 })]);
    const bench = benchOf([wrong, embeddingStub('second', [embedsWith()])]);
    await embed(bench, {
      session_id: 's1',
      metadata: { team: 'search' },
      trace: { trace_id: 't' },
      user: 'nobody-else',
    });
    const request = {
      operation: 'embeddings',
      requested: 'acme/embed',
      stream: false,
      session: 's1',
      metadata: { team: 'search' },
      trace: { trace_id: 't' },
      account: 'anonymous',
    };
    expect(bench.attempts).toMatchObject([
      { request, attempt: 1, provider: 'first', failure: { kind: 'bad_response' }, usage: { prompt_tokens: 4 } },
      { request, attempt: 2, provider: 'second', usage: { prompt_tokens: 10, cost: 0.00001 } },
    ]);
    expect(bench.results).toMatchObject([{ request, provider: 'second', attempts: 2, finishReason: null }]);
    expect(JSON.stringify([bench.attempts, bench.results])).not.toContain('nobody-else');
  });

  it('have their usage estimated where the provider counts nothing', async () => {
    const silent: Embeds = () => Promise.resolve({ type: 'embedded', result: { vectors: [[1]] } });
    const bench = benchOf([embeddingStub('first', [silent])]);
    expect(await embed(bench, { input: 'x'.repeat(400) })).toMatchObject({
      usage: { prompt_tokens: 100, total_tokens: 100, estimated: true, cost: 0.0001 },
    });
    expect(await embed(bench, { input: [[1, 2, 3]] })).toMatchObject({ usage: { prompt_tokens: 3, estimated: true } });
  });

  it('use the key of the account where it has one, and charge nothing for it', async () => {
    const only = embeddingStub('first', [embedsWith()]);
    const account = { id: 'acme', providerKeys: { first: { apiKey: 'sk-own' } } };
    const result = await embed(benchOf([only]), {}, { account });
    expect(only.calls[0]?.apiKey).toBe('sk-own');
    expect(result).toMatchObject({
      usage: { is_byok: true, cost: 0, cost_details: { upstream_inference_cost: 0.00001 } },
    });
  });

  it('stand for their user in the same way as a chat does', async () => {
    const only = embeddingStub('first', [embedsWith()], {});
    const chats: string[] = [];
    const spying: EmbeddingStub = {
      ...only,
      chat: (call) => {
        chats.push(call.request.endUser);
        return only.chat(call);
      },
    };
    const { router } = benchOf([spying], { fallback: { triesPerEndpoint: 1 } });
    await router.embed({ model: 'acme/embed', input: 'x', user: 'ada' });
    const chat = router.chat({ model: 'acme/embed', messages: [{ role: 'user', content: 'x' }], user: 'ada' });
    await expect(chat).rejects.toMatchObject({ status: 502 });
    expect(chats).toEqual([only.calls[0]?.request.endUser]);
    expect(chats[0]).toMatch(/^user_[0-9a-f]{32}$/);
  });

  it('leave the health of a chat alone', async () => {
    const only = embeddingStub('first', [failsWith('model_not_found', { status: 404 })], {});
    const { router } = benchOf([only], { fallback: { triesPerEndpoint: 1 } });
    const embedding = { model: 'acme/embed', input: 'x' };
    await expect(router.embed(embedding)).rejects.toMatchObject({ status: 404 });
    const chat = router.chat({ model: 'acme/embed', messages: [{ role: 'user', content: 'x' }] });
    // It was asked, where an endpoint that cools down would not have been.
    await expect(chat).rejects.toMatchObject({ status: 502 });
    // A name that the provider does not know is told every time, by the provider.
    await expect(router.embed(embedding)).rejects.toMatchObject({ status: 404 });
    expect(only.calls).toHaveLength(2);
  });

  it('need a provider that can be asked for them, which is found out at the start', () => {
    const { slug, name, models, chat } = { ...embeddingStub('mute', []), chat: () => new Promise<never>(() => {}) };
    const mute = { slug, name, models, chat };
    expect(() => createRouter({ providers: [mute] })).toThrow(ConfigError);
    expect(() => createRouter({ providers: [mute] })).toThrow(
      'providers[0].models["acme/embed"].outputModalities must not name embeddings',
    );
  });
});
