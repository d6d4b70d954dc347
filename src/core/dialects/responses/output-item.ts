import type { JsonObject, JsonValue } from '../../../protocol/json.ts';

/** How an item ended, or that it has not. */
export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** Takes the events of an answer in turn; each gets its `type` and `sequence_number`. */
export type Emit = (type: string, members: Readonly<Record<string, JsonValue | undefined>>) => void;

/** What an item needs to tell of itself. */
export interface ItemPlace {
  readonly emit: Emit;
  readonly id: string;
  /** Position in `output`. Events of items that grow at the same time are told apart by it. */
  readonly outputIndex: number;
}

/** One item of an answer while it grows. */
export interface OutputItemWriter {
  readonly outputIndex: number;
  /** The item as it is now. */
  item(status: ItemStatus): JsonObject;
  /** Tells that nothing will be added. */
  close(status: ItemStatus): void;
}

/** Tells of a new item. */
export function announce({ emit, outputIndex }: ItemPlace, item: JsonObject): void {
  emit('response.output_item.added', { output_index: outputIndex, item });
}

/** Tells that an item is over. */
export function conclude({ emit, outputIndex }: ItemPlace, item: JsonObject): void {
  emit('response.output_item.done', { output_index: outputIndex, item });
}
