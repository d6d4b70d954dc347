/** Bounds of batches. Times are milliseconds, sizes bytes. */
export interface BatchLimits {
  /** Bytes in the body that creates a batch. Default 200,000,000 (contract: limits). */
  readonly bytes: number;
  /** Requests in one batch that comes over HTTP. Default 5,000. In-process callers may send any number. */
  readonly requests: number;
  /** Bodies that are received at the same time; more are a 503. Default 8. */
  readonly uploads: number;
  /** Those of one account among them. Default 2. */
  readonly uploadsPerAccount: number;
  /**
   * Bytes a second that a body must come with on average, as they are sent, after ten seconds of waiting for it; slower
   * ones are a 408. Default 16,000.
   */
  readonly uploadBytesPerSecond: number;
  /** Time for the whole body. Between two pieces of it, `limits.bodyTimeoutMs` may pass. Default 600,000. */
  readonly uploadMs: number;
  /** Requests of one batch that run at the same time. Default 8. */
  readonly perBatch: number;
  /** Requests of batches that one provider is asked at the same time, at most. Default 16. */
  readonly perProvider: number;
  /** Requests of all batches that run at the same time in this process. Default 32. */
  readonly concurrency: number;
  /** Places of `limits.concurrentRequests` that batches leave to everybody else. Default: half of them. */
  readonly keepFree: number;
  /** Tries of one request, each of which may fall back as far as an ordinary request does. Default 10. */
  readonly itemTries: number;
  /** Time until a batch that is not completed expires, counted from its creation. Default 24 hours. */
  readonly windowMs: number;
  /** Time until a batch is deleted, counted from its creation. Default 30 days. */
  readonly retentionMs: number;
  /** Time after which the requests of a process that died are run by another one. Default 30,000. */
  readonly leaseMs: number;
  /** Time after which a batch lets others go first. Default 30,000. */
  readonly sliceMs: number;
  /** Time between two looks for batches that are to be deleted. Default one hour. */
  readonly sweepMs: number;
}

const HOUR = 3_600_000;

/** The defaults of {@link BatchLimits}; `keepFree` depends on another option. */
export const DEFAULT_BATCH_LIMITS: Omit<BatchLimits, 'keepFree'> = {
  bytes: 200_000_000,
  requests: 5_000,
  uploads: 8,
  uploadsPerAccount: 2,
  uploadBytesPerSecond: 16_000,
  uploadMs: 600_000,
  perBatch: 8,
  perProvider: 16,
  concurrency: 32,
  itemTries: 10,
  windowMs: 24 * HOUR,
  retentionMs: 30 * 24 * HOUR,
  leaseMs: 30_000,
  sliceMs: 30_000,
  sweepMs: HOUR,
};
