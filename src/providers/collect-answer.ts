import { failure } from '../core/fallback/failure.ts';
import { ResultCollector } from '../core/stream/collect.ts';
import type { StreamPiece } from '../core/stream/pieces.ts';
import type { DecodedResult } from './codec.ts';

/**
 * The whole response that pieces add up to, for wires whose non-streaming responses and streams are read by the same
 * code. A failure among the pieces is the failure of the answer, and so is an answer in which nothing was said and
 * nothing ended.
 */
export function collectAnswer(pieces: readonly StreamPiece[]): DecodedResult {
  const collector = new ResultCollector();
  for (const piece of pieces) {
    if (typeof piece === 'object' && piece.type === 'failure') return { ok: false, failure: piece.failure };
    collector.add(piece);
  }
  const result = collector.result();
  if (result.choices.length > 0) return { ok: true, result };
  return { ok: false, failure: failure('bad_response', 'The provider sent an answer with nothing in it') };
}
