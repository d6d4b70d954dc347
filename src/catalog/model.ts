import type { ModelInfo } from '../config/tables/model-info.ts';
import type { Endpoint } from './endpoint.ts';

export type { ModelInfo } from '../config/tables/model-info.ts';

/** A model and its info, under its id. */
export interface Model extends ModelInfo {
  readonly id: string;
}

/** What a request asks of a model. */
export type Operation = 'chat' | 'embeddings';

/**
 * Whether an endpoint may be asked for this, by its declaration; `unknown` when nobody declared what comes out of it.
 * An endpoint serves embeddings when it declares the output `embeddings`, and chat when it declares any other.
 */
export function serves({ outputModalities, canEmbed }: Endpoint, operation: Operation): 'yes' | 'no' | 'unknown' {
  if (operation === 'embeddings' && !canEmbed) return 'no';
  if (outputModalities === undefined) return 'unknown';
  const embeds = outputModalities.has('embeddings');
  const does = operation === 'embeddings' ? embeds : !embeds || outputModalities.size > 1;
  return does ? 'yes' : 'no';
}

/**
 * The endpoint as embeddings are asked of it. Where it may serve chat as well, its health is kept apart: a model that
 * refuses to make embeddings is no worse at chat.
 */
export function asEmbeddingEndpoint(endpoint: Endpoint): Endpoint {
  return serves(endpoint, 'chat') === 'no' ? endpoint : { ...endpoint, id: `${endpoint.id}/embeddings` };
}

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

/**
 * Tells whether a name from `order`, `only` or `ignore` means an endpoint (gaps 3.1).
 * A provider's slug or display name means all its endpoints except those of a service tier; `provider/ending` means
 * exactly the endpoint with that tag. Case does not matter.
 */
function selectsEndpoint(selector: string, endpoint: Endpoint): boolean {
  if (namesEndpoint(selector, endpoint)) return true;
  return endpoint.tier === 'default' && namesProvider(selector, endpoint);
}

/** True when a selector is the slug of exactly this endpoint, as in `openai/priority`. */
export function namesEndpoint(selector: string, { tag }: Endpoint): boolean {
  return selector.toLowerCase() === tag.toLowerCase();
}

/** True when a selector means the endpoint's provider as a whole, by slug or by display name. */
export function namesProvider(selector: string, { provider, providerName }: Endpoint): boolean {
  const wanted = selector.toLowerCase();
  return wanted === provider.toLowerCase() || wanted === providerName.toLowerCase();
}

/** Position of the first selector that means the endpoint, or -1. */
export function selectorIndex(selectors: readonly string[], endpoint: Endpoint): number {
  for (let index = 0; index < selectors.length; index += 1) {
    const selector = selectors[index];
    if (selector !== undefined && selectsEndpoint(selector, endpoint)) return index;
  }
  return -1;
}
