import { isDeepStrictEqual } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import type { LedgerRecord } from '../../src/contracts/ledger.ts';
import { DecideAgain } from '../../src/core/ledger/replay/decide-again.ts';
import { type ChatRequest, createRouter, type Provider, type Router, type RouterConfig } from '../../src/index.ts';
import { seededRandom } from '../../src/providers/simulated/chance.ts';
import { simulateTraffic } from '../../src/testing/simulate-traffic/simulate-traffic.ts';
import type { TrafficWorld } from '../../src/testing/simulate-traffic/world.ts';
import { STORMS_ARE_FULL } from '../support/storms.ts';

const REQUESTS = STORMS_ARE_FULL ? 1_500 : 500;

const WORLD: TrafficWorld = {
  endpoints: [
    { name: 'cheap', price: { prompt: 0.2, completion: 0.8 }, latency: { medianMs: 700 }, tokensPerSecond: 60 },
    { name: 'dear', price: { prompt: 0.6, completion: 2.4 }, latency: { medianMs: 350 }, tokensPerSecond: 90 },
    {
      name: 'tight',
      price: { prompt: 0.1, completion: 0.4 },
      latency: { medianMs: 500 },
      rate: { perSecond: 2, retryAfter: 'seconds' },
    },
    { name: 'fourth', price: { prompt: 0.3, completion: 0.9 }, latency: { medianMs: 400 }, declared: { rpm: 100 } },
  ],
  outages: { share: 0.1 },
  traffic: { requests: REQUESTS, streaming: 0.5, named: 0.5 },
};

const SEEDS = STORMS_ARE_FULL ? [11, 12, 13, 14, 15, 16] : [11, 12];

/** Endpoints of which one writes slowly. */
const PREFERRED: TrafficWorld = {
  ...WORLD,
  endpoints: WORLD.endpoints.map((endpoint, index) => ({
    ...endpoint,
    tokensPerSecond: [60, 90, 15, 70][index],
    brokenToolCalls: [0.3, 0.02, 0, 0.1][index],
  })),
  traffic: { ...WORLD.traffic, requests: 4 * REQUESTS },
};

/** Contexts, some of which are too short for some prompts. */
const CONTEXTS = [9_000, undefined, 6_000, 200_000];

function withContexts(providers: readonly Provider[]): readonly Provider[] {
  return providers.map((provider, index) => ({
    ...provider,
    models: Object.fromEntries(
      Object.entries(provider.models ?? {}).map(([model, declared]) => [
        model,
        [declared].flat().map((endpoint) => ({ ...endpoint, contextLength: CONTEXTS[index] })),
      ]),
    ),
  }));
}

/** Changes what is sent. */
type Change = (request: ChatRequest) => ChatRequest;

/** Sends traffic through a router that keeps a ledger, and gives what it has kept. */
async function recorded(
  config: RouterConfig,
  world = WORLD,
  change?: Change,
): Promise<{ router: Router; records: readonly LedgerRecord[] }> {
  let router: Router | undefined;
  await simulateTraffic(world, (setup) => {
    const providers = change === undefined ? setup.providers : withContexts(setup.providers);
    const made = createRouter({ ledger: { keep: 10_000 }, ...config, ...setup, providers });
    router = made;
    return {
      chat: (request, options) => made.chat(change?.(request) ?? request, options),
      stream: (request, options) => made.stream(change?.(request) ?? request, options),
    };
  });
  if (router === undefined) throw new RangeError('a simulation makes a router');
  const { records = [] } = (await router.ledger?.read({ limit: 10_000 })) ?? {};
  return { router, records };
}

function again(router: Router): DecideAgain {
  const { facts, selection, strategy, adaptive } = router.internals.services;
  return new DecideAgain({ ...facts, selection, strategy, adaptive });
}

/** Decisions that come out otherwise than they are recorded. */
function changed(router: Router, records: readonly LedgerRecord[]): readonly object[] {
  const decide = again(router);
  return records.flatMap((written) => {
    const record = JSON.parse(JSON.stringify(written)) as LedgerRecord;
    if (record.decision === undefined) return [];
    const before = record.candidates.map(({ endpoint, why }) => `${endpoint}: ${why}`);
    const after = decide.plan(record)?.steps.map(({ endpoint, why }) => `${endpoint.id}: ${why}`);
    return isDeepStrictEqual(before, after) ? [] : [{ before, after, preferences: record.decision.preferences }];
  });
}

