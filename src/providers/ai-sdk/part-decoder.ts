/** Turns stream parts of the AI SDK into pieces. */
import { escapeText } from '../../core/stream/pieces.ts';
import type { Delta, ToolCallDelta } from '../../protocol/chunk.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { ErrorContext } from '../upstream-failure.ts';
import { decodeSdkUsage, readFinishReason } from './decode-usage.ts';
import type { AiSdkFamily } from './families.ts';
import { readThoughtSignature, ReasoningBlocks } from './reasoning.ts';
import type { OriginalId } from '../tool-ids.ts';
import { imageId, textId } from '../signed-parts.ts';
import { failureOfPart } from './thrown-failure.ts';
import { judgeWarnings, type WarningSink } from './warnings.ts';
import type { Annotation } from '../../protocol/chat-result.ts';
import { toBase64 } from '../../platform/data-url.ts';
import { type CallWithExtra, ToolCallIndexer } from '../openai-compatible/tool-call-indexer.ts';
import * as read from '../../platform/json.ts';
import { failure } from '../../contracts/failure.ts';
import type { StreamPiece } from '../../contracts/stream-piece.ts';

/** What the decoder of one answer needs to know. */
export interface DecodingContext extends ErrorContext {
  readonly family: AiSdkFamily;
  readonly warnings: WarningSink;
  readonly signal: AbortSignal;
  /** Beginning of ids for tool calls that came without one. */
  readonly idPrefix: string;
  /** The caller's id of a tool call. */
  readonly originalId: OriginalId;
  /** Names of the tools that the caller runs. */
  readonly ownTools: ReadonlySet<string>;
  /** Keeps what the provider requires back with a call, for clients that lose it. */
  readonly onExtra: (call: CallWithExtra) => void;
  /** False for a non-streaming response, which is read as if it had been streamed. */
  readonly streamed: boolean;
}

/** Turns the parts of an answer, of any version, into pieces. Parts of kinds that are not known mean nothing. */
export class PartDecoder {
  readonly #context: DecodingContext;
  readonly #reasoning: ReasoningBlocks;
  readonly #tools: ToolInputs;
  /** Characters of the answer before each text. */
  readonly #offsets = new Map<unknown, number>();
  #length = 0;
  #images = 0;
  #hasContent = false;
  #hasToolCalls = false;
  #finished = false;

  constructor(context: DecodingContext) {
    this.#context = context;
    this.#reasoning = new ReasoningBlocks(context.family.signature);
    this.#tools = new ToolInputs(context);
  }

  /** Appends the pieces of one part. */
  part(part: unknown, pieces: StreamPiece[]): void {
    if (!isJsonObject(part)) return;
    switch (part['type']) {
      case 'stream-start': {
        const refused = judgeWarnings(part['warnings'], this.#context.warnings);
        if (refused !== undefined) pieces.push({ type: 'failure', failure: refused });
        break;
      }
      case 'response-metadata':
        if (read.isText(part['id'])) pieces.push({ type: 'facts', upstreamId: part['id'] });
        break;
      case 'text-start':
      case 'text-delta':
      case 'text-end':
        this.#text(part, pieces);
        break;
      case 'reasoning-start':
        this.#delta(this.#reasoning.start(part), pieces);
        break;
      case 'reasoning-delta':
        this.#delta(this.#reasoning.delta(part), pieces);
        break;
      case 'reasoning-end':
        this.#delta(this.#reasoning.end(part), pieces);
        break;
      case 'tool-input-start':
        this.#calls(this.#tools.start(part), pieces);
        break;
      case 'tool-input-delta':
        this.#calls(this.#tools.delta(part), pieces);
        break;
      case 'tool-call':
        this.#toolCall(part, pieces);
        break;
      case 'file':
        this.#file(part, pieces);
        break;
      case 'source':
        this.#delta(sourceDelta(part), pieces);
        break;
      case 'finish':
        this.#finish(part, pieces);
        break;
      case 'error':
        this.#fail(part['error'], pieces);
        break;
    }
  }

  /** There are no more parts. */
  end(pieces: StreamPiece[]): void {
    if (this.#finished) pieces.push({ type: 'end' });
  }

  #text({ type, id, delta, citations, providerMetadata }: JsonObject, pieces: StreamPiece[]): void {
    if (type === 'text-start') this.#offsets.set(id, this.#length);
    if (type === 'text-delta') {
      const start = this.#length;
      if (read.isText(delta)) {
        this.#hasContent = true;
        this.#length += delta.length;
        pieces.push(escapeText(delta));
      }
      this.#signature(readThoughtSignature(providerMetadata), textId(start, this.#length), pieces);
    }
    if (type === 'text-end') this.#delta(citationsDelta(citations, this.#offsets.get(id) ?? 0), pieces);
  }

  #file(part: JsonObject, pieces: StreamPiece[]): void {
    const delta = fileDelta(part);
    this.#delta(delta, pieces);
    if (delta?.images === undefined) return;
    this.#signature(readThoughtSignature(part['providerMetadata']), imageId(this.#images), pieces);
    this.#images += 1;
  }

