import * as fc from 'fast-check';
import { LRUCache } from 'lru-cache';
import { describe, expect, it } from 'vitest';
import { ExpiringMap } from '../../src/storage/expiring-map.ts';
import { runs } from '../support/properties.ts';

const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('get' as const), key }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('set' as const), key, ttlMs: fc.integer({ min: 1, max: 40 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), key }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 15 }) }) },
);

describe('a map whose entries end', () => {
  it('keeps and forgets what an LRUCache would', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), fc.array(step, { maxLength: 80 }), (most, steps) => {
        let now = 1_000;
        const map = new ExpiringMap<number>(most);
        const reference = new LRUCache<string, number>({ max: most, ttlResolution: 0, perf: { now: () => now } });
        for (const [number, one] of steps.entries()) {
          if (one.do === 'wait') now += one.ms;
          else if (one.do === 'delete') {
            map.delete(one.key);
            reference.delete(one.key);
          } else if (one.do === 'set') {
            map.set(one.key, number, now + one.ttlMs);
            reference.set(one.key, number, { ttl: one.ttlMs });
          } else expect(map.get(one.key, now)?.value).toBe(reference.get(one.key));
        }
      }),
      runs(1_000),
    );
  });
});
