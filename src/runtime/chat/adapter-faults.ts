/** Failures of calls whose provider, or its adapter, gives what is no answer. */
import { type AttemptFailure, failure } from '../../contracts/failure.ts';
import type { StreamPiece } from '../../contracts/stream-piece.ts';

/** What an adapter should have given to a chat request, for whoever writes it. */
export const NO_REPLY = 'chat must give a reply of the type "whole", "stream" or "failed"';
/** What the stream of an adapter should have given. */
export const NO_PIECES = 'read must give a list of pieces, or undefined at the end';

/** The failure of an adapter that breaks its contract, by what it threw or by what it should have given. */
export function misbehaviour(thrown: unknown): AttemptFailure {
  return failure('adapter', 'The provider could not be called', { thrown });
}

/** The same as a piece: adapters come from anybody, so a stream that throws fails like any other. */
export function unreadable(thrown: unknown): readonly StreamPiece[] {
  return [{ type: 'failure', failure: failure('adapter', 'The stream of the provider could not be read', { thrown }) }];
}

/** The failure of a stream that never says anything and never ends. */
export function endless(): AttemptFailure {
  return failure('bad_response', 'The provider sent events without end and nothing in them');
}

/** The failure of an answer whose provider says that it ended in an error. */
export function endedInError(): AttemptFailure {
  return failure('server', 'The provider ended its answer with an error');
}
