/** Takes calls of server tools out of a turn of the model. */
import type { Delta, ToolCallDelta } from '../../protocol/chunk.ts';
import type { DeltaPiece } from '../../contracts/stream-piece.ts';

/** A tool call that is being streamed, and whose it is. */
interface OpenCall {
  /** Undefined until its name is known. */
  shown: number | undefined | 'hidden';
  held: readonly ToolCallDelta[];
}

/**
 * Takes the calls of server tools out of one turn of the model, fragment by fragment, and numbers the caller's own
 * calls as if they were the only ones. A fragment whose name has not come yet is held back.
 */
export class ServerCallFilter {
  readonly #serverNames: ReadonlySet<string>;
  readonly #calls = new Map<number, OpenCall>();
  #shown = 0;

  constructor(serverNames: ReadonlySet<string>) {
    this.#serverNames = serverNames;
  }

  /** What of a piece the caller sees; undefined for nothing. */
  show(piece: DeltaPiece): DeltaPiece | undefined {
    const { tool_calls: fragments, ...rest } = piece.delta;
    if (fragments === undefined || piece.index !== 0) return piece;
    const shown = fragments.flatMap((fragment) => this.#showFragment(fragment));
    const delta: Delta = shown.length === 0 ? rest : { ...rest, tool_calls: shown };
    return Object.keys(delta).length === 0 && piece.logprobs === undefined ? undefined : { ...piece, delta };
  }

  /** Calls without a name, which the caller gets as they are. */
  end(): DeltaPiece | undefined {
    const left = [...this.#calls.values()]
      .filter((call) => call.shown === undefined)
      .flatMap((call) => this.#release(call));
    return left.length === 0 ? undefined : { type: 'delta', index: 0, delta: { tool_calls: left } };
  }

  #showFragment(fragment: ToolCallDelta): readonly ToolCallDelta[] {
    let call = this.#calls.get(fragment.index);
    if (call === undefined) {
      call = { shown: undefined, held: [] };
      this.#calls.set(fragment.index, call);
    }
    if (call.shown === 'hidden') return [];
    if (call.shown !== undefined) return [{ ...fragment, index: call.shown }];
    call.held = [...call.held, fragment];
    const name = fragment.function?.name;
    if (!name) return [];
    if (!this.#serverNames.has(name)) return this.#release(call);
    call.shown = 'hidden';
    call.held = [];
    return [];
  }

  #release(call: OpenCall): readonly ToolCallDelta[] {
    const index = this.#shown;
    this.#shown += 1;
    const fragments = call.held.map((fragment) => ({ ...fragment, index }));
    call.shown = index;
    call.held = [];
    return fragments;
  }
}
