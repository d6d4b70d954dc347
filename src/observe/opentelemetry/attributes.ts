/** The attributes of spans, by the semantic conventions for generative AI. */
import type { Attributes } from './api.ts';
import type { Usage } from '../../protocol/usage.ts';
import type { AttemptFacts, NumericParameter, RequestEvent, RequestFacts, StageCosts } from '../../contracts/events.ts';

/** Names of the semantic conventions for what callers may set. */
const PARAMETERS: Readonly<Record<NumericParameter, string>> = {
  temperature: 'gen_ai.request.temperature',
  top_p: 'gen_ai.request.top_p',
  top_k: 'gen_ai.request.top_k',
  frequency_penalty: 'gen_ai.request.frequency_penalty',
  presence_penalty: 'gen_ai.request.presence_penalty',
  max_completion_tokens: 'gen_ai.request.max_tokens',
  seed: 'gen_ai.request.seed',
};

/** What is known of a request when it begins. Its content is no part of it. */
export function requestAttributes({ request, parameters }: RequestEvent): Attributes {
  const attributes: Attributes = {
    'gen_ai.operation.name': request.operation,
    'gen_ai.request.model': request.requested,
    'gen_ai.response.id': request.id,
    'gen_ai.request.stream': request.stream,
    'gen_ai.conversation.id': request.session,
    'signalbox.account': request.account,
    'signalbox.parent_request': request.parent,
    'signalbox.mirror': request.mirror,
  };
  for (const [name, attribute] of Object.entries(PARAMETERS)) {
    attributes[attribute] = parameters[name as NumericParameter];
  }
  return attributes;
}

/** What is known of an upstream call when it begins. */
export function attemptAttributes({ request, attempt, hedge, provider, model, endpoint }: AttemptFacts): Attributes {
  return {
    'gen_ai.operation.name': request.operation,
    'gen_ai.provider.name': conventionalProvider(provider),
    'gen_ai.request.model': model,
    'gen_ai.request.stream': request.stream,
    'signalbox.request': request.id,
    'signalbox.attempt': attempt,
    'signalbox.hedge': hedge,
    'signalbox.endpoint': endpoint,
  };
}

/** What was used and what it cost, in US dollars. */
export function usageAttributes(usage: Usage, operation: RequestFacts['operation']): Attributes {
  const { prompt_tokens_details: prompt, completion_tokens_details: completion } = usage;
  return {
    'gen_ai.usage.input_tokens': usage.prompt_tokens,
    'gen_ai.usage.output_tokens': operation === 'chat' ? usage.completion_tokens : undefined,
    'gen_ai.usage.cache_read.input_tokens': prompt?.cached_tokens,
    'gen_ai.usage.cache_creation.input_tokens': prompt?.cache_write_tokens,
    'gen_ai.usage.reasoning.output_tokens': completion?.reasoning_tokens,
    'signalbox.cost_usd': usage.cost,
  };
}

/** What a hook or a tool took besides its time. */
export function stageAttributes({ serviceCost, modelCost, modelTokens }: StageCosts): Attributes {
  return {
    'signalbox.service_cost_usd': serviceCost,
    'signalbox.model_cost_usd': modelCost,
    'signalbox.model_tokens': modelTokens,
  };
}

/** Providers that the semantic conventions call otherwise than we do. */
const CONVENTIONAL: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
  xai: 'x_ai',
};

/** A provider as `gen_ai.provider.name` has it. */
export function conventionalProvider(slug: string): string {
  return Object.hasOwn(CONVENTIONAL, slug) ? (CONVENTIONAL[slug] ?? slug) : slug;
}
