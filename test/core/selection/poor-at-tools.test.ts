import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UNKNOWN_HEALTH } from '../../../src/core/fallback/health.ts';
import { poorAt } from '../../../src/core/selection/exacto.ts';
import { type EndpointPerformance, measureCall, UNMEASURED } from '../../../src/core/selection/performance.ts';
import { runs } from '../../support/properties.ts';
import { sceneOf, worldOf } from '../../support/requests.ts';

/** Answers with tool calls of an endpoint, and how many of them were broken. */
type Calls = readonly [calls: number, broken: number];

/** Endpoints of one model that are poor at answers of a shape. */
function poorOf(counts: readonly Calls[], shape: 'tools' | 'schema' = 'tools'): readonly string[] {
  const slugs = counts.map((_, index) => `p${index}`);
  const scene = sceneOf({
    providers: Object.fromEntries(slugs.map((slug) => [slug, { 'acme/one': { price: { prompt: 1, completion: 1 } } }])),
  });
  const endpoints = scene.catalog.endpoints('acme/one');
  const performances = new Map(counts.map((count, index) => [`p${index}`, performanceOf(count, shape)]));
  const found = poorAt(shape, endpoints, {
    ...worldOf(),
    now: 1_000,
    record: ({ provider }) => ({
      health: UNKNOWN_HEALTH,
      performance: performances.get(provider) ?? UNMEASURED,
      speed: undefined,
      tokens: undefined,
    }),
  });
  return endpoints.filter(({ id }) => found.has(id)).map(({ provider }) => provider);
}

function performanceOf([calls, broken]: Calls, shape: 'tools' | 'schema'): EndpointPerformance {
  let performance = UNMEASURED;
  for (let call = 0; call < calls; call += 1) {
    const isBroken = call < broken;
    const seen =
      shape === 'tools'
        ? ({ toolCalls: isBroken ? 'invalid' : 'valid' } as const)
        : ({ schema: isBroken ? 'misfits' : 'fits' } as const);
    performance = measureCall(performance, seen, 0);
  }
  return performance;
}

describe('endpoints that are poor at tools', () => {
  it.each<[string, readonly Calls[], readonly string[]]>([
    [
      '30 % broken after 30 calls, and nothing known of the other',
      [
        [30, 9],
        [0, 0],
      ],
      ['p0'],
    ],
    [
      'too few calls to say',
      [
        [29, 29],
        [0, 0],
      ],
      [],
    ],
    [
      '2 % broken',
      [
        [400, 8],
        [0, 0],
      ],
      [],
    ],
    [
      'a few broken by chance',
      [
        [30, 3],
        [30, 0],
      ],
      [],
    ],
    [
      '10 % broken over many calls',
      [
        [600, 60],
        [600, 6],
      ],
      ['p0'],
    ],
    [
      'all break about as many',
      [
        [400, 120],
        [400, 110],
      ],
      [],
    ],
    [
      'one breaks twice as many as the other',
      [
        [400, 160],
        [400, 60],
      ],
      ['p0'],
    ],
    ['a single endpoint', [[400, 400]], []],
  ])('%s', (_, counts, poor) => {
    expect(poorOf(counts)).toEqual(poor);
    expect(poorOf(counts, 'schema')).toEqual(poor);
  });

  it('are never all: the one that breaks the fewest stays', () => {
    const count = fc.nat(300).chain((calls) => fc.nat(calls).map((broken): Calls => [calls, broken]));
    fc.assert(
      fc.property(fc.array(count, { minLength: 1, maxLength: 3 }), (counts) => {
        expect(poorOf(counts).length).toBeLessThan(counts.length);
      }),
      runs(100),
    );
  });
});
