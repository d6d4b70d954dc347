import type { Annotation, FinishReason, Logprobs, OutputAudio, OutputImage, ToolCallExtra } from './chat-result.ts';
import type { ErrorDetail } from './error.ts';
import type { JsonValue } from './json.ts';
import type { RouterMetadata } from './metadata.ts';
import type { ReasoningDetail } from './reasoning.ts';

/** A fragment of a tool call. `id`, `type` and the name come with the first fragment of an index. */
export interface ToolCallDelta {
  readonly index: number;
  readonly id?: string;
  readonly type?: 'function';
  readonly function?: { readonly name?: string; readonly arguments?: string };
  /** What the vendor whose model made the call wants back with it. */
  readonly extra_content?: ToolCallExtra;
}

/** What a chunk adds to the message. */
export interface Delta {
  readonly role?: 'assistant';
  readonly content?: string | null;
  readonly refusal?: string | null;
  readonly reasoning?: string | null;
  readonly reasoning_details?: readonly ReasoningDetail[];
  readonly tool_calls?: readonly ToolCallDelta[];
  readonly audio?: OutputAudio;
  readonly images?: readonly OutputImage[];
  readonly annotations?: readonly Annotation[];
}

/** One choice of a chunk. `finish_reason` is null until that choice ends. */
export interface ChunkChoice {
  readonly index: number;
  readonly delta: Delta;
  readonly finish_reason: FinishReason | null;
  readonly native_finish_reason: string | null;
  readonly logprobs: Logprobs | null;
}

/**
 * Data of one server-sent event of a stream (contract: stream chunk; gaps 4.3, 6.3).
 * `id`, `created`, `model` and `provider` stay the same through a stream. The usage chunk, the last before `[DONE]`,
 * has no choices and carries `router_metadata` when the request asked for it.
 */
export interface ChatChunk {
  readonly id: string;
  readonly object: 'chat.completion.chunk';
  /** Unix seconds. */
  readonly created: number;
  readonly model: string;
  readonly provider?: string;
  readonly choices: readonly ChunkChoice[];
  /** Never null in chunks: clients refuse that. */
  readonly system_fingerprint?: string;
  readonly service_tier?: string | null;
  readonly usage?: Usage;
  readonly error?: ErrorDetail;
  readonly router_metadata?: RouterMetadata;
  /** The body that went to a provider, when `debug.echo_upstream_body` asked for it. */
  readonly debug?: { readonly echo_upstream_body: JsonValue };
}

/**
 * What an answer used and cost (contract: chat result; gaps 6.2). Counts are those of the provider's own tokenizer.
 * Members that nobody reported are absent, never zero.
 */
export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  /** US dollars charged. Absent when neither the provider reported a cost nor a price is known. */
  readonly cost?: number;
  /** True when the account's own provider key paid. */
  readonly is_byok?: boolean;
  /** True when the provider reported no usage and these counts are ours, from the text's length. */
  readonly estimated?: boolean;
  readonly cost_details?: CostDetails;
  readonly prompt_tokens_details?: PromptTokensDetails;
  readonly completion_tokens_details?: CompletionTokensDetails;
  /** Cache writes by lifetime, where the provider tells them apart. */
  readonly cache_creation?: {
    readonly ephemeral_5m_input_tokens?: number;
    readonly ephemeral_1h_input_tokens?: number;
  };
  readonly server_tool_use?: { readonly web_search_requests?: number; readonly web_fetch_requests?: number };
  readonly server_tool_use_details?: ServerToolUseDetails;
  /** In batches, the tier as the provider names it, for example `standard`. Of several calls only where all had the same. */
  readonly service_tier?: string;
  /** In batches, how fast the provider served, for example `standard`. Of several calls like `service_tier`. */
  readonly speed?: string;
  /** In batches, the rounds that the answer took. Of a whole batch the sums of those of each type. */
  readonly iterations?: readonly UsageIteration[];
}

/** Counts of a round of an answer that took several (contract: batch resource). */
export interface UsageIteration {
  readonly type: string;
  readonly [count: string]: unknown;
}

/** Parts of `prompt_tokens`. */
export interface PromptTokensDetails {
  readonly cached_tokens?: number;
  readonly cache_write_tokens?: number;
  readonly audio_tokens?: number;
  readonly video_tokens?: number;
  readonly file_tokens?: number;
  readonly image_tokens?: number;
}

/** Parts of `completion_tokens`. */
export interface CompletionTokensDetails {
  readonly reasoning_tokens?: number;
  readonly audio_tokens?: number;
  readonly image_tokens?: number;
  readonly accepted_prediction_tokens?: number;
  readonly rejected_prediction_tokens?: number;
}

/** US dollars, by what they were spent on. */
export interface CostDetails {
  readonly upstream_inference_cost?: number | null;
  readonly upstream_inference_prompt_cost?: number;
  readonly upstream_inference_completions_cost?: number;
  readonly server_tool_cost?: number;
  /**
   * What calls may have cost that were cancelled because another call of the request answered first. Beside `cost`, which
   * is that of the answer.
   */
  readonly given_up_cost?: number;
}

/** Calls of server tools in this request. */
export interface ServerToolUseDetails {
  readonly tool_calls_requested?: number;
  readonly tool_calls_executed?: number;
  readonly web_search_requests?: number;
}
