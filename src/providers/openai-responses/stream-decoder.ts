import { failure } from '../../core/fallback/failure.ts';
import { type StreamPiece, escapeText } from '../../core/stream/pieces.ts';
import { scatter } from '../../core/stream/scatter.ts';
import type { Delta, ToolCallDelta } from '../../protocol/chunk.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { decodeLogprobs } from '../openai-compatible/decode-content.ts';
import { parseJson } from '../parse-json.ts';
import type { StreamDecoder } from '../piece-stream.ts';
import type { SseEvent } from '../sse.ts';
import { type ErrorContext, failureInBand } from '../upstream-failure.ts';
import { callOf, otherDelta, thoughtOf } from './decode-items.ts';
import { decodeResponse, factsOf, failureOfResponse, finishOf } from './decode-response.ts';
import { decodeUsage } from './decode-usage.ts';

/** A call that the stream has told of. */
interface KnownCall {
  /** Position among the calls. */
  readonly index: number;
  hasArguments: boolean;
}

/** Decodes the events of the Responses wire, and passes each on as it is beside what it means. */
export class ResponsesStreamDecoder implements StreamDecoder {
  readonly #context: ErrorContext;
  /** Calls by the position of their item. */
  readonly #calls = new Map<unknown, KnownCall>();
  #thoughts = 0;
  #ended = false;
  #closing = false;

  constructor(context: ErrorContext) {
    this.#context = context;
  }

  event({ event, data }: SseEvent, pieces: StreamPiece[]): void {
    const text = data.trim();
    if (this.#ended || text === '' || text === '[DONE]') return;
    const value = parseJson(text);
    if (!isJsonObject(value)) {
      // An event that the end of the body cut off says nothing; what came before tells whether the answer is whole.
      if (this.#closing) return;
      pieces.push({ type: 'failure', failure: failure('bad_response', 'The provider sent a malformed event') });
      return;
    }
    const type = typeof value['type'] === 'string' ? value['type'] : (event ?? '');
    const problem = this.#problemOf(type, value);
    if (problem !== undefined) {
      this.#ended = true;
      pieces.push(problem);
      return;
    }
    pieces.push({ type: 'native', event: type, data: text });
    this.#decode(type, value, pieces);
  }

  closing(): void {
    this.#closing = true;
  }

  body(text: string, pieces: StreamPiece[]): void {
    const decoded = decodeResponse(text, this.#context);
    if (decoded.ok) pieces.push(...scatter(decoded.result));
    else pieces.push({ type: 'failure', failure: decoded.failure });
  }

  end(): void {
    // Nothing is held back: an answer without its last event is not whole.
  }

  /** Errors come as an event of their own, as the last state of the answer, or without any type. */
  #problemOf(type: string, value: JsonObject): StreamPiece | undefined {
    if (type === 'error' || type === 'response.error' || type === '') {
      return {
        type: 'failure',
        failure: failureInBand(
          { error: isJsonObject(value['error']) ? value['error'] : withoutType(value) },
          this.#context,
        ),
      };
    }
    if (type !== 'response.failed' && type !== 'response.cancelled') return undefined;
    const response = isJsonObject(value['response']) ? value['response'] : {};
    const reason = failureOfResponse({ status: 'failed', ...response }, this.#context);
    return { type: 'failure', failure: reason ?? failure('server', 'The provider could not finish its answer') };
  }

  #decode(type: string, value: JsonObject, pieces: StreamPiece[]): void {
    const delta = typeof value['delta'] === 'string' ? value['delta'] : '';
    switch (type) {
      case 'response.output_text.delta':
        return this.#text(delta, value, pieces);
      case 'response.refusal.delta':
        return say({ refusal: delta }, pieces);
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return say({ reasoning: delta }, pieces);
      case 'response.output_item.added':
        return this.#begin(value, pieces);
      case 'response.function_call_arguments.delta':
        return this.#arguments(value['output_index'], delta, pieces);
      case 'response.output_item.done':
        return this.#finish(value, pieces);
      case 'response.created':
        pieces.push(factsOf(isJsonObject(value['response']) ? value['response'] : {}));
        return;
      case 'response.completed':
      case 'response.incomplete':
        return this.#end(isJsonObject(value['response']) ? value['response'] : {}, pieces);
    }
  }

  #text(delta: string, { logprobs }: JsonObject, pieces: StreamPiece[]): void {
    const likelihoods = decodeLogprobs({ content: logprobs });
    if (likelihoods !== undefined) {
      pieces.push({ type: 'delta', index: 0, delta: { content: delta }, logprobs: likelihoods });
    } else if (delta !== '') pieces.push(escapeText(delta));
  }

  #begin({ item, output_index: place }: JsonObject, pieces: StreamPiece[]): void {
    if (!isJsonObject(item)) return;
    // A call of a custom tool is told when it is over: half of its text is no JSON.
    const call = item['type'] === 'function_call' ? callOf(item) : undefined;
    if (call === undefined) return;
    const known = { index: this.#calls.size, hasArguments: call.function.arguments !== '' };
    this.#calls.set(place, known);
    sayCall({ ...call, index: known.index }, pieces);
  }

  #arguments(place: unknown, text: string, pieces: StreamPiece[]): void {
    const call = this.#calls.get(place);
    if (call === undefined || text === '') return;
    call.hasArguments = true;
    sayCall({ index: call.index, function: { arguments: text } }, pieces);
  }

  #finish({ item, output_index: place }: JsonObject, pieces: StreamPiece[]): void {
    if (!isJsonObject(item)) return;
    if (item['type'] === 'reasoning') {
      const { details } = thoughtOf(item, this.#thoughts);
      this.#thoughts += 1;
      if (details.length > 0) say({ reasoning_details: details }, pieces);
      return;
    }
    const call = callOf(item);
    if (call === undefined) return say(otherDelta(item), pieces);
    const known = this.#calls.get(place);
    if (known === undefined) {
      const index = this.#calls.size;
      this.#calls.set(place, { index, hasArguments: true });
      sayCall({ ...call, index }, pieces);
    } else if (!known.hasArguments) this.#arguments(place, call.function.arguments, pieces);
  }

  #end(response: JsonObject, pieces: StreamPiece[]): void {
    this.#ended = true;
    pieces.push(factsOf(response));
    const usage = decodeUsage(response['usage']);
    if (usage !== undefined) pieces.push({ type: 'usage', usage });
    pieces.push({ type: 'finish', index: 0, ...finishOf(response, this.#calls.size > 0) }, { type: 'end' });
  }
}

function say(delta: Delta, pieces: StreamPiece[]): void {
  if (Object.values(delta).some((value) => value !== '')) pieces.push({ type: 'delta', index: 0, delta });
}

function sayCall(call: ToolCallDelta, pieces: StreamPiece[]): void {
  pieces.push({ type: 'delta', index: 0, delta: { tool_calls: [call] } });
}

function withoutType({ type: _, ...error }: JsonObject): JsonObject {
  return error;
}
