import { failure } from '../../core/fallback/failure.ts';
import { type StreamPiece, escapeText } from '../../core/stream/pieces.ts';
import { scatter } from '../../core/stream/scatter.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { isErrorBody } from '../error-shape.ts';
import type { StreamDecoder } from '../piece-stream.ts';
import type { SseEvent } from '../sse.ts';
import { TextFrames } from '../text-frames.ts';
import { type ErrorContext, failureInBand } from '../upstream-failure.ts';
import { decodeCitations, decodeContent, decodeLogprobs } from './decode-content.ts';
import { decodeResult } from './decode-result.ts';
import { decodeUsage } from './decode-usage.ts';
import type { Dialect } from './dialect.ts';
import { mapFinishReason } from './finish-reason.ts';
import { ToolCallIndexer } from './tool-call-indexer.ts';

/** What the decoder of one stream needs to know. */
export interface StreamContext extends ErrorContext {
  readonly dialect: Dialect;
  /** Beginning of ids for tool calls that came without one. */
  readonly idPrefix: string;
}

/** Choices beyond this are no answer to any request we send. */
const MAX_CHOICES = 128;

/**
 * Decodes the chunks of the chat completions wire, with all the ways in which servers deviate from it.
 * A frame that is alike to an earlier one except for its text is not parsed; see {@link TextFrames}.
 */
export class ChatStreamDecoder implements StreamDecoder {
  readonly #context: StreamContext;
  readonly #tools = new Map<number, ToolCallIndexer>();
  readonly #frames = new TextFrames('content', plainText);
  #facts = '';

  constructor(context: StreamContext) {
    this.#context = context;
  }

  event({ event, data }: SseEvent, pieces: StreamPiece[]): void {
    const known = this.#frames.recognize(data);
    if (known !== undefined) pieces.push(known);
    else this.#parse(data, event, pieces);
  }

