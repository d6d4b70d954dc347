import { createRouter } from '../src/index.ts';
import { simulateTraffic } from '../src/entries/testing.ts';
import { endpointsOf } from './routing/worlds.ts';
for (const count of [2, 3, 8])
  for (const seed of [1, 2])
    for (const bad of [0.3]) {
      const endpoints = endpointsOf(seed)
        .slice(0, count)
        .map((e, i) => ({ ...e, rate: undefined, concurrencyKnee: undefined, brokenToolCalls: i === 0 ? bad : 0.01 }));
      for (const streaming of [0.5]) {
        const r = await simulateTraffic(
          { seed, endpoints, traffic: { requests: 7655, perSecond: 3.2, tools: 1, streaming } },
          (s) => createRouter(s),
        );
        console.log(
          count,
          seed,
          bad,
          r.requests,
          'broken',
          r.brokenToolCalls,
          'regret',
          (100 * r.regret).toFixed(1),
          Object.values(r.shares)
            .map((x) => x.toFixed(2))
            .join(' '),
          (r.durationMs / 60000).toFixed(0) + ' min',
        );
      }
    }
