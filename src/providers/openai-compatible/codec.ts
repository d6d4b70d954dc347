/** The codec of chat completions, for every vendor that speaks them. */
import type { Codec, StreamDecoder, SseEvent } from '../codec.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { VendorAccepts } from '../../core/accepts.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { ANY_SERVER } from '../accepts/any-server.ts';
import { type ErrorContext, failureInBand, parseObjects, readJsonAnswer } from '../upstream-failure.ts';
import { CallSignatures, isOfGoogle } from './call-signatures.ts';
import { foldAccepts } from '../fold-accepts.ts';
import {
  citationOf,
  decodeAnswer,
  decodeContent,
  type DecodeContext,
  decodeLogprobs,
  decodeResult,
  errorInside,
  findUsage,
  hasSources,
  indexerOf,
  mapFinishReason,
  noteCited,
  sourcesOf,
} from './decode-result.ts';
import { type VendorQuirks, differencesOf } from './vendor-quirks.ts';
import { embeddingsCodec } from './embeddings.ts';
import { INPUT_COUNT } from './count-input.ts';
import { encodeRequest, type EndpointRules, endpointRules, wantsResponses } from './encode-request.ts';
import { endWord, escapeText, piecesOf } from '../../core/stream/pieces.ts';
import type { Annotation } from '../../protocol/chat-result.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { TextFrames } from '../text-frames.ts';
import { plainAnswer, plainUsage } from './plain-answer.ts';
import { decodeUsage } from './decode-usage.ts';
import type { ToolCallIndexer } from './tool-call-indexer.ts';
import * as read from '../../platform/json.ts';
import { failure } from '../../contracts/failure.ts';
import type { StreamPiece } from '../../contracts/stream-piece.ts';

/**
 * The chat completions API in one variant.
 *
 * @param vendor - What the server accepts. Default: what every server does.
 * @param responses - The Responses wire of the same server, for models that want it. Default: it has none.
 */
export function chatCompletionsCodec(
  quirks: VendorQuirks,
  vendor: VendorAccepts = ANY_SERVER,
  responses?: Codec,
): Codec {
  const acceptsOf = foldAccepts(vendor, differencesOf(quirks));
  const variant = { quirks, acceptsOf };
  // Ids of calls that were written anew are turned back in answers.
  const answering = { ...quirks, toolCallIds: quirks.toolCallIds ?? vendor.all.conversation.toolIds };
  const signatures = new CallSignatures();
  const rules = new WeakMap<Endpoint, EndpointRules & { readonly isOfGoogle: boolean }>();
  const contextOf = (context: ErrorContext, request: NormalizedRequest): DecodeContext => ({
    quirks: answering,
    usage: vendor.all.usage,
    request,
    onExtra: (call) => signatures.remember(call, request),
    ...context,
  });
  return {
    ...(responses === undefined
      ? {}
      : {
          insteadFor: (request, endpoint) =>
            wantsResponses(request, endpoint, acceptsOf(endpoint)) ? responses : undefined,
        }),
    path: () => '/chat/completions',
    encode(request, endpoint, note) {
      let known = rules.get(endpoint);
      if (known === undefined) {
        known = { ...endpointRules(endpoint, variant), isOfGoogle: isOfGoogle(endpoint) };
        rules.set(endpoint, known);
      }
      const body = encodeRequest(request, endpoint, known, note);
      return known.isOfGoogle || signatures.areKnown ? signatures.add(body, request, endpoint) : body;
    },
    decodeResult(body, context, request) {
      const answer = readJsonAnswer(body, 'choices');
      if (!answer.ok) return answer;
      const result = plainAnswer(answer.value, answering, vendor.all.usage);
      return result === undefined ? decodeAnswer(answer.value, contextOf(context, request)) : { ok: true, result };
    },
    takesAddresses: (endpoint) => acceptsOf(endpoint).conversation.fileAddresses,
    embeddings: embeddingsCodec(quirks),
    tokenCount: quirks.countsInput === true ? INPUT_COUNT : undefined,
    streamDecoder: (context, request) => new ChatStreamDecoder(contextOf(context, request)),
  };
}

const CONTENT = /"content":\s?"/g;

/** Choices beyond this are no answer to any request we send. */
const MAX_CHOICES = 128;

/**
 * Decodes the chunks of the chat completions wire, with all the ways in which servers deviate from it.
 * A frame that is alike to an earlier one except for its text is not parsed; see {@link TextFrames}.
 */
