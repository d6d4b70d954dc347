/** Reads one message of the Messages API, streamed or not. */
import { endWord, escapeText } from '../../core/stream/pieces.ts';
import type { Delta } from '../../protocol/chunk.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import { THINKING_FORMAT } from './encode-conversation.ts';
import { FORMAT_TOOL } from './plan-format.ts';
import { mapStopReason } from './blocks.ts';
import type { OriginalId } from '../tool-ids.ts';
import type { Annotation } from '../../protocol/chat-result.ts';
import { decodeTier, decodeMessagesUsage, mergeUsage } from './decode-usage.ts';
import * as read from '../../platform/json.ts';
import { causeInMessage } from '../cache-diagnostics.ts';
import { failure } from '../../contracts/failure.ts';
import type { ReportedUsage, StreamPiece } from '../../contracts/stream-piece.ts';

/** What reading one answer depends on. */
export interface ReaderOptions {
  /** Whether a call of the format tool is the answer itself. */
  readonly formatTool: boolean;
  /** Whether usage has the tier, the speed and the rounds as the provider names them, which only batches show. */
  readonly detailedUsage: boolean;
  /** The caller's id for one on the wire. */
  readonly originalId: OriginalId;
  /** Makes an id for a call that came without one. */
  readonly newId: (index: number) => string;
  /** With what answer the provider was to compare the prompt. Absent where it was not asked. */
  readonly compareWith?: string | null | undefined;
}

/** A block that is being read. */
type OpenBlock =
  | { readonly type: 'text'; readonly start: number; readonly citations: unknown[] }
  | { readonly type: 'thinking'; readonly position: number }
  | {
      readonly type: 'tool';
      readonly id: string | undefined;
      readonly call: number;
      readonly input: unknown;
      filled: boolean;
    }
  | { readonly type: 'format'; readonly input: unknown; filled: boolean }
  /** Of a kind that means nothing to chat completions. */
  | { readonly type: 'other' };

/** Calls in one answer; a provider that makes more is out of its mind. */
const MAX_CALLS = 1_000;

/**
 * Reads one message, as it comes in events or block by block from a non-streaming response, and turns it into pieces.
 *
 * Thinking is numbered by its place in the turn: every thinking block and every tool call has a place of its own, and all
 * text together has one. With these numbers the turn can be put together again as it was; see `encodeAssistant`.
 */
