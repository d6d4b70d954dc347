import type { Endpoint } from '../../catalog/endpoint.ts';
import type { ParameterName } from '../../catalog/parameters.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { EncodeError } from '../encode-error.ts';
import { encodeThinking } from './encode-thinking.ts';
import type { ModelFamily } from './families.ts';
import { googleSchema } from './json-schema.ts';

/** Whether an endpoint takes a parameter; one that nobody declared may be taken. */
export type Takes = (name: ParameterName) => boolean;

/** What decides how `generationConfig` is written. */
export interface GenerationContext {
  readonly family: ModelFamily;
  readonly takes: Takes;
  readonly vertex: boolean;
  /** False: a form of the answer cannot be demanded, because the request offers tools. */
  readonly formatAllowed: boolean;
}

/** Parameters that only change their name. */
const RENAMED: readonly (readonly [ours: ParameterName, theirs: string])[] = [
  ['temperature', 'temperature'],
  ['top_p', 'topP'],
  ['stop', 'stopSequences'],
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
  const thinks = context.takes('reasoning') || context.takes('reasoning_effort');
  const thinkingConfig = thinks ? encodeThinking(reasoning, limit, endpoint, context.family) : undefined;
  return {
    ...ownGenerationConfig(request),
    ...encodeSampling(request, endpoint, context),
    ...encodeFormat(request, context),
    ...(thinkingConfig === undefined ? {} : { thinkingConfig }),
    ...encodeOutput(request),
  };
}

/** The caller's own settings that this contract does not know; those that it knows are written over them. */
function ownGenerationConfig({ extra }: NormalizedRequest): JsonObject {
  const own = extra['generationConfig'] ?? extra['generation_config'];
  return isJsonObject(own) ? own : {};
}

function encodeSampling(
  { parameters }: NormalizedRequest,
  endpoint: Endpoint,
  { family, takes, vertex }: GenerationContext,
): Record<string, unknown> {
  const values = parameters as Readonly<Record<string, unknown>>;
  const encoded: Record<string, unknown> = {};
  const limit = parameters.max_completion_tokens;
  if (limit !== undefined && (takes('max_tokens') || takes('max_completion_tokens')))
    encoded['maxOutputTokens'] = limit;
  for (const [ours, theirs] of RENAMED) if (values[ours] !== undefined && takes(ours)) encoded[theirs] = values[ours];
  // Zero switches it off elsewhere, and is refused here.
  if (parameters.top_k !== undefined && parameters.top_k > 0 && takes('top_k')) encoded['topK'] = parameters.top_k;
  if (parameters.seed !== undefined && takes('seed')) encoded['seed'] = parameters.seed % SEEDS;
  if (family.penalties || vertex) {
    for (const [ours, theirs] of PENALTIES)
      if (values[ours] !== undefined && takes(ours)) encoded[theirs] = values[ours];
  }
  // The Gemini API refuses them for most models, so somebody has to say that this one takes them.
  if (parameters.logprobs === true && (vertex ? takes('logprobs') : isKnownToTake(endpoint, 'logprobs'))) {
    encoded['responseLogprobs'] = true;
    if (parameters.top_logprobs !== undefined) encoded['logprobs'] = parameters.top_logprobs;
  }
  return encoded;
}

function isKnownToTake({ parameters, unknownParameters }: Endpoint, name: ParameterName): boolean {
  return parameters?.has(name) === true && unknownParameters?.has(name) !== true;
}

const PENALTIES: readonly (readonly [ours: ParameterName, theirs: string])[] = [
  ['frequency_penalty', 'frequencyPenalty'],
  ['presence_penalty', 'presencePenalty'],
];

function encodeFormat(
  { responseFormat: format }: NormalizedRequest,
  { takes, formatAllowed }: GenerationContext,
): object {
  if (!formatAllowed) return {};
  const json = { responseMimeType: 'application/json' };
  if (format?.type === 'json_schema' && takes('structured_outputs')) {
    const { schema } = format.json_schema;
    return schema == null ? json : { ...json, responseJsonSchema: googleSchema(schema) };
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
    throw new EncodeError("audio.format must be 'pcm16' for this model: Google gives sound in no other form");
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
