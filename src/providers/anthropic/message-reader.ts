import { failure } from '../../core/fallback/failure.ts';
import { escapeText, type ReportedUsage, type StreamPiece } from '../../core/stream/pieces.ts';
import type { Delta, UsageIteration } from '../../protocol/chunk.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import { THINKING_FORMAT } from './encode-conversation.ts';
import { FORMAT_TOOL } from './plan-format.ts';
import { mapStopReason } from './blocks.ts';
import type { OriginalId } from '../tool-ids.ts';
import type { Annotation } from '../../protocol/chat-result.ts';
import * as read from '../../platform/json.ts';

/** What reading one answer depends on. */
export interface ReaderOptions {
  /** Whether a call of the format tool is the answer itself. */
  readonly formatTool: boolean;
  /** Whether usage has the tier, the speed and the rounds as the provider names them, which only batches show. */
  readonly detailedUsage: boolean;
  /** The caller's id for one on the wire. */
  readonly originalId: OriginalId;
}

/** A block that is being read. */
type OpenBlock =
  | { readonly type: 'text'; readonly start: number; readonly citations: unknown[] }
  | { readonly type: 'thinking'; readonly position: number }
  | { readonly type: 'tool'; readonly call: number; readonly input: unknown; filled: boolean }
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
    pieces.push({ type: 'facts', upstreamId: this.#id, serviceTier: decodeTier(this.#usage) });
    this.#reportUsage(pieces);
  }

  startBlock(index: number, block: JsonObject, pieces: StreamPiece[]): void {
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
    const stop = read.text(delta['stop_reason']);
    if (stop === undefined) return;
    this.#stop = stop;
    const details = delta['stop_details'];
    const explanation = isJsonObject(details) ? read.text(details['explanation']) : undefined;
    if (stop === 'refusal' && !this.#hasText && explanation !== undefined) push({ refusal: explanation }, pieces);
  }

  /** The message is over. One that never said why it stopped ended early. */
  finish(pieces: StreamPiece[]): void {
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
    if (id === undefined || name === undefined || call >= MAX_CALLS) {
      pieces.push(broken('The provider sent an impossible tool call'));
      return;
    }
    this.#calls += 1;
    this.#positions += 1;
    this.#blocks.set(index, { type: 'tool', call, input, filled: false });
    const first = { id: this.#options.originalId(id), type: 'function', function: { name, arguments: '' } } as const;
    push({ tool_calls: [{ index: call, ...first }] }, pieces);
  }

  #input(block: OpenBlock | undefined, text: string | undefined, pieces: StreamPiece[]): void {
    if (text === undefined || block === undefined) return;
    if (block.type === 'tool') {
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
    const usage: ReportedUsage | undefined = decodeUsage(this.#usage, this.#options.detailedUsage);
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

/**
 * Usage reports of one answer, put together. Reports in a stream are cumulative: what a later one names takes the place
 * of what was known, and what it leaves out or gives as null stays.
 */
function mergeUsage(known: JsonObject | undefined, report: unknown): JsonObject | undefined {
  if (!isJsonObject(report)) return known;
  const named = Object.entries(report).filter(([, value]) => value != null);
  return { ...known, ...Object.fromEntries(named) };
}

/**
 * Reads a usage report, or gives undefined when it holds no counts. Its input tokens leave out what was read from or
 * written to the prompt cache; ours are all of the prompt, each token once.
 */
function decodeUsage(usage: JsonObject | undefined, isDetailed: boolean): ReportedUsage | undefined {
  if (usage === undefined) return undefined;
  const parts = billedParts(usage);
  const sum = (name: string): number | undefined => sumOf(parts.map((part) => read.count(part[name])));
  const input = sum('input_tokens');
  const output = sum('output_tokens');
  if (input === undefined && output === undefined) return undefined;
  const cached = sum('cache_read_input_tokens');
  const written = sum('cache_creation_input_tokens');
  const prompt = (input ?? 0) + (cached ?? 0) + (written ?? 0);
  const completion = output ?? 0;
  const reasoning = read.count(read.object(usage['output_tokens_details'])['thinking_tokens']);
  const lifetimes = lifetimesOf(parts) ?? lifetimesOf([usage]);
  const served = servedTools(usage);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...(cached === undefined && written === undefined
      ? {}
      : {
          prompt_tokens_details: {
            ...(cached === undefined ? {} : { cached_tokens: cached }),
            ...(written === undefined ? {} : { cache_write_tokens: written }),
          },
        }),
    ...(reasoning === undefined
      ? {}
      : { completion_tokens_details: { reasoning_tokens: Math.min(reasoning, completion) } }),
    ...(lifetimes === undefined ? {} : { cache_creation: lifetimes }),
    ...(served === undefined ? {} : { server_tool_use: served }),
    ...(isDetailed ? asReported(usage) : {}),
  };
}

/** What a report says besides counts, as the provider names it (contract: batch resource). */
function asReported({ service_tier: tier, speed, iterations }: JsonObject): Partial<ReportedUsage> {
  const rounds = read.objects(iterations).filter(isIteration);
  return {
    ...(typeof tier === 'string' ? { service_tier: tier } : {}),
    ...(typeof speed === 'string' ? { speed } : {}),
    ...(rounds.length === 0 ? {} : { iterations: rounds }),
  };
}

function isIteration(round: JsonObject): round is JsonObject & UsageIteration {
  return typeof round['type'] === 'string';
}

/** The service tier that answered, as chat completions name it. */
function decodeTier(usage: JsonObject | undefined): string | undefined {
  const tier = usage?.['service_tier'];
  if (typeof tier !== 'string' || tier === '') return undefined;
  return tier === 'standard' ? 'default' : tier;
}

/**
 * What the counts are added up from: the rounds of an answer that took several, without those of other models, or the
 * report itself.
 */
function billedParts(usage: JsonObject): readonly JsonObject[] {
  const { iterations } = usage;
  const rounds = read.objects(iterations);
  if (rounds.some(({ type }) => type === 'fallback_message')) return [usage];
  const own = rounds.filter(({ type }) => type === 'message' || type === 'compaction');
  return own.length > 0 ? own : [usage];
}

type Lifetimes = NonNullable<ReportedUsage['cache_creation']>;

/** Cache writes by how long they live, which differ in price. */
function lifetimesOf(parts: readonly JsonObject[]): Lifetimes | undefined {
  const created = parts.map((part) => read.object(part['cache_creation']));
  const minutes = sumOf(created.map((one) => read.count(one['ephemeral_5m_input_tokens'])));
  const hour = sumOf(created.map((one) => read.count(one['ephemeral_1h_input_tokens'])));
  if (minutes === undefined && hour === undefined) return undefined;
  return {
    ...(minutes === undefined ? {} : { ephemeral_5m_input_tokens: minutes }),
    ...(hour === undefined ? {} : { ephemeral_1h_input_tokens: hour }),
  };
}

function servedTools(usage: JsonObject): ReportedUsage['server_tool_use'] {
  const { web_search_requests: searches, web_fetch_requests: fetches } = read.object(usage['server_tool_use']);
  const [searched, fetched] = [read.count(searches), read.count(fetches)];
  if (searched === undefined && fetched === undefined) return undefined;
  return {
    ...(searched === undefined ? {} : { web_search_requests: searched }),
    ...(fetched === undefined ? {} : { web_fetch_requests: fetched }),
  };
}

function sumOf(counts: readonly (number | undefined)[]): number | undefined {
  const known = counts.filter((one) => one !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, one) => sum + one, 0);
}
