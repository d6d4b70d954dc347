import { describe, expect, it } from 'vitest';
import { createRouter } from '../../src/index.ts';
import { memoryStore } from '../../src/storage/memory.ts';
import type { StateStore } from '../../src/contracts/state-store.ts';
import { fakeEnvironment } from '../../src/testing/fake-environment.ts';
import type { Bench } from '../support/driving.ts';
import { type Behaviour, stubProviders } from '../support/stub-provider.ts';

const ANSWER: Behaviour = { does: 'answer', reply: 'whole', everyMs: 0 };
const CHEAP = { 'acme/one': { price: { prompt: 1, completion: 1 } } };
const DEAR = { 'acme/one': { price: { prompt: 9, completion: 9 } } };

/** Two instances over one store. The first provider fails for both; only by being told does the second know. */
function two(fails: Behaviour, state?: StateStore) {
  const environment = fakeEnvironment();
  const shared = state ?? memoryStore({ now: environment.now });
  const reads: string[] = [];
  const counted: StateStore = { ...shared, get: (key) => (reads.push(key), shared.get(key)) };
  const instance = (): Bench => {
    const stubs = stubProviders(environment, {
      cheap: { behaves: fails, models: CHEAP },
      dear: { behaves: ANSWER, models: DEAR },
    });
    const router = createRouter({
      providers: stubs.providers,
      environment,
      state: counted,
      on: { warning: () => {} },
    });
    return { environment, router, stubs };
  };
  return { environment, reads, first: instance(), second: instance() };
}

async function askFor(bench: Bench): Promise<readonly string[]> {
  const before = bench.stubs.calls.length;
  const asked = bench.router.chat({ model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }] });
  await bench.environment.advance(20);
  await asked;
  return bench.stubs.calls.slice(before).map(({ provider }) => provider);
}

const LIMITED: Behaviour = { does: 'fail', kind: 'rate_limited', retryAfterMs: 60_000 };

describe('instances that share their state', () => {
  it('leave an endpoint alone together, and come back together', async () => {
    const { first, second, environment } = two(LIMITED);
    expect(await askFor(first)).toEqual(['cheap', 'dear']);
    expect(await askFor(second)).toEqual(['dear']);
    await environment.advance(60_000);
    expect(await askFor(second)).toEqual(['cheap', 'dear']);
  });

  it('share the opening of a breaker', async () => {
    const { first, second, environment } = two({ does: 'fail', kind: 'server' });
    const asked = Array.from({ length: 5 }, () =>
      first.router
        .chat({ model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }], provider: { only: ['cheap'] } })
        .catch((error: unknown) => error),
    );
    await environment.advance(100);
    expect(await askFor(second)).toEqual(['dear']);
    await environment.advance(60_000);
    for (const error of await Promise.all(asked)) expect(error).toBeInstanceOf(Error);
  });

  it('look once a second, however many requests there are', async () => {
    const { second, reads } = two(ANSWER);
    for (let index = 0; index < 40; index += 1) await askFor(second);
    expect(reads.filter((key) => key.startsWith('cooldowns'))).toHaveLength(1);
  });

  it('go on by themselves when the store fails', async () => {
    const refuse = (): never => {
      throw new Error('no store');
    };
    const broken: StateStore = { get: refuse, set: refuse, delete: refuse, increment: refuse, change: refuse };
    const { first, second } = two(LIMITED, broken);
    expect(await askFor(first)).toEqual(['cheap', 'dear']);
    expect(await askFor(first)).toEqual(['dear']);
    expect(await askFor(second)).toEqual(['cheap', 'dear']);
  });

  it('do not wait for a store that is slow', async () => {
    const slow: StateStore = { ...memoryStore(), get: () => new Promise(() => {}) };
    const { first } = two(ANSWER, slow);
    const asked = first.router.chat({ model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }] });
    await first.environment.advance(250);
    await expect(asked).resolves.toMatchObject({ provider: 'CHEAP' });
  });
});
