import { describe, expect, it } from 'vitest';
import { compare, MARGIN, shortfall } from '../../bench/worlds/compare.ts';
import { randomWorld } from '../../bench/worlds/worlds.ts';

/**
 * The first worlds of `npm run bench:worlds`, each kind at least once. Luck is the same for all clients of a world (the
 * n-th call of a request meets it wherever it goes), so the margin of 0.2 points is three requests and not noise.
 */
const WORLDS = Array.from({ length: 30 }, (_, index) => ({ index, known: randomWorld(1, index, 1_500) }));

describe('the router beside clients without one', () => {
  it.each(WORLDS.map(({ index, known }) => [index, known.kind, known.world] as const))(
    'answers no fewer requests in world %i: %s',
    async (_index, _kind, world) => {
      const compared = await compare(world);
      const { router, direct, retried, roundRobin } = compared;
      const answered = [router, direct, retried, roundRobin].map(({ success }) => success);
      expect(shortfall(compared), `answered by router, (a), (b) and (c): ${answered.join(', ')}`).toBeLessThan(MARGIN);
    },
  );
});
