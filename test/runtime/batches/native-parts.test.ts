import { memoryStorage } from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { all, type BatchScene, batchScene, chatBatch, pausableStore } from '../../support/batches.ts';
import { type NativeProvider, nativeProvider } from '../../support/native-provider.ts';
import type { FailPoint } from '../../../src/runtime/batches/ports.ts';

const TOTAL = 10;
/** Ten requests are two parts of five, and these are parts of three and two. */
const MOST = 4;
const RUNNING = { status: 'running' } as const;
const ended = (outcome: 'completed' | 'cancelled') => ({ status: 'ended', outcome }) as const;

/** The requests that a provider was handed, in all of its batches, in their order. */
function handedOver({ submissions }: NativeProvider): readonly string[] {
  return submissions
    .flatMap(({ read }) => read.map(({ id }) => id))
    .sort((left, right) => Number(left.slice(1)) - Number(right.slice(1)));
}

const EVERYTHING = Array.from({ length: TOTAL }, (_, index) => `r${index}`);

async function textsOf({ router }: BatchScene, id: string): Promise<readonly unknown[]> {
  const results = await all(router.batches.results(id));
  return results.map(({ response, error }) => {
    const body = response?.body as { choices?: [{ message: { content: string } }] } | undefined;
    return body?.choices?.[0].message.content ?? error?.error_type;
  });
}

