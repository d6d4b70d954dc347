import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, it } from 'vitest';
import type { Ledger } from '../../src/contracts/ledger.ts';
import { memoryLedger } from '../../src/storage/memory-ledger.ts';
import { sqliteLedger } from '../../src/storage/sqlite/sqlite-ledger.ts';
import { sqliteStorage } from '../../src/storage/sqlite/sqlite-storage.ts';
import { ledgerChecks, ledgerOutlasts } from '../support/ledger-checks.ts';
import { columnsOf, lineColumns } from '../../src/storage/ledger-rows.ts';
import { FIRST_RECORDS, takenOver } from '../support/first-ledgers.ts';
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

  it('takes over a file of version 1: its records are found by everything, and summed', async () => {
    const path = file();
    const database = new DatabaseSync(path);
    // As version 1 made it.
    database.exec(`CREATE TABLE records (
        position INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE, at INTEGER NOT NULL, account TEXT NOT NULL,
        model TEXT, provider TEXT, endpoint TEXT, error TEXT, tags TEXT NOT NULL, record TEXT NOT NULL
      ) STRICT;
      CREATE INDEX records_by_time ON records (at);
      CREATE INDEX records_by_account ON records (account, position);
      CREATE TABLE lines (
        position INTEGER NOT NULL REFERENCES records (position) ON DELETE CASCADE,
        endpoint TEXT NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL,
        requests INTEGER NOT NULL, failed INTEGER NOT NULL, attempts INTEGER NOT NULL,
        prompt INTEGER NOT NULL, completion INTEGER NOT NULL, cached INTEGER NOT NULL, cost INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX lines_of_record ON lines (position);
      PRAGMA application_id = 1396853831; PRAGMA user_version = 1`);
    for (const record of FIRST_RECORDS) {
      const { id, at, account, model, provider, endpoint, error, tags, record: text } = columnsOf(record);
      database
        .prepare('INSERT INTO records VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
        .run(id, at, account, model, provider, endpoint, error, tags, text);
      for (const line of lineColumns(record)) {
        const { unpriced: _, ...counts } = line;
        database
          .prepare('INSERT INTO lines SELECT max(position), ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM records')
          .run(...Object.values(counts));
      }
    }
    database.close();
    await using(sqliteLedger({ file: path, now }), takenOver);
  });

  it('takes what is deleted from its sums', async () => {
    let time = NOON;
    await using(sqliteLedger({ file: file(), keepDays: 1, now: () => time }), async (ledger) => {
      await ledger.append(FIRST_RECORDS);
      time += 3 * DAY_MS;
      await ledger.append([ledgerRecord({ id: 'gen-new', at: time, tags: { team: 'x' } })]);
      const span = { from: NOON - DAY_MS, to: time + DAY_MS, slotMs: 60_000 };
      expect((await ledger.timeline?.(span))?.map(({ requests }) => requests)).toEqual([1]);
      expect(await ledger.costs({ by: 'tag', tag: 'team' })).toMatchObject([{ key: 'x', requests: 1 }]);
      expect(await ledger.costs({ by: 'day' })).toMatchObject([{ requests: 1, cost_nano_usd: 100 }]);
    });
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
