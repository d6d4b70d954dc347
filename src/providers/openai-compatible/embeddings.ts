/** The codec of OpenAI's embeddings. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import { decodeFloat32 } from '../../protocol/float32-base64.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { badEmbeddings, type DecodedEmbeddings, type EmbeddingCodec } from '../embedding-codec.ts';
import { type ErrorContext, failureInBand, readJsonAnswer } from '../upstream-failure.ts';
import { decodeUsage } from './decode-usage.ts';
import type { VendorQuirks } from './vendor-quirks.ts';
import { errorInside } from './decode-result.ts';
import type { NormalizedEmbeddingRequest } from '../../contracts/request.ts';

type Vector = Float32Array | readonly number[];

/** The embeddings API of OpenAI in one variant. */
export function embeddingsCodec(quirks: VendorQuirks): EmbeddingCodec {
  return {
    encode: (request, endpoint) => ({ path: '/embeddings', body: encode(request, endpoint, quirks) }),
    decode: (body, context) => decode(body, quirks, context),
  };
}

/**
 * Vectors are requested in base64 where the server is known to write it, whatever the client requests: it is a third of
 * the size of numbers and needs no parsing.
 */
function encode(
  request: NormalizedEmbeddingRequest,
  { upstreamModel, parameters }: Endpoint,
  { embeddings = {} }: VendorQuirks,
): Readonly<Record<string, unknown>> {
  const { inputs, dimensions, inputType, endUser, extra } = request;
  const takesType = parameters?.has('input_type') !== false;
  return {
    ...extra,
    model: upstreamModel,
    input: inputs,
    ...(embeddings.base64 === true ? { encoding_format: 'base64' } : {}),
    ...(dimensions === undefined ? {} : { [embeddings.dimensionsField ?? 'dimensions']: dimensions }),
    ...(inputType === undefined || !takesType ? {} : { input_type: inputType }),
    ...(embeddings.user === false ? {} : { user: endUser }),
  };
}

function decode(body: string, quirks: VendorQuirks, context: ErrorContext): DecodedEmbeddings {
  const answer = readJsonAnswer(body, 'embeddings');
  if (!answer.ok) return answer;
  const error = errorInside(answer.value);
  if (error !== undefined) return { ok: false, failure: failureInBand(error, context) };
  const { data, usage } = answer.value;
  if (!Array.isArray(data)) return badEmbeddings('The provider sent an answer without embeddings');
  const items: readonly unknown[] = data;
  const vectors: Vector[] = [];
  for (const [position, item] of items.entries()) {
    const vector = isJsonObject(item) ? vectorOf(item['embedding']) : undefined;
    if (!isJsonObject(item) || vector === undefined) return badEmbeddings('The provider sent a broken embedding');
    // In the order of indexes, not of arrival; a server that sends none means the order of the inputs.
    const index = item['index'] ?? position;
    if (typeof index !== 'number' || !isFree(vectors, index, items.length)) {
      return badEmbeddings('The provider sent embeddings with invalid indexes');
    }
    vectors[index] = vector;
  }
  return { ok: true, result: { vectors, usage: decodeUsage(countedOnce(usage), quirks) } };
}

/** Servers that do not know the format that was requested send the other one. */
function vectorOf(embedding: unknown): Vector | undefined {
  if (typeof embedding === 'string') return decodeFloat32(embedding);
  return Array.isArray(embedding) ? (embedding as readonly number[]) : undefined;
}

function isFree(vectors: readonly Vector[], index: number, count: number): boolean {
  return Number.isInteger(index) && index >= 0 && index < count && vectors[index] === undefined;
}

/** Some servers count a total only, which here is the same as the prompt. */
function countedOnce(usage: unknown): unknown {
  if (!isJsonObject(usage) || usage['prompt_tokens'] !== undefined) return usage;
  return { ...usage, prompt_tokens: usage['total_tokens'] } satisfies JsonObject;
}
