import type { DeltaPiece } from '../stream/pieces.ts';

/**
 * A pure machine that rewrites the content of an answer as it streams by. The state is a value: a step gets the last
 * one and gives the next, so the same transform serves any number of streams at once.
 *
 * A chunk is a {@link DeltaPiece}: what one chunk adds to one choice, with text as `delta.content`. Finish reasons,
 * usage and ids are none of its business; they are sent after everything else in any case.
 */
export interface ChunkTransform<State = unknown> {
  /** State before the first chunk. */
  readonly start: State;
  /** Chunks that take the place of one chunk: none to hold it back or drop it, several to split it. */
  step(state: State, chunk: DeltaPiece): readonly [State, readonly DeltaPiece[]];
  /** Chunks to send after the last one: what was held back. */
  end(state: State): readonly DeltaPiece[];
}
