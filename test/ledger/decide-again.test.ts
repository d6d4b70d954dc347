import { describe, expect, it } from 'vitest';
import type { LedgerRecord } from '../../src/contracts/ledger.ts';
import { DecideAgain } from '../../src/core/replay/decide-again.ts';
import { createRouter, type Router, type RouterConfig } from '../../src/index.ts';
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

/** Sends traffic through a router that keeps a ledger, and gives what it has kept. */
async function recorded(
  config: RouterConfig,
  world = WORLD,
): Promise<{ router: Router; records: readonly LedgerRecord[] }> {
  let router: Router | undefined;
  await simulateTraffic(world, (setup) => (router = createRouter({ ledger: { keep: 10_000 }, ...config, ...setup })));
  if (router === undefined) throw new RangeError('a simulation makes a router');
  const { records = [] } = (await router.ledger?.read({ limit: 10_000 })) ?? {};
  return { router, records };
}

function again(router: Router): DecideAgain {
  const { facts, selection, strategy, adaptive } = router.internals.services;
  return new DecideAgain({ ...facts, selection, strategy, adaptive });
}

describe('a decision from the ledger', () => {
  it.each<[string, RouterConfig]>([
    ['the strategy adaptive', {}],
    ['the strategy balanced', { strategy: 'balanced' }],
    ['a policy of the router', { policy: { ignore: ['dear'], maxPrice: { prompt: 0.5 } } }],
  ])('is the same again, with %s', async (_, config) => {
    const { router, records } = await recorded(config);
    expect(records.length).toBeGreaterThan((REQUESTS * 2) / 3);
    const decide = again(router);
    for (const text of records.map((record) => JSON.stringify(record))) {
      const record = JSON.parse(text) as LedgerRecord;
      const plan = decide.plan(record);
      expect(plan?.steps.map(({ endpoint, why }) => [endpoint.id, why])).toEqual(
        record.candidates.map(({ endpoint, why }) => [endpoint, why]),
      );
    }
  });
});
