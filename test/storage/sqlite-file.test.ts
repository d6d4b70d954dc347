import { type ChildProcess, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { createInterface } from 'node:readline';
import { describe, expect, it, vi } from 'vitest';
import { ConfigError } from '../../src/protocol/router-error.ts';
import type { BatchStore } from '../../src/contracts/batch-store.ts';
import { sqliteStorage } from '../../src/storage/sqlite/sqlite-storage.ts';
import type { StorageError } from '../../src/contracts/storage-error.ts';
import { ITEM_ERROR, draftRecord, makeBatch, someItems } from '../../src/testing/batch-store-checks/check.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const WORKER = fileURLToPath(new URL('../support/sqlite-worker.ts', import.meta.url));

async function opened(file: string): Promise<BatchStore & AsyncDisposable> {
  const storage = sqliteStorage({ file });
  await storage.open();
  return { ...storage, [Symbol.asyncDispose]: () => storage.close() };
}

async function reasonOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => expect.unreachable('it does not fail'),
    (thrown: unknown) => thrown as StorageError,
  );
  expect(error.name).toBe('StorageError');
  expect(error.message).toMatch(/^The (?:file|tables of) ".+" [a-z ].+[.?]$/);
  return error.reason;
}

/** A process that works, and the lines that it says. */
function work(file: string, name: string, options: { readonly uid?: number } = {}) {
  const child = spawn(process.execPath, [WORKER, file, name], { stdio: ['ignore', 'pipe', 'ignore'], ...options });
  const said: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => said.push(line));
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
  });
  return { child, said, ended } satisfies { child: ChildProcess; said: string[]; ended: Promise<void> };
}

