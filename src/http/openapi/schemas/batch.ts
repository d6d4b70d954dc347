/** The schemas of files and batches in the OpenAPI document. */
import * as z from 'zod';
import {
  BATCH_ENDPOINTS,
  BATCH_STATUSES,
  type Batch,
  type BatchErrors,
  type BatchItemError,
  type BatchList,
  type BatchRequestCounts,
  type BatchResultItem,
  type BatchWebhook,
  type DeletedBatch,
  type DeletedFile,
  type FileList,
  type FileObject,
} from '../../../protocol/batch.ts';
import { errorTypeSchema } from './error.ts';
import { usageSchema } from './usage.ts';
import { anyJson, countSchema, secondsSchema, wireObject } from './wire-object.ts';

/** Schema of {@link FileObject}. */
export const fileSchema = wireObject<FileObject>(
  {
    id: z.string().regex(/^file-/),
    object: z.literal('file'),
    bytes: countSchema,
    created_at: secondsSchema,
    expires_at: secondsSchema,
    filename: z.string(),
    purpose: z.enum(['batch', 'batch_output']),
    status: z.literal('processed'),
  },
  {},
);

/** Schema of {@link FileList}. */
export const fileListSchema = wireObject<FileList>(
  {
    object: z.literal('list'),
    data: z.array(fileSchema),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  },
  {},
);

/** Schema of {@link DeletedFile}. */
export const deletedFileSchema = wireObject<DeletedFile>(
  { id: z.string(), object: z.literal('file'), deleted: z.literal(true) },
  {},
);

const counts = wireObject<BatchRequestCounts>({ total: countSchema, completed: countSchema, failed: countSchema }, {});

const itemError = wireObject<BatchItemError>(
  { message: z.string(), param: z.string().nullable(), type: z.string().nullable() },
  {
    error_type: z.union([errorTypeSchema, z.enum(['batch_expired', 'batch_cancelled'])]),
    metadata: z.object({ schema_mismatch: anyJson }),
  },
);

const resultItem = wireObject<BatchResultItem>(
  {
    id: z.string().regex(/^batch_req_/),
    custom_id: z.string(),
    response: z.object({ status_code: countSchema, request_id: z.string(), body: anyJson }).nullable(),
    error: itemError.nullable(),
  },
  {},
);

const webhook = wireObject<BatchWebhook>(
  {
    status: z.enum(['pending', 'delivered', 'given_up']),
    tries: countSchema,
    attempts: z.array(z.object({ at: secondsSchema, status_code: countSchema.nullable() })),
    next_attempt_at: secondsSchema.nullable(),
  },
  {},
);

const errors = wireObject<BatchErrors>(
  {
    object: z.literal('list'),
    data: z.array(
      z.object({
        code: z.string(),
        message: z.string(),
        param: z.string().nullable(),
        line: z.int().min(1).nullable(),
      }),
    ),
  },
  {},
);

/** Schema of {@link Batch}. */
export const batchSchema = wireObject<Batch>(
  {
    id: z.string().regex(/^batch_/),
    object: z.literal('batch'),
    endpoint: z.enum(BATCH_ENDPOINTS),
    model: z.string(),
    completion_window: z.literal('24h'),
    status: z.enum(BATCH_STATUSES),
    created_at: secondsSchema,
    finalized_at: secondsSchema.nullable(),
    expires_at: secondsSchema.nullable(),
    provider: z.string().nullable(),
    request_counts: counts,
    usage: usageSchema.nullable(),
    results: z.array(resultItem).nullable(),
    error: z.object({ message: z.string() }).nullable(),
    errors: errors.nullable(),
    input_file_id: z.string().nullable(),
    output_file_id: z.string().nullable(),
    error_file_id: z.string().nullable(),
    completed_at: secondsSchema.nullable(),
    failed_at: secondsSchema.nullable(),
    expired_at: secondsSchema.nullable(),
    cancelled_at: secondsSchema.nullable(),
    webhook: webhook.nullable(),
    metadata: z.record(z.string(), z.string()).nullable(),
    warnings: z.array(z.object({ code: z.literal('batch_unclaimed'), message: z.string() })).nullable(),
  },
  {},
);

/** Schema of {@link BatchList}. */
export const batchListSchema = wireObject<BatchList>(
  {
    object: z.literal('list'),
    data: z.array(batchSchema),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  },
  {},
);

type Upstream = NonNullable<DeletedBatch['deletion']['upstream']>;

/** A {@link DeletedBatch} on the wire, where its member `router` has the name of the brand (gaps 0.2). */
export interface SpelledDeletedBatch extends Omit<DeletedBatch, 'deletion'> {
  readonly deletion: Partial<DeletedBatch['deletion']> & { readonly openrouter?: 'deleted' };
}

/** Schema of {@link DeletedBatch} in either spelling. */
export const deletedBatchSchema = wireObject<SpelledDeletedBatch>(
  {
    id: z.string(),
    object: z.literal('batch'),
    deletion: wireObject<SpelledDeletedBatch['deletion']>(
      {},
      {
        router: z.literal('deleted'),
        openrouter: z.literal('deleted'),
        upstream: wireObject<Upstream>(
          { provider: z.string(), status: z.enum(['deleted', 'unsupported', 'not_applicable', 'failed']) },
          {},
        ),
      },
    ),
  },
  {},
);
