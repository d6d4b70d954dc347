import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { Ledger } from '../../src/contracts/ledger.ts';
import { memoryLedger } from '../../src/storage/memory-ledger.ts';
import { sqliteLedger } from '../../src/storage/sqlite/sqlite-ledger.ts';
import { sqliteStorage } from '../../src/storage/sqlite/sqlite-storage.ts';
import { ledgerChecks, ledgerOutlasts } from '../support/ledger-checks.ts';
import { ledgerRecord, NOON } from '../support/ledger-records.ts';
import { smallDisk } from '../support/small-disk.ts';
import { sqliteFaults } from '../support/sqlite-faults.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const DAY_MS = 86_400_000;
const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

async function using(ledger: Ledger, run: (ledger: Ledger) => Promise<void>): Promise<void> {
  try {
    await run(ledger);
  } finally {
    await ledger.close?.();
  }
}

describe('a ledger in memory', () => {
  it.each(ledgerChecks)('$name', ({ run }) => using(memoryLedger(), run));

  it('keeps the last records only', async () => {
    const ledger = memoryLedger(3);
    await ledger.append(Array.from({ length: 5 }, (_, index) => ledgerRecord({ id: `gen-${index}` })));
    await ledger.append([ledgerRecord({ id: 'gen-5' })]);
    expect((await ledger.read()).records.map(({ id }) => id)).toEqual(['gen-3', 'gen-4', 'gen-5']);
    expect(await ledger.one('gen-2')).toBeUndefined();
  });
});

describe('a ledger in a file', () => {
  let files = 0;
  const file = (): string => folder.file(`ledger-${(files += 1)}.db`);
  const now = (): number => NOON;

  it.each(ledgerChecks)('$name', ({ run }) => using(sqliteLedger({ file: file(), now }), run));

  it('is there after the process has ended, and forgets what is too old', async () => {
    const path = file();
    let time = NOON;
    const open = (): Ledger => sqliteLedger({ file: path, keepDays: 7, now: () => time });
    await using(open(), async (ledger) => ledger.append([ledgerRecord({ id: 'gen-1' })]));
    time += 6 * DAY_MS;
    await using(open(), async (ledger) => {
      await ledger.append([ledgerRecord({ id: 'gen-2', at: time })]);
      expect((await ledger.read()).records.map(({ id }) => id)).toEqual(['gen-1', 'gen-2']);
      time += 2 * DAY_MS;
      await ledger.append([ledgerRecord({ id: 'gen-3', at: time })]);
      expect((await ledger.read()).records.map(({ id }) => id)).toEqual(['gen-2', 'gen-3']);
      expect((await ledger.costs({ by: 'account' }))[0]?.requests).toBe(2);
    });
  });

  it('loses and doubles nothing while another process holds it, and while its disk is full', async () => {
    using disk = smallDisk(8);
    const path = disk === undefined ? file() : join(disk.path, 'ledger.db');
    await using(sqliteLedger({ file: path, now, busyTimeoutMs: 20 }), (ledger) =>
      ledgerOutlasts(
        ledger,
        sqliteFaults(() => path, disk),
      ),
    );
  });

  it('does not mistake a file of batches for its own', async () => {
    const path = file();
    const batches = sqliteStorage({ file: path });
    await batches.open();
    await batches.close();
    await using(sqliteLedger({ file: path }), (ledger) =>
      expect(Promise.resolve(ledger.read())).rejects.toThrow('name a file for the ledger alone'),
    );
  });
});
