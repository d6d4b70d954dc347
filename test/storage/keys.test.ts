import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { KeyStore } from '../../src/contracts/key-store.ts';
import { memoryKeys } from '../../src/storage/memory.ts';
import { sqliteKeys } from '../../src/storage/sqlite/sqlite-keys.ts';
import { sqliteStorage } from '../../src/storage/sqlite/sqlite-storage.ts';
import { keyChecks, keysOutlast, storedKey } from '../support/key-checks.ts';
import { smallDisk } from '../support/small-disk.ts';
import { sqliteFaults } from '../support/sqlite-faults.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

async function using(store: KeyStore, run: (store: KeyStore) => Promise<unknown>): Promise<void> {
  try {
    await run(store);
  } finally {
    await store.close?.();
  }
}

describe('keys in memory', () => {
  it.each(keyChecks)('$name', ({ run }) => using(memoryKeys(), run));
});

describe('keys in a file', () => {
  let files = 0;
  const file = (): string => folder.file(`keys-${(files += 1)}.db`);

  it.each(keyChecks)('$name', ({ run }) => using(sqliteKeys({ file: file() }), run));

  it('are there after the process has ended, and are seen by another one at once', async () => {
    const path = file();
    await using(sqliteKeys({ file: path }), async (store) => store.add(storedKey('a')));
    await using(sqliteKeys({ file: path }), (one) =>
      using(sqliteKeys({ file: path }), async (other) => {
        expect(await other.find('a'.repeat(64))).toEqual(storedKey('a'));
        await one.remove('a'.repeat(64));
        expect(await other.find('a'.repeat(64))).toBeUndefined();
      }),
    );
  });

  it('are there once although another process held the file, or its disk was full', async () => {
    using disk = smallDisk(8);
    const path = disk === undefined ? file() : join(disk.path, 'keys.db');
    await using(sqliteKeys({ file: path, busyTimeoutMs: 20 }), (store) =>
      keysOutlast(
        store,
        sqliteFaults(() => path, disk),
      ),
    );
  });

  it('are not put into a file of batches', async () => {
    const path = file();
    const batches = sqliteStorage({ file: path });
    await batches.open();
    await batches.close();
    await using(sqliteKeys({ file: path }), (store) =>
      expect(Promise.resolve(store.find('a'.repeat(64)))).rejects.toThrow('name a file for API keys alone'),
    );
  });

  it('are in a file that has a name', () => {
    expect(() => sqliteKeys({ file: ':memory:' })).toThrow('file must be the path of a file');
  });
});
