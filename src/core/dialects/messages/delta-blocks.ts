import type { Delta, ToolCallDelta } from '../../../protocol/chunk.ts';
import type { BlockDelta } from '../../../protocol/messages/messages-result.ts';
import type { ReasoningDetail } from '../../../protocol/reasoning.ts';
import type { BlockSequence, OpeningBlock } from './block-sequence.ts';
import { type BlockOptions, citationOf, imageBlock, isReadable } from './result-blocks.ts';
import { blockOfDetail, signatureOf } from './thinking-blocks.ts';

/** Hands what the deltas of a stream say to the blocks that it belongs to. */
export class DeltaBlocks {
  readonly #blocks: BlockSequence;
  readonly #options: BlockOptions;
  /** What is known of the thinking that may still be signed, by the key of its block. */
  readonly #thoughts = new Map<string, ReasoningDetail>();
  /** Blocks that come whole have keys of their own. */
  #single = 0;

  constructor(blocks: BlockSequence, options: BlockOptions) {
    this.#blocks = blocks;
    this.#options = options;
  }

  /** Adds what one delta says. */
  add(delta: Delta): void {
    const { reasoning, reasoning_details: details = [], images = [], annotations = [], tool_calls: calls = [] } = delta;
    // Where details have the text, `reasoning` only says it a second time.
    if (reasoning && !details.some(isReadable)) this.#detail({ type: 'reasoning.text', text: reasoning });
    for (const detail of details) this.#detail(detail);
    if (delta.content) this.#text({ type: 'text_delta', text: delta.content });
    if (delta.refusal) this.#text({ type: 'text_delta', text: delta.refusal });
    for (const citation of annotations.flatMap(citationOf)) this.#text({ type: 'citations_delta', citation });
    for (const image of images) this.#whole({ start: imageBlock(image) });
    for (const call of calls) this.#call(call);
  }

  #text(delta: BlockDelta): void {
    this.#blocks.add('text', () => ({ start: { type: 'text', text: '' } }), [delta]);
  }

  #whole(block: OpeningBlock): void {
    this.#single += 1;
    this.#blocks.add(`single:${this.#single}`, () => block, []);
  }

  #call({ index, id = '', function: called }: ToolCallDelta): void {
    const make = (): OpeningBlock => {
      const name = this.#options.toolName(called?.name ?? '');
      return { start: { type: 'tool_use', id, name, input: {} } };
    };
    const text = called?.arguments ?? '';
    this.#blocks.add(`call:${index}`, make, text === '' ? [] : [{ type: 'input_json_delta', partial_json: text }]);
  }

  /** Fragments of the same type and index are one block. Its signature is said once, at its end. */
  #detail(detail: ReasoningDetail): void {
    if (detail.type !== 'reasoning.text' && detail.type !== 'reasoning.summary') {
      return this.#whole({ start: blockOfDetail(detail) });
    }
    const key = `${detail.type}:${detail.index ?? ''}`;
    const said = (detail.type === 'reasoning.text' ? detail.text : detail.summary) ?? '';
    const earlier = this.#thoughts.get(key);
    const known = earlier === undefined ? detail : merged(earlier, detail);
    this.#thoughts.set(key, known);
    const { omitThinking } = this.#options;
    // Thinking whose text is kept out is only there for its signature.
    if (omitThinking && signatureOf(known) === '') return;
    const make = (): OpeningBlock => ({
      start: { type: 'thinking', thinking: '', signature: '' },
      closing: () => this.#sign(key),
    });
    this.#blocks.add(key, make, said === '' || omitThinking ? [] : [{ type: 'thinking_delta', thinking: said }]);
  }

  #sign(key: string): readonly BlockDelta[] {
    const detail = this.#thoughts.get(key);
    this.#thoughts.delete(key);
    const signature = detail === undefined ? '' : signatureOf(detail);
    return signature === '' ? [] : [{ type: 'signature_delta', signature }];
  }
}

/** Facts of the later fragment win; a signature comes in pieces or at once, and an id comes once. */
function merged(known: ReasoningDetail, more: ReasoningDetail): ReasoningDetail {
  const id = more.id ?? known.id;
  const format = more.format ?? known.format;
  const facts = { ...(id == null ? {} : { id }), ...(format == null ? {} : { format }) };
  if (more.type !== 'reasoning.text' || known.type !== 'reasoning.text') return { ...known, ...facts };
  const signature = more.signature ?? known.signature;
  return { ...known, ...facts, ...(signature == null ? {} : { signature }) };
}