export class MessageReader {
  readonly #options: ReaderOptions;
  readonly #blocks = new Map<number, OpenBlock>();
  /** Blocks that came with the message itself, as after programmatic calls of tools. */
  readonly #given = new Map<number, JsonObject>();
  #id: string | undefined;
  #usage: JsonObject | undefined;
  #calls = 0;
  #positions = 0;
  /** UTF-16 units of text so far. */
  #length = 0;
  #hasText = false;
  #stop: string | undefined;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  /** The message begins. Some gateways say so twice; two different messages in one stream are a broken one. */
  start(message: JsonObject, pieces: StreamPiece[]): void {
    const id = read.text(message['id']);
    if (this.#id !== undefined && id !== undefined && id !== this.#id) {
      pieces.push(broken('The provider began a second answer inside the first'));
      return;
    }
    this.#id = id ?? this.#id;
    this.#usage = mergeUsage(this.#usage, message['usage']);
    const cacheMiss = causeInMessage(message, this.#options.compareWith);
    pieces.push({ type: 'facts', upstreamId: this.#id, serviceTier: decodeTier(this.#usage), cacheMiss });
    this.#reportUsage(pieces);
    this.#stop = endWord(message['stop_reason']) ?? this.#stop;
    for (const [index, block] of read.list(message['content']).entries()) {
      if (isJsonObject(block)) this.#given.set(index, block);
    }
  }

  startBlock(index: number, block: JsonObject, pieces: StreamPiece[]): void {
    // An event for a block that came with the message says it once more.
    this.#given.delete(index);
    this.#readGiven(index, pieces);
    const open = this.#blocks.get(index);
    // Some servers send the same index for every block, and some begin a block twice.
    if (open?.type === 'tool' && open.id !== undefined && open.id === block['id']) return;
    if (open !== undefined) this.stopBlock(index, pieces);
    this.#open(index, block, pieces);
  }

  /** Reads the blocks that came with the message, up to one that begins now. */
  #readGiven(before: number, pieces: StreamPiece[]): void {
    for (const [index, block] of this.#given) {
      if (index >= before) continue;
      this.#given.delete(index);
      this.#open(index, block, pieces);
      this.stopBlock(index, pieces);
    }
  }

  #open(index: number, block: JsonObject, pieces: StreamPiece[]): void {
    const { type } = block;
    if (type === 'text') {
      const citations = Array.isArray(block['citations']) ? [...block['citations']] : [];
      this.#blocks.set(index, { type: 'text', start: this.#length, citations });
      this.#text(read.text(block['text']), pieces);
    } else if (type === 'thinking') {
      this.#blocks.set(index, { type: 'thinking', position: this.#positions });
      this.#thinking(this.#positions, block, pieces);
      this.#positions += 1;
    } else if (type === 'redacted_thinking') {
      this.#detail({ type: 'reasoning.encrypted', data: read.text(block['data']) ?? '', ...this.#marks() }, pieces);
      this.#positions += 1;
    } else if (type === 'tool_use') {
      this.#startCall(index, block, pieces);
    } else {
      this.#blocks.set(index, { type: 'other' });
    }
  }

  delta(index: number, delta: JsonObject, pieces: StreamPiece[]): void {
    const block = this.#blocks.get(index);
    switch (delta['type']) {
      case 'text_delta':
        if (block?.type !== 'other') this.#text(read.text(delta['text']), pieces);
        break;
      case 'thinking_delta':
      case 'signature_delta':
        if (block?.type === 'thinking') this.#thinking(block.position, delta, pieces);
        else if (block === undefined) this.#open(index, { ...delta, type: 'thinking' }, pieces);
        break;
      case 'citations_delta':
        if (block?.type === 'text') block.citations.push(delta['citation']);
        break;
      case 'input_json_delta':
        this.#input(block, read.text(delta['partial_json']), pieces);
        break;
      default:
        break;
    }
  }

  stopBlock(index: number, pieces: StreamPiece[]): void {
    const block = this.#blocks.get(index);
    this.#blocks.delete(index);
    if (block?.type === 'text') {
      const span = { start: block.start, end: this.#length };
      const annotations = block.citations.flatMap((citation) => decodeCitation(citation, span));
      if (annotations.length > 0) push({ annotations }, pieces);
    } else if ((block?.type === 'tool' || block?.type === 'format') && !block.filled) {
      this.#input(block, JSON.stringify(block.input ?? {}), pieces);
    }
  }

  /** The model stopped, or the counts changed. */
  update(delta: JsonObject, usage: unknown, pieces: StreamPiece[]): void {
    this.#usage = mergeUsage(this.#usage, usage);
    this.#reportUsage(pieces);
    const stop = endWord(delta['stop_reason']);
    if (stop === undefined) return;
    this.#readGiven(Infinity, pieces);
    if (this.#stop !== 'refusal') this.#stop = stop;
    if (stop === 'refusal') this.#refused(read.object(delta['stop_details']), pieces);
  }

  #refused({ category, explanation, fallback_credit_token: token }: JsonObject, pieces: StreamPiece[]): void {
    const refusal = { category: read.text(category), creditToken: read.text(token) };
    if (refusal.category !== undefined || refusal.creditToken !== undefined) pieces.push({ type: 'facts', refusal });
    const said = read.text(explanation);
    if (!this.#hasText && said !== undefined) push({ refusal: said }, pieces);
  }

  /** The message is over. One that never said why it stopped ended early. */
  finish(pieces: StreamPiece[]): void {
    this.#readGiven(Infinity, pieces);
    for (const index of this.#blocks.keys()) this.stopBlock(index, pieces);
    const stop = this.#stop;
    const reason = stop === undefined ? 'error' : this.#isFormatted() ? 'stop' : mapStopReason(stop);
    pieces.push({ type: 'finish', index: 0, reason, native: stop ?? null }, { type: 'end' });
  }

  /** Text that was recognised without being parsed. */
  plainText(escaped: string, length: number, pieces: StreamPiece[]): void {
    this.#noteText(length);
    pieces.push(escaped);
  }

  #isFormatted(): boolean {
    return this.#stop === 'tool_use' && this.#options.formatTool && this.#calls === 0;
  }

  #startCall(index: number, block: JsonObject, pieces: StreamPiece[]): void {
    const [id, name, input] = [read.text(block['id']), read.text(block['name']), block['input']];
    if (this.#options.formatTool && name === FORMAT_TOOL) {
      this.#blocks.set(index, { type: 'format', input, filled: false });
      return;
    }
    const call = this.#calls;
    if (name === undefined || call >= MAX_CALLS) {
      pieces.push(broken('The provider sent an invalid tool call'));
      return;
    }
    this.#calls += 1;
    this.#positions += 1;
    this.#blocks.set(index, { type: 'tool', id, call, input, filled: false });
    const known = id === undefined ? this.#options.newId(call) : this.#options.originalId(id);
    const first = { id: known, type: 'function', function: { name, arguments: '' } } as const;
    push({ tool_calls: [{ index: call, ...first }] }, pieces);
  }

  #input(block: OpenBlock | undefined, text: string | undefined, pieces: StreamPiece[]): void {
    if (text === undefined) return;
    if (block === undefined) pieces.push(broken('The provider sent a tool call without a name'));
    else if (block.type === 'tool') {
      block.filled = true;
      push({ tool_calls: [{ index: block.call, function: { arguments: text } }] }, pieces);
    } else if (block.type === 'format') {
      block.filled = true;
      this.#text(text, pieces);
    }
  }

  #text(text: string | undefined, pieces: StreamPiece[]): void {
    if (text === undefined) return;
    this.#noteText(text.length);
    pieces.push(escapeText(text));
  }

