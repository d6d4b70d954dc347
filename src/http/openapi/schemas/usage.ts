/** The schemas of usage and cost in the OpenAPI document. */
import * as z from 'zod';
import type { EmbeddingUsage } from '../../../protocol/embedding.ts';
import { countSchema, wireObject } from './wire-object.ts';
import type {
  CompletionTokensDetails,
  CostDetails,
  PromptTokensDetails,
  ServerToolUseDetails,
  Usage,
} from '../../../protocol/usage.ts';

const amount = z.number();

/** Schema of {@link CostDetails}. */
export const costDetailsSchema = wireObject<CostDetails>(
  {},
  {
    upstream_inference_cost: amount.nullable(),
    upstream_inference_prompt_cost: amount,
    upstream_inference_completions_cost: amount,
    server_tool_cost: amount,
    given_up_cost: amount,
  },
);

const promptTokensDetails = wireObject<PromptTokensDetails>(
  {},
  {
    cached_tokens: countSchema,
    cache_write_tokens: countSchema,
    audio_tokens: countSchema,
    video_tokens: countSchema,
    file_tokens: countSchema,
    image_tokens: countSchema,
  },
);

const completionTokensDetails = wireObject<CompletionTokensDetails>(
  {},
  {
    reasoning_tokens: countSchema,
    audio_tokens: countSchema,
    image_tokens: countSchema,
    accepted_prediction_tokens: countSchema,
    rejected_prediction_tokens: countSchema,
  },
);

/** Schema of {@link ServerToolUseDetails}. */
const serverToolUseDetailsSchema = wireObject<ServerToolUseDetails>(
  {},
  { tool_calls_requested: countSchema, tool_calls_executed: countSchema, web_search_requests: countSchema },
);

/** Schema of {@link Usage}. */
export const usageSchema = wireObject<Usage>(
  { prompt_tokens: countSchema, completion_tokens: countSchema, total_tokens: countSchema },
  {
    cost: amount,
    is_byok: z.boolean(),
    estimated: z.boolean(),
    cost_details: costDetailsSchema,
    prompt_tokens_details: promptTokensDetails,
    completion_tokens_details: completionTokensDetails,
    cache_creation: wireObject<NonNullable<Usage['cache_creation']>>(
      {},
      { ephemeral_5m_input_tokens: countSchema, ephemeral_1h_input_tokens: countSchema },
    ),
    server_tool_use: wireObject<NonNullable<Usage['server_tool_use']>>(
      {},
      { web_search_requests: countSchema, web_fetch_requests: countSchema },
    ),
    server_tool_use_details: serverToolUseDetailsSchema,
    service_tier: z.string(),
    speed: z.string(),
    iterations: z.array(z.looseObject({ type: z.string() })),
  },
);

/** Schema of {@link EmbeddingUsage}. */
export const embeddingUsageSchema = wireObject<EmbeddingUsage>(
  { prompt_tokens: countSchema, total_tokens: countSchema },
  {
    cost: amount,
    is_byok: z.boolean(),
    estimated: z.boolean(),
    cost_details: costDetailsSchema,
    prompt_tokens_details: promptTokensDetails,
  },
);
