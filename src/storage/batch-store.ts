import type { BatchEffect } from '../core/batch/machine.ts';
import type { BatchRecord } from '../core/batch/batch-record.ts';
import type { BatchItemError, BatchStatus } from '../protocol/batch.ts';
import type { JsonObject, JsonValue } from '../protocol/json.ts';
import type { Usage } from '../protocol/usage.ts';

/** A request as it is stored. */
export interface StoredItem {
  /** Place in the batch, counted from 0. */
  readonly index: number;
  readonly customId: string;
  /** JSON text of the body. */
  readonly body: string;
}

/** A request that a worker may run until its lease ends. */
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

/** Something to be done about a batch. There is at most one of each kind for a batch at a time. */
export interface BatchTask {
  readonly account: string;
  readonly batchId: string;
  readonly effect: BatchEffect;
  /** Epoch milliseconds of the store's clock. */
  readonly runAt: number;
}

/** A task that one worker holds until its lease ends. */
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
  /** Id of the last batch of the page before. */
  readonly after?: string | undefined;
  readonly statuses?: readonly BatchStatus[] | undefined;
  /** Epoch milliseconds; strict. */
  readonly createdAfter?: number | undefined;
  readonly createdBefore?: number | undefined;
}

/** A key under which a client may create the same batch again without creating another. */
export interface IdempotencyKey {
  readonly key: string;
  /** Stands for the content: the same key with other content is an error. */
  readonly fingerprint: string;
  /** Epoch milliseconds at which the key is forgotten. */
  readonly expiresAt: number;
}

/** What publishing a draft came to. */
export type PublishOutcome =
  | { readonly type: 'published'; readonly batch: BatchRecord }
  /** The key was used before: this is the batch of that time, and the draft is gone. */
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
 * token of its lease, a request has one outcome, and an account sees its own only. Times are those of the store's own
 * clock, so that workers on several machines agree. `signalbox/testing` has the list of checks that every store must
 * pass.
 */
export interface BatchStore {
  /** True when what was published survives the end of the process. */
  readonly durable: boolean;
  /** Makes ready what the store needs. May be called by many processes at the same time, and more than once. */
  open(): Promise<void>;
  /** Epoch milliseconds of the store's clock. */
  now(): Promise<number>;

  /** Begins a batch that nobody sees yet. */
  openDraft(account: string, batchId: string): Promise<void>;
  /**
   * Adds requests to a draft.
   *
   * @throws {@link DuplicateCustomIdError}
   */
  addItems(account: string, batchId: string, items: readonly StoredItem[]): Promise<void>;
  /**
   * Makes a draft a batch, with its first tasks, in one step. `createdAt`, `deleteAt` and the tasks' times are set from
   * the store's clock: the record's `deleteAt` and `expiresAt` are given as milliseconds after the creation.
   */
  publish(batch: BatchRecord, effects: readonly BatchEffect[], idempotency?: IdempotencyKey): Promise<PublishOutcome>;
  /** Removes a draft and everything in it. */
  discard(account: string, batchId: string): Promise<void>;

  find(account: string, batchId: string): Promise<BatchRecord | undefined>;
  /** Newest first. */
  list(
    account: string,
    query: BatchListQuery,
  ): Promise<{ readonly batches: readonly BatchRecord[]; readonly more: boolean }>;
  /** Requests in the order of their index, after an index. */
  items(account: string, batchId: string, after: number, limit: number): Promise<readonly StoredItem[]>;
  /** Outcomes in the order of their index, after an index. */
  outcomes(account: string, batchId: string, after: number, limit: number): Promise<readonly StoredOutcome[]>;
  /** Counts outcomes anew, for checks. */
  recount(account: string, batchId: string): Promise<{ readonly completed: number; readonly failed: number }>;

  /**
   * Saves a changed batch and its tasks in one step, if its revision is still the one before. The counts of the record
   * are not written: they follow from the outcomes.
   *
   * @returns False when somebody else changed it meanwhile; then nothing is saved.
   */
  save(next: BatchRecord, tasks: readonly BatchTask[]): Promise<boolean>;
  /** Deletes a terminal batch with everything in it. False when there is none. */
  remove(account: string, batchId: string): Promise<boolean>;

  /**
   * Takes requests that have no outcome and that nobody holds, in the order of their index. Only while the batch is
   * in progress; requests that are named by their index also while it is being cancelled, because the answers of a
   * provider's own batch API come in an order of their own, and after the cancellation.
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
    },
  ): Promise<readonly ClaimedItem[]>;
  /** Prolongs the leases of a token; gives the number that are still its own. */
  renewItems(account: string, batchId: string, token: string, leaseMs: number): Promise<number>;
  /** Gives requests back that were not run; the claim does not count as an attempt. */
  releaseItems(account: string, batchId: string, token: string): Promise<void>;
  /**
   * Stores outcomes of requests that the token still holds, and counts them, in one step. While the batch is in
   * progress or being cancelled only.
   *
   * @returns The indexes that were stored.
   */
  storeOutcomes(
    account: string,
    batchId: string,
    token: string,
    outcomes: readonly ItemOutcome[],
  ): Promise<readonly number[]>;
  /**
   * Gives every request that has none this outcome, whoever holds it; for requests that never came back.
   *
   * @param resultIdOf - Makes the id of the result of a request.
   * @returns How many there were.
   */
  failRemaining(
    account: string,
    batchId: string,
    error: BatchItemError,
    resultIdOf: (index: number) => string,
  ): Promise<number>;

  /** Takes tasks that are due and that nobody holds, those that are due longest first. */
  claimTasks(claim: {
    readonly limit: number;
    readonly leaseMs: number;
    readonly token: string;
  }): Promise<readonly ClaimedTask[]>;
  /** Prolongs a lease. False when it is lost. */
  renewTask(task: ClaimedTask, leaseMs: number): Promise<boolean>;
  /** Ends a task for good. False when the lease is lost. */
  finishTask(task: ClaimedTask): Promise<boolean>;
  /** Puts a task off. False when the lease is lost. */
  rescheduleTask(
    task: ClaimedTask,
    next: { readonly afterMs: number; readonly memo?: JsonObject | undefined; readonly reset?: boolean | undefined },
  ): Promise<boolean>;
  /** Milliseconds until the next task is due; undefined when there is none. */
  nextTaskIn(): Promise<number | undefined>;

  /**
   * Deletes what is over its time, a little at a time: batches past `deleteAt`, drafts that nobody finished for
   * `draftMs`, and old idempotency keys.
   *
   * @returns How many batches and drafts were deleted.
   */
  sweep(limits: { readonly draftMs: number; readonly limit: number }): Promise<number>;
  close(): Promise<void>;
}
