/** Turns reasoning into items of the Responses API and back. */
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import type { ReasoningItem, ServerCallItem } from './protocol/input-item.ts';
import { isOwnItemId } from './response-object.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { announce, conclude, type ItemPlace, type ItemStatus, type OutputItemWriter } from './output-items.ts';

/** Earlier reasoning in the chat form: as plain text, and in the pieces that its provider requires back. */
interface EarlierReasoning {
  readonly text: string;
  readonly details: readonly ReasoningDetail[];
}

/**
 * Reads a reasoning item back into what it was made from. Encrypted content and signatures are never changed.
 * Reasoning that was nothing but text has no details: there is nothing in it that a provider could want back.
 */
export function reasoningOfItem(item: ReasoningItem, index: number): EarlierReasoning {
  const summaries = (item.summary ?? []).map(({ text }) => text);
  const contents = (item.content ?? []).map(({ text }) => text);
  const id = item.id != null && item.id !== '' && !isOwnItemId(item.id) ? item.id : undefined;
  const { encrypted_content: data, signature } = item;
  // An encrypted item of nobody in particular can only be OpenAI's own.
  const format = item.format ?? (data == null ? undefined : 'openai-responses-v1');
  const common = { ...(id === undefined ? {} : { id }), ...(format === undefined ? {} : { format }), index };
  const plain = id === undefined && format === undefined && signature == null && summaries.length === 0;
  const text = [...summaries, ...contents].join('\n\n');
  if (plain) return { text, details: [] };
  const last = contents.length - 1;
  return {
    text,
    details: [
      ...summaries.map((summary) => ({ type: 'reasoning.summary' as const, summary, ...common })),
      ...contents.map((content, position) => ({
        type: 'reasoning.text' as const,
        text: content,
        ...(signature != null && position === last ? { signature } : {}),
        ...common,
      })),
      ...(signature != null && last < 0 ? [{ type: 'reasoning.text' as const, text: '', signature, ...common }] : []),
      ...(data == null ? [] : [{ type: 'reasoning.encrypted' as const, data, ...common }]),
    ],
  };
}

/** A call of a server tool that this router ran, to be replayed; undefined for one that a provider ran. */
export function detailOfServerCall(item: ServerCallItem, index: number): ReasoningDetail | undefined {
  const { tool_name: name, arguments: text, result, tool_call_id: id } = item;
  if (name == null || text == null || result == null) return undefined;
  return {
    type: 'reasoning.server_tool_call',
    tool_name: name,
    arguments: text,
    result,
    ...(id == null ? {} : { tool_call_id: id }),
    index,
  };
}

type ThoughtDetail = Exclude<ReasoningDetail, { readonly type: 'reasoning.server_tool_call' }>;

/** Items come back in this order, so what is earlier in it begins a new one. */
const RANKS = { 'reasoning.summary': 0, 'reasoning.text': 1, 'reasoning.encrypted': 2 } as const;

/** A stretch of summary or of reasoning text. */
interface Stretch {
  readonly kind: 'summary' | 'content';
  /** Among those of its kind. */
  readonly position: number;
  /** Index of the pieces it is made of. */
  readonly source: number | undefined;
  readonly pieces: string[];
}

/** One piece of reasoning: what its provider sent under one id, as a whole. */
export class ReasoningWriter implements OutputItemWriter {
  readonly outputIndex: number;
  readonly #place: ItemPlace;
  readonly #stretches: Stretch[] = [];
  #open: Stretch | undefined;
  #rank = 0;
  #sourceId: string | undefined;
  #index: number | undefined;
  #format: string | undefined;
  #signature: string | undefined;
  #encrypted: string | undefined;

  constructor(place: ItemPlace) {
    this.#place = place;
    this.outputIndex = place.outputIndex;
    announce(place, this.item('in_progress'));
  }

