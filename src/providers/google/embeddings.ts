/** The codec of Google's native embeddings. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { ContentPart } from '../../protocol/content-part.ts';
import type { EmbeddingItem } from '../../protocol/embedding.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import {
  badEmbeddings,
  type DecodedEmbeddings,
  type EmbeddingCodec,
  type EncodedEmbeddingRequest,
} from '../embedding-codec.ts';
import { parseDataUrl } from '../../platform/data-url.ts';
import * as read from '../../platform/json.ts';
import { EncodeError } from '../codec.ts';
import { isErrorBody } from '../error-shape.ts';
import { type ErrorContext, failureInBand, readJsonAnswer } from '../upstream-failure.ts';
import { modelPath } from './wire.ts';
import type { NormalizedEmbeddingRequest } from '../../contracts/request.ts';
import type { ReportedUsage } from '../../contracts/stream-piece.ts';

/** Inputs that one call may have. */
const MAX_INPUTS = 100;

/** Google's tasks by the words that other providers use for them. Google's own words are passed on. */
const TASKS: Readonly<Record<string, string>> = {
  query: 'RETRIEVAL_QUERY',
  search_query: 'RETRIEVAL_QUERY',
  document: 'RETRIEVAL_DOCUMENT',
  passage: 'RETRIEVAL_DOCUMENT',
  search_document: 'RETRIEVAL_DOCUMENT',
  classification: 'CLASSIFICATION',
  clustering: 'CLUSTERING',
};

/** Google's task for a type of input, however it is called. */
export function googleTask(inputType: string): string {
  return TASKS[inputType.toLowerCase()] ?? inputType;
}

/** Google's own embeddings wire: `batchEmbedContents` of the Gemini API. */
export function googleEmbeddings(): EmbeddingCodec {
  return { encode, decode };
}

/**
 * The embeddings of Vertex AI, which has two methods: `embedContent` with one input for newer models of Gemini and for open
 * models of its own servers, `predict` with texts for all others (cloud.google.com/vertex-ai/generative-ai/docs/
 * model-reference/text-embeddings-api, the rule of googleapis/js-genai, 2026-11).
 */
export function vertexEmbeddings(): EmbeddingCodec {
  return { encode: encodeForVertex, decode: decodeOfVertex };
}

/** Texts that one `predict` may have. */
const MAX_TEXTS = 250;

function encodeForVertex(
  { inputs, dimensions, inputType, extra }: NormalizedEmbeddingRequest,
  { upstreamModel }: Endpoint,
): readonly EncodedEmbeddingRequest[] {
  const model = modelPath(upstreamModel);
  const task = inputType === undefined ? undefined : googleTask(inputType);
  const size = dimensions === undefined ? {} : { outputDimensionality: dimensions };
  if (/gemini(?!-embedding-001)|maas/.test(upstreamModel)) {
    const config = { ...size, ...(task === undefined ? {} : { taskType: task }) };
    return inputs.map((input, index) => ({
      path: `/${model}:embedContent`,
      body: {
        ...extra,
        content: { role: 'user', parts: partsOf(input, `input[${index}]`) },
        ...(Object.keys(config).length === 0 ? {} : { embedContentConfig: config }),
      },
      inputs: 1,
    }));
  }
  const instances = inputs.map((input, index) => ({
    content: textOf(input, `input[${index}]`),
    ...(task === undefined ? {} : { task_type: task }),
  }));
  const most = upstreamModel.includes('gemini-embedding') ? 1 : MAX_TEXTS;
  return Array.from({ length: Math.ceil(instances.length / most) }, (_, call) => {
    const some = instances.slice(call * most, (call + 1) * most);
    return { path: `/${model}:predict`, body: { ...extra, instances: some, parameters: size }, inputs: some.length };
  });
}

function textOf(input: EmbeddingItem, path: string): string {
  if (typeof input === 'string') return input;
  const parts = partsOf(input, path);
  const texts = parts.flatMap(({ text }) => (typeof text === 'string' ? [text] : []));
  if (texts.length === parts.length) return texts.join('');
  throw new EncodeError(`${path} must be text, because this model of Vertex AI takes nothing else`);
}

