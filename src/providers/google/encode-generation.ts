/** Writes `generationConfig` for Gemini. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { ParameterName } from '../../catalog/model.ts';
import type { AcceptedReasoning, Accepts } from '../../core/accepts.ts';
import { toolArgumentsSchema } from '../../core/schema/rewrite-schema.ts';
import type { NormalizedRequest, ReasoningRequest } from '../../contracts/request.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { EFFORT_SHARES, type EffortShares, EncodeError } from '../codec.ts';
import { limited, nearest, type Note, rewritten } from '../adjustments.ts';
import { type Takes, takesLimit, takesReasoning } from '../taken-parameters.ts';
import type { ReasoningEffort } from '../../protocol/reasoning.ts';
import { nearestEffort, reasoningOnly } from '../accepted-effort.ts';
import * as read from '../../platform/json.ts';

/** What decides how `generationConfig` is written. */
interface GenerationContext {
  readonly accepts: Accepts;
  readonly takes: Takes;
  readonly note: Note;
  /** False: a form of the answer cannot be demanded, because the request offers tools. */
  readonly formatAllowed: boolean;
}

/** Parameters that only change their name. */
const RENAMED: readonly (readonly [ours: ParameterName, theirs: string])[] = [
  ['temperature', 'temperature'],
  ['top_p', 'topP'],
  ['stop', 'stopSequences'],
  ['frequency_penalty', 'frequencyPenalty'],
  ['presence_penalty', 'presencePenalty'],
];

/** Seeds are 32 bits at Google. */
const SEEDS = 2 ** 31;

/** Writes `generationConfig`. */
export function encodeGeneration(
  request: NormalizedRequest,
  endpoint: Endpoint,
  context: GenerationContext,
): Readonly<Record<string, unknown>> {
  const { parameters, reasoning } = request;
  const limit = parameters.max_completion_tokens;
  const thinkingConfig = takesReasoning(context.takes)
    ? reasoning && encodeThinking(reasoning, limit, effortFor(reasoning, endpoint), context)
    : undefined;
  return {
    ...ownGenerationConfig(request),
    ...encodeSampling(request, context),
    ...encodeFormat(request, context),
    ...(thinkingConfig === undefined ? {} : { thinkingConfig }),
    ...encodeOutput(request),
  };
}

/** The caller's own settings that this contract does not know; those that it knows are written over them. */
function ownGenerationConfig({ extra }: NormalizedRequest): JsonObject {
  const own = extra['generationConfig'] ?? extra['generation_config'];
  return read.object(own);
}

function encodeSampling({ parameters }: NormalizedRequest, { takes }: GenerationContext): Record<string, unknown> {
  const values = parameters as Readonly<Record<string, unknown>>;
  const encoded: Record<string, unknown> = {};
  const limit = parameters.max_completion_tokens;
  if (limit !== undefined && takesLimit(takes)) encoded['maxOutputTokens'] = limit;
  for (const [ours, theirs] of RENAMED) if (values[ours] !== undefined && takes(ours)) encoded[theirs] = values[ours];
  // Zero switches it off elsewhere, and is refused here.
  if (parameters.top_k !== undefined && parameters.top_k > 0 && takes('top_k')) encoded['topK'] = parameters.top_k;
  if (parameters.seed !== undefined && takes('seed')) encoded['seed'] = parameters.seed % SEEDS;
  if (parameters.logprobs === true && takes('logprobs')) {
    encoded['responseLogprobs'] = true;
    if (parameters.top_logprobs !== undefined) encoded['logprobs'] = parameters.top_logprobs;
  }
  return encoded;
}

function encodeFormat(
  { responseFormat: format }: NormalizedRequest,
  { accepts, takes, note, formatAllowed }: GenerationContext,
): object {
  if (!formatAllowed) {
    if (format !== undefined && format.type !== 'text')
      note('response_format was left out, because the model has tools');
    return {};
  }
  const json = { responseMimeType: 'application/json' };
  if (format?.type === 'json_schema' && takes('structured_outputs')) {
    const { schema } = format.json_schema;
    if (schema == null) return json;
    const written = toolArgumentsSchema(schema, accepts.schemas.looseFormats);
    if (written !== schema) note(rewritten(['response_format']));
    return { ...json, responseJsonSchema: written };
  }
  const isJson = format?.type === 'json_schema' || format?.type === 'json_object';
  return isJson && takes('response_format') ? json : {};
}

function encodeOutput({ outputModalities, audio, imageConfig }: NormalizedRequest): object {
  const others = outputModalities?.filter((modality) => modality !== 'text') ?? [];
  // A model that speaks gives nothing but sound.
  const modalities = others.includes('audio') ? ['audio'] : (outputModalities ?? []);
  return {
    ...(others.length > 0 ? { responseModalities: modalities.map((modality) => modality.toUpperCase()) } : {}),
    ...(others.includes('audio') ? encodeSpeech(audio) : {}),
    ...encodeImageConfig(imageConfig),
  };
}

