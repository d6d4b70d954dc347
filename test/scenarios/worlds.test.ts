import { describe, expect, it } from 'vitest';
import { compare, MARGIN, shortfall } from '../../bench/worlds/compare.ts';
import { randomWorld } from '../../bench/worlds/worlds.ts';

/**
 * The first worlds of `npm run bench:worlds`, each kind at least once; all by seed and number. Luck is the same for all clients of a world (the
 * n-th call of a request meets it wherever it goes), so the margin of 0.2 points is three requests and not noise.
 */
const FIRST = Array.from({ length: 30 }, (_, index) => [1, index] as const);

/** Worlds in which the router once did worse: short times in which an endpoint is up, hangs that overlap, rate limits. */
const ONCE_WORSE = [
  [1, 129],
  [2, 230],
  [3, 130],
  [3, 157],
  [3, 177],
  [1, 218],
  [2, 278],
  [3, 118],
] as const;

const WORLDS = [...FIRST, ...ONCE_WORSE].map(([seed, index]) => ({
  name: `${seed}/${index}`,
  known: randomWorld(seed, index, 1_500),
}));

describe('the router beside clients without one', () => {
  it.each(WORLDS.map(({ name, known }) => [name, known.kind, known.world] as const))(
    'answers no fewer requests in world %s: %s',
    async (_name, _kind, world) => {
      const compared = await compare(world);
      const { router, direct, retried, roundRobin } = compared;
      const answered = [router, direct, retried, roundRobin].map(({ success }) => success);
      expect(shortfall(compared), `answered by router, (a), (b) and (c): ${answered.join(', ')}`).toBeLessThan(MARGIN);
    },
  );
});
