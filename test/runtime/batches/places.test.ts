import { afterEach, describe, expect, it, vi } from 'vitest';
import type { BatchRequest } from '../../../src/protocol/batch.ts';
import { BatchPlaces } from '../../../src/runtime/batches/places.ts';
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
});
