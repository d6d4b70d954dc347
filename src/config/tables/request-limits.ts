import { option, type OptionTable, type ResolvedOf } from '../option.ts';

/** Limits of requests that protect the process. What exceeds one is refused before any provider is called. */
export const REQUEST_LIMITS = {
  /** Bytes in the body of a request, after decompression. Default 32,000,000. */
  bodyBytes: option.whole(0, { default: 32_000_000, unit: 'bytes' }),
  /** Nesting depth of the body. Default 64. */
  depth: option.whole(0, { default: 64 }),
  /** JSON values in the body, containers included. Default 200,000. */
  nodes: option.whole(0, { default: 200_000 }),
  /** Items in `messages`. Default 10,000. */
  messages: option.whole(0, { default: 10_000 }),
  /** Items in `tools`. Default 512. */
  tools: option.whole(0, { default: 512 }),
  /** Characters of all tool schemas together, serialised. Default 1,000,000. */
  toolSchemaLength: option.whole(0, { default: 1_000_000, unit: 'characters' }),
  /** Items in the `input` of an embedding request. Default 2,048. */
  embeddingInputs: option.whole(0, { default: 2_048 }),
  /** Tokens in the `input` of an embedding request that sends tokens instead of text. Default 300,000. */
  embeddingTokens: option.whole(0, { default: 300_000, unit: 'tokens' }),
  /** Milliseconds that a client may take to send its body. Default 30,000. */
  bodyTimeoutMs: option.ms({ default: 30_000 }),
  /** Milliseconds that a client may leave a stream unread before its connection is closed. Default 60,000. */
  writeStallMs: option.ms({ default: 60_000 }),
  /** Requests over HTTP handled at the same time, streams included. Default 1,000. */
  concurrentRequests: option.whole(0, { default: 1_000 }),
} satisfies OptionTable;

/** Limits of requests that the embedding program may change. */
export interface RequestLimits extends ResolvedOf<typeof REQUEST_LIMITS> {}
