import * as z from 'zod';
import type { ErrorDetail } from '../error.ts';
import { errorDetailOptional, errorDetailRequired, errorTypeSchema, routerMetadataSchema } from './error.ts';
import { count, seconds, wireObject } from './wire-object.ts';

const usage = z.looseObject({
  input_tokens: count,
  input_tokens_details: z.looseObject({ cached_tokens: count }),
  output_tokens: count,
  output_tokens_details: z.looseObject({ reasoning_tokens: count }),
  total_tokens: count,
  cost: z.number().optional(),
});

/** Schema of the answer to `POST /responses`. Open: a provider that speaks this wire answers in its own words. */
export const responsesResultSchema = z.looseObject({
  id: z.string(),
  object: z.literal('response'),
  created_at: seconds,
  status: z.enum(['in_progress', 'completed', 'incomplete', 'failed']),
  error: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
  error_type: errorTypeSchema.optional(),
  incomplete_details: z.looseObject({ reason: z.string() }).nullable(),
  model: z.string(),
  provider: z.string().optional(),
  output: z.array(z.looseObject({ type: z.string() })),
  usage: usage.nullable(),
  router_metadata: routerMetadataSchema.optional(),
});

/** Schema of the data of an event of a stream on this wire. */
export const responsesEventSchema = z.looseObject({ type: z.string(), sequence_number: count });

/** The error of chat completions, with the members beside it that clients of this wire read. */
export interface ResponsesErrorDetail extends ErrorDetail {
  readonly type: string;
  /** Path of the field that is wrong. */
  readonly param: string | null;
}

const errorDetail = wireObject<ResponsesErrorDetail>(
  { ...errorDetailRequired, type: z.string(), param: z.string().nullable() },
  errorDetailOptional,
);

/** Schema of an error answer to `POST /responses`. */
export const responsesErrorSchema = z.object({
  error: errorDetail,
  error_type: errorTypeSchema,
  router_metadata: routerMetadataSchema.optional(),
});