function decodeOfVertex(body: string, context: ErrorContext): DecodedEmbeddings {
  const answer = readJsonAnswer(body, 'embeddings');
  if (!answer.ok) return answer;
  if (isErrorBody(answer.value)) return { ok: false, failure: failureInBand(answer.value, context) };
  const { predictions, embedding, usageMetadata } = answer.value;
  if (embedding !== undefined) return vectorsOf([embedding], usageOf(usageMetadata));
  if (!Array.isArray(predictions)) return badEmbeddings('The provider sent an answer without embeddings');
  const embeddings = (predictions as readonly unknown[]).map((one) =>
    isJsonObject(one) ? one['embeddings'] : undefined,
  );
  const counts = embeddings.map((one) => read.number(read.object(read.object(one)['statistics'])['token_count']));
  const tokens = counts.reduce((sum, count) => (sum === undefined || count === undefined ? undefined : sum + count), 0);
  return vectorsOf(embeddings, usageOf({ promptTokenCount: tokens }));
}

function encode(request: NormalizedEmbeddingRequest, { upstreamModel }: Endpoint): readonly EncodedEmbeddingRequest[] {
  const { inputs, dimensions, inputType, extra } = request;
  const model = modelPath(upstreamModel);
  const requests = inputs.map((input, index) => ({
    model,
    content: { role: 'user', parts: partsOf(input, `input[${index}]`) },
    ...(dimensions === undefined ? {} : { outputDimensionality: dimensions }),
    ...(inputType === undefined ? {} : { taskType: googleTask(inputType) }),
  }));
  return Array.from({ length: Math.ceil(requests.length / MAX_INPUTS) }, (_, call) => {
    const some = requests.slice(call * MAX_INPUTS, (call + 1) * MAX_INPUTS);
    return { path: `/${model}:batchEmbedContents`, body: { ...extra, requests: some }, inputs: some.length };
  });
}

function partsOf(input: EmbeddingItem, path: string): readonly JsonObject[] {
  if (typeof input === 'string') return [{ text: input }];
  if (!('content' in input)) throw new EncodeError(`${path} is a list of tokens, but Google takes text only`);
  return input.content.map((part, index) => partOf(part, `${path}.content[${index}]`));
}

function partOf(part: ContentPart, path: string): JsonObject {
  switch (part.type) {
    case 'text':
      return { text: part.text };
    case 'image_url':
      return inlineData(part.image_url.url, path);
    case 'input_audio':
      return { inlineData: { mimeType: `audio/${part.input_audio.format}`, data: part.input_audio.data } };
    case 'video_url':
    case 'input_video':
      return inlineData(part.video_url.url, path);
    case 'file':
      return inlineData(part.file.file_data ?? '', path);
  }
}

/** Data behind a data URL: Google fetches nothing for embeddings. */
function inlineData(url: string, path: string): JsonObject {
  const parsed = /^data:/i.test(url.slice(0, 5)) ? parseDataUrl(url) : undefined;
  if (parsed?.isBase64 === true) return { inlineData: { mimeType: parsed.mediaType, data: parsed.data } };
  throw new EncodeError(`${path} must be a data URL in base64, because Google fetches no addresses for embeddings`);
}

function decode(body: string, context: ErrorContext): DecodedEmbeddings {
  const answer = readJsonAnswer(body, 'embeddings');
  if (!answer.ok) return answer;
  if (isErrorBody(answer.value)) return { ok: false, failure: failureInBand(answer.value, context) };
  const { embeddings, usageMetadata } = answer.value;
  if (!Array.isArray(embeddings)) return badEmbeddings('The provider sent an answer without embeddings');
  return vectorsOf(embeddings, usageOf(usageMetadata));
}

function vectorsOf(embeddings: readonly unknown[], usage: ReportedUsage | undefined): DecodedEmbeddings {
  const vectors: (readonly number[])[] = [];
  for (const embedding of embeddings) {
    const values = isJsonObject(embedding) ? embedding['values'] : undefined;
    if (!Array.isArray(values)) return badEmbeddings('The provider sent a broken embedding');
    vectors.push(values as readonly number[]);
  }
  return { ok: true, result: { vectors, usage } };
}

/** Only newer models count what they read. */
function usageOf(metadata: unknown): ReportedUsage | undefined {
  const tokens = isJsonObject(metadata) ? metadata['promptTokenCount'] : undefined;
  if (typeof tokens !== 'number' || !Number.isSafeInteger(tokens) || tokens < 0) return undefined;
  return { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens };
}
