import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { createRouter, type WarningEvent } from 'signalbox';
import { sqliteStorage } from 'signalbox/sqlite';
import { fetchRouter } from 'signalbox/fetch';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { BackgroundTimers, BatchWorker } from '../../../src/runtime/batches/worker.ts';
import { EventHub } from '../../../src/runtime/events/events.ts';
import { batchProvider, batchScene, chatBatch } from '../../support/batches.ts';
import { MOUNTS } from '../../support/mounts.ts';
import { refusal } from '../../support/refusal.ts';
import { fakeEnvironment } from 'signalbox/testing';

const running = { worker: true };

/** Waits until a batch has ended, over HTTP. */
async function endedOver(fetchIt: (path: string, init?: RequestInit) => Promise<Response>): Promise<unknown> {
  const body = JSON.stringify(chatBatch(3));
  const created = await fetchIt('/batches', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  expect(created.status).toBe(202);
  const { id } = (await created.json()) as { id: string };
  for (let turn = 0; turn < 500; turn += 1) {
    const batch = (await (await fetchIt(`/batches/${id}`)).json()) as { status: string; results: unknown[] };
    if (batch.status === 'completed') return batch.results.length;
    await wait(20);
  }
  throw new Error('the batch does not end');
}

describe('batches of a router that nobody has started', () => {
  it('end by themselves in-process', async () => {
    const scene = batchScene({ batches: running });
    const { id } = await scene.router.batches.create(chatBatch(5));
    expect(await scene.ended(id)).toMatchObject({ status: 'completed', warnings: null });
    await scene.router.close();
    expect(scene.environment.pendingTimers).toBe(0);
  });

  it.each(Object.entries(MOUNTS))('end by themselves at the host %s', async (_name, mount) => {
    const router = createRouter({ providers: [batchProvider('up')], allowAnonymous: true, on: { warning: () => {} } });
    await using host = await mount(router);
    expect(await endedOver((path, init) => fetch(`${host.baseURL}${path}`, init))).toBe(3);
    await router.close();
  });

  it('are gone on with by a process that was restarted, from its first request on, whatever that is', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'worker-'));
    const file = join(folder, 'batches.db');
    const config = { providers: [batchProvider('up')], allowAnonymous: true, on: { warning: () => {} } };
    const first = createRouter({ ...config, batches: { storage: sqliteStorage({ file }), worker: false } });
    const { id } = await first.batches.create(chatBatch(4));
    await first.close();
    const storage = sqliteStorage({ file });
    const opened = vi.spyOn(storage, 'open');
    const second = createRouter({ ...config, batches: { storage } });
    const mounted = fetchRouter(second, { basePath: '/v1' });
    await wait(20);
    expect(opened).not.toHaveBeenCalled();
    await mounted(new Request('http://localhost/v1/models/count'));
    await expect
      .poll(() => storage.find('anonymous', id).catch(() => undefined))
      .toMatchObject({ status: 'completed' });
    await second.close();
    rmSync(folder, { recursive: true });
  });

  it('do not begin again once they were stopped, or are run by ticks', async () => {
    for (const end of ['stop', 'tick'] as const) {
      const scene = batchScene({ batches: running });
      await scene.router.batches[end]();
      const { id } = await scene.router.batches.create(chatBatch(1));
      await scene.advance(60_000);
      expect((await scene.router.batches.retrieve(id)).status).toBe('validating');
      await scene.router.close();
    }
  });

  it('run for two routers of one process over one storage, each request once', async () => {
    const provider = batchProvider('up');
    const one = batchScene({ providers: [provider], batches: running });
    const two = batchScene({ providers: [provider], batches: running }, one);
    const { id } = await one.router.batches.create(chatBatch(20));
    await two.router.batches.retrieve(id);
    await one.ended(id);
    expect(provider.calls).toHaveLength(20);
    await one.router.close();
    await two.router.close();
  });

  it('never keep a process alive, and those that were started do', async () => {
    const timers = new BackgroundTimers({ ...fakeEnvironment(), setTimer: (then, ms) => setTimeout(then, ms) });
    const unheld = timers.environment.setTimer(() => {}, 60_000) as NodeJS.Timeout;
    timers.keepAlive = true;
    const held = timers.environment.setTimer(() => {}, 60_000) as NodeJS.Timeout;
    expect([unheld.hasRef(), held.hasRef()]).toEqual([false, true]);
    clearTimeout(unheld);
    clearTimeout(held);
  });
});

