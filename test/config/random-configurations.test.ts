import * as fc from 'fast-check';
import { ConfigError, type RouterConfig, createRouter } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { ROUTER_OPTIONS } from '../../src/config/router.ts';
import { runs } from '../support/properties.ts';
import { instant } from '../support/simulated.ts';
import { storm } from '../support/storms.ts';

/** Configurations that are tried; set the variable for more. Making a router takes milliseconds, so 5,000 take half a minute. */
const CONFIGURATIONS = storm(1_000);

/** Values that are right somewhere, or nowhere. */
const value = fc.oneof(
  fc.constantFrom<unknown>(null, undefined, true, false, 0, 1, 2, 100, -1, 0.5, Number.NaN, Infinity, '', ' ', 'a'),
  fc.constantFrom<unknown>('router', 'allow', 'simulated/small', [], {}, ['a'], [null], [{}], () => undefined),
  fc.integer({ min: 1, max: 100_000 }),
  fc.jsonValue({ maxDepth: 2 }),
);

const inside = [
  'firstTokenMs',
  'totalMs',
  'idleMs',
  'maxAttempts',
  'triesPerEndpoint',
  'nodes',
  'ratio',
  'firstMs',
  'everyMs',
  'origins',
  'limits',
  'leaseMs',
  'secrets',
  'only',
  'queue',
  'storage',
  'unknownCapability',
  'requestsPerMinute',
  'freeModels',
  'limiter',
  'default',
  'limitUsd',
  'keeper',
  'unknownPrice',
  'enabled',
  'ttlSeconds',
  'maxBytes',
  'store',
  'temperature',
  'cache_enabled',
  'warning',
  'firstTokenMS',
  '__proto__',
  'constructor',
  'a',
];

/** Options that are objects of objects, or of numbers: wrong ones are found one level further down. */
const deep = ['rateLimits', 'budgets', 'responseCache', 'presets'];

const options = Object.keys(ROUTER_OPTIONS).filter((name) => name !== 'providers' && name !== 'environment');
const member = fc.oneof(
  { weight: 3, arbitrary: value },
  { weight: 2, arbitrary: fc.dictionary(fc.constantFrom(...inside), value, { maxKeys: 3 }) },
  {
    weight: 1,
    arbitrary: fc.dictionary(
      fc.constantFrom(...inside),
      fc.dictionary(fc.constantFrom(...inside), value, { maxKeys: 2 }),
      { maxKeys: 2 },
    ),
  },
);
const random = fc.record(
  {
    options: fc.dictionary(
      fc.oneof(
        { weight: 20, arbitrary: fc.constantFrom(...options) },
        { weight: 6, arbitrary: fc.constantFrom(...deep) },
        fc.string(),
      ),
      member,
      {
        maxKeys: 3,
      },
    ),
    providers: fc.oneof(
      { weight: 12, arbitrary: fc.constant('simulated' as const) },
      { weight: 1, arbitrary: value },
      { weight: 1, arbitrary: fc.array(fc.dictionary(fc.constantFrom('slug', 'models', 'chat', 'name'), value)) },
    ),
  },
  { requiredKeys: ['options', 'providers'] },
);

const providers = [instant()];
const REQUEST = { model: 'simulated/small', messages: [{ role: 'user' as const, content: 'Hi' }], max_tokens: 4 };

describe('a random configuration', () => {
  it('either starts and answers a request, or is refused with a ConfigError', async () => {
    let [served, refused] = [0, 0];
    await fc.assert(
      fc.asyncProperty(random, async (drawn) => {
        const config = {
          catalog: [],
          ...drawn.options,
          providers: drawn.providers === 'simulated' ? providers : drawn.providers,
        } as unknown as RouterConfig;
        let router;
        try {
          router = createRouter(config);
        } catch (error) {
          if (!ConfigError.isInstance(error)) throw error;
          expect(error.problems.length).toBeGreaterThan(0);
          for (const { path, problem } of error.problems) expect([path, problem]).not.toContain('');
          refused += 1;
          return;
        }
        if (drawn.providers !== 'simulated') return;
        const answer = await router.chat(REQUEST).catch((error: unknown) => error);
        // What limits and rules of the configuration refuse is refused in order; nothing else may happen.
        if (answer instanceof Error) expect(answer).toMatchObject({ name: 'RouterError', status: expect.any(Number) });
        else served += 1;
      }),
      runs(CONFIGURATIONS),
    );
    expect(served).toBeGreaterThan(CONFIGURATIONS / 10);
    expect(refused).toBeGreaterThan(CONFIGURATIONS / 10);
  });
});
