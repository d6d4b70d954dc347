import type { Batch } from 'signalbox';
import { describe, expect, it } from 'vitest';
import {
  all,
  answer,
  batchProvider,
  batchScene,
  pausableStore,
  chatBatch,
  failing,
  requests,
} from '../../support/batches.ts';
import { refusal } from '../../support/refusal.ts';

const hang = () => new Promise<never>(() => {});

describe('the requests of a batch', () => {
  it('run so many at a time, and no more', async () => {
    const { environment, ...scene } = batchScene();
    const wait = (ms: number) => new Promise<void>((resolve) => environment.setTimer(resolve, ms));
    const provider = batchProvider('up', async () => {
      await wait(1_000);
      return answer('ok');
    });
    const { router, ended } = batchScene(
      { providers: [provider], batches: { limits: { perBatch: 3 } } },
      { environment, store: scene.store },
    );
    const { id } = await router.batches.create(chatBatch(12));
    await router.batches.start();
    await ended(id);
    expect(provider.most).toBe(3);
    expect(provider.calls).toHaveLength(12);
  });

  it('are tried again while the provider is overloaded, and answered in the end', async () => {
    const provider = batchProvider('up', ({ before }) => (before < 4 ? failing('overloaded', 503) : answer('ok')));
    const { router, ended } = batchScene({
      providers: [provider],
      fallback: { triesPerEndpoint: 1 },
      pacer: false,
      breaker: false,
    });
    const { id } = await router.batches.create(chatBatch(2));
    await router.batches.start();
    expect(await ended(id)).toMatchObject({ status: 'completed', request_counts: { completed: 2, failed: 0 } });
  });

  it('have had their tries after ten of them', async () => {
    const provider = batchProvider('up', ({ text }) => (text === 'r0' ? failing('bad_response', 200) : answer('ok')));
    const { router, ended } = batchScene({
      providers: [provider],
      fallback: { triesPerEndpoint: 1 },
      breaker: false,
    });
    const { id } = await router.batches.create(chatBatch(20));
    await router.batches.start();
    expect(await ended(id)).toMatchObject({ request_counts: { completed: 19, failed: 1 } });
    expect(provider.calls.filter(({ text }) => text === 'r0')).toHaveLength(10);
    const [first] = await all(router.batches.results(id));
    expect(first?.error).toMatchObject({ type: 'server_error', error_type: 'provider_unavailable' });
  });

  it('do not ask a provider again before it wants to be asked', async () => {
    const times: number[] = [];
    const scene = batchScene();
    const { environment } = scene;
    const provider = batchProvider('up', ({ number }) => {
      times.push(environment.now());
      return number === 0 ? failing('rate_limited', 429, 90_000) : answer('ok');
    });
    const { router, ended } = batchScene({ providers: [provider], batches: { limits: { perBatch: 1 } } }, scene);
    const { id } = await router.batches.create(chatBatch(10));
    await router.batches.start();
    expect(await ended(id)).toMatchObject({ request_counts: { completed: 10, failed: 0 } });
    const [first = 0, second = 0] = times;
    expect(second - first).toBeGreaterThanOrEqual(90_000);
    expect(provider.calls).toHaveLength(11);
  });

  it('leave room for interactive traffic', async () => {
    const provider = batchProvider('up', hang);
    const { router, advance } = batchScene(
      { providers: [provider], limits: { concurrentRequests: 10 } },
      {},
      { batches: { keepFree: 7 } },
    );
    const { admission } = router.internals;
    const places = [admission.enter('me'), admission.enter('me')];
    await router.batches.create(chatBatch(20));
    await router.batches.start();
    await advance(1_000);
    expect(provider.open).toBe(1);
    for (const place of places) place.leave();
    await advance(0);
    expect(provider.open).toBe(3);
    expect(() => admission.check('me')).not.toThrow();
    await router.batches.stop({ graceMs: 0 });
  });

  it('of ten do not wait for those of ten thousand', async () => {
    const scene = batchScene();
    const { environment, store } = scene;
    const provider = batchProvider('up', async () => {
      await new Promise<void>((resolve) => environment.setTimer(resolve, 1_000));
      return answer('ok');
    });
    const { router, ended } = batchScene(
      { providers: [provider], batches: { limits: { concurrency: 4, perBatch: 4 } } },
      { environment, store },
    );
    for (const index of [1, 2, 3, 4, 5]) {
      await router.batches.create(chatBatch(0, { requests: requests(1_000, `noisy${index}-`) }), {
        account: { id: 'noisy' },
      });
    }
    await router.batches.start();
    await environment.advance(5_000);
    const small = await router.batches.create(chatBatch(10));
    const startedAt = environment.now();
    await ended(small.id);
    // Alone it would need three seconds; with half of the places twice that.
    expect(environment.now() - startedAt).toBeLessThanOrEqual(8_000);
    await router.batches.stop({ graceMs: 0 });
  });
});

