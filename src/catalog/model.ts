/** The vocabulary for models: operations, parameters, modalities and tool choices. */

export type { ModelInfo } from '../options/model-info.ts';

/** What a request asks of a model. */
export type Operation = 'chat' | 'embeddings';

/**
 * The request parameters that endpoints may or may not support (gaps 10, "supported_parameters vocabulary").
 * This is the list that `require_parameters` checks against. Who has no words for which is in `lacked-parameters.ts`.
 */
export const SUPPORTED_PARAMETERS = [
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'top_a',
  'frequency_penalty',
  'presence_penalty',
  'repetition_penalty',
  'max_tokens',
  'max_completion_tokens',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'prediction',
  'seed',
  'response_format',
  'structured_outputs',
  'stop',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'include_reasoning',
  'reasoning',
  'reasoning_effort',
  'web_search_options',
  'verbosity',
] as const;

/** The same for embeddings. */
export const EMBEDDING_PARAMETERS = ['dimensions', 'input_type'] as const;

/** Both. */
export const ALL_PARAMETERS = [...SUPPORTED_PARAMETERS, ...EMBEDDING_PARAMETERS] as const;

/** A parameter that endpoints may or may not support. */
export type ParameterName = (typeof ALL_PARAMETERS)[number];

/** What can go into or come out of a model. A model whose only output is `embeddings` is for `POST /embeddings` alone. */
export type Modality = 'text' | 'image' | 'audio' | 'video' | 'file' | 'embeddings';

/** Values of `tool_choice` that endpoints support one by one; `function` forces a named one. */
export type ToolChoiceKind = 'none' | 'auto' | 'required' | 'function';
