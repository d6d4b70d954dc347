/** The contract of stores for batches: requests, claims, outcomes and tasks. */
import type { BatchItemError, BatchStatus } from '../protocol/batch.ts';
import type { JsonObject, JsonValue } from '../protocol/json.ts';
import type { BatchFileStore, ListPage } from './batch-file-store.ts';
import type { BatchRecord, BatchEffect } from './batch-record.ts';
import type { Usage } from '../protocol/usage.ts';

/** A request as it is stored. */
export interface StoredItem {
  /** Place in the batch, counted from 0. */
  readonly index: number;
  /** Any text; unique in the batch. */
  readonly customId: string;
  /** JSON text of the body. */
  readonly body: string;
}

/** A request as it comes to a store. */
export interface NewItem extends Omit<StoredItem, 'body'> {
  /** JSON text of the body: a string, or valid UTF-8 in a piece of memory that is the caller's again afterwards. */
  readonly body: string | Uint8Array;
}

/** A request that a worker may run. Nobody else may claim it until its lease ends. */
export interface ClaimedItem extends StoredItem {
  /** Times that it was claimed, this one included. */
  readonly attempts: number;
}

/** What became of one request. */
export interface ItemOutcome {
  readonly index: number;
  /** `batch_req_…` */
  readonly resultId: string;
  readonly response?: { readonly statusCode: number; readonly requestId: string; readonly body: JsonValue } | undefined;
  /** Present exactly when `response` is not. */
  readonly error?: BatchItemError | undefined;
  readonly usage?: Usage | undefined;
}

/** An outcome under the name that its owner gave it. */
export interface StoredOutcome extends ItemOutcome {
  readonly customId: string;
}

/**
 * Something to be done about a batch. There is at most one of each kind for a batch at a time: a new one takes the place
 * of the one that is there, and who holds that one has lost it.
 */
export interface BatchTask {
  readonly account: string;
  readonly batchId: string;
  readonly effect: BatchEffect;
  /** Epoch milliseconds of the store's clock. */
  readonly runAt: number;
}

/** A task that one worker holds. Nobody else may claim it until its lease ends. */
export interface ClaimedTask extends BatchTask {
  /** Times that it was claimed, this one included; starts again at 1 after a reschedule with `reset`. */
  readonly attempts: number;
  /** Proof of the lease; a write with an old one changes nothing. */
  readonly token: string;
  /** What the last run left for the next. */
  readonly memo?: JsonObject | undefined;
}

/** Filters and page of a list. */
export interface BatchListQuery {
  /** 1 to 100. */
  readonly limit: number;
  /**
   * Id of the last batch of the page before. It may have been deleted since, at least for as long as a draft may take;
   * nothing comes after a batch that was never there.
   */
  readonly after?: string | undefined;
  readonly statuses?: readonly BatchStatus[] | undefined;
  /** Epoch milliseconds; a batch of exactly this time is not meant. */
  readonly createdAfter?: number | undefined;
  /** Epoch milliseconds; a batch of exactly this time is not meant. */
  readonly createdBefore?: number | undefined;
}

/**
 * A key under which a client may create the same batch again without creating another. Each account has keys of its
 * own, and a key is deleted with its batch.
 */
export interface IdempotencyKey {
  readonly key: string;
  /** Stands for the content: the same key with other content is an error. */
  readonly fingerprint: string;
  /** Milliseconds after which the key expires. */
  readonly ttlMs: number;
}

/** What publishing a draft came to. */
export type PublishOutcome =
  | { readonly type: 'published'; readonly batch: BatchRecord }
  /** The key was used before: this is the batch of that time, which is still there, and the draft is gone. */
  | { readonly type: 'repeated'; readonly batchId: string; readonly sameContent: boolean };

/** Two requests of one batch have the same `custom_id`. */
export class DuplicateCustomIdError extends Error {
  override readonly name = 'DuplicateCustomIdError';
  readonly firstIndex: number;
  readonly index: number;

