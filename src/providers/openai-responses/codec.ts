/** The codec of OpenAI's Responses API. */
import type { Codec, StreamDecoder, SseEvent } from '../codec.ts';
import type { VendorAccepts } from '../../core/accepts.ts';
import { comparingResponses, withoutComparison } from '../cache-diagnostics.ts';
import { repairItems } from './repair-items.ts';
import { type VendorQuirks, differencesOf } from '../openai-compatible/vendor-quirks.ts';
import { foldAccepts } from '../fold-accepts.ts';
import { encodeChat } from './encode-chat.ts';
import { OWN_FORMATS } from './encode-items.ts';
import {
  callOf,
  responseContext,
  decodeResponse,
  decodeResponsesUsage,
  responseFacts,
  failureInResponse,
  finishOf,
  NAMELESS,
  otherDelta,
  type ResponseContext,
  responseText,
  thoughtOf,
} from './decode-response.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import { parametersLackedBy } from '../../catalog/lacked-parameters.ts';
import type { ParameterName } from '../../catalog/model.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import { INPUT_COUNT } from '../openai-compatible/count-input.ts';
import { type EncodedBody, encodeTier } from '../openai-compatible/encode-request.ts';
import { escapeText } from '../../core/stream/pieces.ts';
import type { ResultToolCall } from '../../protocol/chat-result.ts';
import { eventsOfResponse } from './events-of-response.ts';
import type { Delta, ToolCallDelta } from '../../protocol/chunk.ts';
import { decodeLogprobs } from '../openai-compatible/decode-result.ts';
import { failureInBand, parseJson } from '../upstream-failure.ts';
import { withAcceptedEffort } from '../accepted-effort.ts';
import * as read from '../../platform/json.ts';
import { failure } from '../../contracts/failure.ts';
import type { StreamPiece } from '../../contracts/stream-piece.ts';

/** OpenAI's Responses wire, for callers who speak it themselves: their bodies go out, and answers stay as they are. */
export function responsesCodec(quirks: VendorQuirks): Codec {
  return {
    path: () => '/responses',
    encode: (request, endpoint) => encodeResponses(request, endpoint, quirks),
    decodeResult: (body, context, request) => decodeResponse(body, responseContext(request, context)),
    streamDecoder: (context, request) => new ResponsesStreamDecoder(responseContext(request, context)),
    tokenCount: quirks.countsInput === true ? INPUT_COUNT : undefined,
  };
}

/** The Responses wire for callers of any form, for models that are only there. */
export function chatOverResponsesCodec(quirks: VendorQuirks, vendor: VendorAccepts): Codec {
  const variant = { quirks, acceptsOf: foldAccepts(vendor, differencesOf(quirks)) };
  return {
    path: () => '/responses',
    encode: (request, endpoint, note) => encodeChat(request, endpoint, variant, note),
    decodeResult(body, context, request) {
      const decoded = decodeResponse(body, responseContext(request, context));
      if (!decoded.ok) return decoded;
      const { native: _, ...result } = decoded.result;
      return { ok: true, result };
    },
    streamDecoder: (context, request) => new ResponsesStreamDecoder(responseContext(request, context), 'translated'),
  };
}

/** Fields by the parameter that an endpoint must take for them. */
const PARAMETERS: ReadonlyMap<string, readonly ParameterName[]> = new Map<string, readonly ParameterName[]>([
  ['temperature', ['temperature']],
  ['top_p', ['top_p']],
  ['top_k', ['top_k']],
  ['frequency_penalty', ['frequency_penalty']],
  ['presence_penalty', ['presence_penalty']],
  ['top_logprobs', ['top_logprobs']],
  ['parallel_tool_calls', ['parallel_tool_calls']],
  ['max_output_tokens', ['max_tokens', 'max_completion_tokens']],
  ['reasoning', ['reasoning', 'reasoning_effort']],
]);

/** Fields of this API that only other routers know besides us. */
const EXTENSIONS: ReadonlySet<string> = new Set([
  ...parametersLackedBy('responses'),
  'modalities',
  'image_config',
  'cache_control',
]);

/**
 * Writes the caller's own body for an endpoint that speaks Responses. Nothing is stored there either, and the end user
 * is a stand-in; parameters that the endpoint does not take are left out as in the chat form.
 */
