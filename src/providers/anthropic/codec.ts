/** The codec of Anthropic's Messages API. */
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { ProviderTokenCount } from '../../contracts/provider.ts';
import { type JsonObject, isJsonObject } from '../../protocol/json.ts';
import type { Codec, DecodedResult, StreamDecoder, SseEvent } from '../codec.ts';
import { callIdPrefix, originalIds, WORD_CHARACTERS } from '../tool-ids.ts';
import { type ErrorContext, failureInBand, parseJson } from '../upstream-failure.ts';
import { namesUpload } from './encode-content.ts';
import { comparingMessages, withoutDiagnostics } from '../cache-diagnostics.ts';
import { encodeMessagesRequest } from './encode-request.ts';
import { wireModelName } from './plan-thinking.ts';
import { mayForceFormat } from './plan-format.ts';
import { ANTHROPIC } from '../accepts/anthropic.ts';
import { foldAccepts } from '../fold-accepts.ts';
import { withAcceptedEffort } from '../accepted-effort.ts';
import * as read from '../../platform/json.ts';
import { ResultCollector } from '../../core/stream/collect.ts';
import { piecesOf, unescapeText } from '../../core/stream/pieces.ts';
import { isErrorBody } from '../error-shape.ts';
import { eventsOfMessage } from './events-of-message.ts';
import { MessageReader, type ReaderOptions } from './message-reader.ts';
import { TextFrames } from '../text-frames.ts';
import { type AttemptFailure, failure } from '../../contracts/failure.ts';
import type { StreamPiece } from '../../contracts/stream-piece.ts';

/** What the API wants to hear before it takes the ids of uploaded files. */
const FILES_BETA = 'files-api-2025-04-14';

const PATH = '/messages';

/**
 * The Messages API for callers with requests in the chat form.
 *
 * @param betas - Beta features of every request.
 */
export function messagesCodec(betas: readonly string[]): Codec {
  const accepts = foldAccepts(ANTHROPIC);
  return {
    path: () => PATH,
    encode: (request, endpoint, note) =>
      withAdditions(encodeMessagesRequest(request, endpoint, accepts(endpoint), note), request),
    tokenCount: {
      ...COUNT,
      encode: (request, endpoint) => counted(encodeMessagesRequest(request, endpoint, accepts(endpoint))),
    },
    headers: (request) => betaHeader([...betas, ...(request.anthropicBetas ?? []), ...neededBetas(request)]),
    decodeResult: (body, context, request) => decodeMessagesResult(body, contextOf(request, context)),
    streamDecoder: (context, request) => new MessagesStreamDecoder(contextOf(request, context)),
  };
}

/**
 * The Messages API for callers with requests in its own shape: their body goes out as it is, and the answer comes back
 * so.
 */
export function nativeMessagesCodec(betas: readonly string[]): Codec {
  return {
    path: () => PATH,
    tokenCount: {
      ...COUNT,
      encode: ({ native }, { upstreamModel }) => counted({ ...native?.body, model: wireModelName(upstreamModel) }),
    },
    encode(request, { upstreamModel, acceptedEfforts }) {
      const { native, stream, endUser } = request;
      const body = withAcceptedEffort(native?.body ?? {}, 'output_config', acceptedEfforts);
      const metadata = read.object(body['metadata']);
      const own = { model: wireModelName(upstreamModel), stream, metadata: { ...metadata, user_id: endUser } };
      return withAdditions({ ...body, ...own }, request);
    },
    headers: (request) => betaHeader([...betas, ...(request.anthropicBetas ?? [])]),
    decodeResult: (body, context, request) => decodeMessagesResult(body, nativeContextOf(request, context)),
    streamDecoder: (context, request) => new MessagesStreamDecoder(nativeContextOf(request, context)),
  };
}

/** A body with what the router has to say by itself: the credit for the refusal of another model, what to compare with. */
function withAdditions<Body extends object>(body: Body, request: NormalizedRequest): Body {
  const { fallbackCredit } = request;
  const compared = comparingMessages(body, request);
  return fallbackCredit === undefined ? compared : { ...compared, fallback_credit_token: fallbackCredit };
}

/** Fields of a request that say something about its answer only, which the API refuses where there is none. */
const OF_ANSWERS = new Set([
  'max_tokens',
  'stream',
  'metadata',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'service_tier',
  'container',
  'inference_geo',
]);

function counted(body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !OF_ANSWERS.has(name)));
}

/** `POST /messages/count_tokens`. */
const COUNT = {
  path: () => `${PATH}/count_tokens`,
  decode(body: JsonObject): ProviderTokenCount | undefined {
    const { input_tokens: inputTokens } = body;
    return typeof inputTokens === 'number' ? { inputTokens, native: body } : undefined;
  },
};