  body(text: string, pieces: StreamPiece[]): void {
    const decoded = decodeResult(text, this.#context);
    if (decoded.ok) pieces.push(...scatter(decoded.result));
    else pieces.push({ type: 'failure', failure: decoded.failure });
  }

  end(pieces: StreamPiece[]): void {
    for (const index of this.#tools.keys()) this.#finishTools(index, pieces);
  }

  #parse(data: string, event: string | undefined, pieces: StreamPiece[]): void {
    const text = data.trim();
    if (text === '[DONE]') {
      pieces.push({ type: 'end' });
      return;
    }
    if (text === '') return;
    const chunk = parseObject(text);
    if (chunk === undefined) {
      pieces.push({ type: 'failure', failure: failure('bad_response', 'The provider sent a malformed event') });
    } else if (event === 'error' || isErrorBody(chunk) || hasError(chunk)) {
      pieces.push({ type: 'failure', failure: failureInBand(errorOf(chunk), this.#context) });
    } else {
      this.#chunk(chunk, data, pieces);
    }
  }

  #chunk(chunk: JsonObject, data: string, pieces: StreamPiece[]): void {
    const before = pieces.length;
    this.#readFacts(chunk, pieces);
    const choices = Array.isArray(chunk['choices']) ? chunk['choices'] : [];
    for (const choice of choices) if (isJsonObject(choice)) this.#choice(choice, pieces);
    const citations = decodeCitations(chunk['citations']);
    if (citations.length > 0) pieces.push({ type: 'delta', index: 0, delta: { annotations: citations } });
    const usage = decodeUsage(usageOf(chunk, choices), this.#context.dialect);
    if (usage !== undefined) pieces.push({ type: 'usage', usage });
    if (pieces.length === before + 1 && typeof pieces[before] === 'string') this.#frames.learn(data);
  }

  #choice(choice: JsonObject, pieces: StreamPiece[]): void {
    const index = choice['index'] ?? 0;
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= MAX_CHOICES) {
      pieces.push({
        type: 'failure',
        failure: failure('bad_response', 'The provider sent a choice with an impossible index'),
      });
      return;
    }
    const source = choice['delta'] ?? choice['message'];
    if (isJsonObject(source)) this.#delta(index, source, choice['logprobs'], pieces);
    const native = choice['finish_reason'];
    if (typeof native !== 'string' || native === '') return;
    this.#finishTools(index, pieces);
    pieces.push({ type: 'finish', index, reason: mapFinishReason(native), native });
  }

  #delta(index: number, source: JsonObject, rawLogprobs: unknown, pieces: StreamPiece[]): void {
    const calls = this.#indexer(index).read(source['tool_calls'] ?? legacyCall(source['function_call']));
    if (calls === undefined) {
      pieces.push({
        type: 'failure',
        failure: failure('bad_response', 'The provider sent an impossible number of tool calls'),
      });
      return;
    }
    const content = decodeContent(source);
    const logprobs = decodeLogprobs(rawLogprobs);
    const onlyText = content.content !== undefined && Object.keys(content).length === 1 && calls.length === 0;
    if (onlyText && index === 0 && logprobs === undefined) {
      if (content.content) pieces.push(escapeText(content.content));
      return;
    }
    const delta = calls.length > 0 ? { ...content, tool_calls: calls } : content;
    if (Object.keys(delta).length > 0 || logprobs !== undefined) pieces.push({ type: 'delta', index, delta, logprobs });
  }

  #readFacts(chunk: JsonObject, pieces: StreamPiece[]): void {
    const { id, system_fingerprint: fingerprint, service_tier: tier } = chunk;
    const key = `${textOf(id) ?? ''} ${textOf(fingerprint) ?? ''} ${textOf(tier) ?? ''}`;
    if (key === this.#facts || key === '  ') return;
    this.#facts = key;
    pieces.push({
      type: 'facts',
      upstreamId: textOf(id),
      systemFingerprint: textOf(fingerprint),
      serviceTier: textOf(tier),
    });
  }

  #indexer(choice: number): ToolCallIndexer {
    let indexer = this.#tools.get(choice);
    if (indexer === undefined) {
      indexer = new ToolCallIndexer((index) => `${this.#context.idPrefix}_${choice}_${index}`);
      this.#tools.set(choice, indexer);
    }
    return indexer;
  }

  #finishTools(index: number, pieces: StreamPiece[]): void {
    const owed = this.#tools.get(index)?.finish() ?? [];
    if (owed.length > 0) pieces.push({ type: 'delta', index, delta: { tool_calls: owed } });
  }
}

/** The text of a frame that is nothing but text, for {@link TextFrames}. */
function plainText(data: string): string | undefined {
  const chunk = parseObject(data);
  const choices = chunk?.['choices'];
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  const delta = isJsonObject(choice) ? choice['delta'] : undefined;
  return isJsonObject(delta) ? textOf(delta['content']) : undefined;
}

function parseObject(data: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(data);
    if (Array.isArray(value)) return isJsonObject(value[0]) ? value[0] : undefined;
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function hasError(chunk: JsonObject): boolean {
  return errorOf(chunk) !== chunk;
}

/** The error inside a chunk, where the known servers put it; the chunk itself where there is none. */
function errorOf(chunk: JsonObject): unknown {
  if (isJsonObject(chunk['error']) || typeof chunk['error'] === 'string') return { error: chunk['error'] };
  const groq = chunk['x_groq'];
  return isJsonObject(groq) && groq['error'] != null ? { error: groq['error'] } : chunk;
}

/** Usage stands at the top, in Groq's extension, or inside a choice. */
function usageOf(chunk: JsonObject, choices: readonly unknown[]): unknown {
  if (chunk['usage'] != null) return chunk['usage'];
  const groq = chunk['x_groq'];
  if (isJsonObject(groq) && groq['usage'] != null) return groq['usage'];
  const [first] = choices;
  return isJsonObject(first) ? first['usage'] : undefined;
}

/** The deprecated single call, as a list of one. */
function legacyCall(call: unknown): unknown {
  return isJsonObject(call) ? [{ index: 0, function: call }] : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