  #noteText(length: number): void {
    this.#length += length;
    if (this.#hasText) return;
    this.#hasText = true;
    this.#positions += 1;
  }

  /** A signature without text belongs to thinking that is not shown; it must come back all the same. */
  #thinking(position: number, { thinking, signature }: JsonObject, pieces: StreamPiece[]): void {
    const [text, proof] = [read.text(thinking), read.text(signature)];
    if (text === undefined && proof === undefined) return;
    const detail = {
      type: 'reasoning.text' as const,
      ...(text === undefined ? {} : { text }),
      ...(proof === undefined ? {} : { signature: proof }),
      ...this.#marks(position),
    };
    if (text === undefined) this.#detail(detail, pieces);
    else push({ reasoning: text, reasoning_details: [detail] }, pieces);
  }

  #detail(detail: ReasoningDetail, pieces: StreamPiece[]): void {
    push({ reasoning_details: [detail] }, pieces);
  }

  #marks(index = this.#positions): { readonly format: string; readonly index: number } {
    return { format: THINKING_FORMAT, index };
  }

  #reportUsage(pieces: StreamPiece[]): void {
    const usage: ReportedUsage | undefined = decodeMessagesUsage(this.#usage, this.#options);
    if (usage !== undefined) pieces.push({ type: 'usage', usage });
  }
}

function push(delta: Delta, pieces: StreamPiece[]): void {
  pieces.push({ type: 'delta', index: 0, delta });
}

function broken(message: string): StreamPiece {
  return { type: 'failure', failure: failure('bad_response', message) };
}

/** Where in the text of the answer the words that a citation belongs to stand. */
interface CitedSpan {
  readonly start: number;
  readonly end: number;
}

/**
 * A citation of something with an address, as an annotation. Citations of places in documents have no form in chat
 * completions and are left out.
 */
function decodeCitation(citation: unknown, { start, end }: CitedSpan): readonly Annotation[] {
  if (!isJsonObject(citation)) return [];
  const { url: address, source, title, cited_text: content } = citation;
  const url = [address, source].find((value) => typeof value === 'string' && /^https?:/.test(value));
  if (typeof url !== 'string') return [];
  return [
    {
      type: 'url_citation',
      url_citation: {
        url,
        ...(typeof title === 'string' ? { title } : {}),
        ...(typeof content === 'string' ? { content } : {}),
        start_index: start,
        end_index: end,
      },
    },
  ];
}