/**
 * The voice of spoken answers.
 *
 * @throws {@link EncodeError} for another format than `pcm16`, which is what Google's models give.
 */
function encodeSpeech(audio: JsonObject | undefined): object {
  const { format, voice } = audio ?? {};
  if (format !== undefined && format !== 'pcm16') {
    throw new EncodeError("audio.format must be 'pcm16' for this model: Google returns audio in no other format");
  }
  if (typeof voice !== 'string') return {};
  return { speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: voice } } } };
}

function encodeImageConfig(config: JsonObject | undefined): object {
  if (!isJsonObject(config)) return {};
  const aspectRatio = config['aspect_ratio'] ?? config['aspectRatio'];
  const imageSize = config['image_size'] ?? config['imageSize'];
  const encoded = {
    ...(aspectRatio === undefined ? {} : { aspectRatio }),
    ...(imageSize === undefined ? {} : { imageSize }),
  };
  return Object.keys(encoded).length > 0 ? { imageConfig: encoded } : {};
}

/** Tokens that the models of a budget can write at most; efforts are shares of them. */
const MOST_TOKENS = 65_536;
const SHARES: EffortShares = { minimal: 0.02, low: 0.1, medium: 0.3, high: 0.6, xhigh: 0.9, max: 0.95 };

/** `thinkingConfig`: a level or a budget, never both, and whether the thoughts are shown. */
interface ThinkingConfig {
  readonly includeThoughts?: boolean | undefined;
  readonly thinkingLevel?: string | undefined;
  readonly thinkingBudget?: number | undefined;
}

/**
 * Writes the reasoning options in the way of the model's family; undefined where there is nothing to say.
 *
 * @param limit - The caller's limit of tokens. A budget stays below it, so that something is left for the answer.
 */
function encodeThinking(
  reasoning: ReasoningRequest,
  limit: number | undefined,
  effort: ReasoningEffort | undefined,
  { accepts: { reasoning: accepts }, note }: GenerationContext,
): ThinkingConfig | undefined {
  if (accepts.control === 'none') {
    if (reasoning.effort !== undefined && reasoning.effort !== 'none') note(nearest('reasoning_effort', undefined));
    return undefined;
  }
  const shown = effort === 'none' || reasoning.exclude ? {} : { includeThoughts: true };
  const config: ThinkingConfig = { ...shown, ...amount(effort, reasoning.maxTokens, limit, accepts) };
  const { effort: wanted } = reasoning;
  const { thinkingLevel: level, thinkingBudget: budget } = config;
  if (wanted !== undefined && level !== undefined && level !== wanted) note(nearest('reasoning_effort', level));
  if (wanted === 'none' && budget !== undefined && budget > 0) note(limited('reasoning.max_tokens', budget));
  return Object.keys(config).length > 0 ? config : undefined;
}

/** Efforts that the program declared for an endpoint count before those of the family. */
function effortFor({ effort }: ReasoningRequest, { reasoning }: Endpoint): ReasoningEffort | undefined {
  if (effort === undefined || reasoning?.efforts === undefined) return effort;
  return nearestEffort(effort, reasoning.mandatory === true ? reasoningOnly(reasoning.efforts) : reasoning.efforts);
}

function amount(
  effort: ReasoningEffort | undefined,
  budget: number | undefined,
  limit: number | undefined,
  { budget: bounds, efforts, off }: AcceptedReasoning,
): ThinkingConfig {
  if (bounds === undefined) {
    const wanted = effort ?? effortOfBudget(budget);
    return wanted === undefined ? {} : { thinkingLevel: nearestEffort(wanted, reasoningOnly(efforts)) };
  }
  if (effort === 'none') return { thinkingBudget: off === 'disabled' ? 0 : bounds.least };
  const wanted = budget ?? budgetOfEffort(effort, limit);
  if (wanted === undefined) return {};
  const most = Math.min(bounds.most, limit === undefined ? bounds.most : limit - 1);
  return { thinkingBudget: Math.max(bounds.least, Math.min(Math.round(wanted), most)) };
}

function budgetOfEffort(
  effort: Exclude<ReasoningEffort, 'none'> | undefined,
  limit: number | undefined,
): number | undefined {
  if (effort === undefined) return undefined;
  // The caller's own limit counts thoughts too.
  return limit === undefined ? MOST_TOKENS * SHARES[effort] : limit * EFFORT_SHARES[effort];
}

/** The effort whose budget comes closest. */
function effortOfBudget(budget: number | undefined): ReasoningEffort | undefined {
  if (budget === undefined) return undefined;
  const efforts = Object.keys(SHARES) as (keyof EffortShares)[];
  const distance = (effort: keyof EffortShares): number => Math.abs(MOST_TOKENS * SHARES[effort] - budget);
  return efforts.toSorted((left, right) => distance(left) - distance(right))[0];
}
