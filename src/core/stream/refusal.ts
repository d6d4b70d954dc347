/** Tells a refusal from an answer, before anything of it is shown. */
import { commits, type StreamPiece } from './pieces.ts';
import type { UpstreamResult } from './upstream-result.ts';

/** What a piece is for somebody who may pass a refusal over: content, part of a refusal, or the end of one. */
export type RefusalPart = 'content' | 'refusal' | 'refused';

/**
 * Looks at the pieces of a stream until one of them is content. An answer is a refusal when nothing was said but why
 * there is none: a content filter kept it back, or the model explained itself (gaps 4.2).
 */
export class RefusalWatch {
  #isExplained = false;

  /** Judges a piece that shows the caller something. */
  judge(piece: StreamPiece): RefusalPart {
    if (typeof piece === 'string') return 'content';
    if (piece.type === 'delta') {
      const { refusal, ...said } = piece.delta;
      if (!refusal || commits({ ...piece, delta: said })) return 'content';
      this.#isExplained = true;
      return 'refusal';
    }
    const isEnd = piece.type === 'finish' && (this.#isExplained || piece.reason === 'content_filter');
    return isEnd ? 'refused' : 'content';
  }
}

/** Whether a non-streaming response is a refusal in every choice, and nothing else. */
export function isRefusal({ choices }: UpstreamResult): boolean {
  return choices.every(({ finish_reason: reason, message }) => {
    const { refusal, ...said } = message;
    if (reason !== 'content_filter' && !refusal) return false;
    const { role: _, content, reasoning, ...rest } = said;
    return (
      !content &&
      !reasoning &&
      !Object.values(rest).some((part) => part !== null && part !== undefined && hasParts(part))
    );
  });
}

function hasParts(part: object): boolean {
  return !Array.isArray(part) || part.length > 0;
}
