/** Chunks of a stream as parts of the AI SDK: texts and reasoning in blocks, calls from their first fragment to their end. */
import type { ChatChunk, ChunkChoice, ToolCallDelta } from '../../protocol/chunk.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import {
  audioPart,
  callPart,
  carried,
  imagePart,
  serverToolParts,
  sourcePart,
  textOfDetail,
  transcriptAlone,
} from './from-chat.ts';
import type { ServerToolNames } from './server-tools.ts';
import type { SpecVersion, StreamedPart } from './spec.ts';
import type { ToolCallExtra } from '../../protocol/tools.ts';

interface StreamedCall {
  readonly id: string;
  readonly name: string;
  input: string;
  extra?: ToolCallExtra | undefined;
}

/**
 * Turns the chunks of one stream into parts. A block of text or reasoning is open until something else comes; a piece of
 * reasoning that has a place of its own (`index`) is a block of its own, so that its signature stays with it.
 */
export class StreamParts {
  readonly #version: SpecVersion;
  readonly #names: ServerToolNames;
  /** The open block: of text, or of one piece of reasoning with what was said of it. */
  #block: { readonly kind: 'text' | 'reasoning'; readonly id: string; readonly index?: number | undefined } | undefined;
  #details: ReasoningDetail[] = [];
  #audio = { data: '', transcript: '' };
  readonly #calls = new Map<number, StreamedCall>();
  #count = 0;

  /** @param names - What the program calls the tools that the router runs. */
  constructor(version: SpecVersion, names: ServerToolNames) {
    this.#version = version;
    this.#names = names;
  }

  /** The parts of a chunk. Of several choices, the first counts: the SDK knows one. */
  push({ choices }: ChatChunk): readonly StreamedPart[] {
    const first = choices.find(({ index }) => index === 0);
    return first === undefined ? [] : this.#pushChoice(first);
  }

  /** What is still open, when the stream has ended well. */
  end(): readonly StreamedPart[] {
    const alone = transcriptAlone(this.#audio);
    const parts: StreamedPart[] = alone ? [...this.#open('text'), this.#delta(alone)] : [];
    parts.push(...this.#close(), ...(audioPart(this.#audio, this.#version) as StreamedPart[]));
    for (const { id, name, input, extra } of this.#calls.values()) {
      parts.push({ type: 'tool-input-end', id });
      parts.push(
        callPart({
          id,
          index: 0,
          type: 'function',
          function: { name, arguments: input },
          ...(extra && { extra_content: extra }),
        }),
      );
    }
    this.#calls.clear();
    return parts;
  }

  #pushChoice({ delta }: ChunkChoice): readonly StreamedPart[] {
    const parts: StreamedPart[] = [];
    const { reasoning, reasoning_details: details, content, refusal, tool_calls: calls } = delta;
    if (details?.length) for (const detail of details) parts.push(...this.#pushDetail(detail));
    else if (reasoning) parts.push(...this.#open('reasoning'), this.#delta(reasoning));
    for (const text of [content, refusal]) if (text) parts.push(...this.#open('text'), this.#delta(text));
    for (const image of delta.images ?? [])
      parts.push(...this.#close(), ...(imagePart(image, this.#version) as StreamedPart[]));
    if (delta.audio !== undefined) {
      const { data = '', transcript = '' } = delta.audio;
      this.#audio = { data: this.#audio.data + data, transcript: this.#audio.transcript + transcript };
    }
    for (const annotation of delta.annotations ?? []) parts.push(...sourcePart(annotation, () => this.#nextId()));
    for (const call of calls ?? []) parts.push(...this.#pushCall(call));
    return parts;
  }

  #pushDetail(detail: ReasoningDetail): readonly StreamedPart[] {
    if (detail.type === 'reasoning.server_tool_call') {
      this.#count += 1;
      return [...this.#close(), ...serverToolParts(detail, this.#count, this.#names)];
    }
    const parts = [...this.#open('reasoning', detail.index)];
    this.#details.push(detail);
    const text = textOfDetail(detail);
    if (text !== '') parts.push(this.#delta(text));
    return parts;
  }

  #pushCall({
    index,
    id,
    function: { name, arguments: input = '' } = {},
    extra_content: extra,
  }: ToolCallDelta): readonly StreamedPart[] {
    const parts: StreamedPart[] = [...this.#close()];
    let call = this.#calls.get(index);
    if (call === undefined) {
      call = { id: id ?? `call_${index}`, name: name ?? '', input: '' };
      this.#calls.set(index, call);
      parts.push({ type: 'tool-input-start', id: call.id, toolName: call.name });
    }
    call.input += input;
    call.extra ??= extra;
    if (input !== '') parts.push({ type: 'tool-input-delta', id: call.id, delta: input });
    return parts;
  }

  #open(kind: 'text' | 'reasoning', index?: number): readonly StreamedPart[] {
    const block = this.#block;
    if (block?.kind === kind && (index === undefined || block.index === undefined || block.index === index)) return [];
    const closed = this.#close();
    const id = this.#nextId();
    this.#block = { kind, id, index };
    return [...closed, { type: `${kind}-start`, id }];
  }

  #delta(delta: string): StreamedPart {
    const { kind, id } = this.#block ?? { kind: 'text', id: '0' };
    return { type: `${kind}-delta`, id, delta };
  }

  #close(): readonly StreamedPart[] {
    const block = this.#block;
    if (block === undefined) return [];
    const details = this.#details;
    this.#block = undefined;
    this.#details = [];
    const complete =
      details.length === 0 ? {} : carried({ reasoningDetails: joined(details) as unknown as JsonObject[] });
    return [{ type: `${block.kind}-end`, id: block.id, ...complete }];
  }

  #nextId(): string {
    this.#count += 1;
    return String(this.#count);
  }
}

/** Pieces of one place in reasoning as one: texts behind each other, with the signature that came last. */
function joined(details: readonly ReasoningDetail[]): readonly ReasoningDetail[] {
  const complete: ReasoningDetail[] = [];
  for (const detail of details) {
    const last = complete.at(-1);
    if (last?.type === 'reasoning.text' && detail.type === 'reasoning.text') {
      complete[complete.length - 1] = {
        ...last,
        ...detail,
        text: `${last.text ?? ''}${detail.text ?? ''}`,
        signature: detail.signature ?? last.signature,
      };
    } else if (last?.type === 'reasoning.summary' && detail.type === 'reasoning.summary') {
      complete[complete.length - 1] = { ...last, ...detail, summary: last.summary + detail.summary };
    } else complete.push(detail);
  }
  return complete;
}