describe('cancelling', () => {
  async function cancelled() {
    const provider = batchProvider('up', ({ number }) => (number < 3 ? answer('ok') : hang()));
    const scene = batchScene({ providers: [provider] });
    const { id } = await scene.router.batches.create(chatBatch(10));
    await scene.router.batches.start();
    await scene.advance(1_000);
    return { ...scene, provider, id, answered: await scene.router.batches.cancel(id) };
  }

  it('ends what runs, keeps the counts of what is done, and gives no results', async () => {
    const { router, id, answered, ended, provider } = await cancelled();
    expect(answered.status).toBe('cancelling');
    const batch: Batch = await ended(id);
    expect(batch).toMatchObject({
      status: 'cancelled',
      request_counts: { total: 10, completed: 3, failed: 7 },
      usage: null,
    });
    expect(provider.calls.every(({ signal }, index) => index < 3 || signal.aborted)).toBe(true);
    expect(await refusal(all(router.batches.results(id)))).toMatchObject({ status: 409 });
  });

  it('is refused once the batch has ended', async () => {
    const { router, id, ended } = await cancelled();
    expect((await router.batches.cancel(id)).status).toBe('cancelling');
    await ended(id);
    expect(await refusal(router.batches.cancel(id))).toMatchObject({ status: 409 });
  });

  it('reaches a batch that was not validated yet', async () => {
    const { router, ended } = batchScene();
    const { id } = await router.batches.create(chatBatch(3));
    await router.batches.cancel(id);
    await router.batches.start();
    expect(await ended(id)).toMatchObject({ status: 'cancelled', request_counts: { completed: 0, failed: 3 } });
  });

  it('reaches a batch that another process runs', async () => {
    const provider = batchProvider('up', hang);
    const worker = batchScene({ providers: [provider] });
    const front = batchScene({}, worker);
    const { id } = await front.router.batches.create(chatBatch(3));
    await worker.router.batches.start();
    await worker.advance(6_000);
    expect(provider.open).toBe(3);
    await front.router.batches.cancel(id);
    const batch = await front.ended(id);
    expect(batch.request_counts).toEqual({ total: 3, completed: 0, failed: 3 });
    await worker.advance(60_000);
    expect(provider.open).toBe(3);
    expect(provider.calls.every(({ signal }) => signal.aborted)).toBe(true);
    await worker.router.batches.stop({ graceMs: 0 });
  });
});

describe('after a day', () => {
  it('a batch expires: what is answered counts, the rest is given up', async () => {
    const provider = batchProvider('up', ({ number }) => (number < 4 ? answer('ok') : hang()));
    const { router, environment, ended, record, store } = batchScene(
      { providers: [provider], timeouts: { totalMs: 200_000_000, answerMs: 190_000_000 } },
      {},
      { batches: { helpMs: 0 } },
    );
    const { id } = await router.batches.create(chatBatch(10));
    await router.batches.start();
    await environment.advance(86_400_000);
    const batch = await ended(id);
    expect(batch).toMatchObject({
      status: 'expired',
      request_counts: { total: 10, completed: 4, failed: 6 },
      usage: null,
    });
    const { account } = await record(id);
    const errors = (await store.outcomes(account, id, -1, 100)).flatMap(({ error }) => error?.error_type ?? []);
    expect(errors).toEqual(Array.from({ length: 6 }, () => 'batch_expired'));
    await router.batches.stop({ graceMs: 0 });
  });
});

describe('stopping', () => {
  it('lets requests finish, gives the others back, and another process goes on', async () => {
    const scene = batchScene();
    const { environment } = scene;
    const provider = batchProvider('up', async () => {
      await new Promise<void>((resolve) => environment.setTimer(resolve, 5_000));
      return answer('ok');
    });
    const first = batchScene({ providers: [provider], batches: { limits: { perBatch: 2 } } }, scene);
    const { id } = await first.router.batches.create(chatBatch(6));
    await first.router.batches.start();
    await first.advance(6_000);
    const stopped = first.router.batches.stop();
    await environment.advance(5_000);
    await stopped;
    expect(environment.pendingTimers).toBe(0);
    expect((await first.router.batches.retrieve(id)).request_counts.completed).toBe(4);
    expect(provider.calls).toHaveLength(4);
    const second = batchScene({ providers: [provider] }, scene);
    await second.router.batches.start();
    expect(await second.ended(id)).toMatchObject({ status: 'completed', request_counts: { completed: 6 } });
    expect(provider.calls).toHaveLength(6);
  });

  it('aborts what does not finish in time, which is run again', async () => {
    const provider = batchProvider('up', ({ before }) => (before === 0 ? hang() : answer('ok')));
    const { router, environment, ended, advance } = batchScene({ providers: [provider] });
    const { id } = await router.batches.create(chatBatch(2));
    await router.batches.start();
    await advance(1_000);
    const stopped = router.batches.stop({ graceMs: 2_000 });
    await environment.advance(2_000);
    await stopped;
    expect(environment.pendingTimers).toBe(0);
    await router.batches.start();
    expect(await ended(id)).toMatchObject({ request_counts: { completed: 2 } });
    expect(provider.calls).toHaveLength(4);
  });
});

describe('a worker that was paused past its leases', () => {
  it('changes nothing when it comes back, and no request has two outcomes', async () => {
    const scene = batchScene();
    const { environment, store } = scene;
    const frozen = pausableStore(store);
    let release: () => void = () => {};
    const slow = batchProvider('up', async () => {
      await new Promise<void>((resolve) => (release = resolve));
      return answer('late');
    });
    const first = batchScene(
      { providers: [slow], batches: { limits: { perBatch: 1 } } },
      { environment, store: frozen.store },
    );
    const { id } = await first.router.batches.create(chatBatch(5));
    await first.router.batches.start();
    await first.advance(1_000);
    expect(slow.open).toBe(1);
    frozen.pause();
    const quick = batchProvider('up', () => answer('early'));
    const second = batchScene({ providers: [quick] }, { environment, store });
    await second.router.batches.start();
    const batch = await second.ended(id);
    expect(batch).toMatchObject({ status: 'completed', request_counts: { total: 5, completed: 5 } });
    // Its answer comes, and it goes on as if nothing had happened.
    release();
    frozen.goOn();
    await first.advance(60_000);
    const results = await all(second.router.batches.results(id));
    expect(JSON.stringify(results)).not.toContain('late');
    expect(await store.recount('anonymous', id)).toEqual({ completed: 5, failed: 0 });
    await Promise.all([first, second].map(({ router }) => router.batches.stop({ graceMs: 0 })));
  });
});
