/** The codec of Google's native API. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { Codec, DecodedResult, StreamDecoder, SseEvent } from '../codec.ts';
import { callIdPrefix } from '../tool-ids.ts';
import { type ErrorContext, parseJson, parseObjects } from '../upstream-failure.ts';
import { type AnswerContext, AnswerReader } from './answer-reader.ts';
import { GOOGLE, VERTEX } from '../accepts/google.ts';
import { foldAccepts } from '../fold-accepts.ts';
import { encodeGenerateRequest } from './encode-request.ts';
import { SignatureMemory } from '../signed-parts.ts';
import { googleEmbeddings, vertexEmbeddings } from './embeddings.ts';
import { type GoogleSurface, modelPath } from './wire.ts';
import { piecesOf } from '../../core/stream/pieces.ts';
import { ResultCollector } from '../../core/stream/collect.ts';
import type { Choice } from '../../protocol/chat-result.ts';
import { failure } from '../../contracts/failure.ts';
import type { StreamPiece } from '../../contracts/stream-piece.ts';

/** Google's native API: `generateContent`. */
export function googleCodec(surface: GoogleSurface, safetySettings: readonly JsonObject[] | undefined): Codec {
  const memory = new SignatureMemory();
  const accepts = foldAccepts(surface.vertex ? VERTEX : GOOGLE);

  function answerContext(context: ErrorContext, request: NormalizedRequest): AnswerContext {
    return {
      ...context,
      request,
      idPrefix: callIdPrefix(request),
      remember: (callId, signature) => memory.remember(request.account.id, callId, signature),
    };
  }

  const encode: Codec['encode'] = (request, endpoint, note) => {
    const recall = (callId: string): string | undefined => memory.recall(request.account.id, callId);
    return encodeGenerateRequest(
      request,
      endpoint,
      { surface, safetySettings, recall, accepts: accepts(endpoint) },
      note,
    );
  };

  return {
    path: ({ stream }, { upstreamModel }) =>
      `/${modelPath(upstreamModel)}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    encode,
    tokenCount: {
      path: (_request, { upstreamModel }) => `/${modelPath(upstreamModel)}:countTokens`,
      encode: (request, endpoint) => countBody(encode(request, endpoint), endpoint, surface),
      decode: ({ totalTokens: inputTokens }) => (typeof inputTokens === 'number' ? { inputTokens } : undefined),
    },
    decodeResult: (body, context, request) => decodeGeneration(body, answerContext(context, request)),
    streamDecoder: (context, request) =>
      new GoogleStreamDecoder({ ...answerContext(context, request), streamed: true }),
    embeddings: surface.vertex ? vertexEmbeddings() : googleEmbeddings(),
  };
}

/** Vertex AI counts a prompt as it would be sent; the Gemini API wants it wrapped, with its model named inside. */
function countBody(
  body: Readonly<Record<string, unknown>>,
  { upstreamModel }: Endpoint,
  { vertex }: GoogleSurface,
): Readonly<Record<string, unknown>> {
  if (!vertex) return { generateContentRequest: { model: modelPath(upstreamModel), ...body } };
  const { contents, systemInstruction, tools, generationConfig } = body;
  return { contents, systemInstruction, tools, generationConfig };
}

/**
 * Decodes the events of `streamGenerateContent?alt=sse`. The wire has no end mark: a stream is complete when a
 * candidate said how it ended, and whatever follows is usage and signatures.
 */
export class GoogleStreamDecoder implements StreamDecoder {
  readonly #context: AnswerContext;
  readonly #reader: AnswerReader;
  #closing = false;

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#reader = new AnswerReader(context);
  }

  event({ event, data }: SseEvent, pieces: StreamPiece[]): void {
    const line = data.trim();
    // Proxies that speak another wire as well may add its end mark.
    if (line === '' || line === '[DONE]') return;
    const responses = parseObjects(line);
    if (responses === undefined) {
      // An event that the end of the body cut off is no surprise: what came before tells whether the response is
      // complete.
      if (this.#closing || (event !== undefined && event !== 'message' && event !== 'error')) return;
      pieces.push({ type: 'failure', failure: failure('bad_response', 'The provider sent a malformed event') });
      return;
    }
    for (const response of responses) {
      this.#reader.read(event === 'error' && !('error' in response) ? { error: response } : response, pieces);
    }
  }

  closing(): void {
    this.#closing = true;
  }

  body(body: string, pieces: StreamPiece[]): void {
    const decoded = decodeGeneration(body, { ...this.#context, streamed: false });
    if (decoded.ok) pieces.push(...piecesOf(decoded.result));
    else pieces.push({ type: 'failure', failure: decoded.failure });
  }

  end(): void {}
}

/**
 * Decodes a non-streaming response, or the array of answers that a stream without server-sent events is. A body that is
 * HTML, empty, not JSON, an error in disguise or without candidates is a failure, whatever status it came with.
 */
export function decodeGeneration(body: string, context: AnswerContext): DecodedResult {
  const trimmed = body.trim();
  if (trimmed === '') return bad('The provider sent an empty answer');
  if (trimmed.startsWith('<')) return bad('The provider sent a web page instead of an answer');
  const value = parseJson(trimmed);
  if (value === undefined) return bad('The provider sent an answer that is not valid JSON');
  const responses = (Array.isArray(value) ? value : [value]).filter(isJsonObject);
  const reader = new AnswerReader(context);
  const pieces: StreamPiece[] = [];
  for (const response of responses) reader.read(response, pieces);
  const broken = pieces.find((piece) => typeof piece === 'object' && piece.type === 'failure');
  if (typeof broken === 'object' && broken.type === 'failure') return { ok: false, failure: broken.failure };
  const collector = new ResultCollector();
  for (const piece of pieces) collector.add(piece);
  const { choices, ...rest } = collector.result();
  if (choices.length === 0) return bad('The provider sent an answer without candidates');
  return { ok: true, result: { ...rest, choices: choices.map((choice) => complete(choice, reader)) } };
}

/**
 * A non-streaming response has ended, also where it does not say how; one that was held back says nothing rather than
 * "".
 */
function complete(choice: Choice, reader: AnswerReader): Choice {
  const { anything, calls } = reader.saidBy(choice.index);
  const reason = choice.finish_reason ?? (calls ? 'tool_calls' : 'stop');
  const content = reason === 'content_filter' && !anything ? null : choice.message.content;
  return { ...choice, finish_reason: reason, message: { ...choice.message, content } };
}

function bad(message: string): DecodedResult {
  return { ok: false, failure: failure('bad_response', message) };
}
