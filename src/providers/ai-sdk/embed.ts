/** Calls embedding models of the AI SDK. */
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { type EmbeddingsPart, joinEmbeddings } from '../embedding-codec.ts';
import type { EmbeddingCall } from '../../contracts/provider.ts';
import { type CallDefaults, withDefaults } from './encode-call.ts';
import type { AiSdkEmbeddingModel, ProviderOptions } from './model.ts';
import { judgeWarnings, type WarningSink } from './warnings.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { EmbeddingItem } from '../../protocol/embedding.ts';
import { EncodeError } from '../codec.ts';
import { type AiSdkFamily, familyOf, optionsKey } from './families.ts';
import type { EmbeddingReply } from '../../contracts/provider-reply.ts';
import { type AttemptFailure, failure } from '../../contracts/failure.ts';
import type { NormalizedEmbeddingRequest } from '../../contracts/request.ts';

/** What a call of an embedding model is made with, besides the request. */
interface EmbeddingContext {
  readonly signal: AbortSignal;
  readonly defaults: CallDefaults;
  readonly warnings: WarningSink;
}

/** Asks a model for the vectors of a request, in as many calls as its limit makes of it, one after the other. */
export async function embedWith(
  model: AiSdkEmbeddingModel,
  { request, endpoint, progress }: Pick<EmbeddingCall, 'request' | 'endpoint' | 'progress'>,
  { signal, defaults, warnings }: EmbeddingContext,
): Promise<EmbeddingReply> {
  const most: unknown = await model.maxEmbeddingsPerCall;
  const calls = encodeEmbeddingCalls(request, endpoint, {
    model,
    mostInputs: isLimit(most) ? most : undefined,
    defaults,
  });
  const parts: EmbeddingsPart[] = [];
  for (const { headers, ...options } of calls) {
    progress.sending(() => JSON.parse(JSON.stringify(options)));
    const all = { ...options, ...(headers === undefined ? {} : { headers }), abortSignal: signal };
    const answer: unknown = await model.doEmbed(all as never);
    const part = readAnswer(answer, options.values.length, warnings);
    if ('kind' in part) return { type: 'failed', failure: part };
    parts.push(part);
  }
  const joined = joinEmbeddings(parts);
  return 'vectors' in joined ? { type: 'embedded', result: joined } : { type: 'failed', failure: joined };
}

function readAnswer(answer: unknown, inputs: number, sink: WarningSink): EmbeddingsPart | AttemptFailure {
  if (!isJsonObject(answer)) return failure('bad_response', 'The model gave no answer');
  const { embeddings, usage, warnings, response } = answer;
  const refused = judgeWarnings(warnings, sink);
  if (refused !== undefined) return refused;
  if (!Array.isArray(embeddings) || !embeddings.every((vector) => Array.isArray(vector))) {
    return failure('bad_response', 'The model gave an answer without embeddings');
  }
  const vectors = inOrder(embeddings, isJsonObject(response) ? response['body'] : null);
  if (vectors === undefined) return failure('bad_response', 'The provider sent embeddings with invalid indexes');
  const tokens = isJsonObject(usage) ? usage['tokens'] : undefined;
  // A model that does not count says so with NaN.
  const counted = typeof tokens === 'number' && Number.isSafeInteger(tokens) && tokens >= 0;
  return {
    inputs,
    result: {
      vectors,
      usage: counted ? { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens } : undefined,
    },
  };
}

type Vector = readonly number[];

/**
 * Vectors by their indexes. The SDK takes them in the order in which they are in the answer of the provider, which need
 * not be that of the inputs.
 */
function inOrder(vectors: readonly Vector[], body: unknown): readonly Vector[] | undefined {
  const items = isJsonObject(body) && Array.isArray(body['data']) ? body['data'] : [];
  const indexes = items.map((item) => (isJsonObject(item) ? item['index'] : undefined));
  if (indexes.length !== vectors.length || indexes.every((index, place) => index === undefined || index === place)) {
    return vectors;
  }
  const ordered = vectors.map((_, place) => vectors[indexes.indexOf(place)]);
  return ordered.every((vector) => vector !== undefined) ? ordered : undefined;
}

/** Models without a limit say `undefined` or infinity. */
function isLimit(most: unknown): most is number {
  return typeof most === 'number' && Number.isSafeInteger(most) && most > 0;
}

/** Options of one call of an embedding model. */
interface EmbeddingCallOptions {
  readonly values: readonly string[];
  /** Version 4 only; before, it is an option of the provider. */
  readonly dimensions?: number;
  readonly providerOptions: ProviderOptions;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The model of the calls for a request, and what goes with each. */
interface CalledEmbeddingModel {
  readonly model: AiSdkEmbeddingModel;
  /** Inputs that one call may have; undefined where there is no limit. */
  readonly mostInputs: number | undefined;
  readonly defaults: CallDefaults;
}

/**
 * Writes a request for embeddings as the options of its calls: as many as the model's own limit makes of the inputs.
 *
 * @throws {@link EncodeError} for inputs that are no texts, and for a length of vectors that the model cannot be told.
 */
function encodeEmbeddingCalls(
  request: NormalizedEmbeddingRequest,
  { parameters }: Endpoint,
  { model, mostInputs, defaults }: CalledEmbeddingModel,
): readonly EmbeddingCallOptions[] {
  const { inputs, dimensions, extra, endUser } = request;
  const family = familyOf(model);
  const values = inputs.map((input, index) => textOf(input, `input[${index}]`));
  const hasMember = model.specificationVersion === 'v4';
  const own = {
    ...extra,
    ...(dimensions === undefined || hasMember ? {} : lengthOption(dimensions, family)),
    ...(parameters?.has('input_type') === false ? {} : typeOption(request.inputType, family)),
    ...family.user?.(endUser),
  };
  const options = {
    ...(dimensions !== undefined && hasMember ? { dimensions } : {}),
    providerOptions: withDefaults({ [optionsKey(model, family)]: own }, defaults.providerOptions),
    ...(defaults.headers === undefined ? {} : { headers: defaults.headers }),
  };
  const size = mostInputs ?? values.length;
  return Array.from({ length: Math.ceil(values.length / size) }, (_, call) => ({
    values: values.slice(call * size, (call + 1) * size),
    ...options,
  }));
}

function textOf(input: EmbeddingItem, path: string): string {
  if (typeof input === 'string') return input;
  if (!('content' in input)) throw new EncodeError(`${path} is a list of tokens, but this model takes text only`);
  const texts = input.content.map((part, index) => {
    if (part.type === 'text') return part.text;
    throw new EncodeError(`${path}.content[${index}] is of type ${part.type}, but this model takes text only`);
  });
  return texts.join('\n');
}

function lengthOption(dimensions: number, { embeddings }: AiSdkFamily): JsonObject {
  if (embeddings !== undefined) return { [embeddings.dimensions]: dimensions };
  throw new EncodeError('dimensions cannot be passed to this model: leave it out, or declare a model of AI SDK 7');
}

function typeOption(inputType: string | undefined, { embeddings }: AiSdkFamily): JsonObject {
  if (inputType === undefined || embeddings?.inputType === undefined) return {};
  return { [embeddings.inputType]: embeddings.inputTypes?.(inputType) ?? inputType };
}