  constructor(firstIndex: number, index: number) {
    super(`Requests ${firstIndex} and ${index} have the same custom_id`);
    this.firstIndex = firstIndex;
    this.index = index;
  }
}

/**
 * Where batches live. Everything that is promised about them is promised here: what was published survives, every
 * change of a batch is saved together with the tasks that follow from it, every write of a worker is fenced by the
 * token of its lease, a request has one outcome, and an account sees its own only. A token holds what it claimed until
 * somebody else claims it: the end of a lease only allows others to, so a worker that is slow does not lose its work to
 * nobody. Times are those of the store's own clock, so that workers on several machines agree. `signalbox/testing` has the list of checks that every store must
 * pass.
 *
 * A call that rejects may have been carried out all the same, when only the answer got lost. So each can be made
 * again: what was done already is not done twice. Only {@link BatchStore.addItems} cannot: its draft is to be
 * discarded. Reasons that a person can do something about are a `StorageError`.
 */
export interface BatchStore {
  /** True when what was published survives the end of the process. */
  readonly durable: boolean;
  /**
   * Makes ready what the store needs. To be called before anything else; may be called by many processes at the same
   * time, and more than once.
   *
   * @throws `StorageError` when the store cannot be used.
   */
  open(): Promise<void>;
  /** Epoch milliseconds of the store's clock. */
  now(): Promise<number>;
  /** Files that batches are made of. */
  readonly files: BatchFileStore;

  /**
   * Begins a batch that nobody sees yet: until it is published, only the calls below know it. Beginning the same draft
   * again changes nothing.
   *
   * @throws RangeError when there is a batch of this id.
   */
  openDraft(account: string, batchId: string): Promise<void>;
  /**
   * Adds requests to a draft. Their indexes follow on those that were added before. A store may do it in several steps,
   * so after an error the draft is fit for {@link BatchStore.discard} only.
   *
   * @throws {@link DuplicateCustomIdError}
   * @throws RangeError when there is no such draft.
   */
  addItems(account: string, batchId: string, items: readonly NewItem[]): Promise<void>;
  /**
   * Makes a draft a batch, with its first tasks, in one step. `createdAt`, `deleteAt`, `expiresAt`, the number of
   * requests and the tasks' times are set by the store: `deleteAt` and `expiresAt` are given as milliseconds after the
   * creation, and become times by its clock. Publishing a batch again gives it as it is now. `counts.total` is given as
   * the number of requests that were added: a store that may have lost some of them since rejects.
   *
   * @throws RangeError when there is neither draft nor batch.
   */
  publish(batch: BatchRecord, effects: readonly BatchEffect[], idempotency?: IdempotencyKey): Promise<PublishOutcome>;
  /** Removes a draft and everything in it. Does nothing where there is none, and nothing to a batch. */
  discard(account: string, batchId: string): Promise<void>;

  /** A batch with its counts as they are at this moment. */
  find(account: string, batchId: string): Promise<BatchRecord | undefined>;
  /** Newest first; of those of one millisecond the greatest id. */
  list(account: string, query: BatchListQuery): Promise<ListPage & { readonly batches: readonly BatchRecord[] }>;
  /** Requests in the order of their index, after an index; -1 begins. None while it is a draft. */
  items(account: string, batchId: string, after: number, limit: number): Promise<readonly StoredItem[]>;
  /** Outcomes in the order of their index, after an index; -1 begins. Requests without one are passed over. */
  outcomes(account: string, batchId: string, after: number, limit: number): Promise<readonly StoredOutcome[]>;
  /** Counts outcomes anew, for checks: always the counts of the record. */
  recount(account: string, batchId: string): Promise<{ readonly completed: number; readonly failed: number }>;

  /**
   * Saves a changed batch and its tasks in one step, if its revision is still the one before. The counts of the record
   * are not written: they follow from the outcomes.
   *
   * @returns False when it is no longer the one before, because somebody else changed it or because this very change
   * was saved already; then nothing is saved.
   */
  save(next: BatchRecord, tasks: readonly BatchTask[]): Promise<boolean>;
  /**
   * Deletes a terminal batch with everything in it: requests, outcomes, tasks and idempotency keys. Nobody sees half of
   * it. False when there is none, or when it is not terminal.
   */
  remove(account: string, batchId: string): Promise<boolean>;