export class ChatStreamDecoder implements StreamDecoder {
  readonly #context: DecodeContext;
  readonly #tools = new Map<number, ToolCallIndexer>();
  readonly #frames = new TextFrames(CONTENT, plainText);
  /** Choices of which some delta came. */
  readonly #streamed = new Set<number>();
  /** Addresses of sources that were told: some servers repeat them with every chunk. */
  readonly #cited = new Set<string>();
  /** Addresses of sources of which no title is known yet. */
  readonly #untitled = new Set<string>();
  #hasFinished = false;
  #facts: Extract<StreamPiece, { type: 'facts' }> | undefined;
  #ended = false;
  #closing = false;

  constructor(context: DecodeContext) {
    this.#context = context;
  }

  event({ event, data }: SseEvent, pieces: StreamPiece[]): void {
    const known = this.#frames.recognize(data);
    if (known !== undefined) pieces.push(known);
    else this.#parse(data, event, pieces);
  }

  known(stream: string, from: number, pieces: StreamPiece[]): number {
    return this.#frames.recognizeEvents(stream, from, pieces);
  }

  closing(): void {
    this.#closing = true;
  }

  body(text: string, pieces: StreamPiece[]): void {
    const decoded = decodeResult(text, this.#context);
    if (decoded.ok) pieces.push(...piecesOf(decoded.result));
    else pieces.push({ type: 'failure', failure: decoded.failure });
  }

  end(pieces: StreamPiece[]): void {
    if (this.#ended) return;
    this.#cite(pieces);
    for (const tools of this.#tools.values()) {
      if (tools.isNameless) return this.#broken('a tool call without a name', pieces);
    }
  }

  #parse(data: string, event: string | undefined, pieces: StreamPiece[]): void {
    const text = data.trim();
    if (this.#ended || text === '') return;
    if (text === '[DONE]') return this.#done(pieces);
    const chunks = parseObjects(text);
    if (chunks === undefined) return this.#malformed(event, pieces);
    const before = pieces.length;
    for (const chunk of chunks) {
      const error = event === 'error' ? chunk : errorInside(chunk);
      if (error === undefined) this.#chunk(chunk, pieces);
      else pieces.push({ type: 'failure', failure: failureInBand(error, this.#context) });
    }
    if (pieces.length === before + 1 && typeof pieces[before] === 'string') this.#frames.learn(data);
  }

  /** Nothing that follows the end mark counts, also if it looks like the text before it. */
  #done(pieces: StreamPiece[]): void {
    this.end(pieces);
    this.#ended = true;
    this.#frames.forget();
    pieces.push({ type: 'end' });
  }

  /**
   * A broken event means a broken stream. Two are not what they seem: an event cut off by the end of the body, where
   * what came before tells whether the response is complete, and an event of a kind that this wire does not know.
   */
  #malformed(event: string | undefined, pieces: StreamPiece[]): void {
    if (this.#closing || (event !== undefined && event !== 'message' && event !== 'error')) return;
    this.#broken('a malformed event', pieces);
  }

  #broken(what: string, pieces: StreamPiece[]): void {
    pieces.push({ type: 'failure', failure: failure('bad_response', `The provider sent ${what}`) });
  }

  #chunk(chunk: JsonObject, pieces: StreamPiece[]): void {
    this.#readFacts(chunk, pieces);
    const choices = read.list(chunk['choices']);
    for (const choice of choices) if (isJsonObject(choice)) this.#choice(choice, pieces);
    if (hasSources(chunk)) this.#readSources(chunk, pieces);
    if (this.#hasFinished) this.#cite(pieces);
    const counted = findUsage(chunk, choices);
    if (counted == null) return;
    const { quirks, usage: names } = this.#context;
    const usage = (isJsonObject(counted) ? plainUsage(counted) : undefined) ?? decodeUsage(counted, quirks, names);
    if (usage !== undefined) pieces.push({ type: 'usage', usage });
  }

  /** Titles may come later than addresses, so sources without one are told when the answer ends. */
  #readSources(chunk: JsonObject, pieces: StreamPiece[]): void {
    const titled: Annotation[] = [];
    for (const source of sourcesOf(chunk)) {
      if (this.#cited.has(source.url)) continue;
      if (source.title === undefined) {
        this.#untitled.add(source.url);
        continue;
      }
      this.#untitled.delete(source.url);
      this.#cited.add(source.url);
      titled.push(citationOf(source));
    }
    if (titled.length > 0) pieces.push({ type: 'delta', index: 0, delta: { annotations: titled } });
  }

  #cite(pieces: StreamPiece[]): void {
    if (this.#untitled.size === 0) return;
    const annotations = Array.from(this.#untitled, (url) => citationOf({ url }));
    for (const url of this.#untitled) this.#cited.add(url);
    this.#untitled.clear();
    pieces.push({ type: 'delta', index: 0, delta: { annotations } });
  }

  #choice(choice: JsonObject, pieces: StreamPiece[]): void {
    const index = choice['index'] ?? 0;
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= MAX_CHOICES) {
      return this.#broken('a choice with an invalid index', pieces);
    }
    const before = pieces.length;
    const source = this.#sourceOf(index, choice);
    if (isJsonObject(source)) this.#delta(index, source, choice['logprobs'], pieces);
    const native = endWord(choice['finish_reason']);
    // A call that has no name yet is not over, whatever is said.
    if (native === undefined || this.#tools.get(index)?.isNameless === true) return;
    this.#hasFinished = true;
    const finish = { type: 'finish', index, reason: mapFinishReason(native), native } as const;
    pieces.push(pieces.length > before ? { ...finish, besideContent: true } : finish);
  }

  /** A whole message in place of a delta is only read if it is all there is: some servers repeat everything at the end. */
  #sourceOf(index: number, { delta, message }: JsonObject): unknown {
    if (!isJsonObject(delta)) return this.#streamed.has(index) ? undefined : message;
    this.#streamed.add(index);
    return delta;
  }

  #delta(index: number, source: JsonObject, rawLogprobs: unknown, pieces: StreamPiece[]): void {
    const called = source['tool_calls'] ?? legacyCall(source['function_call']);
    const calls = called == null ? NO_CALLS : this.#indexer(index).read(called);
    if (calls === undefined) return this.#broken('an invalid number of tool calls', pieces);
    const content = decodeContent(source);
    if (content.annotations !== undefined) noteCited(content.annotations, this.#cited);
    const logprobs = rawLogprobs == null ? undefined : decodeLogprobs(rawLogprobs);
    const onlyText = content.content !== undefined && Object.keys(content).length === 1 && calls.length === 0;
    if (onlyText && index === 0 && logprobs === undefined) {
      pieces.push(escapeText(content.content ?? ''));
      return;
    }
    const delta = calls.length > 0 ? { ...content, tool_calls: calls } : content;
    if (Object.keys(delta).length > 0 || logprobs !== undefined) pieces.push({ type: 'delta', index, delta, logprobs });
  }

  #readFacts(chunk: JsonObject, pieces: StreamPiece[]): void {
    const upstreamId = read.text(chunk['id']);
    const systemFingerprint = read.text(chunk['system_fingerprint']);
    const serviceTier = read.text(chunk['service_tier']);
    if ((upstreamId ?? systemFingerprint ?? serviceTier) === undefined) return;
    const known = this.#facts;
    if (
      upstreamId === known?.upstreamId &&
      systemFingerprint === known?.systemFingerprint &&
      serviceTier === known?.serviceTier
    ) {
      return;
    }
    // A known frame with the facts of before would now be news.
    this.#frames.forget();
    this.#facts = { type: 'facts', upstreamId, systemFingerprint, serviceTier };
    pieces.push(this.#facts);
  }

  #indexer(choice: number): ToolCallIndexer {
    let indexer = this.#tools.get(choice);
    if (indexer === undefined) {
      indexer = indexerOf(this.#context, choice);
      this.#tools.set(choice, indexer);
    }
    return indexer;
  }
}

const NO_CALLS: ReturnType<ToolCallIndexer['read']> & object = [];

/** The text of a frame that is nothing but text, for {@link TextFrames}. */
function plainText(data: string): string | undefined {
  const choices = parseObjects(data)?.[0]?.['choices'];
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  const delta = isJsonObject(choice) ? choice['delta'] : undefined;
  return isJsonObject(delta) ? read.text(delta['content']) : undefined;
}

/** The deprecated single call, as a list of one. */
function legacyCall(call: unknown): unknown {
  return isJsonObject(call) ? [{ index: 0, function: call }] : undefined;
}