/** Draws what requests want, each by itself, from a seed. */
function wishing(seed: number): Change {
  const chance = seededRandom(seed);
  const sometimes = <Value>(share: number, value: () => Value): Value | undefined =>
    chance() < share ? value() : undefined;
  const one = <Value>(...values: readonly Value[]): Value => {
    const drawn = values[Math.floor(chance() * values.length)];
    if (drawn === undefined) throw new RangeError('one of at least one value');
    return drawn;
  };
  const names = WORLD.endpoints.map(({ name }) => name);
  const some = (): string[] => names.filter(() => chance() < 0.5);
  const cutoffs = (most: number): number | { p50?: number; p90?: number } =>
    one<number | { p50?: number; p90?: number }>(most * chance(), { p50: most * chance() }, { p90: most * chance() });
  const tools = [{ type: 'function' as const, function: { name: 'look_up', parameters: { type: 'object' } } }];
  return (request) => {
    const provider = {
      allow_fallbacks: sometimes(0.4, () => chance() < 0.3),
      order: sometimes(0.1, some),
      only: sometimes(0.1, () => [...some(), 'fourth']),
      ignore: sometimes(0.1, () => names.filter(() => chance() < 0.2)),
      require_parameters: sometimes(0.1, () => true),
      data_collection: sometimes(0.1, () => one('allow' as const, 'deny' as const)),
      sort: sometimes(0.2, () =>
        one<NonNullable<NonNullable<ChatRequest['provider']>['sort']>>(
          'price',
          'latency',
          'throughput',
          'exacto',
          { by: 'latency', partition: 'none' },
          { partition: 'none' },
        ),
      ),
      max_price: sometimes(0.1, () => ({ prompt: chance(), completion: 3 * chance() })),
      preferred_min_throughput: sometimes(0.1, () => cutoffs(100)),
      preferred_max_latency: sometimes(0.1, () => cutoffs(2)),
      refusals: sometimes(0.1, () => 'return' as const),
    };
    const ending = one('', '', '', '', ':nitro', ':floor', ':exacto');
    return {
      ...request,
      model: `${request.model ?? ''}${ending}`,
      provider,
      ...sometimes(0.5, () => ({ tools })),
      ...sometimes(0.2, () => ({ max_completion_tokens: Math.ceil(9_000 * chance()) })),
      ...sometimes(0.1, () => ({ service_tier: one('flex' as const, 'priority' as const) })),
    };
  };
}

/** What is loaded on use takes time that a virtual clock does not wait for, so all of it is used once before. */
beforeAll(async () => {
  const { traffic } = PREFERRED;
  for (let pass = 0; pass < 5; pass += 1) {
    await recorded({}, { ...PREFERRED, traffic: { ...traffic, requests: 100 } }, wishing(pass));
    await new Promise((resolve) => void setTimeout(resolve, 20));
  }
});

describe('a decision from the ledger', () => {
  it.each<[string, RouterConfig]>([
    ['the strategy adaptive', {}],
    ['the strategy balanced', { strategy: 'balanced' }],
    ['a policy of the router', { policy: { ignore: ['dear'], maxPrice: { prompt: 0.5 } } }],
  ])('is the same again, with %s', async (_, config) => {
    const { router, records } = await recorded(config);
    expect(records.length).toBeGreaterThan((REQUESTS * 2) / 3);
    expect(changed(router, records)).toEqual([]);
  });

  it.each(SEEDS)('is the same again, whatever requests prefer (%i)', async (seed) => {
    const config: RouterConfig = seed % 3 === 0 ? { strategy: 'balanced' } : {};
    const { router, records } = await recorded(config, { ...PREFERRED, seed }, wishing(seed));
    expect(records.filter(({ decision }) => decision !== undefined).length).toBeGreaterThan(REQUESTS);
    expect(changed(router, records)).toEqual([]);
  });
});
