/** Checks for batch stores: files. */
import type { BatchFileRecord } from '../../contracts/batch-file-store.ts';
import type { BatchStore } from '../../contracts/batch-store.ts';
import { expectHolds, expectSame } from '../provider-checks/harness.ts';
import {
  CHECKED_ACCOUNT,
  type BatchStoreCheck,
  storeCheck,
  expectRejected,
  LONG_LEASE_MS,
  ODD_NAMES,
  PAST_SHORT_MS,
  SHORT_MS,
  sharedCheck,
} from './check.ts';

const FILE = 'file-1';
const CONTENT = [new Uint8Array([0, 255, 10, 13, 128]), new Uint8Array([1, 2, 3])];

interface FileMaking {
  readonly account?: string;
  readonly id?: string;
  readonly filename?: string;
  readonly deleteAt?: number;
}

async function makeFile(store: BatchStore, making: FileMaking = {}): Promise<BatchFileRecord> {
  const { account = CHECKED_ACCOUNT, id = FILE, filename = 'requests.jsonl', deleteAt = LONG_LEASE_MS } = making;
  await store.files.open(account, id);
  for (const [piece, content] of CONTENT.entries()) await store.files.add(account, id, piece, content);
  return store.files.publish({ id, account, filename, purpose: 'batch', bytes: 8, createdAt: 0, deleteAt });
}

function sweep(store: BatchStore, { draftMs = LONG_LEASE_MS, limit = 100 } = {}): Promise<number> {
  return store.sweep({ draftMs, limit });
}

