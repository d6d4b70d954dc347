/** Turns reasoning details into thinking blocks and back, in the order of the answer. */
import type { RedactedThinkingBlock, ThinkingBlock } from './protocol/block.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import type { BlockDelta, ResultBlock } from './protocol/messages-result.ts';
import { JsonProgress } from '../../core/stream/json-progress.ts';
import * as read from '../../platform/json.ts';

/** Format of reasoning that this wire carries by itself. */
const OWN_FORMAT = 'anthropic-claude-v1';

/**
 * Begins the signature or data of a block that was not made by Anthropic. What follows is the rest of the reasoning
 * detail, so that it goes back to its maker unchanged when the caller sends the conversation again.
 */
const SEAL = 'router.v1:';

/** A reasoning detail as a block. Text and signatures are never changed. */
export function blockOfDetail(detail: ReasoningDetail): ThinkingBlock | RedactedThinkingBlock {
  switch (detail.type) {
    case 'reasoning.text':
      return { type: 'thinking', thinking: detail.text ?? '', signature: signatureOf(detail) };
    case 'reasoning.summary':
      return { type: 'thinking', thinking: detail.summary, signature: signatureOf(detail) };
    case 'reasoning.encrypted':
      return { type: 'redacted_thinking', data: isOwn(detail) ? detail.data : seal(detail) };
    case 'reasoning.server_tool_call':
      return { type: 'redacted_thinking', data: seal(detail) };
  }
}

/** The signature of a thinking block that stands for a detail; empty where nobody signed. */
export function signatureOf(detail: ReasoningDetail): string {
  if (detail.type === 'reasoning.summary') {
    const { summary: _, ...rest } = detail;
    return seal(rest);
  }
  if (detail.type !== 'reasoning.text') return '';
  const { text: _, ...rest } = detail;
  if (isOwn(detail)) return detail.signature ?? '';
  return detail.signature == null && detail.id == null ? '' : seal(rest);
}

/** The reasoning detail that a block stands for. `index` is its place in the turn. */
export function detailOfBlock(block: ThinkingBlock | RedactedThinkingBlock, index: number): ReasoningDetail {
  if (block.type === 'redacted_thinking') {
    const sealed = open(block.data);
    return sealed ?? { type: 'reasoning.encrypted', data: block.data, format: OWN_FORMAT, index };
  }
  const { thinking, signature } = block;
  const sealed = open(signature);
  if (sealed?.type === 'reasoning.summary') return { ...sealed, summary: thinking };
  if (sealed?.type === 'reasoning.text') return { ...sealed, text: thinking };
  if (signature === '') return { type: 'reasoning.text', text: thinking, format: 'unknown', index };
  return { type: 'reasoning.text', text: thinking, signature, format: OWN_FORMAT, index };
}

/** True for a block that Anthropic would not accept as its own: nobody signed it, or somebody else did. */
export function isForeign(block: ThinkingBlock | RedactedThinkingBlock): boolean {
  if (block.type === 'redacted_thinking') return block.data.startsWith(SEAL);
  return block.signature === '' || block.signature.startsWith(SEAL);
}

/** Details without a format are taken to be Anthropic's (gaps 6.4). */
function isOwn({ format, id }: ReasoningDetail): boolean {
  return (format == null || format === OWN_FORMAT) && id == null;
}

/** Always in the same order, however the facts came together. */
function seal({ type, id, format, index, ...rest }: Partial<ReasoningDetail>): string {
  return SEAL + JSON.stringify({ type, id, format, index, ...rest });
}

function open(text: string): ReasoningDetail | undefined {
  if (!text.startsWith(SEAL)) return undefined;
  const detail = read.parseObject(text.slice(SEAL.length));
  return typeof detail?.['type'] === 'string' ? (detail as unknown as ReasoningDetail) : undefined;
}

/** A block of thinking, with its place in the turn where that is known. */
export interface PlacedThinking {
  readonly index: number | undefined;
  readonly block: ResultBlock;
}

/**
 * Puts thinking back between what was said and called. Places count every thinking block and every call, and all text
 * as one; thinking that has dense places or none comes first. The maker of thinking refuses it in another place.
 */
export function interleave(
  thinking: readonly PlacedThinking[],
  others: readonly ResultBlock[],
): readonly ResultBlock[] {
  const blocks: ResultBlock[] = [];
  let taken = 0;
  for (const { block, index = blocks.length } of thinking) {
    while (blocks.length < index && taken < others.length) {
      blocks.push(...others.slice(taken, taken + 1));
      taken += 1;
    }
    blocks.push(block);
  }
  return [...blocks, ...others.slice(taken)];
}

/** A block of a stream, as far as it is known. */
export interface OpeningBlock {
  /** As it appears in `content_block_start`, before any delta. */
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
interface BlockEvents {
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
