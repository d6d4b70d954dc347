import { describe, it } from 'vitest';
import { memoryStore } from '../../src/storage/memory.ts';
import { type StateStoreHarness, stateStoreChecksFor } from '../../src/testing/state-store-checks.ts';

let now = 1_000;

const harness: StateStoreHarness = {
  create: () => memoryStore({ now: () => now }),
  pass(ms) {
    now += ms;
    return Promise.resolve();
  },
};

describe('state in memory', () => {
  it.each(stateStoreChecksFor(harness))('$name', ({ run }) => run(harness));
});