  /** Google signs texts, images and tool calls; others sign reasoning. */
  #signature(signature: string | undefined, id: string, pieces: StreamPiece[]): void {
    if (signature !== undefined) this.#delta(this.#reasoning.elsewhere(signature, id), pieces);
  }

  #toolCall(part: JsonObject, pieces: StreamPiece[]): void {
    const { toolCallId: id, providerExecuted, providerMetadata } = part;
    const signature = providerExecuted === true ? undefined : readThoughtSignature(providerMetadata);
    if (read.isText(id)) this.#signature(signature, this.#context.originalId(id), pieces);
    this.#calls(this.#tools.call(part, signature), pieces);
  }

  #calls(calls: readonly ToolCallDelta[] | undefined, pieces: StreamPiece[]): void {
    if (calls === undefined) {
      const message = 'The provider sent an invalid number of tool calls';
      pieces.push({ type: 'failure', failure: failure('bad_response', message) });
    } else if (calls.length > 0) {
      this.#hasToolCalls = true;
      this.#delta({ tool_calls: calls }, pieces);
    }
  }

  #delta(delta: Delta | undefined, pieces: StreamPiece[]): void {
    if (delta === undefined) return;
    this.#hasContent = true;
    pieces.push({ type: 'delta', index: 0, delta });
  }

  #finish({ finishReason, usage, providerMetadata }: JsonObject, pieces: StreamPiece[]): void {
    this.#calls(this.#tools.finish(), pieces);
    if (this.#tools.isNameless) {
      const message = 'The provider sent a tool call without a name';
      pieces.push({ type: 'failure', failure: failure('bad_response', message) });
      return;
    }
    const { family, streamed } = this.#context;
    const counted = decodeSdkUsage(usage, family, providerMetadata);
    if (counted !== undefined) pieces.push({ type: 'usage', usage: counted });
    const serviceTier = tierOf(providerMetadata);
    if (serviceTier !== undefined) pieces.push({ type: 'facts', serviceTier });
    const end = readFinishReason(finishReason, {
      hasContent: this.#hasContent,
      hasToolCalls: this.#hasToolCalls,
      streamed,
    });
    if (end.type === 'broken') {
      pieces.push({ type: 'failure', failure: failure('bad_response', 'The provider ended its response early') });
      return;
    }
    this.#finished = true;
    if (end.reason === 'content_filter') this.#refused(providerMetadata, pieces);
    pieces.push({ type: 'finish', index: 0, reason: end.reason, native: end.native });
  }

  /** What Anthropic says about a refusal. */
  #refused(metadata: unknown, pieces: StreamPiece[]): void {
    for (const members of Object.values(read.object(metadata))) {
      const { category, explanation } = read.object(read.object(members)['stopDetails']);
      const word = read.text(category);
      const said = read.text(explanation);
      if (word !== undefined) pieces.push({ type: 'facts', refusal: { category: word } });
      if (said === undefined || this.#length > 0) continue;
      return this.#delta({ refusal: said }, pieces);
    }
  }

  /** The finish that follows an error says nothing new; whoever reads stops here. */
  #fail(error: unknown, pieces: StreamPiece[]): void {
    pieces.push({ type: 'failure', failure: failureOfPart(error, this.#context, this.#context.signal) });
  }
}

/** The service tier that served, where a provider tells it. */
function tierOf(metadata: unknown): string | undefined {
  if (!isJsonObject(metadata)) return undefined;
  const tiers = Object.values(metadata).map((members) => (isJsonObject(members) ? members['serviceTier'] : undefined));
  const tier = tiers.find(read.isText);
  return tier === 'standard' ? 'default' : tier;
}

/** A source of the answer: an address that it cites. Documents of the prompt have no form here. */
function sourceDelta({ sourceType, url, title }: JsonObject): Delta | undefined {
  return sourceType === 'url' && typeof url === 'string' ? { annotations: [citation(url, title)] } : undefined;
}

/**
 * The citations of a text.
 *
 * @param offset - Characters of the answer before that text: positions count from its beginning.
 */
function citationsDelta(citations: unknown, offset: number): Delta | undefined {
  const annotations = read.list(citations).flatMap((value): Annotation[] => {
    if (!isJsonObject(value) || !isJsonObject(value['source'])) return [];
    const { source, startIndex, endIndex, citedText } = value;
    const { sourceType, url, title } = source;
    if (sourceType !== 'url' || typeof url !== 'string') return [];
    const place =
      typeof startIndex === 'number' && typeof endIndex === 'number'
        ? { start_index: offset + startIndex, end_index: offset + endIndex }
        : {};
    return [citation(url, title, { ...(typeof citedText === 'string' ? { content: citedText } : {}), ...place })];
  });
  return annotations.length === 0 ? undefined : { annotations };
}

/** A file that the model made: images and sounds; others have no form here. */
function fileDelta({ mediaType, data }: JsonObject): Delta | undefined {
  if (typeof mediaType !== 'string') return undefined;
  if (mediaType.startsWith('image/')) {
    const url = address(data, mediaType);
    return url === undefined ? undefined : { images: [{ type: 'image_url', image_url: { url } }] };
  }
  const sound = mediaType.startsWith('audio/') ? base64Of(data) : undefined;
  return sound === undefined ? undefined : { audio: { data: sound } };
}

function citation(url: string, title: unknown, more: object = {}): Annotation {
  const named = typeof title === 'string' && title !== '' ? { title } : {};
  return { type: 'url_citation', url_citation: { url, ...named, ...more } };
}

function address(data: unknown, mediaType: string): string | undefined {
  const base64 = base64Of(data);
  if (base64 !== undefined) return `data:${mediaType};base64,${base64}`;
  const url: unknown = isJsonObject(data) ? (data as { url?: unknown }).url : undefined;
  return url instanceof URL ? url.href : read.string(url);
}

/** Version 4 says of what sort data is; before, it was base64 or bytes as they are. */
function base64Of(data: unknown): string | undefined {
  if (typeof data === 'string') return data;
  if (data instanceof Uint8Array) return toBase64(data);
  return isJsonObject(data) && data['type'] === 'data' ? base64Of((data as { data?: unknown }).data) : undefined;
}

type ToolContext = Pick<DecodingContext, 'idPrefix' | 'originalId' | 'ownTools' | 'onExtra'>;

interface KnownInput {
  /** Position among the calls, for the indexer. */
  readonly position: number;
  readonly id: string;
  readonly name: unknown;
  /** The provider runs this tool itself: the caller must not. */
  hidden: boolean;
  /** Its input cannot be passed on before it is whole. */
  readonly held: boolean;
  /** Its input is no JSON while it is streamed. */
  readonly isText: boolean;
  streamed: string;
  called: boolean;
}

/**
 * Follows the tool calls of one answer. A call comes in pieces that are followed by the whole, or as a whole alone;
 * either way the caller gets every character of its arguments once. Tools that the provider runs itself are left out;
 * some providers say so only with the whole, so calls of tools that are not the caller's wait for it.
 */
class ToolInputs {
  readonly #known = new Map<string, KnownInput>();
  readonly #indexer: ToolCallIndexer;
  readonly #ownTools: ReadonlySet<string>;

  constructor({ idPrefix, originalId, ownTools, onExtra }: ToolContext) {
    this.#indexer = new ToolCallIndexer((index) => `${idPrefix}_0_${index}`, originalId, onExtra);
    this.#ownTools = ownTools;
  }

  /** Whether a call came of which it is not known what it calls. */
  get isNameless(): boolean {
    return this.#indexer.isNameless;
  }

  /** `tool-input-start`. Undefined where there are more calls than any sane answer has. */
  start({ id, toolName: name, providerExecuted, inputEncoding }: JsonObject): readonly ToolCallDelta[] | undefined {
    const isText = inputEncoding === 'text';
    const held = isText || typeof name !== 'string' || !this.#ownTools.has(name);
    const known = this.#open({ id: read.text(id) ?? '', name, hidden: providerExecuted === true, held, isText });
    return known.hidden || known.held ? [] : this.#announce(known, name, '');
  }

  /** `tool-input-delta`. */
  delta({ id, delta }: JsonObject): readonly ToolCallDelta[] | undefined {
    const known = this.#known.get(read.text(id) ?? '');
    const text = read.text(delta) ?? '';
    if (known === undefined || known.hidden || text === '') return [];
    known.streamed += text;
    return known.held ? [] : this.#indexer.read([{ index: known.position, function: { arguments: text } }]);
  }

  /** `tool-call`: the whole, of which only what has not been streamed is news. */
  call(
    { toolCallId, toolName: name, input, providerExecuted }: JsonObject,
    signature: string | undefined,
  ): readonly ToolCallDelta[] | undefined {
    const id = read.text(toolCallId) ?? '';
    const text = typeof input === 'string' ? input : JSON.stringify(input ?? {});
    const hidden = providerExecuted === true;
    const known = this.#known.get(id) ?? this.#open({ id, name, hidden, held: true, isText: false });
    if (known.held) known.hidden ||= hidden;
    if (known.hidden || known.called) return [];
    known.called = true;
    const extra = signature === undefined ? {} : { extra_content: { google: { thought_signature: signature } } };
    if (known.held) return this.#announce(known, name, asObject(text, known), extra);
    const rest = text.startsWith(known.streamed) ? text.slice(known.streamed.length) : '';
    return this.#indexer.read([{ index: known.position, function: { arguments: rest }, ...extra }]);
  }

  /** What is still owed at the end: calls whose whole never came. */
  finish(): readonly ToolCallDelta[] | undefined {
    const owed: ToolCallDelta[] = [];
    for (const known of this.#known.values()) {
      if (known.hidden || known.called || !known.held) continue;
      known.called = true;
      const { isText, streamed } = known;
      const deltas = this.#announce(known, known.name, isText ? JSON.stringify({ input: streamed }) : streamed);
      if (deltas === undefined) return undefined;
      owed.push(...deltas);
    }
    return owed;
  }

  #open(input: Pick<KnownInput, 'id' | 'name' | 'hidden' | 'held' | 'isText'>): KnownInput {
    const known = { ...input, position: this.#known.size, streamed: '', called: false };
    // A call without an id is complete, so nothing will ever be added to it.
    this.#known.set(input.id === '' ? `\0${known.position}` : input.id, known);
    return known;
  }

  #announce(
    { position, id }: KnownInput,
    name: unknown,
    text: string,
    extra: object = {},
  ): readonly ToolCallDelta[] | undefined {
    const called = { name: read.text(name) ?? '', arguments: text };
    return this.#indexer.read([{ index: position, id, function: called, ...extra }]);
  }
}

/** Input in a language of its own comes as JSON of a text, and is wrapped: arguments are an object everywhere. */
function asObject(text: string, { isText }: { readonly isText: boolean }): string {
  const begin = text.trimStart();
  const said = begin.startsWith('"') ? read.string(read.parse(text)) : undefined;
  if (said !== undefined) return JSON.stringify({ input: said });
  return isText && begin !== '' && !begin.startsWith('{') ? JSON.stringify({ input: text }) : text;
}
