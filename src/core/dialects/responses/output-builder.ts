import type { Logprobs } from '../../../protocol/chat-result.ts';
import type { Delta, ToolCallDelta } from '../../../protocol/chunk.ts';
import type { JsonObject } from '../../../protocol/json.ts';
import type { ReasoningDetail } from '../../../protocol/reasoning.ts';
import { CustomCallWriter, FunctionCallWriter } from './call-item.ts';
import { imageItem, serverCallItem } from './done-items.ts';
import { type IdKind, itemId } from './ids.ts';
import { MessageWriter } from './message-item.ts';
import type { Emit, ItemPlace, ItemStatus, OutputItemWriter } from './output-item.ts';
import { ReasoningWriter } from './reasoning-item.ts';

/** What the items of one answer are made with. */
export interface OutputOptions {
  readonly generationId: string;
  /** Tools whose calls are told as calls of custom tools. */
  readonly customTools: ReadonlySet<string>;
  readonly emit: Emit;
}

/**
 * Turns what a model says into the items of an answer, and tells of every step. Whole answers are made by the same
 * steps as streams, so that both have the same items. Items keep their place whatever else grows beside them.
 */
export class OutputBuilder {
  readonly #options: OutputOptions;
  readonly #items: OutputItemWriter[] = [];
  readonly #closed = new Set<OutputItemWriter>();
  readonly #calls = new Map<number, FunctionCallWriter | CustomCallWriter>();
  readonly #ids = new Set<string>();
  #message: MessageWriter | undefined;
  #reasoning: ReasoningWriter | undefined;

  constructor(options: OutputOptions) {
    this.#options = options;
  }

  /** Adds what a chunk says, or a whole message at once. */
  add(delta: Delta, logprobs?: Logprobs | null): void {
    this.#think(delta);
    if (delta.content) this.#speak().text(delta.content, logprobs?.content ?? []);
    if (delta.refusal) this.#speak().refusal(delta.refusal);
    for (const annotation of delta.annotations ?? []) this.#speak().annotation(annotation);
    for (const image of delta.images ?? []) this.#place('ig', (place) => imageItem(place, image));
    for (const call of delta.tool_calls ?? []) this.#call(call);
  }

  /** Adds plain text that somebody else tells of; gives the members of that event besides the text. */
  addQuietly(text: string): string {
    return this.#speak().addQuietly(text);
  }

  /** Tells that nothing will be added, and gives the items. A complete answer has at least an empty message. */
  close(status: ItemStatus): readonly JsonObject[] {
    if (status === 'completed' && this.#message === undefined && this.#onlyReasoned()) this.#speak().atLeastEmpty();
    for (const item of this.#items) this.#close(item, status);
    return this.items(status);
  }

  /** The items as they are now. */
  items(status: ItemStatus): readonly JsonObject[] {
    return this.#items.map((item) => item.item(this.#closed.has(item) ? 'completed' : status));
  }

  #onlyReasoned(): boolean {
    return this.#items.every((item) => item instanceof ReasoningWriter);
  }

  #close(item: OutputItemWriter, status: ItemStatus): void {
    if (this.#closed.has(item)) return;
    item.close(status);
    // Only what ended by itself is complete, whatever becomes of the rest.
    if (status === 'completed') this.#closed.add(item);
  }

  /** Providers tell the same reasoning as text and in pieces; the pieces say more. */
  #think({ reasoning, reasoning_details: details = [] }: Delta): void {
    const told = details.some((detail) => detail.type === 'reasoning.text' || detail.type === 'reasoning.summary');
    if (reasoning && !told) this.#reason({ type: 'reasoning.text', text: reasoning });
    for (const detail of details) this.#reason(detail);
  }

  #reason(detail: ReasoningDetail): void {
    if (detail.type === 'reasoning.server_tool_call') {
      this.#endReasoning();
      this.#place('st', (place) => serverCallItem(place, detail));
      return;
    }
    if (this.#reasoning !== undefined && !this.#reasoning.takes(detail)) this.#endReasoning();
    this.#reasoning ??= this.#place('rs', (place) => new ReasoningWriter(place), detail.id ?? undefined);
    this.#reasoning.add(detail);
  }

  #endReasoning(): void {
    if (this.#reasoning !== undefined) this.#close(this.#reasoning, 'completed');
    this.#reasoning = undefined;
  }

  #speak(): MessageWriter {
    this.#endReasoning();
    return (this.#message ??= this.#place('msg', (place) => new MessageWriter(place)));
  }

  #call({ index, id, function: called }: ToolCallDelta): void {
    this.#endReasoning();
    let call = this.#calls.get(index);
    if (call === undefined) {
      const head = { callId: id ?? '', name: called?.name ?? '' };
      call = this.#options.customTools.has(head.name)
        ? this.#place('ctc', (place) => new CustomCallWriter(place, head))
        : this.#place('fc', (place) => new FunctionCallWriter(place, head));
      this.#calls.set(index, call);
    }
    if (called?.arguments) call.add(called.arguments);
  }

  /** Opens an item. A provider's own id is kept if no other item of this answer has it. */
  #place<Item extends OutputItemWriter>(kind: IdKind, open: (place: ItemPlace) => Item, wanted?: string): Item {
    const { generationId, emit } = this.#options;
    const outputIndex = this.#items.length;
    const id = wanted && !this.#ids.has(wanted) ? wanted : itemId(kind, generationId, outputIndex);
    this.#ids.add(id);
    const item = open({ emit, id, outputIndex });
    this.#items.push(item);
    return item;
  }
}
