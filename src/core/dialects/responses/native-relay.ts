import { type JsonObject, isJsonObject } from '../../../protocol/json.ts';
import type { NativePiece } from '../../stream/pieces.ts';
import type { DialectContext } from '../dialect.ts';
import { type NativeFacts, adoptResponse } from './native-response.ts';

/** Events that carry the whole answer and end the stream. */
const TERMINAL = new Set(['response.completed', 'response.incomplete']);
/** Events that carry the whole answer. */
const CARRYING = new Set(['response.created', 'response.queued', 'response.in_progress']);

/**
 * Passes a provider's own events on. Those that carry the whole answer get this router's id, model and price; the last
 * one waits for the end, because what the answer cost is only known then.
 */
export class NativeRelay {
  readonly #context: DialectContext;
  readonly #items: JsonObject[] = [];
  #last: NativePiece | undefined;
  #terminal: NativePiece | undefined;
  #response: JsonObject = {};

  constructor(context: DialectContext) {
    this.#context = context;
  }

  /** True once a provider has said something in its own words. */
  get begun(): boolean {
    return this.#last !== undefined;
  }

  /** Number of the next event. */
  get sequence(): number {
    const { sequence_number: last } = parse(this.#last);
    return typeof last === 'number' ? last + 1 : 0;
  }

  /** The answer as it was last seen. */
  get response(): JsonObject {
    return this.#response;
  }

  /** Items that were finished. */
  items(): readonly JsonObject[] {
    return this.#items;
  }

  /** The frame of one event, if it goes out now. */
  write(piece: NativePiece, facts: NativeFacts): string {
    this.#last = piece;
    if (TERMINAL.has(piece.event)) {
      this.#terminal = piece;
      return '';
    }
    if (CARRYING.has(piece.event)) return this.#adopted(piece, facts);
    if (piece.event === 'response.output_item.done') this.#note(piece);
    return frame(piece.event, piece.data);
  }

  /** The frame of the last event. */
  end(facts: NativeFacts): string {
    return this.#terminal === undefined ? '' : this.#adopted(this.#terminal, facts);
  }

  #adopted(piece: NativePiece, facts: NativeFacts): string {
    const event = parse(piece);
    const response = isJsonObject(event['response']) ? event['response'] : {};
    this.#response = adoptResponse(response, this.#context, facts);
    return frame(piece.event, JSON.stringify({ ...event, response: this.#response }));
  }

  #note(piece: NativePiece): void {
    const { item } = parse(piece);
    if (isJsonObject(item)) this.#items.push(item);
  }
}

/** Line ends between the members of an event would end its data. */
function frame(event: string, data: string): string {
  const line = /[\r\n]/.test(data) ? data.replace(/[\r\n]+/g, ' ') : data;
  return `event: ${event}\ndata: ${line}\n\n`;
}

function parse(piece: NativePiece | undefined): JsonObject {
  const value: unknown = piece === undefined ? undefined : JSON.parse(piece.data);
  return isJsonObject(value) ? value : {};
}
