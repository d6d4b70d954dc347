import type { Endpoint } from '../../catalog/endpoint.ts';
import type { NormalizedEmbeddingRequest } from '../../core/normalize/normalized-embedding-request.ts';
import type { EmbeddingItem } from '../../protocol/embedding-request.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { EncodeError } from '../encode-error.ts';
import type { ProviderOptions } from './call-options.ts';
import { type CallDefaults, withDefaults } from './encode-call.ts';
import { type AiSdkFamily, familyOf, optionsKey } from './families.ts';
import type { AiSdkEmbeddingModel } from './model.ts';

/** Options of one call of an embedding model. */
export interface EmbeddingCallOptions {
  readonly values: readonly string[];
  /** Version 4 only; before, it is an option of the provider. */
  readonly dimensions?: number;
  readonly providerOptions: ProviderOptions;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Writes a request for embeddings as the options of its calls: as many as the model's own limit makes of the inputs.
 *
 * @param most - Inputs that one call may have; undefined where there is no limit.
 * @throws {@link EncodeError} for inputs that are no texts, and for a length of vectors that the model cannot be told.
 */
export function encodeEmbeddingCalls(
  request: NormalizedEmbeddingRequest,
  { parameters }: Endpoint,
  model: AiSdkEmbeddingModel,
  most: number | undefined,
  defaults: CallDefaults = {},
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
  const size = most ?? values.length;
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
  throw new EncodeError('dimensions cannot be said to this model: leave it out, or declare a model of AI SDK 7');
}

function typeOption(inputType: string | undefined, { embeddings }: AiSdkFamily): JsonObject {
  if (inputType === undefined || embeddings?.inputType === undefined) return {};
  return { [embeddings.inputType]: embeddings.inputTypes?.(inputType) ?? inputType };
}
