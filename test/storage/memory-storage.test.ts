import { describe, it } from 'vitest';
import { memoryStorage } from '../../src/storage/memory-storage.ts';
import { batchStoreChecksFor } from '../../src/testing/batch-store-checks.ts';
import type { BatchStoreHarness } from '../../src/testing/batch-store-checks/check.ts';

let now = 1_700_000_000_000;

const harness: BatchStoreHarness = {
  create: () => Promise.resolve(memoryStorage({ now: () => now })),
  pass(ms) {
    now += ms;
    return Promise.resolve();
  },
};

describe('batches in memory', () => {
  it.each(batchStoreChecksFor(harness))('$name', ({ run }) => run(harness));
});
