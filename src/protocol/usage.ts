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
  /** Cache writes by lifetime, where the provider distinguishes them. */
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
