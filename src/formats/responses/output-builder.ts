/** Builds the output items of a response from the pieces of a stream, with an event for each step. */
import type { Logprobs, OutputImage } from '../../protocol/chat-result.ts';
import type { Delta, ToolCallDelta } from '../../protocol/chunk.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import { type IdKind, itemId } from './response-object.ts';
import {
  announce,
  conclude,
  type Emit,
  type ItemPlace,
  type ItemStatus,
  MessageWriter,
  type OutputItemWriter,
} from './output-items.ts';
import { ReasoningWriter } from './reasoning-items.ts';
import * as read from '../../platform/json.ts';

/** What the items of one answer are made with. */
interface OutputOptions {
  readonly generationId: string;
  /** Tools whose calls are sent as calls of custom tools. */
  readonly customTools: ReadonlySet<string>;
  readonly emit: Emit;
}

/**
 * Turns what a model says into the items of an answer, and tells of every step. Non-streaming responses are made by the
 * same steps as streams, so that both have the same items. Items keep their place whatever else grows beside them.
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
    const shown = details.some((detail) => detail.type === 'reasoning.text' || detail.type === 'reasoning.summary');
    if (reasoning && !shown) this.#reason({ type: 'reasoning.text', text: reasoning });
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

type ServerCall = Extract<ReasoningDetail, { readonly type: 'reasoning.server_tool_call' }>;

/** An item that is there all at once: an image, or a call of a server tool with its result. */
class DoneItemWriter implements OutputItemWriter {
  readonly outputIndex: number;
  readonly #item: JsonObject;

  /** @param steps - Names of the events between the beginning and the end. */
  constructor(place: ItemPlace, item: JsonObject, pending: JsonObject, steps: readonly string[]) {
    this.outputIndex = place.outputIndex;
    this.#item = { id: place.id, ...item };
    announce(place, { ...this.#item, ...pending, status: 'in_progress' });
    for (const step of steps) place.emit(step, { item_id: place.id, output_index: place.outputIndex });
    conclude(place, this.#item);
  }

  item(): JsonObject {
    return this.#item;
  }

  close(): void {
    // It was told already.
  }
}

/** An image in the answer. */
function imageItem(place: ItemPlace, { image_url: { url } }: OutputImage): DoneItemWriter {
  const [, format, base64] = /^data:image\/([\w.+-]+);base64,(.*)$/s.exec(url) ?? [];
  const image = {
    type: 'image_generation_call',
    status: 'completed',
    result: base64 ?? url,
    ...(format === undefined ? {} : { output_format: format }),
  };
  const names = ['in_progress', 'completed'].map((step) => `response.image_generation_call.${step}`);
  return new DoneItemWriter(place, image, { result: null }, names);
}

/**
 * A call of a server tool that the router ran. It carries what has to come back for the call to be replayed; searches
 * look like those of OpenAI, so that clients show them.
 */
function serverCallItem(place: ItemPlace, call: ServerCall): DoneItemWriter {
  const { tool_name: name, tool_call_id: id, arguments: text, result } = call;
  const replay = { tool_name: name, arguments: text, result, ...(id === undefined ? {} : { tool_call_id: id }) };
  const bare = name.replace(/^(?:open)?router:/, '');
  const action = actionOf(bare, text, result);
  const type = action === undefined ? `router:${bare}` : 'web_search_call';
  const item = { type, status: 'completed', ...(action === undefined ? {} : { action }), ...replay };
  const steps = ['in_progress', 'searching', 'completed'].map((step) => `response.web_search_call.${step}`);
  return new DoneItemWriter(place, item, {}, action === undefined ? [] : steps);
}

function actionOf(tool: string, text: string, result: string): JsonObject | undefined {
  if (tool !== 'web_search' && tool !== 'web_fetch') return undefined;
  const { query, url } = read.object(read.parse(text));
  if (tool === 'web_fetch') return { type: 'open_page', url: read.text(url) ?? '' };
  const sources = sourcesOf(result);
  return {
    type: 'search',
    query: read.text(query) ?? '',
    ...(sources.length === 0 ? {} : { sources }),
  };
}

/** Addresses among the results, where the results are a list that has some. */
function sourcesOf(result: string): readonly JsonObject[] {
  const value = read.parse(result);
  const { results } = isJsonObject(value) ? value : { results: value };
  const found = read.objects(results);
  return found.flatMap(({ url }) => (typeof url === 'string' ? [{ type: 'url', url }] : []));
}

/** What is known of a call when it begins. */
interface CallHead {
  readonly callId: string;
  readonly name: string;
}

/** A call of a tool of the caller's, whose text comes in pieces. */
abstract class CallWriter implements OutputItemWriter {
  readonly outputIndex: number;
  protected readonly place: ItemPlace;
  protected readonly head: CallHead;
  protected readonly pieces: string[] = [];

  /** @param field - The member of an item that has the text. */
  constructor(place: ItemPlace, head: CallHead, field: 'arguments' | 'input') {
    this.place = place;
    this.head = head;
    this.outputIndex = place.outputIndex;
    announce(place, { ...this.item('in_progress'), [field]: '' });
  }

  /** Adds a fragment of the text. */
  abstract add(text: string): void;
  abstract item(status: ItemStatus): JsonObject;
  abstract close(status: ItemStatus): void;
}

/** A call of one of the caller's functions. */
class FunctionCallWriter extends CallWriter {
  constructor(place: ItemPlace, head: CallHead) {
    super(place, head, 'arguments');
  }

  override add(text: string): void {
    this.pieces.push(text);
    const { emit, id, outputIndex } = this.place;
    emit('response.function_call_arguments.delta', { item_id: id, output_index: outputIndex, delta: text });
  }

  override item(status: ItemStatus): JsonObject {
    const { callId, name } = this.head;
    return { id: this.place.id, type: 'function_call', call_id: callId, name, arguments: this.text(), status };
  }

  override close(status: ItemStatus): void {
    const { emit, id, outputIndex } = this.place;
    const { name } = this.head;
    emit('response.function_call_arguments.done', {
      item_id: id,
      output_index: outputIndex,
      name,
      arguments: this.text(),
    });
    conclude(this.place, this.item(status));
  }

  /** Empty arguments are an empty object: strict clients parse them. */
  protected text(): string {
    return this.pieces.join('') || '{}';
  }
}

/**
 * A call of one of the caller's custom tools. Its text is the one argument of a function, and is told when it is whole:
 * half of a JSON string cannot be read.
 */
class CustomCallWriter extends CallWriter {
  constructor(place: ItemPlace, head: CallHead) {
    super(place, head, 'input');
  }

  override add(text: string): void {
    this.pieces.push(text);
  }

  override item(status: ItemStatus): JsonObject {
    const { callId, name } = this.head;
    return { id: this.place.id, type: 'custom_tool_call', call_id: callId, name, input: this.input(), status };
  }

  override close(status: ItemStatus): void {
    const { emit, id, outputIndex } = this.place;
    const input = this.input();
    if (input !== '') {
      emit('response.custom_tool_call_input.delta', { item_id: id, output_index: outputIndex, delta: input });
    }
    emit('response.custom_tool_call_input.done', { item_id: id, output_index: outputIndex, input });
    conclude(this.place, this.item(status));
  }

  /** The text inside the arguments; what is not the object that was requested is taken as it is. */
  protected input(): string {
    const text = this.pieces.join('');
    return read.string(read.object(read.parse(text))['input']) ?? text;
  }
}
