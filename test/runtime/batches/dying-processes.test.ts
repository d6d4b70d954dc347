import { describe, expect, it } from 'vitest';
import { memoryStorage } from '../../../src/storage/memory-storage.ts';
import { fakeEnvironment } from 'signalbox/testing';
import {
  type Behave,
  all,
  answer,
  batchProvider,
  batchScene,
  chatBatch,
  pausableStore,
} from '../../support/batches.ts';

const HOUR = 3_600_000;
const LEASE_MS = 30_000;

/** Processes on one store of which each dies at the same place, until there have been so many. */
function dyingProcesses({ behave, windowMs = 24 * HOUR }: { behave?: Behave; windowMs?: number } = {}) {
  const environment = fakeEnvironment();
  const store = memoryStorage({ now: environment.wallClock });
  const warnings: string[] = [];
  const provider = batchProvider('up', behave);
  /** A process. Nothing that it does counts once it is dead. */
  function begin(isDeadly: (place: string) => boolean = () => false) {
    const mortal = pausableStore(store);
    let over = false;
    const die = (): void => {
      over = true;
      mortal.pause();
    };
    const failPoint = (place: string): Promise<void> | undefined => {
      if (!over && isDeadly(place)) die();
      return over ? new Promise(() => {}) : undefined;
    };
    const scene = batchScene(
      {
        providers: [provider],
        on: { warning: ({ message }) => warnings.push(message) },
        batches: { limits: { leaseMs: LEASE_MS, windowMs } },
      },
      { environment, store: mortal.store },
      { failPoint },
    );
    return { ...scene, die, isOver: () => over };
  }
  return { begin, store, provider, environment, warnings };
}

describe('a batch whose processes die', () => {
  it('comes to its end however often that was, when something else was to blame', async () => {
    const { begin, warnings, environment } = dyingProcesses();
    const first = begin();
    const { id } = await first.router.batches.create(chatBatch(4));
    const startedAt = environment.wallClock();
    let deaths = 0;
    // For hours, no process gets beyond the validation.
    while (environment.wallClock() - startedAt < 6 * HOUR) {
      const worker = begin((place) => place === 'validate.reading');
      await worker.router.batches.start();
      for (let waits = 0; waits < 100 && !worker.isOver(); waits += 1) await worker.advance(LEASE_MS);
      deaths += 1;
    }
    // It is put off longer and longer, so that it would not bring down everything all the time if it were to blame.
    expect(deaths).toBeGreaterThan(25);
    expect(deaths).toBeLessThan(100);
    const last = begin();
    await last.router.batches.start();
    expect(await last.ended(id)).toMatchObject({ status: 'completed', request_counts: { completed: 4, failed: 0 } });
    expect(warnings.filter((one) => one.includes('never came to an end'))).toEqual([]);
  });

  it('gives up the one request that brings them down, and goes on with the others', async () => {
    let current: { readonly die: () => void } | undefined;
    const behave: Behave = ({ text }) => {
      if (text !== 'r1') return answer('ok');
      current?.die();
      return new Promise(() => {});
    };
    const { begin, environment } = dyingProcesses({ behave });
    const { id } = await begin().router.batches.create(chatBatch(4));
    const startedAt = environment.wallClock();
    let deaths = 0;
    let ended = false;
    for (; deaths < 40 && !ended;) {
      const worker = begin();
      current = worker;
      await worker.router.batches.start();
      for (let waits = 0; waits < 100 && !worker.isOver() && !ended; waits += 1) {
        await worker.advance(LEASE_MS);
        ended = !worker.isOver() && (await worker.router.batches.retrieve(id)).finalized_at !== null;
      }
      if (worker.isOver()) deaths += 1;
      else await worker.router.batches.stop({ graceMs: 0 });
    }
    expect(deaths).toBe(10);
    expect(environment.wallClock() - startedAt).toBeLessThan(HOUR);
    const reader = begin();
    expect(await reader.router.batches.retrieve(id)).toMatchObject({
      status: 'completed',
      request_counts: { completed: 3, failed: 1 },
    });
    const results = await all(reader.router.batches.results(id));
    expect(results.map(({ error }) => error?.message ?? '')).toEqual([
      '',
      'This request was started several times and never came to an end',
      '',
      '',
    ]);
  });

  it('has its requests run on by many processes none of which lives long', async () => {
    const { begin, provider, environment } = dyingProcesses();
    const { id } = await begin().router.batches.create(chatBatch(120));
    const startedAt = environment.wallClock();
    let deaths = 0;
    for (let ended = false; !ended && deaths < 200;) {
      // It stores a few outcomes, and dies before it can say so.
      const worker = begin((place) => place === 'run.stored');
      await worker.router.batches.start();
      for (let waits = 0; waits < 100 && !worker.isOver() && !ended; waits += 1) {
        await worker.advance(LEASE_MS);
        ended = !worker.isOver() && (await worker.router.batches.retrieve(id)).finalized_at !== null;
      }
      if (worker.isOver()) deaths += 1;
    }
    expect(deaths).toBeGreaterThan(25);
    expect(await begin().router.batches.retrieve(id)).toMatchObject({
      status: 'completed',
      request_counts: { completed: 120, failed: 0 },
    });
    expect(provider.calls.length).toBeLessThanOrEqual(120 + deaths * 16);
    // Nobody who gets on is suspected for long.
    expect(environment.wallClock() - startedAt).toBeLessThan(deaths * 3 * LEASE_MS);
  });

  it('is failed long after its time if no process ever got through with it', async () => {
    const { begin, environment, warnings } = dyingProcesses({ windowMs: 2 * HOUR });
    const { id } = await begin().router.batches.create(chatBatch(4));
    const startedAt = environment.wallClock();
    while (environment.wallClock() - startedAt < 5 * HOUR) {
      const worker = begin((place) => place === 'validate.reading');
      await worker.router.batches.start();
      for (let waits = 0; waits < 100 && !worker.isOver(); waits += 1) await worker.advance(2 * LEASE_MS);
      if (!worker.isOver()) break;
    }
    const batch = await begin().router.batches.retrieve(id);
    expect(batch).toMatchObject({ status: 'failed', error: { message: 'The batch could not be processed' } });
    expect(warnings.filter((one) => one.includes('never came to an end'))).toHaveLength(1);
  });
});