describe('a file of batches', () => {
  it('is written through to the disk, and read by nobody else', async () => {
    using folder = temporaryFolder();
    const file = folder.file('batches.db');
    await using storage = await opened(file);
    await makeBatch(storage);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(`${file}-wal`).mode & 0o777).toBe(0o600);
    using other = new DatabaseSync(file);
    expect(other.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
    expect(other.prepare('PRAGMA foreign_key_check').all()).toEqual([]);
  });

  it('is sound and complete after a process was killed while it wrote', async () => {
    using folder = temporaryFolder();
    const file = folder.file('batches.db');
    const storage = await opened(file);
    await makeBatch(storage, { items: 240 });
    await storage.close();
    const said: string[] = [];
    for (let kill = 0; kill < 2; kill += 1) {
      const pair = [work(file, `a${kill}`), work(file, `b${kill}`)];
      const working = (): boolean =>
        pair.every((one) => one.said.length > 0) && pair.flatMap((one) => one.said).length > 20;
      await expect.poll(working, { timeout: 60_000, interval: 5 }).toBe(true);
      for (const { child } of pair) child.kill('SIGKILL');
      await Promise.all(pair.map(({ ended }) => ended));
      said.push(...pair.flatMap((one) => one.said));
    }
    const last = [work(file, 'a'), work(file, 'b')];
    await Promise.all(last.map(({ ended }) => ended));
    said.push(...last.flatMap((one) => one.said));
    const indexes = said.filter((line) => line !== 'open');
    expect(new Set(indexes).size, 'what was said to be stored was stored once').toBe(indexes.length);
    await using again = await opened(file);
    expect((await again.find('acme', 'batch_1'))?.counts).toEqual({ total: 240, completed: 240, failed: 0 });
    expect(await again.recount('acme', 'batch_1')).toEqual({ completed: 240, failed: 0 });
    using database = new DatabaseSync(file);
    expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  });

  it('is made once when many open it at the same time', async () => {
    using folder = temporaryFolder();
    const file = folder.file('batches.db');
    const here = Array.from({ length: 6 }, () => opened(file));
    const there = [work(file, 'a'), work(file, 'b')];
    for (const storage of await Promise.all(here)) await storage.close();
    await Promise.all(there.map(({ ended }) => ended));
    expect(there.map(({ said }) => said)).toEqual([['open'], ['open']]);
    using database = new DatabaseSync(file);
    expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: 2 });
  });

  it('waits for another process that writes without blocking anything', async () => {
    using folder = temporaryFolder();
    const file = folder.file('batches.db');
    await using storage = await opened(file);
    using other = new DatabaseSync(file);
    other.exec('BEGIN IMMEDIATE');
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
      if (turns === 10) other.exec('COMMIT');
    }, 5);
    await storage.openDraft('acme', 'batch_1');
    clearInterval(timer);
    expect(turns).toBeGreaterThanOrEqual(10);
  });

  it('says that somebody else holds it for too long', async () => {
    using folder = temporaryFolder();
    const file = folder.file('batches.db');
    const storage = sqliteStorage({ file, busyTimeoutMs: 30 });
    await storage.open();
    using other = new DatabaseSync(file);
    other.exec('BEGIN IMMEDIATE');
    expect(await reasonOf(storage.openDraft('acme', 'batch_1'))).toBe('busy');
    expect(await storage.find('acme', 'batch_1')).toBeUndefined();
    other.exec('COMMIT');
    await storage.openDraft('acme', 'batch_1');
    await storage.close();
  });

  it('lets others have their turn while much is written, failed and deleted', async () => {
    using folder = temporaryFolder();
    await using storage = await opened(folder.file('batches.db'));
    let longest = 0;
    let last = performance.now();
    const timer = setInterval(() => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }, 1);
    const started = performance.now();
    await storage.openDraft('acme', 'batch_1');
    const large = someItems(12_000).map((item) => ({ ...item, body: JSON.stringify('x'.repeat(2_000)) }));
    await storage.addItems('acme', 'batch_1', large);
    await storage.publish(draftRecord({ status: 'failed' }), []);
    await storage.failRemaining('acme', 'batch_1', ITEM_ERROR, String);
    await storage.remove('acme', 'batch_1');
    const took = performance.now() - started;
    clearInterval(timer);
    // On a busy machine, a turn takes as long as others let it wait.
    expect(longest).toBeLessThan(Math.max(300, took / 3));
  });

  it('goes on with a deletion that broke off', async () => {
    using folder = temporaryFolder();
    const file = folder.file('batches.db');
    await using storage = await opened(file);
    await makeBatch(storage, { items: 5, record: { status: 'failed' } });
    using database = new DatabaseSync(file);
    database.exec(`UPDATE batches SET stage = 'deleted'`);
    expect(await storage.find('acme', 'batch_1')).toBeUndefined();
    expect(await storage.sweep({ draftMs: 600_000, limit: 10 })).toBe(1);
    for (const table of ['batches', 'items', 'requests', 'outcomes', 'tasks', 'keys']) {
      expect(database.prepare(`SELECT count(*) AS rows FROM ${table}`).get(), table).toEqual({ rows: 0 });
    }
  });

  it('notices that it was moved away while it is used', async () => {
    using folder = temporaryFolder();
    const file = folder.file('batches.db');
    await using storage = await opened(file);
    renameSync(file, folder.file('elsewhere.db'));
    expect(await reasonOf(storage.openDraft('acme', 'batch_1'))).toBe('unavailable');
  });

  it('keeps what there is when the disk is full, and goes on when there is room again', async () => {
    using folder = temporaryFolder();
    const file = folder.file('batches.db');
    await using storage = await opened(file);
    const before = await makeBatch(storage);
    // node:sqlite gives no way to limit our own connection, so the limit is that of every new page of this one.
    using other = new DatabaseSync(file);
    other.exec('PRAGMA max_page_count = 1');
    expect(() =>
      other.exec(`INSERT INTO batches (account, id, stage, touched_at, record)
      VALUES ('a', 'b', 'draft', 0, hex(zeroblob(1000000)))`),
    ).toThrow(/full/);
    expect(await storage.find('acme', 'batch_1')).toEqual(before);
    await makeBatch(storage, { id: 'batch_2' });
  });
});

