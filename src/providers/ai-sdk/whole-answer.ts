import { type AttemptFailure, failure } from '../../core/fallback/failure.ts';
import { ResultCollector } from '../../core/stream/collect.ts';
import type { StreamPiece } from '../../core/stream/pieces.ts';
import type { UpstreamResult } from '../../core/stream/upstream-result.ts';
import { isJsonObject } from '../../protocol/json.ts';
import { type DecodingContext, PartDecoder } from './part-decoder.ts';

/**
 * Reads a whole answer. It is taken for a stream of few parts, so that text, reasoning, tool calls and usage mean the
 * same however they came.
 */
export function decodeWhole(
  answer: unknown,
  context: DecodingContext,
): { readonly ok: true; readonly result: UpstreamResult } | { readonly ok: false; readonly failure: AttemptFailure } {
  if (!isJsonObject(answer) || !Array.isArray(answer['content'])) {
    return { ok: false, failure: failure('bad_response', 'The model gave an answer without content') };
  }
  const decoder = new PartDecoder({ ...context, streamed: false });
  const pieces: StreamPiece[] = [];
  for (const part of partsOf(answer, answer['content'])) decoder.part(part, pieces);
  const collector = new ResultCollector();
  for (const piece of pieces) {
    if (typeof piece !== 'string' && piece.type === 'failure') return { ok: false, failure: piece.failure };
    if (typeof piece !== 'string' && piece.type === 'finish' && piece.reason === 'error') {
      return { ok: false, failure: failure('server', 'The provider ended its answer with an error') };
    }
    collector.add(piece);
  }
  return { ok: true, result: collector.result() };
}

function partsOf(
  { warnings, response, finishReason, usage, providerMetadata }: Readonly<Record<string, unknown>>,
  content: readonly unknown[],
): readonly unknown[] {
  const id: unknown = isJsonObject(response) ? response['id'] : undefined;
  return [
    { type: 'stream-start', warnings },
    { type: 'response-metadata', id },
    ...content.flatMap(spread),
    { type: 'finish', finishReason, usage, providerMetadata },
  ];
}

/** Text and reasoning come in one piece here, and in three parts in streams. */
function spread(part: unknown, position: number): readonly unknown[] {
  if (!isJsonObject(part) || (part['type'] !== 'text' && part['type'] !== 'reasoning')) return [part];
  const { type, text, citations, providerMetadata } = part;
  const id = `whole-${position}`;
  return [
    { type: `${type}-start`, id },
    { type: `${type}-delta`, id, delta: text, providerMetadata },
    { type: `${type}-end`, id, citations },
  ];
}