export function encodeResponses(request: NormalizedRequest, endpoint: Endpoint, quirks: VendorQuirks): EncodedBody {
  const { native, stream, endUser } = request;
  if (native === undefined) throw new RangeError('only a native request is sent as it is');
  const sent = withAcceptedEffort(native.body, 'reasoning', endpoint.acceptedEfforts);
  const { service_tier: _, stream_options: options, input, ...body } = sent;
  const kept = Object.entries(body).filter(
    ([name]) => (quirks.responsesExtensions === true || !EXTENSIONS.has(name)) && takes(name, endpoint, quirks),
  );
  const written = {
    ...Object.fromEntries(kept),
    model: endpoint.upstreamModel,
    input: Array.isArray(input) ? encodeItems(repairItems(input), quirks) : input,
    store: false,
    ...encodeTier(request, endpoint, quirks),
    ...(quirks.userField === 'none' ? {} : { [quirks.userField ?? 'user']: endUser }),
    ...(stream ? encodeStream(options, quirks) : { stream: false }),
  };
  return comparingResponses(written, request);
}

function takes(field: string, endpoint: Endpoint, quirks: VendorQuirks): boolean {
  const names = PARAMETERS.get(field);
  return (
    names === undefined ||
    names.some((name) => quirks.unsupported?.includes(name) !== true && endpoint.parameters?.has(name) !== false)
  );
}

function encodeStream(options: JsonValue | undefined, { padsChunks }: VendorQuirks): EncodedBody {
  const wanted: JsonObject = read.object(options);
  const all = { ...(padsChunks === true ? { include_obfuscation: false } : {}), ...wanted };
  return { stream: true, ...(Object.keys(all).length === 0 ? {} : { stream_options: all }) };
}

/**
 * Input items as a server of this wire takes them. What other providers or this router put into earlier answers is
 * taken out: strict servers refuse members they do not know, and reasoning that they cannot find or read.
 */
function encodeItems(items: readonly JsonValue[], quirks: VendorQuirks): readonly JsonValue[] {
  return items.filter(isJsonObject).flatMap((item) => encodeItem(item, quirks));
}

function encodeItem(item: JsonObject, { responsesExtensions }: VendorQuirks): readonly JsonObject[] {
  const { type } = item;
  if (typeof type === 'string' && /^(?:open)?router:/.test(type)) return [];
  // Made here: the server never ran this search, and what it found is in the text that follows.
  if (type === 'web_search_call' && item['tool_name'] != null) return [];
  if (type === 'reasoning') return responsesExtensions === true ? [item] : encodeReasoning(item);
  if (type !== undefined && type !== 'message') return [item];
  const { annotations: _, ...message } = item;
  return [message];
}

/** Nothing is stored, so reasoning that is not there in full cannot be found. */
function encodeReasoning({ format, signature: _, ...item }: JsonObject): readonly JsonObject[] {
  if (item['encrypted_content'] == null) return [];
  return format == null || OWN_FORMATS.has(format) ? [item] : [];
}

/** A call that the stream has told of. */
interface KnownCall {
  /** Position among the calls. */
  readonly index: number;
  hasArguments: boolean;
  isOver: boolean;
}

/**
 * Decodes the events of the Responses wire, and passes each on as it is beside what it means. Items are distinguished
 * by their ids or their positions: some servers change the former from event to event, others send the same of the
 * latter for all.
 */
export class ResponsesStreamDecoder implements StreamDecoder {
  readonly #context: ResponseContext;
  readonly #isNative: boolean;
  /** Calls by the id and by the position of their item. */
  readonly #calls = new Map<unknown, KnownCall>();
  #callCount = 0;
  /** Ids and positions of messages that have said something. */
  readonly #spoken = new Set<unknown>();
  /** Ids and positions of items that are over. */
  readonly #over = new Set<unknown>();
  #thoughts = 0;
  #ended = false;
  #closing = false;

  /** @param events - `native` where the client uses this API format, so that events are passed on. */
  constructor(context: ResponseContext, events: 'native' | 'translated' = 'native') {
    this.#context = context;
    this.#isNative = events === 'native';
  }

