/** Runs in a process of its own: it measures how long single calls take. */
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import type { BatchStore } from '../../src/contracts/batch-store.ts';
import { memoryStorage } from '../../src/storage/memory-storage.ts';
import { MIGRATIONS, STATEMENTS } from '../../src/storage/sqlite/statements.ts';
import { sqliteStorage } from '../../src/storage/sqlite/sqlite-storage.ts';
import {
  CHECKED_ACCOUNT,
  BATCH,
  LONG_LEASE_MS,
  answered,
  makeBatch,
} from '../../src/testing/batch-store-checks/check.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { cpuClock } from '../support/cpu-clock.ts';

const SMALL = 200;
const LARGE = 60_000;
/** Requests that are left when the time of a step is taken. */
const LEFT = 100;
const STEP = 4;
const AT_ONCE = 2_000;
/** Times that a step may take longer in the large batch, and milliseconds that a clock may be wrong. */
const FACTOR = 3;
const CLOCK_MS = 0.5;

async function step(store: BatchStore, token: string, limit: number): Promise<void> {
  const claimed = await store.claimItems(CHECKED_ACCOUNT, BATCH, { limit, leaseMs: LONG_LEASE_MS, token });
  await store.renewItems(CHECKED_ACCOUNT, BATCH, token, LONG_LEASE_MS);
  const outcomes = claimed.map(({ index }) => answered(index));
  expect(await store.storeOutcomes(CHECKED_ACCOUNT, BATCH, token, outcomes)).toHaveLength(limit);
  await store.releaseItems(CHECKED_ACCOUNT, BATCH, token);
  const last = (claimed.at(-1)?.index ?? 0) - 1;
  expect(await store.outcomes(CHECKED_ACCOUNT, BATCH, last, 1)).toHaveLength(1);
  expect(await store.items(CHECKED_ACCOUNT, BATCH, last, 1)).toHaveLength(1);
}

/** The least milliseconds of CPU that a worker needs for a few requests near the end of a batch of a size. */
async function stepMs(store: BatchStore, items: number): Promise<number> {
  await store.open();
  await makeBatch(store, { items });
  for (let left = items - LEFT; left > 0; left -= AT_ONCE) await step(store, `fast-${left}`, Math.min(left, AT_ONCE));
  let least = Infinity;
  for (let number = 0; number < LEFT / STEP; number += 1) {
    const cpuMs = cpuClock();
    await step(store, `slow-${number}`, STEP);
    least = Math.min(least, cpuMs());
  }
  expect(await store.claimItems(CHECKED_ACCOUNT, BATCH, { limit: 1, leaseMs: LONG_LEASE_MS, token: 'late' })).toEqual(
    [],
  );
  await store.close();
  return least;
}

describe('a batch of 60,000 requests', () => {
  it('costs as much per request in memory as a small one', async () => {
    const small = await stepMs(memoryStorage(), SMALL);
    expect(await stepMs(memoryStorage(), LARGE)).toBeLessThan(small * FACTOR + CLOCK_MS);
  });

  it('costs as much per request in a file as a small one', async () => {
    using folder = temporaryFolder();
    const small = await stepMs(sqliteStorage({ file: folder.file('small.db') }), SMALL);
    expect(await stepMs(sqliteStorage({ file: folder.file('large.db') }), LARGE)).toBeLessThan(
      small * FACTOR + CLOCK_MS,
    );
  });
});

describe('the statements that workers repeat', () => {
  const database = new DatabaseSync(':memory:');
  for (const migration of MIGRATIONS) database.exec(migration);

  it.each([
    ['claimItems', 'items_open'],
    ['pageOpen', 'items_open'],
    ['renewItems', 'items_held'],
    ['releaseItems', 'items_held'],
  ] as const)('%s reads only what %s has', (name, index) => {
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${STATEMENTS[name].replaceAll(/:\w+/g, '1')}`).all();
    const steps = plan.map(({ detail }) => String(detail));
    expect(steps.some((detail) => detail.startsWith(`SEARCH items USING INDEX ${index}`))).toBe(true);
    // Otherwise a batch is read by its primary key, which is only cheap with the position in it.
    const byKey = steps.filter((detail) => detail.includes('items USING PRIMARY KEY'));
    expect(byKey.every((detail) => detail.includes('position=?'))).toBe(true);
  });
});
