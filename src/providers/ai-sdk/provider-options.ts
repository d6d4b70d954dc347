import type { Endpoint } from '../../catalog/endpoint.ts';
import type { ParameterName } from '../../catalog/model.ts';
import type { NormalizedRequest, RequestParameters } from '../../core/normalize/normalized-request.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import type { ReasoningEffort } from '../../protocol/reasoning.ts';
import { EFFORT_SHARES } from '../codec.ts';
import { effortOfBudget, nearestEffort } from '../openai-compatible/encode-request.ts';
import type { AiSdkFamily } from './families.ts';
import type { SpecVersion } from './model.ts';
import { tierToAsk } from '../wanted-tier.ts';

/** Says whether the endpoint takes a parameter. */
export type Takes = (name: ParameterName) => boolean;

/** What the options of a provider are written from. */
export interface OptionsContext {
  readonly request: NormalizedRequest;
  readonly endpoint: Endpoint;
  readonly family: AiSdkFamily;
  readonly version: SpecVersion;
  readonly takes: Takes;
}

/** Parameters that the interface has members for, or that {@link providerOptions} writes in ways of their own. */
const SAID_ELSEWHERE = new Set<keyof RequestParameters>([
  'temperature',
  'top_p',
  'top_k',
  'frequency_penalty',
  'presence_penalty',
  'max_completion_tokens',
  'seed',
  'stop',
  'parallel_tool_calls',
]);

/**
 * Everything that the interface has no member for, as options of the model's own provider. Fields that this contract
 * does not know are passed under the same key, for the provider to understand or to ignore.
 */
export function providerOptions(context: OptionsContext): JsonObject {
  const { request, family } = context;
  return {
    ...request.extra,
    ...renamed(context),
    ...tools(context),
    ...format(context),
    ...output(context),
    ...tier(context),
    ...family.user?.(request.endUser),
  };
}

/** The reasoning that was asked for: an option of its own in version 4, an option of the provider otherwise. */
export function reasoningOptions(context: OptionsContext): { effort?: ReasoningEffort; options: JsonObject } {
  const { request, endpoint, family, version, takes } = context;
  const { reasoning, parameters } = request;
  if (reasoning === undefined || (!takes('reasoning') && !takes('reasoning_effort'))) return { options: {} };
  const limit = parameters.max_completion_tokens ?? undefined;
  if (reasoning.effort === undefined && reasoning.maxTokens !== undefined && family.budget !== undefined) {
    return { options: merged(shown(context), family.budget(reasoning.maxTokens)) };
  }
  const wanted = reasoning.effort ?? effortOfBudget(reasoning.maxTokens, limit);
  if (wanted === undefined) return { options: shown(context) };
  const { efforts, mandatory } = endpoint.reasoning ?? {};
  const effort = nearestEffort(wanted, efforts, mandatory === true);
  const visible = effort === 'none' ? {} : shown(context);
  if (version === 'v4') return { effort, options: visible };
  if (family.effort !== undefined) return { options: merged(visible, family.effort(effort)) };
  const tokens = budgetOfEffort(effort, limit ?? endpoint.maxOutputTokens ?? USUAL_OUTPUT);
  return { options: merged(visible, family.budget?.(tokens) ?? {}) };
}

/** Output tokens of which a share goes to reasoning where nobody named a limit. */
const USUAL_OUTPUT = 32_000;
const LEAST_BUDGET = 1_024;
const MOST_BUDGET = 128_000;

function budgetOfEffort(effort: ReasoningEffort, limit: number): number {
  if (effort === 'none') return 0;
  return Math.min(MOST_BUDGET, Math.max(LEAST_BUDGET, Math.floor(limit * EFFORT_SHARES[effort])));
}

function shown({ request: { reasoning }, family }: OptionsContext): JsonObject {
  if (reasoning?.exclude !== false || family.showReasoning === undefined) return {};
  if (reasoning.summary === undefined || !('reasoningSummary' in family.showReasoning)) return family.showReasoning;
  return { reasoningSummary: reasoning.summary };
}