/** Checks of files. */
export const fileChecks: readonly BatchStoreCheck[] = [
  storeCheck('gives a file back as it came, piece by piece', async (store) => {
    const file = await makeFile(store);
    expectSame(file.deleteAt - file.createdAt, LONG_LEASE_MS, 'the time that it is kept');
    expectSame(await store.files.find(CHECKED_ACCOUNT, FILE), file, 'the file');
    for (const [piece, content] of CONTENT.entries()) {
      const read = await store.files.read(CHECKED_ACCOUNT, FILE, piece);
      expectSame([...(read ?? [])], [...content], `piece ${piece}`);
    }
    expectSame(
      await store.files.read(CHECKED_ACCOUNT, FILE, CONTENT.length),
      undefined,
      'what is behind the last piece',
    );
  }),

  storeCheck('shows nothing of a file before it is complete', async (store) => {
    await store.files.open(CHECKED_ACCOUNT, FILE);
    await store.files.add(CHECKED_ACCOUNT, FILE, 0, new Uint8Array([1]));
    expectSame(await store.files.find(CHECKED_ACCOUNT, FILE), undefined, 'the file');
    expectSame(await store.files.read(CHECKED_ACCOUNT, FILE, 0), undefined, 'its content');
    expectSame((await store.files.list(CHECKED_ACCOUNT, { limit: 10 })).files, [], 'the list');
    expectSame(await store.files.remove(CHECKED_ACCOUNT, FILE), false, 'whether it can be deleted');
  }),

  storeCheck('changes nothing when a step of making a file is repeated', async (store) => {
    await store.files.open(CHECKED_ACCOUNT, FILE);
    await store.files.open(CHECKED_ACCOUNT, FILE);
    await store.files.add(CHECKED_ACCOUNT, FILE, 0, new Uint8Array([1]));
    await store.files.add(CHECKED_ACCOUNT, FILE, 0, new Uint8Array([1]));
    const record = {
      id: FILE,
      account: CHECKED_ACCOUNT,
      filename: 'a',
      purpose: 'batch',
      bytes: 1,
      createdAt: 0,
    } as const;
    const first = await store.files.publish({ ...record, deleteAt: LONG_LEASE_MS });
    expectSame(await store.files.publish({ ...record, deleteAt: LONG_LEASE_MS }), first, 'the file');
    await store.files.discard(CHECKED_ACCOUNT, FILE);
    expectSame(await store.files.find(CHECKED_ACCOUNT, FILE), first, 'the file after discarding it');
    expectSame([...((await store.files.read(CHECKED_ACCOUNT, FILE, 0)) ?? [])], [1], 'its content');
  }),

  storeCheck('gives a long piece back, in memory that was given for it or not', async (store) => {
    const content = Uint8Array.from({ length: 100_000 }, (_, at) => (at * at) % 251);
    await store.files.open(CHECKED_ACCOUNT, FILE);
    await store.files.add(CHECKED_ACCOUNT, FILE, 0, content);
    await store.files.add(CHECKED_ACCOUNT, FILE, 0, content.toReversed());
    const record = { id: FILE, account: CHECKED_ACCOUNT, filename: 'a', purpose: 'batch', createdAt: 0 } as const;
    await store.files.publish({ ...record, bytes: content.byteLength, deleteAt: LONG_LEASE_MS });
    for (const memory of [undefined, new Uint8Array(120_000), new Uint8Array(10)]) {
      const read = await store.files.read(CHECKED_ACCOUNT, FILE, 0, memory);
      const isSame = read?.byteLength === content.byteLength && read.every((byte, at) => byte === content[at]);
      expectHolds(isSame, `the piece is the same with memory of ${memory?.byteLength} bytes`);
    }
  }),

  storeCheck('refuses pieces of a file that was not begun, or is complete', async (store) => {
    await expectRejected(
      store.files.add(CHECKED_ACCOUNT, FILE, 0, new Uint8Array([1])),
      'RangeError',
      'an unknown file',
    );
    const file = await makeFile(store);
    await expectRejected(
      store.files.add(CHECKED_ACCOUNT, FILE, 2, new Uint8Array([1])),
      'RangeError',
      'a complete file',
    );
    await expectRejected(store.files.publish({ ...file, id: 'file-2' }), 'RangeError', 'publishing an unknown file');
  }),

  storeCheck('discards a file that is not complete', async (store) => {
    await store.files.open(CHECKED_ACCOUNT, FILE);
    await store.files.add(CHECKED_ACCOUNT, FILE, 0, new Uint8Array([1]));
    await store.files.discard(CHECKED_ACCOUNT, FILE);
    await expectRejected(store.files.add(CHECKED_ACCOUNT, FILE, 1, new Uint8Array([1])), 'RangeError', 'adding to it');
    await store.files.discard(CHECKED_ACCOUNT, FILE);
  }),

  storeCheck('deletes a file once', async (store) => {
    await makeFile(store);
    expectSame(await store.files.remove(CHECKED_ACCOUNT, FILE), true, 'whether it was deleted');
    expectSame(await store.files.remove(CHECKED_ACCOUNT, FILE), false, 'whether it was deleted again');
    expectSame(await store.files.find(CHECKED_ACCOUNT, FILE), undefined, 'the file');
    expectSame(await store.files.read(CHECKED_ACCOUNT, FILE, 0), undefined, 'its content');
  }),

  storeCheck('lists files, the newest first, page by page', async (store, { pass }) => {
    for (const id of ['file-a', 'file-b', 'file-c']) {
      await makeFile(store, { id });
      await pass(5);
    }
    const page = await store.files.list(CHECKED_ACCOUNT, { limit: 2 });
    expectSame([page.files.map(({ id }) => id), page.more], [['file-c', 'file-b'], true], 'the first page');
    const next = await store.files.list(CHECKED_ACCOUNT, { limit: 2, after: 'file-b' });
    expectSame([next.files.map(({ id }) => id), next.more], [['file-a'], false], 'the second page');
    const unknown = await store.files.list(CHECKED_ACCOUNT, { limit: 2, after: 'file-x' });
    expectSame(unknown, { files: [], more: false, isUnknown: true }, 'behind an unknown file');
  }),

  storeCheck('goes on behind a file that was deleted', async (store, { pass }) => {
    const names = Array.from({ length: 7 }, (_, index) => `file-${index}`);
    for (const id of names) {
      await makeFile(store, { id });
      await pass(5);
    }
    const seen: string[] = [];
    for (let more = true; more;) {
      const page = await store.files.list(CHECKED_ACCOUNT, { limit: 3, after: seen.at(-1) });
      for (const { id } of page.files) await store.files.remove(CHECKED_ACCOUNT, id);
      seen.push(...page.files.map(({ id }) => id));
      ({ more } = page);
    }
    expectSame(seen, names.toReversed(), 'what the pages show');
    const end = await store.files.list(CHECKED_ACCOUNT, { limit: 3, after: seen.at(-1) });
    expectSame([end.files, end.isUnknown === true], [[], false], 'what is behind the last one');
  }),

  storeCheck('shows an account its own files only', async (store) => {
    await makeFile(store, { account: 'a' });
    expectSame(await store.files.find('b', FILE), undefined, 'the file of somebody else');
    expectSame(await store.files.read('b', FILE, 0), undefined, 'its content');
    expectSame((await store.files.list('b', { limit: 10 })).files, [], 'the list of somebody else');
    expectSame(await store.files.remove('b', FILE), false, 'whether somebody else can delete it');
    await makeFile(store, { account: 'b', filename: 'other' });
    expectSame((await store.files.find('a', FILE))?.filename, 'requests.jsonl', 'the file of the same id');
  }),

  ...Object.entries(ODD_NAMES).map(([what, filename]) =>
    storeCheck(`keeps the name of a file with ${what}`, async (store) => {
      await makeFile(store, { filename });
      const found = await store.files.find(CHECKED_ACCOUNT, FILE);
      expectSame(found?.filename, filename, 'its name');
    }),
  ),

  storeCheck('sweeps files that are over their time, and drafts of files', async (store, { pass }) => {
    await makeFile(store, { id: 'file-2' });
    await store.files.open(CHECKED_ACCOUNT, 'file-3');
    expectSame(await sweep(store), 0, 'how many were deleted before');
    await makeFile(store, { deleteAt: SHORT_MS });
    await pass(PAST_SHORT_MS);
    expectSame(await sweep(store), 1, 'how many were deleted then');
    expectSame(await store.files.find(CHECKED_ACCOUNT, FILE), undefined, 'the file');
    expectHolds((await store.files.find(CHECKED_ACCOUNT, 'file-2')) !== undefined, 'the other file is still there');
    expectSame(await sweep(store, { draftMs: SHORT_MS }), 1, 'how many drafts were deleted');
    await expectRejected(
      store.files.add(CHECKED_ACCOUNT, 'file-3', 0, new Uint8Array([1])),
      'RangeError',
      'adding to it',
    );
  }),

  sharedCheck('shows a file to other processes', async ({ store, other }) => {
    const file = await makeFile(store);
    expectSame(await other.files.find(CHECKED_ACCOUNT, FILE), file, 'the file');
    expectSame([...((await other.files.read(CHECKED_ACCOUNT, FILE, 1)) ?? [])], [1, 2, 3], 'its content');
  }),
];