describe('opening a file of batches', () => {
  it('refuses tables of a newer version', async () => {
    using folder = temporaryFolder();
    const file = folder.file('batches.db');
    await (await opened(file)).close();
    using database = new DatabaseSync(file);
    database.exec('PRAGMA user_version = 99');
    expect(await reasonOf(opened(file))).toBe('schema_too_new');
  });

  it('refuses tables that somebody changed', async () => {
    using folder = temporaryFolder();
    const file = folder.file('batches.db');
    await (await opened(file)).close();
    using database = new DatabaseSync(file);
    database.exec('ALTER TABLE items RENAME COLUMN token TO lease_token');
    expect(await reasonOf(opened(file))).toBe('schema_changed');
  });

  it('refuses the database of another program and leaves it alone', async () => {
    using folder = temporaryFolder();
    const file = folder.file('other.db');
    using database = new DatabaseSync(file);
    database.exec('CREATE TABLE people (name TEXT)');
    expect(await reasonOf(opened(file))).toBe('not_ours');
    expect(database.prepare('SELECT name FROM sqlite_schema').all()).toEqual([{ name: 'people' }]);
  });

  it('refuses a file that is no database and leaves it alone', async () => {
    using folder = temporaryFolder();
    const file = folder.file('text.db');
    const text = 'hello, this is not a database\n'.repeat(500);
    writeFileSync(file, text);
    expect(await reasonOf(opened(file))).toBe('corrupt');
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it('refuses a file with damaged pages', async () => {
    using folder = temporaryFolder();
    const file = folder.file('batches.db');
    const storage = await opened(file);
    await makeBatch(storage, { items: 2_000 });
    await storage.close();
    const handle = openSync(file, 'r+');
    writeSync(handle, Buffer.alloc(4_096 * 4, 0xff), 0, 4_096 * 4, 4_096 * 30);
    closeSync(handle);
    expect(await reasonOf(opened(file))).toBe('corrupt');
  });

  it('refuses a path whose folder is not there', async () => {
    using folder = temporaryFolder();
    expect(await reasonOf(opened(folder.file('no/such/batches.db')))).toBe('unavailable');
  });

  it('refuses a file that it may not write', async () => {
    using folder = temporaryFolder();
    const file = folder.file('batches.db');
    await (await opened(file)).close();
    chmodSync(folder.path, 0o755);
    chmodSync(file, 0o444);
    // Nothing is forbidden to root, so root asks as somebody else.
    const isRoot = process.getuid?.() === 0;
    if (isRoot) chownSync(file, 0, 0);
    const { said, ended } = work(file, 'a', isRoot ? { uid: 65_534 } : {});
    await ended;
    expect(said).toEqual(['read_only']);
  });

  it('says that it was not opened, or was closed', async () => {
    using folder = temporaryFolder();
    const storage = sqliteStorage({ file: folder.file('batches.db') });
    expect(await reasonOf(storage.find('acme', 'batch_1'))).toBe('not_open');
    await storage.open();
    await storage.close();
    expect(await reasonOf(storage.openDraft('acme', 'batch_1'))).toBe('not_open');
  });

  it('can be tried again after it failed', async () => {
    using folder = temporaryFolder();
    const file = folder.file('batches.db');
    writeFileSync(file, 'no database '.repeat(500));
    const storage = sqliteStorage({ file });
    expect(await reasonOf(storage.open())).toBe('corrupt');
    writeFileSync(file, '');
    await storage.open();
    await makeBatch(storage);
    await storage.close();
  });

  it.each([{ file: '' }, { file: ':memory:' }, { file: 'a.db', busyTimeoutMs: -1 }])('refuses %o', (options) => {
    expect(() => sqliteStorage(options)).toThrow(ConfigError);
  });
});

describe('a file that is written to often', () => {
  it('waits for the disk now and then for outcomes, and always before a batch changes', async () => {
    using folder = temporaryFolder();
    await using store = await opened(folder.file('batches.db'));
    const batch = await makeBatch(store, { items: 40 });
    await store.claimItems(batch.account, batch.id, { limit: 40, leaseMs: 60_000, token: 't' });
    /** What each transaction waits for. */
    const commits: string[] = [];
    let level = 'FULL';
    const exec = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (this: DatabaseSync, text) {
      level = /synchronous = (NORMAL|FULL)/.exec(text)?.[1] ?? level;
      if (text === 'COMMIT') commits.push(level);
      this.prepare(text).run();
    });
    try {
      const startedAt = performance.now();
      for (let index = 0; index < 40; index += 1) {
        const outcome = {
          index,
          resultId: `batch_req_${index}`,
          response: { statusCode: 200, requestId: 'r', body: 1 },
        };
        expect(await store.storeOutcomes(batch.account, batch.id, 't', [outcome])).toEqual([index]);
      }
      const waits = commits.filter((one) => one === 'FULL').length;
      expect(commits).toHaveLength(40);
      expect(waits).toBeLessThanOrEqual(1 + (performance.now() - startedAt) / 100);
      expect(await store.save({ ...batch, status: 'finalizing', revision: batch.revision + 1 }, [])).toBe(true);
      expect(commits.at(-1)).toBe('FULL');
    } finally {
      exec.mockRestore();
    }
  });
});
