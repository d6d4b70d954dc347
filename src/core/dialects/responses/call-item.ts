import { type JsonObject, isJsonObject } from '../../../protocol/json.ts';
import { type ItemPlace, type ItemStatus, type OutputItemWriter, announce, conclude } from './output-item.ts';

/** What is known of a call when it begins. */
export interface CallHead {
  readonly callId: string;
  readonly name: string;
}

/** A call of one of the caller's functions. */
export class FunctionCallWriter implements OutputItemWriter {
  readonly outputIndex: number;
  readonly #place: ItemPlace;
  readonly #head: CallHead;
  readonly #pieces: string[] = [];

  constructor(place: ItemPlace, head: CallHead) {
    this.#place = place;
    this.#head = head;
    this.outputIndex = place.outputIndex;
    announce(place, { ...this.item('in_progress'), arguments: '' });
  }

  /** Adds a fragment of the arguments. */
  add(text: string): void {
    this.#pieces.push(text);
    const { emit, id, outputIndex } = this.#place;
    emit('response.function_call_arguments.delta', { item_id: id, output_index: outputIndex, delta: text });
  }

  item(status: ItemStatus): JsonObject {
    const { callId, name } = this.#head;
    return { id: this.#place.id, type: 'function_call', call_id: callId, name, arguments: this.#text(), status };
  }

  close(status: ItemStatus): void {
    const { emit, id, outputIndex } = this.#place;
    const { name } = this.#head;
    emit('response.function_call_arguments.done', {
      item_id: id,
      output_index: outputIndex,
      name,
      arguments: this.#text(),
    });
    conclude(this.#place, this.item(status));
  }

  /** Empty arguments are an empty object: strict clients parse them. */
  #text(): string {
    return this.#pieces.join('') || '{}';
  }
}

/**
 * A call of one of the caller's custom tools. Its text is the one argument of a function, and is told when it is whole:
 * half of a JSON string cannot be read.
 */
export class CustomCallWriter implements OutputItemWriter {
  readonly outputIndex: number;
  readonly #place: ItemPlace;
  readonly #head: CallHead;
  readonly #pieces: string[] = [];

  constructor(place: ItemPlace, head: CallHead) {
    this.#place = place;
    this.#head = head;
    this.outputIndex = place.outputIndex;
    announce(place, { ...this.item('in_progress'), input: '' });
  }

  add(text: string): void {
    this.#pieces.push(text);
  }

  item(status: ItemStatus): JsonObject {
    const { callId, name } = this.#head;
    return { id: this.#place.id, type: 'custom_tool_call', call_id: callId, name, input: this.#input(), status };
  }

  close(status: ItemStatus): void {
    const { emit, id, outputIndex } = this.#place;
    const input = this.#input();
    if (input !== '') {
      emit('response.custom_tool_call_input.delta', { item_id: id, output_index: outputIndex, delta: input });
    }
    emit('response.custom_tool_call_input.done', { item_id: id, output_index: outputIndex, input });
    conclude(this.#place, this.item(status));
  }

  /** The text inside the arguments; what is not the object that was asked for is taken as it is. */
  #input(): string {
    const text = this.#pieces.join('');
    try {
      const value: unknown = JSON.parse(text);
      return isJsonObject(value) && typeof value['input'] === 'string' ? value['input'] : text;
    } catch {
      return text;
    }
  }
}