describe('a batch that is more than its provider takes at a time', () => {
  it('is handed over in parts, each with a key of its own, and is one batch to its owner', async () => {
    const provider = nativeProvider('up', { most: MOST, states: [RUNNING, RUNNING, ended('completed')] });
    const scene = batchScene({ providers: [provider] });
    const { id } = await scene.router.batches.create(chatBatch(TOTAL));
    await scene.router.batches.start();
    const batch = await scene.ended(id);
    expect(batch).toMatchObject({ status: 'completed', provider: 'UP', request_counts: { total: 10, completed: 10 } });
    expect(provider.submissions.map(({ total, read }) => [total, read.length])).toEqual([
      [3, 3],
      [2, 2],
      [3, 3],
      [2, 2],
    ]);
    expect(new Set(provider.submissions.map(({ key }) => key)).size).toBe(4);
    expect(handedOver(provider)).toEqual(EVERYTHING);
    expect(provider.calls).toHaveLength(0);
    expect(await textsOf(scene, id)).toEqual(EVERYTHING.map((name) => `native ${name}`));
    expect(await scene.router.batches.delete(id)).toMatchObject({
      deletion: { upstream: { provider: 'UP', status: 'deleted' } },
    });
    expect(provider.removed).toEqual(['job-1', 'job-2', 'job-3', 'job-4'].map((job) => ({ id: job })));
    await scene.router.batches.stop({ graceMs: 0 });
  });

  it.each([1, 2, 3, 4])('loses and doubles nothing when its process dies after part %i was taken', async (fatal) => {
    const environment = fakeEnvironment();
    const store = memoryStorage({ now: environment.wallClock });
    const provider = nativeProvider('up', { most: MOST });
    const mortal = pausableStore(store);
    let taken = 0;
    const failPoint = (name: FailPoint): Promise<void> | undefined => {
      if (name !== 'run.submitted') return undefined;
      taken += 1;
      if (taken < fatal) return undefined;
      mortal.pause();
      return new Promise(() => {});
    };
    const dying = batchScene({ providers: [provider] }, { environment, store: mortal.store }, { failPoint });
    const { id } = await dying.router.batches.create(chatBatch(TOTAL));
    await dying.router.batches.start();
    await dying.advance(1_000);
    expect(provider.submissions).toHaveLength(fatal);
    const scene = batchScene({ providers: [provider] }, { environment, store });
    await scene.router.batches.start();
    expect(await scene.ended(id)).toMatchObject({ status: 'completed', request_counts: { total: 10, completed: 10 } });
    expect(handedOver(provider)).toEqual(EVERYTHING);
    expect([provider.submissions.length, provider.searches, provider.calls.length]).toEqual([4, 1, 0]);
    expect(await textsOf(scene, id)).toEqual(EVERYTHING.map((name) => `native ${name}`));
    await scene.router.batches.stop({ graceMs: 0 });
  });

  it('goes on where it was when the provider is silent between two parts', async () => {
    const refusals = ['too_large', 'too_large', 'connection', 'timeout', 'server'] as const;
    const provider = nativeProvider('up', { most: MOST, refusals });
    const scene = batchScene({ providers: [provider] });
    const { id } = await scene.router.batches.create(chatBatch(TOTAL));
    await scene.router.batches.start();
    expect(await scene.ended(id)).toMatchObject({ status: 'completed', request_counts: { completed: 10 } });
    expect(handedOver(provider)).toEqual(EVERYTHING);
    expect(provider.searches).toBeGreaterThan(0);
    await scene.router.batches.stop({ graceMs: 0 });
  });

  it('runs the requests of a part one by one that the provider does not take, after the others', async () => {
    const provider = nativeProvider('up', {
      most: MOST,
      refuses: (items) => (items.some(({ id }) => id === 'r6') ? 'invalid_request' : undefined),
      results: (items) => items.slice(1).map(({ id }) => ({ id, type: 'answered', body: `native ${id}` })),
    });
    const scene = batchScene({ providers: [provider] });
    const { id } = await scene.router.batches.create(chatBatch(TOTAL));
    await scene.router.batches.start();
    expect(await scene.ended(id)).toMatchObject({
      status: 'completed',
      request_counts: { total: 10, completed: 7, failed: 3 },
    });
    // The first of each part that the provider took has no answer, and is not asked for again.
    const missing = 'provider_unavailable';
    const [own, native] = ['one by one', (name: string) => `native ${name}`] as const;
    const parts = [
      [missing, native('r1'), native('r2')],
      [missing, native('r4')],
      [own, own, own],
      [missing, native('r9')],
    ];
    expect(await textsOf(scene, id)).toEqual(parts.flat());
    expect(provider.calls.map(({ text }) => text).sort()).toEqual(['r5', 'r6', 'r7']);
    await scene.router.batches.stop({ graceMs: 0 });
  });

  it('fails, and is stopped at the provider, where no other way is allowed', async () => {
    const provider = nativeProvider('up', {
      most: MOST,
      refuses: (items) => (items.some(({ id }) => id === 'r6') ? 'invalid_request' : undefined),
    });
    const scene = batchScene({ providers: [provider] });
    const { id } = await scene.router.batches.create(chatBatch(TOTAL, { provider: { allow_fallbacks: false } }));
    await scene.router.batches.start();
    expect(await scene.ended(id)).toMatchObject({
      status: 'failed',
      error: { message: 'The provider refused the batch: no: invalid_request' },
    });
    expect(provider.cancelled).toEqual([{ id: 'job-1' }, { id: 'job-2' }]);
    expect(provider.calls).toHaveLength(0);
    await scene.router.batches.stop({ graceMs: 0 });
  });

  it('is stopped in all of its parts, also in the one that nobody has written down', async () => {
    const environment = fakeEnvironment();
    const store = memoryStorage({ now: environment.wallClock });
    const provider = nativeProvider('up', { most: MOST, states: [ended('cancelled')] });
    const mortal = pausableStore(store);
    const failPoint = (name: FailPoint): Promise<void> | undefined => {
      if (name !== 'run.submitted' || provider.submissions.length < 3) return undefined;
      mortal.pause();
      return new Promise(() => {});
    };
    const dying = batchScene({ providers: [provider] }, { environment, store: mortal.store }, { failPoint });
    const { id } = await dying.router.batches.create(chatBatch(TOTAL));
    await dying.router.batches.start();
    await dying.advance(1_000);
    const scene = batchScene({ providers: [provider] }, { environment, store });
    await scene.router.batches.cancel(id);
    await scene.router.batches.start();
    expect(await scene.ended(id)).toMatchObject({ status: 'cancelled', request_counts: { completed: 8, failed: 2 } });
    expect(provider.cancelled).toEqual([{ id: 'job-1' }, { id: 'job-2' }, { id: 'job-3' }]);
    expect(provider.submissions).toHaveLength(3);
    await scene.router.batches.stop({ graceMs: 0 });
  });
});
