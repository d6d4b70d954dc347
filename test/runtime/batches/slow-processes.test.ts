import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import type { BatchStore } from '../../../src/contracts/batch-store.ts';
import type { Environment } from '../../../src/platform/environment.ts';
import { localQueue } from '../../../src/queue/local.ts';
import { memoryStorage } from '../../../src/storage/memory-storage.ts';
import { batchProvider, batchScene, chatBatch } from '../../support/batches.ts';

const LEASE_MS = 100;
/** Steps in which each call of the store gets half its way, at most. */
const STEPS = 1_000;

/** A store as a process sees it that comes to nothing in time: each call begins late, and its answer is read late. */
function lateStore(store: BatchStore, environment: Environment, ms: number): BatchStore {
  const later = (): Promise<void> => new Promise((resolve) => void environment.setTimer(resolve, ms));
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return async (...parameters: unknown[]) => {
        await later();
        const answer: unknown = await value.apply(target, parameters);
        await later();
        return answer;
      };
    },
  });
}

/** Processes on one store for which everything takes so long, and one that is fast and runs nothing. */
function slowProcesses(count: number, lateMs: number) {
  const environment = fakeEnvironment();
  const store = memoryStorage({ now: environment.wallClock });
  const workers = Array.from({ length: count }, () => {
    const provider = batchProvider('up');
    const config = {
      providers: [provider],
      batches: {
        queue: localQueue({ leaseMs: LEASE_MS, pollMs: LEASE_MS }),
        limits: { leaseMs: LEASE_MS },
      },
    };
    const shared = { environment, store: lateStore(store, environment, lateMs) };
    const { router } = batchScene(config, shared, { batches: { helpMs: LEASE_MS, sliceMs: 3_000 } });
    return { provider, router };
  });
  return { workers, client: batchScene({}, { environment, store }) };
}

describe('a batch whose processes are so slow that leases end while they work', () => {
  it.each([
    ['one process', 1, 20, 120],
    ['one process, leases that end many times over', 1, 20, 1_000],
    ['two processes', 2, 20, 120],
    ['three processes that share it', 3, 200, 120],
    ['three processes that share it, leases that end many times over', 3, 200, 1_000],
  ])('is completed, and no request is given up: %s', async (_, count, items, lateMs) => {
    const { workers, client } = slowProcesses(count, lateMs);
    const { id } = await client.router.batches.create(chatBatch(items));
    for (const { router } of workers) void router.batches.start();
    for (let step = 0; step < STEPS; step += 1) {
      await client.advance(lateMs);
      if ((await client.record(id)).status === 'completed') break;
    }
    expect(await client.record(id)).toMatchObject({
      status: 'completed',
      counts: { total: items, completed: items, failed: 0 },
    });
    // Until they have noticed how slow they are, some requests are sent twice.
    const calls = workers.reduce((sum, { provider }) => sum + provider.calls.length, 0);
    expect(calls).toBeLessThan(1.5 * items);
    const stops = workers.map(({ router }) => router.batches.stop({ graceMs: 0 }));
    await client.environment.advance(60 * lateMs);
    await Promise.all(stops);
  });
});
