import type { BlockDelta, ResultBlock } from '../../../protocol/messages/messages-result.ts';
import { JsonProgress } from '../../stream/json-progress.ts';

/** A block of a stream, as far as it is known. */
export interface OpeningBlock {
  /** As it stands in `content_block_start`, before any delta. */
  readonly start: ResultBlock;
  /** What is said at the last moment before the block ends. */
  readonly closing?: (() => readonly BlockDelta[]) | undefined;
}

interface Block extends OpeningBlock {
  readonly key: string;
  /** Follows the arguments of a call; other blocks may end at any time. */
  readonly progress: JsonProgress | undefined;
  /** What came while another block was open. */
  readonly waiting: BlockDelta[];
}

/** Receives the events of blocks, in their order on the wire. */
export interface BlockEvents {
  start(index: number, block: ResultBlock): void;
  delta(index: number, delta: BlockDelta): void;
  stop(index: number): void;
}

/**
 * Puts what belongs to several blocks one after the other, because blocks of this wire never interleave. A call whose
 * arguments are not complete stays open, and what belongs to other blocks waits behind it; as soon as its JSON is
 * closed the next block has its turn. So calls that come one after the other are passed on as they come.
 */
export class BlockSequence {
  readonly #events: BlockEvents;
  readonly #queue: Block[] = [];
  /** Calls that were complete when they ended: nothing can be added to them. */
  readonly #complete = new Set<string>();
  #open: Block | undefined;
  #index = -1;

  constructor(events: BlockEvents) {
    this.#events = events;
  }

  /** Adds to the block with this key. One that has ended, or that never was, begins; a call begins only once. */
  add(key: string, make: () => OpeningBlock, deltas: readonly BlockDelta[]): void {
    if (this.#open?.key === key) return this.#write(this.#open, deltas);
    const waiting = this.#queue.find((block) => block.key === key);
    if (waiting !== undefined) return void waiting.waiting.push(...deltas);
    if (this.#complete.has(key)) return;
    const opening = make();
    const progress = opening.start.type === 'tool_use' ? new JsonProgress() : undefined;
    const block: Block = { ...opening, key, progress, waiting: [...deltas] };
    this.#queue.push(block);
    this.#advance();
  }

  /** Ends all blocks; what waited is said. */
  end(): void {
    for (const block of this.#queue.splice(0)) this.#begin(block);
    this.#close();
  }

  #write(block: Block, deltas: readonly BlockDelta[]): void {
    for (const delta of deltas) {
      if (delta.type === 'input_json_delta') block.progress?.read(delta.partial_json);
      this.#events.delta(this.#index, delta);
    }
    if (this.#queue.length > 0) this.#advance();
  }

  /** Gives the next block its turn, as long as the open one may end. */
  #advance(): void {
    while (this.#open === undefined || this.#open.progress?.complete !== false) {
      const next = this.#queue.shift();
      if (next === undefined) return;
      this.#begin(next);
    }
  }

  #begin(block: Block): void {
    this.#close();
    this.#open = block;
    this.#index += 1;
    this.#events.start(this.#index, block.start);
    for (const delta of block.waiting.splice(0)) {
      if (delta.type === 'input_json_delta') block.progress?.read(delta.partial_json);
      this.#events.delta(this.#index, delta);
    }
  }

  #close(): void {
    if (this.#open === undefined) return;
    for (const delta of this.#open.closing?.() ?? []) this.#events.delta(this.#index, delta);
    this.#events.stop(this.#index);
    if (this.#open.progress !== undefined) this.#complete.add(this.#open.key);
    this.#open = undefined;
  }
}
