import * as fc from 'fast-check';
import { createRouter } from 'signalbox';
import { describe, expect, it } from 'vitest';
import type { EndpointDeclaration } from '../../src/catalog/endpoint.ts';
import type { ProviderPreferences } from '../../src/protocol/provider-preferences.ts';
import { type Asked, LONG_MS, TIMEOUTS, type Bench, ask, askAndWait, benchOf, metadataOf } from '../support/driving.ts';
import { PASSING_KINDS, anyScript } from '../support/fault-schedules.ts';
import { stormOfRuns } from '../support/properties.ts';
import { instant } from '../support/simulated.ts';
import type { Behaviour, StubOptions } from '../support/stub-provider.ts';
import { storm } from '../support/storms.ts';

const SLUGS = ['p0', 'p1', 'p2', 'p3'];

const declaration: fc.Arbitrary<EndpointDeclaration> = fc.record({
  price: fc.option(fc.record({ prompt: fc.constantFrom(0, 1, 2, 5), completion: fc.constantFrom(0, 1, 3) }), {
    nil: undefined,
  }),
  tier: fc.constantFrom(undefined, undefined, undefined, undefined, 'priority' as const, 'flex' as const),
  region: fc.constantFrom(undefined, undefined, 'eu'),
  quantization: fc.constantFrom(undefined, 'fp8' as const, 'bf16' as const),
  dataCollection: fc.constantFrom(false, false, false, true),
  maxOutputTokens: fc.constantFrom(undefined, 100, 1_000),
  parameters: fc.constantFrom(undefined, ['temperature', 'max_tokens'] as const, ['response_format'] as const),
});

/** One or two endpoints whose slugs differ. */
const offers = fc
  .array(declaration, { minLength: 1, maxLength: 2 })
  .map((list) => list.map((one, index) => (index === 0 ? one : { ...one, tag: 'turbo' })));

const preferences: fc.Arbitrary<ProviderPreferences> = fc.record(
  {
    order: fc.uniqueArray(fc.constantFrom(...SLUGS, 'P1', 'p2/eu', 'p3/priority'), { maxLength: 3 }),
    only: fc.uniqueArray(fc.constantFrom(...SLUGS), { minLength: 3 }),
    ignore: fc.uniqueArray(fc.constantFrom(...SLUGS), { maxLength: 1 }),
    allow_fallbacks: fc.boolean(),
    data_collection: fc.constantFrom('allow' as const, 'deny' as const),
    sort: fc.constantFrom('price' as const, 'throughput' as const, 'latency' as const, {
      by: 'price' as const,
      partition: 'none' as const,
    }),
    max_price: fc.record({ prompt: fc.constantFrom(1, '2', 9) }),
    preferred_max_latency: fc.constantFrom(0.1, { p90: 0.5 }),
    quantizations: fc.constant(['fp8', 'unknown'] as const),
  },
  { requiredKeys: [] },
);

const question: fc.Arbitrary<Asked> = fc.record({
  stream: fc.boolean(),
  sessionId: fc.constantFrom(undefined, 'one', 'two'),
  account: fc.constantFrom(
    undefined,
    { id: 'a', providerKeys: { p1: { apiKey: 'secret' } } },
    { id: 'b', providerKeys: { p0: { apiKey: 'secret', fallback: true } }, policy: { ignore: ['p3'] } },
  ),
  body: fc.record(
    {
      model: fc.constantFrom('acme/one', 'acme/one:nitro', 'acme/one:floor', 'either', 'router/free'),
      models: fc.constantFrom(['acme/two'], []),
      provider: fc.oneof(fc.constant({}), preferences),
      service_tier: fc.constantFrom('priority' as const, 'flex' as const, 'default' as const),
      max_tokens: fc.constantFrom(50, 500),
    },
    { requiredKeys: ['model'] },
  ),
});

/** What happened before: requests, each after a while. */
const history = fc.array(fc.tuple(fc.constantFrom(0, 100, 4_000, 40_000), question), { maxLength: 8 });

const world = fc
  .array(fc.tuple(offers, fc.option(offers, { nil: undefined }), anyScript), { minLength: 3, maxLength: 4 })
  .map((list) => list.map(([one, two, behaves]) => ({ models: { 'acme/one': one, 'acme/two': two ?? one }, behaves })));

/** A fault that lets the next endpoint try, whoever is asked. */
const passing: fc.Arbitrary<Behaviour> = fc.record({
  does: fc.constant('fail' as const),
  kind: fc.constantFrom(...PASSING_KINDS),
});

interface World {
  readonly models: Readonly<Record<string, EndpointDeclaration | readonly EndpointDeclaration[]>>;
  readonly behaves: readonly Behaviour[];
}

