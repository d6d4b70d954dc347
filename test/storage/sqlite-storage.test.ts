import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, describe, it } from 'vitest';
import { sqliteStorage } from '../../src/storage/sqlite/sqlite-storage.ts';
import { batchStoreChecksFor } from '../../src/testing/batch-store-checks.ts';
import type { BatchStoreHarness } from '../../src/testing/batch-store-checks/check.ts';
import { smallDisk } from '../support/small-disk.ts';
import { sqliteFaults } from '../support/sqlite-faults.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

let now = 1_700_000_000_000;
let files = 0;

async function open(): ReturnType<BatchStoreHarness['create']> {
  const storage = sqliteStorage({ file: folder.file(`${files}.db`), now: () => now });
  await storage.open();
  return storage;
}

const harness: BatchStoreHarness = {
  create() {
    files += 1;
    return open();
  },
  attach: open,
  pass(ms) {
    now += ms;
    return Promise.resolve();
  },
};

describe('batches in a file', () => {
  it.each(batchStoreChecksFor(harness))('$name', ({ run }) => run(harness));
});

describe('batches in a file in trouble', () => {
  const disk = smallDisk(8);
  afterAll(() => disk?.[Symbol.dispose]());
  const place = disk?.path ?? folder.path;
  let file = '';
  const inTrouble: BatchStoreHarness = {
    async create() {
      files += 1;
      file = join(place, `${files}.db`);
      const storage = sqliteStorage({ file, busyTimeoutMs: 20 });
      await storage.open();
      return storage;
    },
    pass: (ms) => setTimeout(ms),
    faults: sqliteFaults(() => file, disk),
  };

  it.each(batchStoreChecksFor(inTrouble).filter(({ needsFault }) => needsFault !== undefined))('$name', ({ run }) =>
    run(inTrouble),
  );
});
