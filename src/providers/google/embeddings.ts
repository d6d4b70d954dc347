import type { Endpoint } from '../../catalog/endpoint.ts';
import type { NormalizedEmbeddingRequest } from '../../core/normalize/normalized-embedding-request.ts';
import type { ReportedUsage } from '../../core/stream/pieces.ts';
import type { ContentPart } from '../../protocol/content-part.ts';
import type { EmbeddingItem } from '../../protocol/embedding-request.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import {
  type DecodedEmbeddings,
  type EmbeddingCodec,
  type EncodedEmbeddingRequest,
  badEmbeddings,
  cannotSay,
} from '../embedding-codec.ts';
import { isErrorBody } from '../error-shape.ts';
import { readJsonAnswer } from '../read-json-answer.ts';
import { type ErrorContext, failureInBand } from '../upstream-failure.ts';

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

/** Google's own embeddings wire: `batchEmbedContents` of the Gemini API. */
export function googleEmbeddings(): EmbeddingCodec {
  return { encode, decode };
}

function encode(request: NormalizedEmbeddingRequest, { upstreamModel }: Endpoint): EncodedEmbeddingRequest {
  const { inputs, dimensions, inputType, extra } = request;
  if (inputs.length > MAX_INPUTS) return cannotSay(`more than ${MAX_INPUTS} inputs at a time`);
  const model = modelPath(upstreamModel);
  const requests: JsonObject[] = [];
  for (const input of inputs) {
    const parts = partsOf(input);
    if (parts === undefined) return cannotSay('tokens, and no media but data URLs');
    requests.push({
      model,
      content: { role: 'user', parts },
      ...(dimensions === undefined ? {} : { outputDimensionality: dimensions }),
      ...(inputType === undefined ? {} : { taskType: TASKS[inputType.toLowerCase()] ?? inputType }),
    });
  }
  return {
    ok: true,
    path: `/${model}:batchEmbedContents`,
    body: { ...extra, requests },
  };
}

/** Where a model stands below the base address. Whatever a name holds, it leads to a model and nowhere else. */
function modelPath(upstreamModel: string): string {
  // The author's name is part of ids of ours, not of Google's.
  const name = upstreamModel.replace(/^google\//, '');
  const segments = name.split('/');
  const isPath = segments.length > 1 && segments.every((segment) => /[^.]/.test(segment));
  return isPath ? segments.map(encodeURIComponent).join('/') : `models/${encodeURIComponent(name)}`;
}

/** The parts of one input; undefined when one of them cannot be said. */
function partsOf(input: EmbeddingItem): readonly JsonObject[] | undefined {
  if (typeof input === 'string') return [{ text: input }];
  if (!('content' in input)) return undefined;
  const parts = input.content.map(partOf);
  return parts.every((part) => part !== undefined) ? parts : undefined;
}

function partOf(part: ContentPart): JsonObject | undefined {
  switch (part.type) {
    case 'text':
      return { text: part.text };
    case 'image_url':
      return inlineData(part.image_url.url);
    case 'input_audio':
      return { inlineData: { mimeType: `audio/${part.input_audio.format}`, data: part.input_audio.data } };
    case 'video_url':
    case 'input_video':
      return inlineData(part.video_url.url);
    case 'file':
      return part.file.file_data === undefined ? undefined : inlineData(part.file.file_data);
  }
}

/** Data behind a data URL; undefined for other addresses, which Google would not fetch. */
function inlineData(url: string): JsonObject | undefined {
  const comma = url.indexOf(',');
  const match = /^data:([^;,]+);base64$/i.exec(url.slice(0, Math.max(0, comma)));
  return match === null ? undefined : { inlineData: { mimeType: match[1], data: url.slice(comma + 1) } };
}

function decode(body: string, context: ErrorContext): DecodedEmbeddings {
  const answer = readJsonAnswer(body, 'embeddings');
  if (!answer.ok) return answer;
  if (isErrorBody(answer.value)) return { ok: false, failure: failureInBand(answer.value, context) };
  const { embeddings, usageMetadata } = answer.value;
  if (!Array.isArray(embeddings)) return badEmbeddings('The provider sent an answer without embeddings');
  const vectors: (readonly number[])[] = [];
  for (const embedding of embeddings as readonly unknown[]) {
    const values = isJsonObject(embedding) ? embedding['values'] : undefined;
    if (!Array.isArray(values)) return badEmbeddings('The provider sent a broken embedding');
    vectors.push(values as readonly number[]);
  }
  return { ok: true, result: { vectors, usage: usageOf(usageMetadata) } };
}

/** Only newer models count what they read. */
function usageOf(metadata: unknown): ReportedUsage | undefined {
  const tokens = isJsonObject(metadata) ? metadata['promptTokenCount'] : undefined;
  if (typeof tokens !== 'number' || !Number.isSafeInteger(tokens) || tokens < 0) return undefined;
  return { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens };
}