function nativeContextOf(request: NormalizedRequest, context: ErrorContext): MessageContext {
  const { cache, native } = request;
  const isOwn = read.object(native?.body)['diagnostics'] === undefined;
  return {
    ...context,
    ...NATIVE,
    newId: newIds(request),
    compareWith: cache.compareWith,
    hidesDiagnostics: cache.compareWith !== undefined && isOwn,
  };
}

const NATIVE = { native: true, formatTool: false, detailedUsage: true, originalId: (id: string): string => id };

function newIds(request: NormalizedRequest): ReaderOptions['newId'] {
  return (index) => `${callIdPrefix(request)}_${index}`;
}

function contextOf(request: NormalizedRequest, context: ErrorContext): MessageContext {
  return {
    ...context,
    native: false,
    formatTool: mayForceFormat(request),
    detailedUsage: request.batched === true,
    originalId: originalIds(request.messages, WORD_CHARACTERS),
    newId: newIds(request),
    compareWith: request.cache.compareWith,
  };
}

/** Betas that what the request holds cannot do without. */
function neededBetas({ messages }: NormalizedRequest): readonly string[] {
  const uploads = messages.some(
    ({ content }) => Array.isArray(content) && content.some((part) => part.type === 'file' && namesUpload(part)),
  );
  return uploads ? [FILES_BETA] : [];
}

function betaHeader(betas: readonly string[]): readonly string[] {
  return betas.length === 0 ? [] : ['anthropic-beta', [...new Set(betas)].join(',')];
}

/** What decoding one answer depends on. */
export interface MessageContext extends ErrorContext, ReaderOptions {
  /** Whether the caller speaks this wire too and gets its events as they are. */
  readonly native: boolean;
  /** Whether the caller has not asked for what the provider says of its cache. Default false. */
  readonly hidesDiagnostics?: boolean | undefined;
}

/**
 * Decodes a non-streaming response of the Messages API: it is read as if its blocks came one by one. A body that is
 * HTML, empty, not JSON, an error in disguise, without content or truncated is a failure, whatever status it came
 * with.
 */
export function decodeMessagesResult(body: string, context: MessageContext): DecodedResult {
  const text = body.trim();
  if (text === '') return bad('The provider sent an empty answer');
  if (text.startsWith('<')) return bad('The provider sent a web page instead of an answer');
  const message = parseJson(text);
  if (message === undefined) return bad('The provider sent an answer that is not valid JSON');
  if (isErrorBody(message)) return { ok: false, failure: failureInBand(message, context) };
  if (!isJsonObject(message)) return bad('The provider sent an answer without content');
  const { content } = message;
  if (!Array.isArray(content)) return bad('The provider sent an answer without content');
  const pieces = readMessage(message, new MessageReader(context));
  const problem = problemOf(pieces);
  if (problem !== undefined) return { ok: false, failure: problem };
  const collector = new ResultCollector();
  for (const piece of pieces) collector.add(piece);
  const result = collector.result();
  if (!context.native) return { ok: true, result };
  const native = context.hidesDiagnostics === true ? withoutDiagnostics(message) : message;
  return { ok: true, result: { ...result, native } };
}

function readMessage(message: JsonObject, reader: MessageReader): readonly StreamPiece[] {
  const pieces: StreamPiece[] = [];
  reader.start(message, pieces);
  reader.update(message, undefined, pieces);
  reader.finish(pieces);
  return pieces;
}

function problemOf(pieces: readonly StreamPiece[]): AttemptFailure | undefined {
  for (const piece of pieces) {
    if (typeof piece === 'string') continue;
    if (piece.type === 'failure') return piece.failure;
    if (piece.type === 'finish' && piece.reason === 'error') {
      return failure('bad_response', 'The provider ended its response early');
    }
  }
  return undefined;
}

function bad(message: string): DecodedResult {
  return { ok: false, failure: failure('bad_response', message) };
}

/** Kinds of events; one of them that cannot be read means a broken stream, one of any other kind means nothing. */
const KNOWN_EVENTS = new Set([
  'message',
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
  'error',
]);

const TEXT = /"text":\s?"/g;

/**
 * Decodes the events of the Messages API. A text delta that is alike to an earlier one except for its text is not
 * parsed; see {@link TextFrames}.
 */
export class MessagesStreamDecoder implements StreamDecoder {
  readonly #context: MessageContext;
  readonly #reader: MessageReader;
  readonly #frames = new TextFrames(TEXT, plainText);
  #ended = false;
  #closing = false;

  constructor(context: MessageContext) {
    this.#context = context;
    this.#reader = new MessageReader(context);
  }

