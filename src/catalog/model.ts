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
 * The request parameters that endpoints may or may not support (gaps 10, "supported_parameters vocabulary"), and who has no
 * words for each: vendors, with `local` for servers of one's own; `responses` for OpenAI's Responses API; and `messages` for
 * bodies of the Messages API, which have no field of that name, whatever says it there. A parameter that is added says here
 * who lacks it, and is in all that is written from this table.
 */
const LACKED_BY = {
  temperature: '',
  top_p: '',
  top_k: 'openai azure groq deepseek mistral xai responses',
  min_p: 'openai azure anthropic google groq deepseek mistral xai responses messages',
  top_a: 'openai azure anthropic google groq together fireworks deepinfra deepseek mistral xai responses messages',
  frequency_penalty: 'anthropic responses messages',
  presence_penalty: 'anthropic responses messages',
  repetition_penalty: 'openai azure anthropic google groq deepseek mistral xai responses messages',
  max_tokens: '',
  max_completion_tokens: 'messages',
  logit_bias: 'anthropic google groq deepseek mistral responses messages',
  logprobs: 'anthropic groq mistral messages',
  top_logprobs: 'anthropic groq mistral messages',
  prediction: 'anthropic google groq together deepinfra deepseek xai local responses messages',
  seed: 'anthropic deepseek responses messages',
  response_format: 'messages',
  structured_outputs: '',
  stop: 'responses messages',
  tools: '',
  tool_choice: '',
  parallel_tool_calls: 'google messages',
  include_reasoning: 'messages',
  reasoning: 'messages',
  reasoning_effort: 'messages',
  web_search_options: 'local messages',
  verbosity: 'google groq together fireworks deepinfra deepseek mistral xai local messages',
} as const;

/** The list that `require_parameters` checks against. */
export const SUPPORTED_PARAMETERS = Object.keys(LACKED_BY) as readonly (keyof typeof LACKED_BY)[];

/** Who may lack a parameter. */
type Lacking = (typeof LACKED_BY)[keyof typeof LACKED_BY] extends infer Row ? Names<Row> : never;

type Names<Row> = Row extends `${infer First} ${infer Rest}` ? First | Names<Rest> : Exclude<Row, ''>;

/** The parameters that a vendor or an API has no words for. */
export function parametersLackedBy(name: Lacking): readonly ParameterName[] {
  return SUPPORTED_PARAMETERS.filter((parameter) => LACKED_BY[parameter].split(' ').includes(name));
}

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
