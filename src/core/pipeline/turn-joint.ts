import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import { type DeltaPiece, type StreamPiece, unescapeText } from '../stream/pieces.ts';
import type { AnsweredCall } from './turn-requests.ts';

/**
 * Makes one stream of the turns of a loop. Texts of two turns get a blank line between them, and reasoning details are
 * numbered on: clients join what has the same number.
 */
export class TurnJoint {
  #lastText = '';
  #isFirstText = false;
  #offset = 0;
  #nextIndex = 0;

  /** A new turn begins. */
  turn(): void {
    this.#isFirstText = this.#lastText !== '';
    this.#offset = this.#nextIndex;
  }

  /** A piece of the turn as it stands in the whole stream. */
  join(piece: StreamPiece): StreamPiece {
    if (typeof piece === 'string')
      return piece === '' ? piece : `${this.#gapBefore(unescapeText(piece), '\\n\\n')}${piece}`;
    if (piece.type !== 'delta' || piece.index !== 0) return piece;
    const { content, reasoning_details: details } = piece.delta;
    if (!content && details === undefined) return piece;
    return {
      ...piece,
      delta: {
        ...piece.delta,
        ...(content ? { content: `${this.#gapBefore(content, '\n\n')}${content}` } : {}),
        ...(details === undefined ? {} : { reasoning_details: details.map((detail) => this.#numbered(detail)) }),
      },
    };
  }

  /** The calls of a turn, so that the caller can send them back with the next request (gaps 5.11, 6.4). */
  calls(answered: readonly AnsweredCall[]): DeltaPiece {
    const details = answered.map(({ call, result }): ReasoningDetail => {
      this.#nextIndex += 1;
      return {
        type: 'reasoning.server_tool_call',
        tool_name: call.function.name,
        arguments: call.function.arguments,
        result,
        tool_call_id: call.id,
        index: this.#nextIndex - 1,
        ...(call.extra_content === undefined ? {} : { extra_content: call.extra_content }),
      };
    });
    return { type: 'delta', index: 0, delta: { reasoning_details: details } };
  }

  #gapBefore(text: string, gap: string): string {
    const needed = this.#isFirstText && !/\s$/.test(this.#lastText) && !/^\s/.test(text);
    this.#isFirstText = false;
    this.#lastText = text;
    return needed ? gap : '';
  }

  #numbered(detail: ReasoningDetail): ReasoningDetail {
    if (detail.index === undefined) return detail;
    const index = detail.index + this.#offset;
    this.#nextIndex = Math.max(this.#nextIndex, index + 1);
    return { ...detail, index };
  }
}
