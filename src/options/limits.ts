/** The options that limit requests and batches to protect the process. */
import { computed, type FilledOf, option, type OptionTable, type ResolvedOf } from './option.ts';

/** Limits of requests that protect the process. What exceeds one is refused before any provider is called. */
export const REQUEST_LIMITS = {
  /** Bytes in the body of a request, after decompression. Default 32,000,000. */
  bodyBytes: option.integer(0, { default: 32_000_000, unit: 'bytes' }),
  /**
   * Bytes of all bodies over HTTP that the process holds at the same time: what came, what it was unpacked to, and what
   * was read from it, until its request is answered. One account gets half of them at most; more is a 429. At least
   * twice `bodyBytes`. Default 256,000,000.
   */
  bytesInHand: option.integer(0, { default: 256_000_000, unit: 'bytes' }),
  /** JSON values in the body, containers included. Default 200,000. */
  nodes: option.integer(0, { default: 200_000 }),
  /** Milliseconds that a client may take to send its body. Default 30,000. */
  bodyTimeoutMs: option.ms({ default: 30_000 }),
  /** Milliseconds that a client may leave a stream unread before its connection is closed. Default 60,000. */
  writeStallMs: option.ms({ default: 60_000 }),
  /**
   * Requests over HTTP at the same time that hold a body or a call upstream: from the last byte of their body until the
   * last byte of their answer has come, streams included. A slow body holds no place. One account gets
   * half of them at most. Default: one for each 128 kB of
   * the heap that the runtime allows, from 1,000 to 10,000; 2,000 where it does not give it.
   */
  concurrentRequests: computed(option.integer(0)),
} satisfies OptionTable;

/** Limits of requests that are the same for every router, because the work of a process depends on them. */
export const FIXED_REQUEST_LIMITS = {
  /** Times that a compressed body may grow when it is unpacked: prompts grow about ten times, hostile bodies a thousand. */
  compressionRatio: 100,
  /** Nesting depth of the body: what walks a body calls itself for each level. */
  depth: 64,
  /** Different names of members in the body: a runtime keeps each of them for as long as it runs. */
  names: 20_000,
  /** Items in `messages`: more than the context of any model holds as a conversation. */
  messages: 10_000,
  /** Items in `tools`: four times what providers take. */
  tools: 512,
  /** Characters of all tool schemas together, serialised: each is checked and rewritten for its provider. */
  toolSchemaLength: 1_000_000,
  /** Items in the `input` of an embedding request: what OpenAI takes. */
  embeddingInputs: 2_048,
  /** Tokens in the `input` of an embedding request that sends tokens instead of text: what OpenAI takes. */
  embeddingTokens: 300_000,
} as const satisfies Readonly<Record<string, number>>;

/** The names of limits, all of them numbers. */
type Numbers<Table> = { readonly [Name in keyof Table]: number };

type FixedRequestLimits = Numbers<typeof FIXED_REQUEST_LIMITS>;

/** Limits of requests, those that the embedding program may change and those that it may not. */
export interface RequestLimits extends FixedRequestLimits, ResolvedOf<typeof REQUEST_LIMITS> {}

/** What the embedding program may change, before the router has computed what follows from the heap. */
export interface DeclaredRequestLimits extends FilledOf<typeof REQUEST_LIMITS> {}

/** Limits of batches. */
export const BATCH_LIMITS = {
  /** Bytes in the body that creates a batch (contract: limits), or in the file for one. Default 200,000,000. */
  bytes: option.integer(1, { default: 200_000_000, unit: 'bytes' }),
  /** Requests in one batch that comes over HTTP. In-process callers may send any number. Default 5,000. */
  requests: option.integer(1, { default: 5_000 }),
  /** Requests of one batch that run at the same time in one process; several processes run a large batch together. Default 8. */
  perBatch: option.integer(1, { default: 8 }),
  /** Requests of batches that are sent to one provider at the same time, at most. Default 16. */
  perProvider: option.integer(1, { default: 16 }),
  /** Requests of all batches that run at the same time in this process. Default 32. */
  concurrency: option.integer(1, { default: 32 }),
  /** Time until a batch that is not completed expires, counted from its creation. Default 86,400,000 (24 hours). */
  windowMs: option.integer(1, { default: 86_400_000, unit: 'milliseconds' }),
  /** Time until a batch is deleted, counted from its creation. Default 2,592,000,000 (30 days). */
  retentionMs: option.integer(1, { default: 2_592_000_000, unit: 'milliseconds' }),
  /** Time after which the requests of a process that died are run by another one. Default 30,000. */
  leaseMs: option.integer(1, { default: 30_000, unit: 'milliseconds' }),
} satisfies OptionTable;

/** Limits of batches that programs may change. Times are milliseconds, sizes bytes. */
export interface BatchLimits extends ResolvedOf<typeof BATCH_LIMITS> {}

/** Limits and times of batches that are the same for every router. */
export const FIXED_BATCH_LIMITS = {
  /** Requests, which are lines, in a file for a batch: what OpenAI takes. */
  fileRequests: 50_000,
  /** Bodies that are received at the same time; more are a 503, and a 429 for one account. Each holds half a megabyte and a place at the storage. */
  uploads: 8,
  /** Those of one account among them: four accounts are served at a time. */
  uploadsPerAccount: 2,
  /**
   * Bytes a second that a body must come with on average, as they are sent, after ten seconds of waiting for it; slower
   * ones are a 408. The slowest lines in use are faster.
   */
  uploadBytesPerSecond: 16_000,
  /** Milliseconds for the whole body: what the largest takes at three megabits a second. */
  uploadMs: 600_000,
  /**
   * Tries of one request, each of which may fall back as far as an ordinary request does: with the waits between them
   * about four minutes, longer than most outages.
   */
  itemTries: 10,
  /** Milliseconds after which a batch lets others go first: as long as a request has its lease by default. */
  sliceMs: 30_000,
  /**
   * Milliseconds between two looks for batches of other processes to help with, on average three quarters of it. Short
   * beside what a large batch takes, and one statement at the storage each. Tests set 0, which never helps.
   */
  helpMs: 2_000,
  /** Milliseconds between two looks for batches that are to be deleted, which are kept for days. */
  sweepMs: 3_600_000,
} as const satisfies Readonly<Record<string, number>>;

/** Limits of batches as the router reads them. */
export interface ResolvedBatchLimits extends BatchLimits, Numbers<typeof FIXED_BATCH_LIMITS> {
  /** Places for concurrent requests that batches leave to other requests: half of them. */
  readonly keepFree: number;
}
