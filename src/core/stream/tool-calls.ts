import type { ResultToolCall } from '../../protocol/chat-result.ts';
import type { ToolCallDelta } from '../../protocol/chunk.ts';
import type { ToolCallExtra } from '../../protocol/tool-call-extra.ts';

interface OpenCall {
  id: string;
  name: string;
  extra: ToolCallExtra | undefined;
  readonly pieces: string[];
}

/** Puts the fragments of tool calls together, by index and never by position. */
export class ToolCallCollector {
  readonly #calls = new Map<number, OpenCall>();

  /** Adds the fragments of one chunk. */
  add(deltas: readonly ToolCallDelta[]): void {
    for (const delta of deltas) {
      let call = this.#calls.get(delta.index);
      if (call === undefined) {
        call = { id: '', name: '', extra: undefined, pieces: [] };
        this.#calls.set(delta.index, call);
      }
      if (delta.id) call.id ||= delta.id;
      if (delta.function?.name) call.name ||= delta.function.name;
      call.extra ??= delta.extra_content;
      if (delta.function?.arguments) call.pieces.push(delta.function.arguments);
    }
  }

  /** The finished calls in order of their index. Empty arguments are an empty object: strict clients parse them. */
  finish(): readonly ResultToolCall[] {
    return [...this.#calls]
      .sort(([left], [right]) => left - right)
      .map(([index, call]) => ({
        id: call.id,
        index,
        type: 'function',
        function: { name: call.name, arguments: call.pieces.join('') || '{}' },
        ...(call.extra === undefined ? {} : { extra_content: call.extra }),
      }));
  }
}
