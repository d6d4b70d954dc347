/** What the checks for batch stores are made of. */
import type { BatchStore, ClaimedItem, ClaimedTask, ItemOutcome, StoredItem } from '../../contracts/batch-store.ts';
import type { BatchItemError } from '../../protocol/batch.ts';
import type { JsonValue } from '../../protocol/json.ts';
import type { BatchRecord, BatchEffect } from '../../contracts/batch-record.ts';

/** The store under check, as its author sets it up. */
export interface BatchStoreHarness {
  /** Gives an open store with nothing in it. Each check calls it once, and closes what it got. */
  readonly create: () => Promise<BatchStore>;
  /**
   * Gives another open store over the data of the one that was created last, as another process would have it. Absent
   * where data belongs to one process.
   */
  readonly attach?: (() => Promise<BatchStore>) | undefined;
  /** Lets so many milliseconds of the store's clock pass: at once where the clock can be set, else by waiting. */
  readonly pass: (ms: number) => Promise<void>;
  /** What can happen to what is behind a store. Absent where nothing can, or where the author cannot do it. */
  readonly faults?: BatchStoreFaults | undefined;
}

/**
 * What can happen to the server or the file behind a store. Each gives what ends it. A harness with faults waits in
 * `pass` by the real clock.
 */
export interface BatchStoreFaults {
  /** Everything is read, and changes are refused: the server is a replica, or another process holds the file. */
  readonly refuseWrites?: (() => Promise<() => Promise<void>>) | undefined;
  /** Open connections lead to a server that only reads from then on, and new ones to one that takes changes. */
  readonly failOver?: (() => Promise<() => Promise<void>>) | undefined;
  /** All connections are ended, again and again. */
  readonly breakConnections?: (() => Promise<() => Promise<void>>) | undefined;
  /** What the store sends is carried out, and the answers get lost; in the end, so do the connections. */
  readonly loseAnswers?: (() => Promise<() => Promise<void>>) | undefined;
  /** The server stands still. What is sent to it meanwhile it may carry out when it goes on. */
  readonly freeze?: (() => Promise<() => Promise<void>>) | undefined;
  /** There is no room on the disk. */
  readonly fill?: (() => Promise<() => Promise<void>>) | undefined;
}

/** A check that every batch store must pass. */
export interface BatchStoreCheck {
  /** What must hold, as a sentence. */
  readonly name: string;
  /** True when it only means something for data that several processes may use. */
  readonly needsSharing: boolean;
  /** The fault that it brings about; absent where it needs none. */
  readonly needsFault?: keyof BatchStoreFaults | undefined;
  /** @throws Error that says what did not hold. */
  readonly run: (harness: BatchStoreHarness) => Promise<void>;
}

/** What a check works with. */
export interface Bench {
  readonly store: BatchStore;
  /** Lets milliseconds of the store's clock pass. */
  readonly pass: (ms: number) => Promise<void>;
}

/** What a check of shared data works with. */
interface SharedBench extends Bench {
  /** The same data from elsewhere. */
  readonly other: BatchStore;
}

/** Makes a check. */
export function storeCheck(name: string, body: (store: BatchStore, bench: Bench) => Promise<void>): BatchStoreCheck {
  return {
    name,
    needsSharing: false,
    async run({ create, pass }) {
      const store = await create();
      try {
        await body(store, { store, pass });
      } finally {
        await store.close();
      }
    },
  };
}

/** Makes a check of data that several processes use. */
export function sharedCheck(name: string, body: (bench: SharedBench) => Promise<void>): BatchStoreCheck {
  return {
    name,
    needsSharing: true,
    async run({ create, attach, pass }) {
      if (attach === undefined) throw new Error('this check needs a harness with attach()');
      const store = await create();
      const other = await attach();
      try {
        await body({ store, other, pass });
      } finally {
        await Promise.all([store.close(), other.close()]);
      }
    },
  };
}

/** Fails unless a promise rejects with an error of this name. */
export async function expectRejected(promise: Promise<unknown>, name: string, what: string): Promise<Error> {
  let error: unknown;
  try {
    await promise;
  } catch (thrown) {
    error = thrown;
  }
  if (error instanceof Error && error.name === name) return error;
  const instead = error instanceof Error ? `${error.name}: ${error.message}` : 'no error';
  throw new Error(`${what} rejects with a ${name}, but there was ${instead}`);
}

/** The account of checks that need only one. */
export const CHECKED_ACCOUNT = 'acme';
/** The batch of checks that need only one. */
export const BATCH = 'batch_1';
/** Milliseconds of a lease that does not end during a check. */
export const LONG_LEASE_MS = 600_000;
/** Milliseconds of a lease whose end a check waits for. */
export const SHORT_MS = 40;
/** Milliseconds after which such a lease has ended for sure. */
export const PAST_SHORT_MS = SHORT_MS + 20;

