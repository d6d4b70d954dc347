import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StateStore } from '../../src/contracts/state-store.ts';
import { createRouter } from '../../src/index.ts';
import { memoryStore } from '../../src/storage/memory.ts';
import type { Router } from '../../src/router/router.ts';
import { type FakeEnvironment, fakeEnvironment } from '../../src/testing/fake-environment.ts';
import { type Behaviour, type Stubs, stubProviders } from '../support/stub-provider.ts';

type Limits = { readonly rpm?: number; readonly tpm?: number; readonly concurrency?: number };

interface Instances {
  readonly environment: FakeEnvironment;
  readonly stubs: Stubs;
  readonly routers: readonly Router[];
}

const ANSWER: Behaviour = { does: 'answer', reply: 'whole', everyMs: 0 };

/** Instances over one store, before the same provider. */
function instances(
  limits: Limits,
  behaves: Behaviour = ANSWER,
  count = 2,
  wrap = (store: StateStore) => store,
): Instances {
  const environment = fakeEnvironment();
  const state = wrap(memoryStore({ now: environment.now }));
  const stubs = stubProviders(environment, { only: { behaves, models: { 'acme/one': limits } } });
  const routers = Array.from({ length: count }, () =>
    createRouter({ providers: stubs.providers, environment, state, on: { warning: () => {} } }),
  );
  return { environment, stubs, routers };
}

/** Asks one instance, and lets time pass until there is an outcome; the status. */
async function askOne({ environment, routers }: Instances, index: number, body: object = {}): Promise<number> {
  const outcome: { status?: number } = {};
  void routers[index]?.chat({ model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }], ...body }).then(
    () => (outcome.status = 200),
    (error: { readonly status: number }) => (outcome.status = error.status),
  );
  for (let waited = 0; outcome.status === undefined && waited < 100; waited += 1) await environment.advance(20);
  return outcome.status ?? 0;
}

describe('declared limits of an endpoint, over instances with one store', () => {
  it('let as many requests through in a minute as if there was one', async () => {
    const both = instances({ rpm: 4 });
    const statuses: number[] = [];
    for (let index = 0; index < 8; index += 1) statuses.push(await askOne(both, index % 2));
    expect(statuses).toEqual([200, 200, 200, 200, 429, 429, 429, 429]);
    expect(both.stubs.calls).toHaveLength(4);
    await both.environment.advance(66_000);
    expect(await askOne(both, 1)).toBe(200);
  });

  it('say when there will be room again', async () => {
    const both = instances({ rpm: 1 });
    expect(await askOne(both, 0)).toBe(200);
    await both.environment.advance(20_000);
    const error: unknown = await both.routers[1]
      ?.chat({ model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }] })
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ status: 429 });
    const { retryAfterMs } = error as { readonly retryAfterMs: number };
    expect(retryAfterMs).toBeGreaterThan(35_000);
    expect(retryAfterMs).toBeLessThanOrEqual(45_000);
  });

  it('count tokens as they were used, not as they were estimated', async () => {
    const both = instances({ tpm: 1_000 });
    // Reserves most of it, and then uses a few tokens.
    for (let index = 0; index < 6; index += 1) expect(await askOne(both, index % 2, { max_tokens: 700 })).toBe(200);
    const other = instances({ tpm: 40 });
    const statuses = [];
    for (let index = 0; index < 6; index += 1) statuses.push(await askOne(other, index % 2));
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0);
  });

  it('keep as many calls open at a time as if there was one', async () => {
    const both = instances({ concurrency: 1 }, { ...ANSWER, afterMs: 400 });
    const statuses = await Promise.all([askOne(both, 0), askOne(both, 1)]);
    expect(statuses).toEqual([200, 200]);
    const [first, second] = both.stubs.calls;
    expect(second?.startedAt).toBeGreaterThanOrEqual(first?.endedAt ?? Infinity);
  });

  it('give back the places of calls that fail, and of requests whose caller leaves', async () => {
    const both = instances({ concurrency: 2 }, { does: 'fail', kind: 'invalid_request', status: 400 });
    for (let index = 0; index < 6; index += 1) expect(await askOne(both, index % 2)).toBe(400);
    const hanging = instances({ concurrency: 1 }, { does: 'hang' });
    const leaving = new AbortController();
    const left = hanging.routers[0]
      ?.chat({ model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }] }, { signal: leaving.signal })
      .catch(() => 'left');
    await hanging.environment.advance(100);
    leaving.abort();
    expect(await left).toBe('left');
    void hanging.routers[1]?.chat({ model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }] }).catch(() => {});
    await hanging.environment.advance(100);
    expect(hanging.stubs.calls).toHaveLength(2);
  });

  it('do not keep a call from being made when the store fails or hangs', async () => {
    const failing = instances({ rpm: 100 }, ANSWER, 2, (store) => ({
      ...store,
      change: () => Promise.reject(new Error('the store is gone')),
    }));
    const hanging = instances({ rpm: 100 }, ANSWER, 2, (store) => ({ ...store, change: () => new Promise(() => {}) }));
    for (const index of [0, 1]) {
      expect(await askOne(failing, index)).toBe(200);
      expect(await askOne(hanging, index)).toBe(200);
    }
  });

  it('are never exceeded, whatever comes when', async () => {
    const step = fc.record({ router: fc.nat(2), afterMs: fc.integer({ min: 0, max: 9_000 }) });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 5 }), fc.array(step, { maxLength: 25 }), async (rpm, steps) => {
        const three = instances({ rpm }, ANSWER, 3);
        for (const { router, afterMs } of steps) {
          await askOne(three, router);
          await three.environment.advance(afterMs);
        }
        const times = three.stubs.calls.map(({ startedAt }) => startedAt);
        for (const from of times) {
          expect(times.filter((at) => at >= from && at < from + 60_000).length).toBeLessThanOrEqual(rpm);
        }
      }),
      { numRuns: 25 },
    );
  });
});
