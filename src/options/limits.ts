/** The options that limit requests and batches to protect the process. */
import { computed, type FilledOf, option, type OptionTable, type ResolvedOf } from './option.ts';

/** Limits of requests that protect the process. What exceeds one is refused before any provider is called. */
export const REQUEST_LIMITS = {
  /** Bytes in the body of a request, after decompression. Default 32,000,000. */
  bodyBytes: option.integer(0, { default: 32_000_000, unit: 'bytes' }),
  /**
   * Bytes of all bodies over HTTP that the process holds at the same time: what came, what it was unpacked to, and what
   * was read from it, until its request is answered. One account gets half of them at most; more is a 503. At least
   * twice `bodyBytes`. Default 256,000,000.
   */
  bytesInHand: option.integer(0, { default: 256_000_000, unit: 'bytes' }),
  /** Times that a compressed body may grow when it is unpacked. Default 100. */
  compressionRatio: option.integer(1, { default: 100 }),
  /** Nesting depth of the body. Default 64. */
  depth: option.integer(0, { default: 64 }),
  /** JSON values in the body, containers included. Default 200,000. */
  nodes: option.integer(0, { default: 200_000 }),
  /** Different names of members in the body. Default 20,000. */
  names: option.integer(0, { default: 20_000 }),
  /** Items in `messages`. Default 10,000. */
  messages: option.integer(0, { default: 10_000 }),
  /** Items in `tools`. Default 512. */
  tools: option.integer(0, { default: 512 }),
  /** Characters of all tool schemas together, serialised. Default 1,000,000. */
  toolSchemaLength: option.integer(0, { default: 1_000_000, unit: 'characters' }),
  /** Items in the `input` of an embedding request. Default 2,048. */
  embeddingInputs: option.integer(0, { default: 2_048 }),
  /** Tokens in the `input` of an embedding request that sends tokens instead of text. Default 300,000. */
  embeddingTokens: option.integer(0, { default: 300_000, unit: 'tokens' }),
  /** Milliseconds that a client may take to send its body. Default 30,000. */
  bodyTimeoutMs: option.ms({ default: 30_000 }),
  /** Milliseconds that a client may leave a stream unread before its connection is closed. Default 60,000. */
  writeStallMs: option.ms({ default: 60_000 }),
  /**
   * Requests over HTTP at the same time that hold a body or a call upstream: from the last byte of their body until the
   * last byte of their answer has come, streams included. A slow body holds no place. Default: one for each 128 kB of
   * the heap that the runtime allows, from 1,000 to 10,000; 2,000 where it does not give it.
   */
  concurrentRequests: computed(option.integer(0)),
} satisfies OptionTable;

/** Limits of requests that the embedding program may change. */
export interface RequestLimits extends ResolvedOf<typeof REQUEST_LIMITS> {}

/** The same before the router has computed what follows from the heap. */
export interface DeclaredRequestLimits extends FilledOf<typeof REQUEST_LIMITS> {}

/** Limits of batches. */
export const BATCH_LIMITS = {
  /** Bytes in the body that creates a batch (contract: limits). Default 200,000,000. */
  bytes: option.integer(1, { default: 200_000_000, unit: 'bytes' }),
  /** Requests in one batch that comes over HTTP. In-process callers may send any number. Default 5,000. */
  requests: option.integer(1, { default: 5_000 }),
  /** Bytes in a file that is uploaded for a batch. Default 200,000,000. */
  fileBytes: option.integer(1, { default: 200_000_000, unit: 'bytes' }),
  /** Requests, which are lines, in such a file. Default 50,000. */
  fileRequests: option.integer(1, { default: 50_000 }),
  /** Bodies that are received at the same time; more are a 503. Default 8. */
  uploads: option.integer(1, { default: 8 }),
  /** Those of one account among them. Default 2. */
  uploadsPerAccount: option.integer(1, { default: 2 }),
  /**
   * Bytes a second that a body must come with on average, as they are sent, after ten seconds of waiting for it; slower
   * ones are a 408. Default 16,000.
   */
  uploadBytesPerSecond: option.integer(0, { default: 16_000, unit: 'bytes' }),
  /** Time for the whole body. Between two pieces of it, `limits.bodyTimeoutMs` may pass. Default 600,000. */
  uploadMs: option.integer(1, { default: 600_000, unit: 'milliseconds' }),
  /** Requests of one batch that run at the same time in one process; several processes run a large batch together. Default 8. */
  perBatch: option.integer(1, { default: 8 }),
  /** Requests of batches that are sent to one provider at the same time, at most. Default 16. */
  perProvider: option.integer(1, { default: 16 }),
  /** Requests of all batches that run at the same time in this process. Default 32. */
  concurrency: option.integer(1, { default: 32 }),
  /** Places for concurrent requests that batches leave to other requests. Default: half of `limits.concurrentRequests`. */
  keepFree: computed(option.integer(0)),
  /** Tries of one request, each of which may fall back as far as an ordinary request does. Default 10. */
  itemTries: option.integer(1, { default: 10 }),
  /** Time until a batch that is not completed expires, counted from its creation. Default 86,400,000 (24 hours). */
  windowMs: option.integer(1, { default: 86_400_000, unit: 'milliseconds' }),
  /** Time until a batch is deleted, counted from its creation. Default 2,592,000,000 (30 days). */
  retentionMs: option.integer(1, { default: 2_592_000_000, unit: 'milliseconds' }),
  /** Time after which the requests of a process that died are run by another one. Default 30,000. */
  leaseMs: option.integer(1, { default: 30_000, unit: 'milliseconds' }),
  /** Time after which a batch lets others go first. Default 30,000. */
  sliceMs: option.integer(1, { default: 30_000, unit: 'milliseconds' }),
  /**
   * Time between two looks for batches of other processes to help with, on average three quarters of it; 0 never helps.
   * Default 2,000.
   */
  helpMs: option.integer(0, { default: 2_000, unit: 'milliseconds' }),
  /** Time between two looks for batches that are to be deleted. Default 3,600,000 (1 hour). */
  sweepMs: option.integer(1, { default: 3_600_000, unit: 'milliseconds' }),
} satisfies OptionTable;

/** Limits of batches. Times are milliseconds, sizes bytes. */
export interface BatchLimits extends ResolvedOf<typeof BATCH_LIMITS> {}
