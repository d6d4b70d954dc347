import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { memoryStorage } from '../../../src/storage/memory-storage.ts';
import { all, answer, type Behave, batchProvider, batchScene, chatBatch } from '../../support/batches.ts';

const TOTAL = 400;
const LIMITS = { perBatch: 4, perProvider: 4, helpMs: 1_000 };
/** Milliseconds that an answer takes. */
const ANSWER_MS = 200;

/** Processes on one store, with a provider of their own that takes some time. */
function processes(count: number, behave?: Behave) {
  const environment = fakeEnvironment();
  const store = memoryStorage({ now: environment.wallClock });
  const slowly: Behave = () =>
    new Promise((resolve) => {
      environment.setTimer(() => resolve(answer('ok')), ANSWER_MS);
    });
  return Array.from({ length: count }, () => {
    const provider = batchProvider('up', behave ?? slowly);
    return { provider, ...batchScene({ providers: [provider] }, { environment, store }, { batches: LIMITS }) };
  });
}

async function run(count: number) {
  const workers = processes(count);
  const [first] = workers;
  if (first === undefined) throw new Error('at least one');
  const { id } = await first.router.batches.create(chatBatch(TOTAL));
  for (const { router } of workers) await router.batches.start();
  const startedAt = first.environment.wallClock();
  for (;;) {
    const { finalized_at: ended } = await first.router.batches.retrieve(id);
    if (ended !== null) break;
    await first.advance(100);
  }
  const tookMs = first.environment.wallClock() - startedAt;
  return { workers, first, id, tookMs };
}

describe('a batch that several processes run', () => {
  it('sends each request once, and each process runs no more of it at a time than it may', async () => {
    const { workers, first, id } = await run(3);
    expect(workers.reduce((sum, { provider }) => sum + provider.calls.length, 0)).toBe(TOTAL);
    for (const { provider } of workers) {
      expect(provider.calls.length).toBeGreaterThan(TOTAL / 6);
      expect(provider.most).toBeLessThanOrEqual(LIMITS.perBatch);
    }
    expect(await first.router.batches.retrieve(id)).toMatchObject({
      status: 'completed',
      request_counts: { total: TOTAL, completed: TOTAL, failed: 0 },
    });
    expect(await all(first.router.batches.results(id))).toHaveLength(TOTAL);
    for (const { router } of workers) await router.batches.stop({ graceMs: 0 });
  });

  it('ends sooner', async () => {
    const [alone, together] = [await run(1), await run(4)];
    expect(alone.tookMs / together.tookMs).toBeGreaterThan(2.5);
    for (const { router } of [...alone.workers, ...together.workers]) await router.batches.stop({ graceMs: 0 });
  });

  it('leaves no process without work long before the others', async () => {
    const workers = processes(4);
    const [first] = workers;
    if (first === undefined) throw new Error('at least one');
    const { environment } = first;
    const begunAt = workers.map(() => 0);
    for (const [index, { provider }] of workers.entries()) {
      const chat = provider.chat.bind(provider);
      provider.chat = (...call) => {
        begunAt[index] = environment.wallClock();
        return chat(...call);
      };
    }
    const { id } = await first.router.batches.create(chatBatch(TOTAL));
    for (const { router } of workers) await router.batches.start();
    await first.ended(id);
    expect(Math.max(...begunAt) - Math.min(...begunAt)).toBeLessThanOrEqual(2 * ANSWER_MS);
    for (const { router } of workers) await router.batches.stop({ graceMs: 0 });
  });

  it('is left by all of them when it is cancelled by one', async () => {
    const workers = processes(2);
    const [first, second] = workers;
    if (first === undefined || second === undefined) throw new Error('two');
    const { id } = await first.router.batches.create(chatBatch(TOTAL));
    for (const { router } of workers) await router.batches.start();
    while (workers.some(({ provider }) => provider.calls.length === 0)) await first.advance(100);
    await second.router.batches.cancel(id);
    await first.advance(2_000);
    const sent = workers.map(({ provider }) => provider.calls.length);
    expect((await first.ended(id)).status).toBe('cancelled');
    await first.advance(60_000);
    expect(workers.map(({ provider }) => provider.calls.length)).toEqual(sent);
    for (const { router } of workers) await router.batches.stop({ graceMs: 0 });
  });

  it('keeps what a process that only helped gives back when it stops', async () => {
    const workers = processes(2);
    const [first, second] = workers;
    if (first === undefined || second === undefined) throw new Error('two');
    const { id } = await first.router.batches.create(chatBatch(TOTAL));
    await first.router.batches.start();
    await first.advance(100);
    await second.router.batches.start();
    while (second.provider.calls.length === 0) await first.advance(100);
    const stopping = second.router.batches.stop({ graceMs: 10_000 });
    await first.advance(1_000);
    await stopping;
    expect(await first.ended(id)).toMatchObject({ status: 'completed', request_counts: { completed: TOTAL } });
    expect(workers.reduce((sum, { provider }) => sum + provider.calls.length, 0)).toBe(TOTAL);
    await first.router.batches.stop({ graceMs: 0 });
  });
});
