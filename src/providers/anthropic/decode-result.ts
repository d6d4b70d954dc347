import { type AttemptFailure, failure } from '../../core/fallback/failure.ts';
import { ResultCollector } from '../../core/stream/collect.ts';
import type { StreamPiece } from '../../core/stream/pieces.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { isErrorBody } from '../error-shape.ts';
import type { DecodedResult } from '../codec.ts';
import { type ErrorContext, failureInBand, parseJson } from '../upstream-failure.ts';
import { MessageReader, type ReaderOptions } from './message-reader.ts';

/** What decoding one answer depends on. */
export interface DecodeContext extends ErrorContext, ReaderOptions {
  /** Whether the caller speaks this wire too and gets its events as they are. */
  readonly native: boolean;
}

/**
 * Decodes a non-streaming response of the Messages API: it is read as if its blocks came one by one. A body that is
 * HTML, empty, not JSON, an error in disguise, without content or truncated is a failure, whatever status it came
 * with.
 */
export function decodeResult(body: string, context: DecodeContext): DecodedResult {
  const text = body.trim();
  if (text === '') return bad('The provider sent an empty answer');
  if (text.startsWith('<')) return bad('The provider sent a web page instead of an answer');
  const message = parseJson(text);
  if (message === undefined) return bad('The provider sent an answer that is not valid JSON');
  if (isErrorBody(message)) return { ok: false, failure: failureInBand(message, context) };
  if (!isJsonObject(message)) return bad('The provider sent an answer without content');
  const { content } = message;
  if (!Array.isArray(content)) return bad('The provider sent an answer without content');
  const pieces = readMessage(message, content, new MessageReader(context));
  const problem = problemOf(pieces);
  if (problem !== undefined) return { ok: false, failure: problem };
  const collector = new ResultCollector();
  for (const piece of pieces) collector.add(piece);
  const result = collector.result();
  return { ok: true, result: context.native ? { ...result, native: message } : result };
}

function readMessage(message: JsonObject, content: readonly unknown[], reader: MessageReader): readonly StreamPiece[] {
  const pieces: StreamPiece[] = [];
  reader.start(message, pieces);
  for (const [index, block] of content.entries()) {
    if (!isJsonObject(block)) continue;
    reader.startBlock(index, block, pieces);
    reader.stopBlock(index, pieces);
  }
  reader.update(message, undefined, pieces);
  reader.finish(pieces);
  return pieces;
}

function problemOf(pieces: readonly StreamPiece[]): AttemptFailure | undefined {
  for (const piece of pieces) {
    if (typeof piece === 'string') continue;
    if (piece.type === 'failure') return piece.failure;
    if (piece.type === 'finish' && piece.reason === 'error') {
      return failure('bad_response', 'The provider broke off its answer');
    }
  }
  return undefined;
}

function bad(message: string): DecodedResult {
  return { ok: false, failure: failure('bad_response', message) };
}
