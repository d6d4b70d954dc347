/** The schemas of the Messages and Responses APIs in the OpenAPI document. */
import * as z from 'zod';
import type {
  MessagesErrorBody,
  MessagesErrorType,
  StopReason,
} from '../../../formats/messages/protocol/messages-result.ts';
import {
  availabilitySchema,
  errorDetailOptional,
  errorDetailRequired,
  errorMetadataSchema,
  errorTypeSchema,
  routerMetadataSchema,
} from './error.ts';
import { costDetailsSchema } from './usage.ts';
import { countSchema, secondsSchema, wireObject, words } from './wire-object.ts';
import type { ErrorDetail } from '../../../protocol/error.ts';

const stopReason = words<StopReason>({
  end_turn: true,
  max_tokens: true,
  stop_sequence: true,
  tool_use: true,
  pause_turn: true,
  refusal: true,
  model_context_window_exceeded: true,
});

/** Open, like everything here that a provider of this wire may have written itself. */
const messagesUsage = z.looseObject({
  input_tokens: countSchema,
  output_tokens: countSchema,
  cache_read_input_tokens: countSchema.nullable().optional(),
  cache_creation_input_tokens: countSchema.nullable().optional(),
  cost: z.number().optional(),
  cost_details: costDetailsSchema.optional(),
  is_byok: z.boolean().optional(),
  estimated: z.boolean().optional(),
});

/** Schema of the answer to `POST /messages`. Open: a provider that speaks this wire answers in its own words. */
export const messagesResultSchema = z.looseObject({
  id: z.string(),
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: z.string(),
  content: z.array(z.looseObject({ type: z.string() })),
  stop_reason: z.union([stopReason, z.string()]).nullable(),
  stop_sequence: z.string().nullable(),
  usage: messagesUsage,
  provider: z.string().optional(),
  router_metadata: routerMetadataSchema.optional(),
});

/** Schema of the answer to `POST /messages/count_tokens`. Open: a provider that counted may say more. */
export const tokenCountSchema = z.looseObject({
  input_tokens: countSchema,
  counted_by: z.enum(['provider', 'gpt-tokenizer', 'estimate']),
  provider: z.string().optional(),
});

/** Schema of the data of an event of a stream on this wire. */
export const messagesEventSchema = z.looseObject({ type: z.string() });

const messagesErrorType = words<MessagesErrorType>({
  invalid_request_error: true,
  authentication_error: true,
  billing_error: true,
  permission_error: true,
  not_found_error: true,
  conflict_error: true,
  request_too_large: true,
  rate_limit_error: true,
  timeout_error: true,
  overloaded_error: true,
  api_error: true,
});

/** Schema of {@link MessagesErrorBody}. */
export const messagesErrorSchema = wireObject<MessagesErrorBody>(
  {
    type: z.literal('error'),
    error: wireObject<MessagesErrorBody['error']>(
      { type: messagesErrorType, message: z.string().min(1) },
      {
        details: z.object({ error_code: z.literal('thread_unsupported_request'), unsupported: z.array(z.string()) }),
        error_type: errorTypeSchema,
        availability: availabilitySchema,
        metadata: errorMetadataSchema,
      },
    ),
    request_id: z.string().nullable(),
  },
  { router_metadata: routerMetadataSchema },
);

const responsesUsage = z.looseObject({
  input_tokens: countSchema,
  input_tokens_details: z.looseObject({ cached_tokens: countSchema }),
  output_tokens: countSchema,
  output_tokens_details: z.looseObject({ reasoning_tokens: countSchema }),
  total_tokens: countSchema,
  cost: z.number().optional(),
});

/** Schema of the answer to `POST /responses`. Open: a provider that speaks this wire answers in its own words. */
export const responsesResultSchema = z.looseObject({
  id: z.string(),
  object: z.literal('response'),
  created_at: secondsSchema,
  status: z.enum(['in_progress', 'completed', 'incomplete', 'failed']),
  error: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
  error_type: errorTypeSchema.optional(),
  incomplete_details: z.looseObject({ reason: z.string() }).nullable(),
  model: z.string(),
  provider: z.string().optional(),
  output: z.array(z.looseObject({ type: z.string() })),
  usage: responsesUsage.nullable(),
  router_metadata: routerMetadataSchema.optional(),
});

/** Schema of the data of an event of a stream on this wire. */
export const responsesEventSchema = z.looseObject({ type: z.string(), sequence_number: countSchema });

/** The error of chat completions, with the members beside it that clients of this wire read. */
const responsesErrorDetail = wireObject<ErrorDetail & { readonly type: string; readonly param: string | null }>(
  { ...errorDetailRequired, type: z.string(), param: z.string().nullable() },
  errorDetailOptional,
);

/** Schema of an error answer to `POST /responses`. */
export const responsesErrorSchema = z.object({
  error: responsesErrorDetail,
  error_type: errorTypeSchema,
  router_metadata: routerMetadataSchema.optional(),
});