/** Texts that somebody may use as a name, and that careless stores change, cut or mix up. */
export const ODD_NAMES: Readonly<Record<string, string>> = {
  'an emoji': 'job-👩‍👩‍👧',
  'umlauts in two parts': 'Gru\u0308ße',
  'a quotation mark': `it's "quoted"`,
  'SQL in it': "'); DROP TABLE items; --",
  'a backslash': 'C:\\temp\\%s_%',
  'a line break': 'one\ntwo\ttabbed\r\n',
  'NUL in it': 'a\u0000b',
  'half a surrogate pair': 'a\ud83db',
  'spaces around it': '  padded  ',
  'no letters at all': '',
  '2,000 letters': 'n'.repeat(2_000),
};

/** How a batch for a check differs from the usual one. */
interface BatchMaking {
  readonly account?: string | undefined;
  readonly id?: string | undefined;
  /** Number of requests. Default 3. */
  readonly items?: number | undefined;
  /** Default none. */
  readonly effects?: readonly BatchEffect[] | undefined;
  readonly record?: Partial<BatchRecord> | undefined;
}

/** A record as it is before it is published: its times are lengths of time. */
export function draftRecord(more: Partial<BatchRecord> = {}): BatchRecord {
  return {
    id: BATCH,
    account: CHECKED_ACCOUNT,
    endpoint: '/v1/chat/completions',
    model: 'acme/one',
    status: 'in_progress',
    createdAt: 0,
    deleteAt: 1_000_000,
    counts: { total: 0, completed: 0, failed: 0 },
    revision: 1,
    ...more,
  };
}

/** Requests from an index on. */
export function someItems(count: number, from = 0): readonly StoredItem[] {
  return Array.from({ length: count }, (_, offset) => ({
    index: from + offset,
    customId: `custom-${from + offset}`,
    body: JSON.stringify({ say: from + offset }),
  }));
}

/** Makes a batch, by default one that is in progress. */
export async function makeBatch(store: BatchStore, making: BatchMaking = {}): Promise<BatchRecord> {
  const { account = CHECKED_ACCOUNT, id = BATCH, items = 3, effects = [], record } = making;
  await store.openDraft(account, id);
  await store.addItems(account, id, someItems(items));
  const outcome = await store.publish(draftRecord({ account, id, ...record }), effects);
  if (outcome.type !== 'published') throw new Error('a batch without a key is published');
  return outcome.batch;
}

/** What is claimed, where it is not all of the usual batch. */
interface Claiming {
  readonly limit?: number;
  readonly leaseMs?: number;
  readonly account?: string;
  readonly id?: string;
  readonly indexes?: readonly number[];
}

/** Claims requests of the usual batch. */
export function claim(
  store: BatchStore,
  token: string,
  { limit = 100, leaseMs = LONG_LEASE_MS, account = CHECKED_ACCOUNT, id = BATCH, indexes }: Claiming = {},
): Promise<readonly ClaimedItem[]> {
  return store.claimItems(account, id, { limit, leaseMs, token, indexes });
}

/** Claims one task, or none. */
export async function claimTask(
  store: BatchStore,
  token = 'worker',
  leaseMs = LONG_LEASE_MS,
): Promise<ClaimedTask | undefined> {
  const [task] = await store.claimTasks({ limit: 1, leaseMs, token });
  return task;
}

/** Claims a task that must be there. */
export async function expectTask(store: BatchStore, token = 'worker', leaseMs = LONG_LEASE_MS): Promise<ClaimedTask> {
  const task = await claimTask(store, token, leaseMs);
  if (task === undefined) throw new Error('there is a task to claim');
  return task;
}

/** An answer. */
export function answered(index: number, body: JsonValue = { said: index }): ItemOutcome {
  return { index, resultId: `batch_req_${index}`, response: { statusCode: 200, requestId: `req_${index}`, body } };
}

/** Why a request has no answer. */
export const ITEM_ERROR: BatchItemError = { message: 'No', param: null, type: null, error_type: 'batch_expired' };

/** A failure. */
export function refused(index: number): ItemOutcome {
  return { index, resultId: `batch_req_${index}`, error: ITEM_ERROR };
}

/** Id of a result that is made for a request that never came back. */
export function resultIdOf(index: number): string {
  return `batch_req_late_${index}`;
}

/** The indexes of some items. */
export function indexesOf(items: readonly { readonly index: number }[]): readonly number[] {
  return items.map(({ index }) => index);
}

/** Numbers from small to large. */
export function ascending(numbers: readonly number[]): readonly number[] {
  return numbers.toSorted((left, right) => left - right);
}
