import { stat } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { withLocalFallback } from '../../src/storage/local-fallback.ts';
import { memoryStore } from '../../src/storage/memory.ts';
import { redisStore } from '../../src/storage/redis/redis-store.ts';
import type { StateStore } from '../../src/contracts/state-store.ts';
import { type StateStoreHarness, stateStoreChecksFor } from '../../src/testing/state-store-checks.ts';

/** A store that can be switched off, and what was warned of. */
function shaky(failing: () => Promise<never>) {
  const inner = memoryStore();
  const said: string[] = [];
  const state = { down: false, asked: 0, now: 0 };
  const ask = <Value>(call: () => Value): Value | Promise<never> => {
    state.asked += 1;
    return state.down ? failing() : call();
  };
  const remote: StateStore = {
    get: (key) => ask(() => inner.get(key)),
    set: (key, value, ttlMs) => ask(() => inner.set(key, value, ttlMs)),
    delete: (key) => ask(() => inner.delete(key)),
    increment: (key, by, ttlMs) => ask(() => inner.increment(key, by, ttlMs)),
    change: (changes) => ask(() => inner.change(changes)),
  };
  const store = withLocalFallback(remote, {
    timeoutMs: 20,
    restMs: 1_000,
    now: () => state.now,
    warn: (message) => said.push(message),
  });
  return { store, said, state };
}

const FAILURES: Readonly<Record<string, () => Promise<never>>> = {
  rejects: () => Promise.reject(new Error('redis://:secret@host failed')),
  throws: () => {
    throw new Error('not connected');
  },
  'never answers': () => new Promise(() => undefined),
};

describe('a store with a local fallback', () => {
  const harness: StateStoreHarness = { create: () => withLocalFallback(memoryStore()), pass };
  it.each(stateStoreChecksFor(harness))('$name', ({ run }) => run(harness));

  it.each(Object.entries(FAILURES))('answers from local state when the shared one %s', async (_, failing) => {
    const { store, state } = shaky(failing);
    state.down = true;
    expect(await store.get('key')).toBeUndefined();
    await store.set('key', 'local', 60_000);
    expect(await store.get('key')).toBe('local');
    expect(await store.increment('count', 2, 60_000)).toBe(2);
    await store.delete('key');
    expect(await store.get('key')).toBeUndefined();
  });

  it('takes an answer that came while the process stood still', async () => {
    const said: string[] = [];
    const store = withLocalFallback(
      { ...memoryStore(), get: async () => (await stat(import.meta.dirname)).isDirectory() },
      { timeoutMs: 20, warn: (message) => said.push(message) },
    );
    // After this phase of the event loop come timers, and only then what was read.
    await new Promise((resolve) => setImmediate(resolve));
    const answered = store.get('key');
    const until = performance.now() + 100;
    while (performance.now() < until);
    expect([await answered, said]).toEqual([true, []]);
  });

  it('lets the shared one rest after a failure, so that nobody waits for it', async () => {
    const { store, state } = shaky(() => Promise.reject(new Error('gone')));
    state.down = true;
    for (let call = 0; call < 10; call += 1) await store.get('key');
    expect(state.asked).toBe(1);
    state.now = 1_000;
    await store.get('key');
    expect(state.asked).toBe(2);
  });

  it('warns once when the shared one is lost and once when it is back, and repeats no credentials', async () => {
    const { store, said, state } = shaky(() => Promise.reject(new Error('redis://:secret@host failed')));
    state.down = true;
    for (state.now = 0; state.now < 5_000; state.now += 500) await store.get('key');
    state.down = false;
    await store.get('key');
    await store.get('key');
    expect(said).toEqual([
      'Shared state cannot be reached, each process keeps its own: Error.',
      'Shared state can be reached again.',
    ]);
  });

  it('goes back to what was shared before', async () => {
    const { store, state } = shaky(() => Promise.reject(new Error('gone')));
    await store.set('key', 'shared', 60_000);
    state.down = true;
    await store.set('key', 'local', 60_000);
    state.down = false;
    state.now = 2_000;
    expect(await store.get('key')).toBe('shared');
  });
});

describe('redisStore', () => {
  it('answers from local state where nobody listens', async () => {
    const said: string[] = [];
    const store = redisStore({ url: 'redis://127.0.0.1:1', warn: (message) => said.push(message) });
    expect(await store.increment('count', 1, 60_000)).toBe(1);
    expect(await store.increment('count', 1, 60_000)).toBe(2);
    expect(said).toHaveLength(1);
    await store.close?.();
  });

  it.each([
    [{}, 'redisStore needs either'],
    [{ url: 'http://localhost' }, 'url must begin with redis://'],
    [{ client: { call: () => Promise.resolve(null) }, url: 'redis://localhost' }, 'redisStore needs either'],
  ])('refuses %o', (options, told) => {
    expect(() => redisStore(options)).toThrow(told);
  });
});

function pass(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