  /**
   * Whether a piece continues this item. One of another id, format or an earlier kind does not, nor one of another index
   * where no ids tell what belongs together; and what is signed or encrypted is complete.
   */
  takes(detail: ThoughtDetail): boolean {
    const { id, format, index } = detail;
    if (this.#signature !== undefined || this.#encrypted !== undefined) return false;
    if (format != null && this.#format !== undefined && format !== this.#format) return false;
    if (RANKS[detail.type] < this.#rank) return false;
    if (id != null || this.#sourceId !== undefined) return id == null || (this.#sourceId ?? id) === id;
    return index === undefined || this.#index === undefined || index === this.#index;
  }

  /** Adds a piece that this item takes. */
  add(detail: ThoughtDetail): void {
    this.#rank = RANKS[detail.type];
    this.#sourceId ??= detail.id ?? undefined;
    this.#format ??= detail.format ?? undefined;
    this.#index ??= detail.index;
    if (detail.type === 'reasoning.encrypted') this.#encrypted = detail.data;
    else if (detail.type === 'reasoning.summary') this.#text('summary', detail.summary, detail.index);
    else {
      if (detail.text) this.#text('content', detail.text, detail.index);
      if (detail.signature != null) this.#signature = detail.signature;
    }
  }

  item(status: ItemStatus): JsonObject {
    const content = this.#texts('content').map((text) => ({ type: 'reasoning_text', text }));
    return {
      id: this.#place.id,
      type: 'reasoning',
      summary: this.#texts('summary').map((text) => ({ type: 'summary_text', text })),
      ...(content.length === 0 ? {} : { content }),
      ...(this.#encrypted === undefined ? {} : { encrypted_content: this.#encrypted }),
      ...(this.#format === undefined ? {} : { format: this.#format }),
      ...(this.#signature === undefined ? {} : { signature: this.#signature }),
      status,
    };
  }

  close(status: ItemStatus): void {
    this.#endStretch();
    conclude(this.#place, this.item(status));
  }

  #text(kind: Stretch['kind'], text: string, source: number | undefined): void {
    let stretch = this.#open;
    if (stretch === undefined || stretch.kind !== kind || stretch.source !== source) {
      this.#endStretch();
      stretch = { kind, position: this.#texts(kind).length, source, pieces: [] };
      this.#stretches.push(stretch);
      this.#open = stretch;
      if (kind === 'summary') this.#notify(stretch, 'response.reasoning_summary_part.added', { part: partOf(stretch) });
      else this.#notify(stretch, 'response.content_part.added', { part: partOf(stretch) });
    }
    stretch.pieces.push(text);
    this.#notify(stretch, `${namesOf(kind)}.delta`, { delta: text });
  }

  #endStretch(): void {
    const stretch = this.#open;
    if (stretch === undefined) return;
    this.#open = undefined;
    this.#notify(stretch, `${namesOf(stretch.kind)}.done`, { text: stretch.pieces.join('') });
    const done = stretch.kind === 'summary' ? 'response.reasoning_summary_part.done' : 'response.content_part.done';
    this.#notify(stretch, done, { part: partOf(stretch) });
  }

  #texts(kind: Stretch['kind']): readonly string[] {
    return this.#stretches.filter((stretch) => stretch.kind === kind).map(({ pieces }) => pieces.join(''));
  }

  #notify({ kind, position }: Stretch, type: string, members: JsonObject): void {
    const { emit, id, outputIndex } = this.#place;
    const where = kind === 'summary' ? { summary_index: position } : { content_index: position };
    emit(type, { item_id: id, output_index: outputIndex, ...where, ...members });
  }
}

function namesOf(kind: Stretch['kind']): string {
  return kind === 'summary' ? 'response.reasoning_summary_text' : 'response.reasoning_text';
}

function partOf({ kind, pieces }: Stretch): JsonObject {
  return { type: kind === 'summary' ? 'summary_text' : 'reasoning_text', text: pieces.join('') };
}