  /**
   * Takes requests that have no outcome and that nobody holds, in the order of their index. Only while the batch is
   * in progress; requests that are named by their index also while it is being cancelled, because the answers of a
   * provider's own batch API come in an order of their own, and after the cancellation. Each claim should have a token
   * of its own: what was claimed by a call whose answer got lost is then not renewed, and comes back when its lease
   * ends.
   */
  claimItems(
    account: string,
    batchId: string,
    claim: {
      readonly limit: number;
      readonly leaseMs: number;
      readonly token: string;
      /** Only these. Default: all. */
      readonly indexes?: readonly number[] | undefined;
      /** Only requests that nobody has claimed before. */
      readonly fresh?: boolean | undefined;
    },
  ): Promise<readonly ClaimedItem[]>;
  /** Makes the leases that a token holds end so many milliseconds from now; gives their number. */
  renewItems(account: string, batchId: string, token: string, leaseMs: number): Promise<number>;
  /** Gives back what the token still holds and did not run; the claim does not count as an attempt. */
  releaseItems(account: string, batchId: string, token: string): Promise<void>;
  /**
   * Stores outcomes of requests that the token still holds, and counts them, in one step: those without an error as
   * completed, the others as failed. While the batch is in progress or being cancelled only.
   *
   * @returns The indexes that were stored by this call. What is missing was stored before, or belongs to somebody else.
   */
  storeOutcomes(
    account: string,
    batchId: string,
    token: string,
    outcomes: readonly ItemOutcome[],
  ): Promise<readonly number[]>;
  /**
   * Gives every request that has none this outcome, whoever holds it; for requests that never came back. Done in
   * several steps where there are many, each of them whole.
   *
   * @param resultIdOf - Makes the id of the result of a request.
   * @returns How many were given it by this call.
   */
  failRemaining(
    account: string,
    batchId: string,
    error: BatchItemError,
    resultIdOf: (index: number) => string,
  ): Promise<number>;

  /**
   * Batches of all accounts whose requests several workers may run: in progress, `shared`, and with requests that nobody
   * has claimed before. In no order.
   */
  findShared(limit: number): Promise<readonly { readonly account: string; readonly batchId: string }[]>;

  /** Takes tasks of all accounts that are due and that nobody holds, those that are due longest first. */
  claimTasks(claim: {
    readonly limit: number;
    readonly leaseMs: number;
    readonly token: string;
  }): Promise<readonly ClaimedTask[]>;
  /** Makes a lease end so many milliseconds from now. False when it is lost: somebody else has the task, or it is gone. */
  renewTask(task: ClaimedTask, leaseMs: number): Promise<boolean>;
  /** Ends a task for good. False when the lease is lost. */
  finishTask(task: ClaimedTask): Promise<boolean>;
  /** Puts a task off and gives it back. Without a `memo` the one before stays. False when the lease is lost. */
  rescheduleTask(
    task: ClaimedTask,
    next: { readonly afterMs: number; readonly memo?: JsonObject | undefined; readonly reset?: boolean | undefined },
  ): Promise<boolean>;
  /** Milliseconds until a task may be claimed: it is due, or its lease ends. Undefined when there are no tasks. */
  nextTaskIn(): Promise<number | undefined>;

  /**
   * Deletes what is over its time, a little at a time: terminal batches and files past `deleteAt`, drafts that nobody
   * opened or added to for `draftMs`, what a deletion that ended early left behind, and old idempotency keys. Many may do
   * it at once.
   *
   * @returns How many batches, files and drafts were deleted; less than `limit` when nothing is left to delete.
   */
  sweep(limits: { readonly draftMs: number; readonly limit: number }): Promise<number>;
  /** Lets go of files and connections of its own. May be called more than once. */
  close(): Promise<void>;
}
