import type { StreamPiece } from '../../core/stream/pieces.ts';
import { StreamTracker } from '../../core/stream/stream-tracker.ts';
import type { AnswerCall } from '../execution.ts';

/** An answer that is there already, as a stream. */
export function heldCall(pieces: readonly StreamPiece[]): AnswerCall {
  let left: readonly StreamPiece[] | undefined = pieces;
  return {
    tracker: new StreamTracker(),
    read() {
      const next = left;
      left = undefined;
      return Promise.resolve(next);
    },
    close() {
      left = undefined;
    },
  };
}
