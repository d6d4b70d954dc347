/** Tells a refusal from an answer, before anything of it is shown. */
import { commits, piecesOf } from './pieces.ts';
import type { StreamPiece, UpstreamResult } from '../../contracts/stream-piece.ts';

/** What a piece is for somebody who may pass a refusal over: content, part of a refusal, or the end of one. */
export type RefusalPart = 'content' | 'refusal' | 'refused';

/**
 * Judges a piece that shows the caller something. An answer is a refusal when nothing was said but why there is none: a
 * content filter kept it back, or the model explained itself (gaps 4.2).
 *
 * @param before - What the pieces before it are, if there were any.
 */
export function refusalPart(piece: StreamPiece, before: RefusalPart | undefined): RefusalPart {
  if (typeof piece === 'string') return 'content';
  if (piece.type === 'finish') return before === 'refusal' || piece.reason === 'content_filter' ? 'refused' : 'content';
  const refuses = piece.type === 'delta' && piece.delta.refusal;
  return refuses && !commits({ ...piece, delta: { ...piece.delta, refusal: null } }) ? 'refusal' : 'content';
}

/** Whether a non-streaming response is a refusal in every choice, and nothing else. */
export function isRefusal({ choices }: UpstreamResult): boolean {
  return choices.every((choice) => {
    // What nearly every answer has ends the question, before pieces are made of it.
    if (choice.message.content || choice.message.tool_calls?.length) return false;
    const shown = piecesOf({ choices: [choice] }).filter(commits);
    const before = choice.message.refusal ? 'refusal' : undefined;
    return shown.every((piece) => refusalPart(piece, before) !== 'content');
  });
}
