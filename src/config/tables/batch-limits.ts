import { computed, option, type OptionTable, type ResolvedOf } from '../option.ts';

/** Limits of batches. */
export const BATCH_LIMITS = {
  /** Bytes in the body that creates a batch (contract: limits). Default 200,000,000. */
  bytes: option.whole(1, { default: 200_000_000, unit: 'bytes' }),
  /** Requests in one batch that comes over HTTP. In-process callers may send any number. Default 5,000. */
  requests: option.whole(1, { default: 5_000 }),
  /** Bytes in a file that is uploaded for a batch. Default 200,000,000. */
  fileBytes: option.whole(1, { default: 200_000_000, unit: 'bytes' }),
  /** Requests, which are lines, in such a file. Default 50,000. */
  fileRequests: option.whole(1, { default: 50_000 }),
  /** Bodies that are received at the same time; more are a 503. Default 8. */
  uploads: option.whole(1, { default: 8 }),
  /** Those of one account among them. Default 2. */
  uploadsPerAccount: option.whole(1, { default: 2 }),
  /**
   * Bytes a second that a body must come with on average, as they are sent, after ten seconds of waiting for it; slower
   * ones are a 408. Default 16,000.
   */
  uploadBytesPerSecond: option.whole(0, { default: 16_000, unit: 'bytes' }),
  /** Time for the whole body. Between two pieces of it, `limits.bodyTimeoutMs` may pass. Default 600,000. */
  uploadMs: option.whole(1, { default: 600_000, unit: 'milliseconds' }),
  /** Requests of one batch that run at the same time in one process; several processes run a large batch together. Default 8. */
  perBatch: option.whole(1, { default: 8 }),
  /** Requests of batches that are sent to one provider at the same time, at most. Default 16. */
  perProvider: option.whole(1, { default: 16 }),
  /** Requests of all batches that run at the same time in this process. Default 32. */
  concurrency: option.whole(1, { default: 32 }),
  /** Places for concurrent requests that batches leave to everybody else. Default: half of `limits.concurrentRequests`. */
  keepFree: computed(option.whole(0)),
  /** Tries of one request, each of which may fall back as far as an ordinary request does. Default 10. */
  itemTries: option.whole(1, { default: 10 }),
  /** Time until a batch that is not completed expires, counted from its creation. Default 86,400,000 (24 hours). */
  windowMs: option.whole(1, { default: 86_400_000, unit: 'milliseconds' }),
  /** Time until a batch is deleted, counted from its creation. Default 2,592,000,000 (30 days). */
  retentionMs: option.whole(1, { default: 2_592_000_000, unit: 'milliseconds' }),
  /** Time after which the requests of a process that died are run by another one. Default 30,000. */
  leaseMs: option.whole(1, { default: 30_000, unit: 'milliseconds' }),
  /** Time after which a batch lets others go first. Default 30,000. */
  sliceMs: option.whole(1, { default: 30_000, unit: 'milliseconds' }),
  /**
   * Time between two looks for batches of other processes to help with, on average three quarters of it; 0 never helps.
   * Default 2,000.
   */
  helpMs: option.whole(0, { default: 2_000, unit: 'milliseconds' }),
  /** Time between two looks for batches that are to be deleted. Default 3,600,000 (1 hour). */
  sweepMs: option.whole(1, { default: 3_600_000, unit: 'milliseconds' }),
} satisfies OptionTable;

/** Limits of batches. Times are milliseconds, sizes bytes. */
export interface BatchLimits extends ResolvedOf<typeof BATCH_LIMITS> {}