/** Joins options two levels deep. */
export function merged(left: JsonObject, right: JsonObject): JsonObject {
  const joined: Record<string, JsonValue | undefined> = { ...left };
  for (const [name, value] of Object.entries(right)) {
    const known = joined[name];
    joined[name] = isJsonObject(known) && isJsonObject(value) ? { ...known, ...value } : value;
  }
  return joined;
}

function renamed({ request, family, takes }: OptionsContext): JsonObject {
  const options: Record<string, JsonValue | undefined> = {};
  const set = (name: string, value: JsonValue): void => {
    const known = family.options?.[name];
    if (known !== undefined) options[known] = value;
    else if (family.passesOn === true) options[name] = value;
  };
  for (const [name, value] of Object.entries(request.parameters) as [keyof RequestParameters, JsonValue][]) {
    if (!SAID_ELSEWHERE.has(name) && takes(name)) set(name, value);
  }
  if (request.cache.key !== undefined) set('prompt_cache_key', request.cache.key);
  return { ...options, ...logprobs({ request, family, takes }) };
}

/** OpenAI's option is a switch and a number at once. */
function logprobs({ request, family, takes }: Pick<OptionsContext, 'request' | 'family' | 'takes'>): JsonObject {
  const { logprobs: wanted, top_logprobs: top } = request.parameters;
  if (family.signature !== 'openai' || wanted !== true || !takes('logprobs')) return {};
  return { logprobs: top !== undefined && takes('top_logprobs') ? top : true };
}

/** Servers refuse to be told how to call tools that they were not given. */
function tools({ request, family, takes }: OptionsContext): JsonObject {
  const { parallel_tool_calls: parallel } = request.parameters;
  if (parallel === undefined || request.tools.length === 0 || !takes('tools') || !takes('parallel_tool_calls')) {
    return {};
  }
  return family.parallelTools?.(parallel) ?? (family.passesOn === true ? { parallel_tool_calls: parallel } : {});
}

function format({ request: { responseFormat: wanted }, family, version, takes }: OptionsContext): JsonObject {
  if (wanted?.type === 'grammar' || wanted?.type === 'python') {
    return family.passesOn === true && takes('response_format') ? { response_format: { ...wanted } } : {};
  }
  const strict = wanted?.type === 'json_schema' ? wanted.json_schema.strict : undefined;
  // What earlier versions of the compatible package do not know, they pass on.
  const knowsStrict = family.passesOn === true ? version === 'v4' : family.strictSchemas === true;
  return strict == null || !knowsStrict || !takes('structured_outputs') ? {} : { strictJsonSchema: strict };
}

function output({ request: { outputModalities, audio, imageConfig }, family }: OptionsContext): JsonObject {
  const modalities = outputModalities?.some((modality) => modality !== 'text') ? outputModalities : undefined;
  if (family.signature === 'google') {
    const { aspect_ratio: aspectRatio, image_size: imageSize } = imageConfig ?? {};
    const image = {
      ...(aspectRatio === undefined ? {} : { aspectRatio }),
      ...(imageSize === undefined ? {} : { imageSize }),
    };
    return {
      ...(modalities === undefined ? {} : { responseModalities: modalities.map((one) => one.toUpperCase()) }),
      ...(Object.keys(image).length > 0 ? { imageConfig: image } : {}),
    };
  }
  if (family.passesOn !== true) return {};
  return {
    ...(modalities === undefined ? {} : { modalities }),
    ...(audio === undefined ? {} : { audio }),
    ...(imageConfig === undefined ? {} : { image_config: imageConfig }),
  };
}

/** A tier endpoint asks for its own tier; where nobody declared tiers, the provider decides about the wanted one. */
function tier({ request, endpoint, family }: OptionsContext): JsonObject {
  const wanted = tierToAsk(endpoint, request.serviceTier, endpoint.parameters === undefined);
  if (wanted === undefined) return {};
  if (family.passesOn === true) return { service_tier: wanted };
  const name = family.tiers?.[wanted];
  return name === undefined ? {} : { serviceTier: name };
}