  event({ event, data }: SseEvent, pieces: StreamPiece[]): void {
    const text = data.trim();
    if (this.#ended || text === '' || text === '[DONE]') return;
    const value = parseJson(text);
    if (!isJsonObject(value)) {
      // An event that the end of the body cut off says nothing; what came before tells whether the response is
      // complete.
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
    if (this.#isNative) pieces.push({ type: 'native', event: type, data: this.#shownText(value, text) });
    this.#decode(type, value, pieces);
  }

  /** The event as its caller may see it. */
  #shownText(event: JsonObject, text: string): string {
    const { response } = event;
    if (this.#context.hidesComparison !== true || !isJsonObject(response)) return text;
    return JSON.stringify({ ...event, response: withoutComparison(response) });
  }

  closing(): void {
    this.#closing = true;
  }

  body(text: string, pieces: StreamPiece[]): void {
    const decoded = decodeResponse(text, this.#context);
    if (!decoded.ok) pieces.push({ type: 'failure', failure: decoded.failure });
    // Whoever asked for a stream gets the events that this response would have been.
    else
      for (const event of eventsOfResponse(decoded.result.native ?? {}))
        this.event({ data: JSON.stringify(event) }, pieces);
  }

  end(): void {
    // Nothing is held back: a response without its last event is not complete.
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
    const response = read.object(value['response']);
    const reason = failureInResponse({ status: 'failed', ...response }, this.#context);
    return { type: 'failure', failure: reason ?? failure('server', 'The provider could not finish its answer') };
  }

  #decode(type: string, value: JsonObject, pieces: StreamPiece[]): void {
    const delta = read.text(value['delta']) ?? '';
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
        return this.#arguments(this.#callAt(value), delta, pieces);
      case 'response.output_item.done':
        return this.#finish(value, pieces);
      case 'response.created':
        pieces.push(responseFacts(read.object(value['response'])));
        return;
      case 'response.completed':
      case 'response.incomplete':
        return this.#end(read.object(value['response']), pieces);
    }
  }

  #text(delta: string, { logprobs, item_id: id, output_index: place }: JsonObject, pieces: StreamPiece[]): void {
    if (delta !== '') this.#spoken.add(id ?? place).add(place ?? id);
    const likelihoods = decodeLogprobs({ content: logprobs });
    if (likelihoods !== undefined) {
      pieces.push({ type: 'delta', index: 0, delta: { content: delta }, logprobs: likelihoods });
    } else if (delta !== '') pieces.push(escapeText(delta));
  }

  #begin({ item, output_index: place }: JsonObject, pieces: StreamPiece[]): void {
    if (!isJsonObject(item)) return;
    // A call of a custom tool is told when it is over: half of its text is no JSON.
    const call = item['type'] === 'function_call' ? callOf(item, this.#context) : undefined;
    if (call === undefined || call.function.name === '') return;
    this.#emitCall(call, item['id'], place, pieces);
  }

  #emitCall(call: Omit<ResultToolCall, 'index'>, id: unknown, place: unknown, pieces: StreamPiece[]): KnownCall {
    const index = this.#callCount;
    this.#callCount += 1;
    const known = { index, hasArguments: call.function.arguments !== '', isOver: false };
    this.#calls.set(id ?? place, known).set(place ?? id, known);
    sayCall({ ...call, id: call.id || this.#context.newId(index), index }, pieces);
    return known;
  }

  #callAt({ item_id: id, output_index: place }: JsonObject): KnownCall | undefined {
    return this.#calls.get(id) ?? this.#calls.get(place);
  }

  #arguments(call: KnownCall | undefined, text: string, pieces: StreamPiece[]): void {
    if (call === undefined || text === '') return;
    call.hasArguments = true;
    sayCall({ index: call.index, function: { arguments: text } }, pieces);
  }

  #finish({ item, output_index: place }: JsonObject, pieces: StreamPiece[]): void {
    if (!isJsonObject(item)) return;
    const { type, id } = item;
    this.#over.add(id ?? place).add(place ?? id);
    if (type === 'message') return this.#finishMessage(item, place, pieces);
    if (type === 'reasoning') {
      const { details } = thoughtOf(item, this.#thoughts);
      this.#thoughts += 1;
      if (details.length > 0) say({ reasoning_details: details }, pieces);
      return;
    }
    const call = callOf(item, this.#context);
    if (call === undefined) return say(otherDelta(item, this.#context), pieces);
    const begun = this.#callAt({ item_id: id, output_index: place });
    if (begun === undefined || begun.isOver) {
      if (call.function.name === '') {
        pieces.push({ type: 'failure', failure: failure('bad_response', NAMELESS) });
        return;
      }
      this.#emitCall(call, id, place, pieces).isOver = true;
      return;
    }
    begun.isOver = true;
    if (!begun.hasArguments) this.#arguments(begun, call.function.arguments, pieces);
  }

  /** What no event has told before. */
  #finishMessage(item: JsonObject, place: unknown, pieces: StreamPiece[]): void {
    // Text of which it was not said where it belongs may be this.
    if ([item['id'], place, undefined].some((key) => this.#spoken.has(key))) return;
    const text = responseText(item);
    if (text !== '') pieces.push(escapeText(text));
  }

  #end(response: JsonObject, pieces: StreamPiece[]): void {
    this.#ended = true;
    pieces.push(responseFacts(response));
    // Some servers tell of an item only here.
    for (const [place, item] of read.list(response['output']).entries()) {
      if (!isJsonObject(item) || this.#over.has(item['id']) || this.#over.has(place)) continue;
      this.#finish({ item, output_index: place }, pieces);
    }
    const usage = decodeResponsesUsage(response['usage']);
    if (usage !== undefined) pieces.push({ type: 'usage', usage });
    pieces.push({ type: 'finish', index: 0, ...finishOf(response, this.#callCount) }, { type: 'end' });
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