describe('a batch that no process begins to run', () => {
  it('is a warning after 30 seconds, and says so itself until somebody runs it', async () => {
    const warnings: WarningEvent[] = [];
    const scene = batchScene({ on: { warning: (warning) => warnings.push(warning) } });
    const { id } = await scene.router.batches.create(chatBatch(2));
    await scene.advance(29_000);
    expect([warnings, (await scene.router.batches.retrieve(id)).warnings]).toEqual([[], null]);
    await scene.advance(2_000);
    expect(warnings).toEqual([
      {
        code: 'batch_unclaimed',
        message:
          `Batch ${id} was accepted 30 seconds ago, and no process has begun to run it: batches.worker is false here. ` +
          'Call router.batches.start() in a process on the same storage',
      },
    ]);
    const said = [
      {
        code: 'batch_unclaimed',
        message: 'No process has begun to run batches for 31 seconds; this one runs when a worker is there',
      },
    ];
    expect((await scene.router.batches.retrieve(id)).warnings).toEqual(said);
    expect((await scene.router.batches.list()).data[0]?.warnings).toEqual(said);
    const other = batchScene({ batches: running }, scene);
    await other.router.batches.retrieve(id);
    expect(await other.ended(id)).toMatchObject({ status: 'completed', warnings: null });
    await other.router.close();
  });

  it('is none where another process runs it in time', async () => {
    const warnings: WarningEvent[] = [];
    const scene = batchScene({ on: { warning: (warning) => warnings.push(warning) } });
    const other = batchScene({ batches: running }, scene);
    for (let turn = 0; turn < 3; turn += 1) {
      const { id } = await scene.router.batches.create(chatBatch(1));
      await other.router.batches.retrieve(id);
      await other.ended(id);
      await scene.advance(20_000);
    }
    await scene.advance(120_000);
    expect(warnings).toEqual([]);
    await other.router.close();
  });
});

describe('a host where nothing runs between two requests', () => {
  afterEach(() => vi.unstubAllEnvs());

  it.each([
    ['AWS_LAMBDA_FUNCTION_NAME', 'AWS Lambda'],
    ['VERCEL', 'Vercel Functions'],
  ])('refuses batches with a sentence (%s), unless others run them or it ticks', async (variable, name) => {
    vi.stubEnv(variable, '1');
    const scene = batchScene({ batches: running });
    const refused = await refusal(scene.router.batches.create(chatBatch(1)));
    expect(refused).toMatchObject({
      status: 500,
      message: expect.stringContaining(`on ${name} nothing runs`) as string,
    });
    expect(refused.message).toContain('batches: { worker: false }');
    const others = batchScene({ batches: { worker: false } });
    await others.router.batches.create(chatBatch(1));
    const ticking = batchScene({ batches: running });
    await ticking.router.batches.tick();
    await ticking.router.batches.create(chatBatch(1));
    await others.router.close();
    await ticking.router.close();
  });
});

describe('a start that fails', () => {
  it('is one warning, and is tried again by an operation a few seconds later', async () => {
    const environment = fakeEnvironment();
    const warnings: string[] = [];
    const events = new EventHub();
    events.on('warning', ({ code }) => warnings.push(code));
    let starts = 0;
    const worker = new BatchWorker({
      store: batchScene().store,
      events,
      timers: new BackgroundTimers(environment),
      queue: {
        start: () => ((starts += 1) < 2 ? Promise.reject(new Error('postgres://user:secret@host')) : Promise.resolve()),
        wake: () => {},
        tick: () => Promise.resolve(),
        stop: () => Promise.resolve(),
      },
      handler: () => Promise.resolve({ type: 'done' }),
      open: () => Promise.resolve(),
      besides: { start: () => {}, stop: () => Promise.resolve() },
      startsByItself: true,
      pausingHost: undefined,
    });
    worker.startByItself();
    await environment.settle();
    worker.startByItself();
    await environment.settle();
    expect([starts, worker.isRunning, warnings]).toEqual([1, false, ['batch_worker']]);
    await environment.advance(5_000);
    worker.startByItself();
    await environment.settle();
    expect([starts, worker.isRunning]).toEqual([2, true]);
  });
});

describe('a router that nobody has any more', () => {
  it('runs no batches by itself: one that is made for each request leaves nothing behind', async () => {
    const scene = batchScene({ batches: running });
    const { id } = await scene.router.batches.create(chatBatch(1));
    await scene.ended(id);
    expect(scene.environment.pendingTimers).toBeGreaterThan(0);
    const { batches } = scene.router as unknown as { batches: { forget: () => void } };
    batches.forget();
    await scene.environment.settle();
    expect(scene.environment.pendingTimers).toBe(0);
    // Whoever still has its batches starts them again.
    const again = await scene.router.batches.create(chatBatch(1));
    expect((await scene.ended(again.id)).status).toBe('completed');
    await scene.router.close();
  });
});