  event({ event, data }: SseEvent, pieces: StreamPiece[]): void {
    const frame = withoutPadding(data);
    const known = this.#frames.recognize(frame);
    if (known === undefined) return this.#parse(frame, event, pieces);
    this.#passOn('content_block_delta', frame, pieces);
    this.#reader.plainText(known, known.includes('\\') ? unescapeText(known).length : known.length, pieces);
  }

  closing(): void {
    this.#closing = true;
  }

  body(text: string, pieces: StreamPiece[]): void {
    const decoded = decodeMessagesResult(text, this.#context);
    if (!decoded.ok) pieces.push({ type: 'failure', failure: decoded.failure });
    else if (decoded.result.native === undefined) pieces.push(...piecesOf(decoded.result));
    // Whoever asked for a stream in these words gets the events that this message would have been.
    else
      for (const event of eventsOfMessage(decoded.result.native)) this.event({ data: JSON.stringify(event) }, pieces);
  }

  /** A stream without its end mark ended early, and nothing was held back for one. */
  end(): void {
    this.#ended = true;
  }

  #parse(data: string, name: string | undefined, pieces: StreamPiece[]): void {
    const text = data.trim();
    // The end mark of another wire, which some servers send on each.
    if (this.#ended || text === '' || text === '[DONE]') return;
    const event = parseJson(text);
    if (!isJsonObject(event)) return this.#malformed(name, pieces);
    const type = typeof event['type'] === 'string' ? event['type'] : name;
    if (type === 'error' || name === 'error') return this.#fail(event, pieces);
    // Keeping connections open is the router's own business.
    if (type === undefined || type === 'ping') return;
    this.#passOn(type, this.#shownText(type, event, text), pieces);
    const said = pieces.length;
    this.#read(type, event, pieces);
    if (pieces.length === said + 1 && typeof pieces[said] === 'string') this.#frames.learn(data);
    if (type === 'message_stop') this.#over();
  }

  #read(type: string, event: JsonObject, pieces: StreamPiece[]): void {
    const { index } = event;
    const position = read.number(index) ?? 0;
    switch (type) {
      case 'message_start':
        return this.#reader.start(read.object(event['message']), pieces);
      case 'content_block_start':
        return this.#reader.startBlock(position, read.object(event['content_block']), pieces);
      case 'content_block_delta':
        return this.#reader.delta(position, read.object(event['delta']), pieces);
      case 'content_block_stop':
        return this.#reader.stopBlock(position, pieces);
      case 'message_delta':
        return this.#reader.update(read.object(event['delta']), event['usage'], pieces);
      case 'message_stop':
        return this.#reader.finish(pieces);
      default:
    }
  }

  #fail(event: JsonObject, pieces: StreamPiece[]): void {
    this.#over();
    pieces.push({ type: 'failure', failure: failureInBand(event, this.#context) });
  }

  /** The event as its caller may see it. */
  #shownText(type: string, event: JsonObject, text: string): string {
    if (type !== 'message_start' || this.#context.hidesDiagnostics !== true) return text;
    return JSON.stringify({ ...event, message: withoutDiagnostics(read.object(event['message'])) });
  }

  /** Nothing that follows counts, also if it looks like the text before it. */
  #over(): void {
    this.#ended = true;
    this.#frames.forget();
  }

  /** An event that was cut off by the end of the body tells nothing that the missing end mark does not tell. */
  #malformed(name: string | undefined, pieces: StreamPiece[]): void {
    if (this.#closing || (name !== undefined && !KNOWN_EVENTS.has(name))) return;
    pieces.push({ type: 'failure', failure: failure('bad_response', 'The provider sent a malformed event') });
  }

  #passOn(event: string, data: string, pieces: StreamPiece[]): void {
    if (!this.#context.native) return;
    // Line ends between the members would end the event for whoever reads it next.
    pieces.push({ type: 'native', event, data: /[\r\n]/.test(data) ? data.replace(/[\r\n]/g, ' ') : data });
  }
}

const SPACE = 0x20;
const CLOSING_BRACE = '}';

/**
 * The same frame without the spaces that the provider puts before its last brace to hide how long the text is. Spaces
 * there are outside of every string, or the frame is no JSON at all, so it means the same without them.
 */
function withoutPadding(data: string): string {
  let end = data.length - 2;
  if (data.charCodeAt(end) !== SPACE || !data.endsWith(CLOSING_BRACE)) return data;
  while (data.charCodeAt(end - 1) === SPACE) end -= 1;
  return data.slice(0, end) + CLOSING_BRACE;
}

/** The text of a frame that is nothing but text, for {@link TextFrames}. */
function plainText(data: string): string | undefined {
  const event = parseJson(data);
  const delta = isJsonObject(event) && event['type'] === 'content_block_delta' ? event['delta'] : undefined;
  if (!isJsonObject(delta) || delta['type'] !== 'text_delta') return undefined;
  const { text } = delta;
  return read.text(text);
}