/** Two of these with the same arguments are alike in everything that chance and time can tell. */
async function benchAfter(
  worlds: readonly World[],
  seed: number,
  past: readonly (readonly [number, Asked])[],
  switchTo: () => Behaviour | undefined,
): Promise<Bench> {
  const providers = worlds.map(({ models, behaves }, index): [string, StubOptions] => [
    `p${index}`,
    {
      models,
      behaves: (call) => switchTo() ?? behaves[call % behaves.length] ?? { does: 'hang' },
    },
  ]);
  const bench = benchOf(Object.fromEntries(providers), {
    seed,
    aliases: { either: ['acme/two', 'acme/one'] },
    timeouts: TIMEOUTS,
  });
  for (const [afterMs, asked] of past) {
    await bench.environment.advance(afterMs);
    const running = ask(bench, asked);
    while (running.outcome === undefined) await bench.environment.advance(500);
  }
  return bench;
}

describe('explain', () => {
  it('says what the next call does', async () => {
    let called = 0;
    let passedOver = 0;
    let severalTried = 0;
    await fc.assert(
      fc.asyncProperty(
        world,
        fc.nat(1_000_000),
        history,
        question,
        passing,
        async (worlds, seed, past, asked, fault) => {
          let faulty = false;
          const switchTo = (): Behaviour | undefined => (faulty ? fault : undefined);
          const [explaining, calling] = await Promise.all([
            benchAfter(worlds, seed, past, switchTo),
            benchAfter(worlds, seed, past, switchTo),
          ]);
          expect(explaining.stubs.calls.length).toBe(calling.stubs.calls.length);
          const before = calling.stubs.calls.length;
          faulty = true;
          const { body, stream = false, sessionId, account } = asked;
          const request = {
            messages: [{ role: 'user' as const, content: 'Hello' }],
            model: 'acme/one',
            ...body,
            stream,
          };
          const explained = explaining.router
            .explain(request, { sessionId, account })
            .catch((error: unknown) => ({ steps: [], error }));
          await explaining.environment.settle();
          const { steps } = await explained;
          expect(explaining.stubs.calls).toHaveLength(before);
          const outcome = await askAndWait(calling, { ...asked, metadata: true });
          const planned = metadataOf(outcome)?.endpoints.available.map(
            ({ provider, model }) => `${provider.toLowerCase()} ${model}`,
          );
          expect(planned ?? []).toEqual(steps.map(({ provider, model }) => `${provider} ${model}`));
          for (const { why, model } of steps) {
            if (why.includes('only endpoint')) expect(steps.filter((one) => one.model === model)).toHaveLength(1);
          }
          const callable = steps.filter((step) => !step.coolingDown);
          if (callable.length < steps.length) passedOver += 1;
          const nameOf = ({ tag, model, why }: (typeof steps)[number]): string =>
            `${why.startsWith('own key') ? 'own ' : ''}${tag}#${model}`;
          const expected = callable.map(nameOf).slice(0, 8);
          const tried = [
            ...new Set(
              calling.stubs.calls
                .slice(before)
                .map((call) => `${call.apiKey === undefined ? '' : 'own '}${call.endpoint.split('@')[0]}`),
            ),
          ];
          if (tried.length > 0) called += 1;
          if (tried.length > 1) severalTried += 1;
          // A model is tried once more before another one, so eight attempts may be fewer endpoints.
          const isCut = calling.stubs.calls.length - before >= 8;
          // Before a repetition there may be time for one that was cooling down to recover.
          const cooling = new Set(steps.filter((step) => step.coolingDown).map(nameOf));
          const foreseen = tried.filter((name) => !cooling.has(name));
          expect(foreseen).toEqual(isCut ? expected.slice(0, foreseen.length) : expected);
        },
      ),
      stormOfRuns(1_000),
    );
    expect(called).toBeGreaterThan(storm(500));
    expect(passedOver).toBeGreaterThan(storm(40));
    expect(severalTried).toBeGreaterThan(storm(300));
  });

  it('says of everybody else why not', async () => {
    const bench = benchOf({
      p0: { behaves: { does: 'answer' }, models: { 'acme/one': { dataCollection: true } } },
      p1: { behaves: { does: 'answer' }, models: { 'acme/one': { price: { prompt: 1, completion: 2 } } } },
    });
    const request = {
      model: 'acme/one',
      messages: [{ role: 'user' as const, content: 'x'.repeat(80) }],
      max_tokens: 100,
    };
    expect(await bench.router.explain({ ...request, provider: { data_collection: 'deny' } })).toEqual({
      requested: 'acme/one',
      plugins: [],
      serverTools: [],
      steps: [
        {
          provider: 'p1',
          model: 'acme/one',
          tag: 'p1',
          why: 'only endpoint',
          // 55 tokens, as 80 consonants in a row have, and 100 of the answer at two dollars.
          estimatedCostUsd: 0.000255,
          price: { prompt: 1, completion: 2 },
          coolingDown: false,
          decision: expect.objectContaining({ share: 1, health: 1 }) as object,
        },
      ],
      rejected: [{ provider: 'p0', model: 'acme/one', tag: 'p0', reason: 'data_policy:training', detail: undefined }],
    });
    expect(bench.stubs.calls).toEqual([]);
  });

  it.each<[string, object, object, readonly string[]]>([
    ['an order', { provider: { order: ['p1'], ignore: ['p2'] } }, {}, ['order[0]', 'behind those in order']],
    [
      'an order, with several left',
      { provider: { order: ['p1'] } },
      {},
      [
        'order[0]',
        'behind those in order, drawn by expected cost and health',
        'behind those in order, next by expected cost and health',
      ],
    ],
    [
      'a key of the account',
      { provider: { only: ['p1'] } },
      { account: { id: 'a', providerKeys: { p1: { apiKey: 'secret' } } } },
      ['own key', 'behind own keys'],
    ],
    [
      'a key of the account that is there for the rest',
      { provider: { only: ['p1'] } },
      { account: { id: 'a', providerKeys: { p1: { apiKey: 'secret', fallback: true } } } },
      ['before own keys', 'own key'],
    ],
  ])('says who stands behind others, and why: %s', async (_by, fields, options, whys) => {
    const bench = benchOf({
      p0: { behaves: { does: 'answer' } },
      p1: { behaves: { does: 'answer' } },
      p2: { behaves: { does: 'answer' } },
    });
    const request = { model: 'acme/one', messages: [{ role: 'user' as const, content: 'Hi' }], ...fields };
    expect((await bench.router.explain(request, options)).steps.map(({ why }) => why)).toEqual(whys);
  });

  it('says who is known to be as fast as preferred', async () => {
    const bench = benchOf({
      p0: { behaves: { does: 'answer', afterMs: 10 } },
      p1: { behaves: { does: 'answer', afterMs: 900 } },
    });
    for (const only of ['p0', 'p1']) {
      for (let call = 0; call < 30; call += 1) {
        ask(bench, { stream: true, body: { provider: { only: [only] } } });
        await bench.environment.advance(1_000);
      }
    }
    const messages = [{ role: 'user' as const, content: 'Hi' }];
    const { steps } = await bench.router.explain({
      model: 'acme/one',
      messages,
      provider: { preferred_max_latency: 0.5 },
    });
    expect(steps.map(({ tag, why }) => [tag, why])).toEqual([
      ['p0', 'as fast as preferred'],
      ['p1', 'behind those as fast as preferred'],
    ]);
  });

  it('says who is cooling down', async () => {
    const limited: Behaviour = { does: 'fail', kind: 'rate_limited', retryAfterMs: 60_000 };
    const bench = benchOf({ p0: { behaves: limited }, p1: { behaves: { does: 'answer' } } });
    const request = {
      model: 'acme/one',
      messages: [{ role: 'user' as const, content: 'Hi' }],
      provider: { order: ['p0'] },
    };
    const running = ask(bench, { body: request });
    await bench.environment.settle();
    await bench.environment.advance(10);
    expect(running.outcome?.status).toBe('ok');
    const { steps } = await bench.router.explain(request);
    expect(steps.map(({ tag, coolingDown }) => [tag, coolingDown])).toEqual([
      ['p0', true],
      ['p1', false],
    ]);
    await bench.environment.advance(LONG_MS);
    const later = await bench.router.explain(request);
    expect(later.steps.map(({ coolingDown }) => coolingDown)).toEqual([false, false]);
  });

  it('refuses what a call would refuse', async () => {
    const bench = benchOf({ p0: { behaves: { does: 'answer' } } });
    await expect(bench.router.explain({ model: 'acme/nobody', messages: [] })).rejects.toMatchObject({ status: 400 });
  });
});

describe('an explained step', () => {
  it('has the price of the request, and the speed as soon as it was measured', async () => {
    const models = { 'acme/one': { price: { prompt: 1, completion: 2 } }, 'acme/two': {} };
    const router = createRouter({ providers: [instant({ models })], catalog: [] });
    const request = { model: 'acme/one', messages: [{ role: 'user' as const, content: 'Hello' }] };
    const [before] = (await router.explain(request)).steps;
    expect(before).toMatchObject({ price: { prompt: 1, completion: 2 }, why: 'only endpoint' });
    expect([before?.latencyMs, before?.tokensPerSecond]).toEqual([undefined, undefined]);
    expect((await router.explain({ ...request, model: 'acme/two' })).steps[0]?.price).toBeUndefined();
    for await (const _ of router.stream(request)) continue;
    const [after] = (await router.explain(request)).steps;
    expect(after?.latencyMs).toBeGreaterThanOrEqual(0);
    await router.close();
  });
});
