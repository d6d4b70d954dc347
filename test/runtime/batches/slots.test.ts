import { fakeEnvironment } from 'signalbox/testing';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { BatchRequest } from '../../../src/protocol/batch.ts';
import { wait } from '../../../src/platform/wait.ts';
import { memoryStore } from '../../../src/storage/memory.ts';
import { BatchPlaces, SharedPaces, type CallVerdict } from '../../../src/runtime/batches/slots.ts';
import { Concurrency } from '../../../src/runtime/endpoints/concurrency.ts';
import { answer, batchProvider, batchScene, chatBatch, requests } from '../../support/batches.ts';

const ITEMS = 200;

afterEach(() => {
  vi.restoreAllMocks();
});

describe('the place of a request of a batch', () => {
  it.each([
    ['a chat request', {}],
    ['a chat request with a plugin', { plugins: [{ id: 'context-compression' }] }],
  ])('is at the provider that is called: %s', async (_, more) => {
    const enter = vi.spyOn(BatchPlaces.prototype, 'enter');
    const called: string[] = [];
    const providers = ['left', 'right'].map((slug) =>
      batchProvider(slug, () => {
        called.push(slug);
        return answer('Hello');
      }),
    );
    // One at a time, so that each call follows its place.
    const scene = batchScene({ providers, batches: { limits: { perBatch: 1 } } });
    const items = (requests(ITEMS) as readonly BatchRequest[]).map(({ custom_id, body }) => ({
      custom_id,
      body: { ...body, ...more },
    }));
    const { id } = await scene.router.batches.create(chatBatch(ITEMS, { requests: items }));
    await scene.router.batches.start();
    await scene.ended(id);

    expect(called).toHaveLength(ITEMS);
    expect(enter.mock.calls.map(([{ provider }]) => provider)).toEqual(called);
    // Both are as cheap, so both get their share.
    expect(providers.map(({ calls }) => calls.length > ITEMS / 4)).toEqual([true, true]);
  });

  it('keeps each of two equal providers within its bound', async () => {
    const providers = ['left', 'right'].map((slug) =>
      batchProvider(slug, async () => {
        await new Promise<void>((resolve) => void scene.environment.setTimer(resolve, 100));
        return answer('Hello');
      }),
    );
    const scene = batchScene({ providers, batches: { limits: { perBatch: 16, perProvider: 3 } } });
    const { id } = await scene.router.batches.create(chatBatch(ITEMS));
    await scene.router.batches.start();
    await scene.ended(id);
    expect(providers.map(({ most }) => most)).toEqual([3, 3]);
    expect(providers.reduce((sum, { calls }) => sum + calls.length, 0)).toBe(ITEMS);
  });

  it('is given to accounts by their weight, whatever the order and the size of their batches', async () => {
    const order: string[] = [];
    const provider = batchProvider('up', async ({ text }) => {
      order.push(text[0] ?? '');
      await new Promise<void>((resolve) => void scene.environment.setTimer(resolve, 100));
      return answer('Hello');
    });
    const scene = batchScene({ providers: [provider], batches: { limits: { perBatch: 8, perProvider: 4 } } });
    const accounts = [
      { id: 'light', batchWeight: 1 },
      { id: 'heavy', batchWeight: 3 },
    ];
    for (const account of accounts) {
      const name = account.id.slice(0, 1);
      await scene.router.batches.create(chatBatch(ITEMS, { requests: requests(ITEMS, name) }), { account });
    }
    await scene.router.batches.start();
    await scene.advance(5_000);
    while (order.length < ITEMS) await scene.advance(100);
    // Both begin together; from then on three of four places are those of the heavy one.
    const some = order.slice(20, 120);
    expect(some.filter((name) => name === 'h').length).toBeGreaterThanOrEqual(72);
    expect(some.filter((name) => name === 'h').length).toBeLessThanOrEqual(78);
    await scene.router.batches.stop({ graceMs: 0 });
  });

  it('is kept from every process where a provider complained to one of them, and the state is shared', async () => {
    const environment = fakeEnvironment();
    const state = memoryStore({ now: environment.wallClock });
    const limits = { concurrency: 32, perProvider: 8, keepFree: 0 };
    const [first, second] = [0, 1].map(
      () => new BatchPlaces(environment, limits, new Concurrency(64), new SharedPaces(state, environment)),
    );
    const end = new AbortController();
    const begun = { first: 0, second: 0 };
    /** Runs requests one after the other, each of which takes a second, until told to stop. */
    const work = async (name: keyof typeof begun, places: BatchPlaces | undefined, verdict: () => CallVerdict) => {
      while (!end.signal.aborted) {
        const place = await places?.enter({ account: 'a', provider: 'up' }, end.signal);
        if (place === undefined) return;
        begun[name] += 1;
        await wait(environment, 1_000, end.signal);
        place.leave(verdict());
      }
    };
    let complains = false;
    const running = Array.from({ length: 12 }, () => [
      work('first', first, () => (complains ? { type: 'complaint', retryAfterMs: 20_000 } : { type: 'answered' })),
      work('second', second, () => ({ type: 'answered' })),
    ]).flat();
    await environment.advance(10_000);
    const before = begun.second;
    expect(before).toBeGreaterThanOrEqual(80);
    complains = true;
    await environment.advance(1_000);
    complains = false;
    await environment.advance(3_000);
    const paused = begun.second;
    await environment.advance(14_000);
    expect(begun.second).toBe(paused);
    // Then both go on, at half the rate to begin with.
    await environment.advance(6_000);
    expect(begun.second - paused).toBeGreaterThanOrEqual(4);
    expect(begun.second - paused).toBeLessThanOrEqual(28);
    end.abort();
    await environment.advance(2_000);
    await Promise.all(running);
  });
});
