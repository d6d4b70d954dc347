import { failure } from '../../core/fallback/failure.ts';
import { ResultCollector } from '../../core/stream/collect.ts';
import type { StreamPiece } from '../../core/stream/pieces.ts';
import type { Choice } from '../../protocol/chat-result.ts';
import { isJsonObject } from '../../protocol/json.ts';
import type { DecodedResult } from '../codec.ts';
import { parseJson } from '../parse-json.ts';
import { type AnswerContext, AnswerReader } from './answer-reader.ts';

/**
 * Decodes a whole answer, or the array of answers that a stream without server-sent events is. A body that is HTML,
 * empty, not JSON, an error in disguise or without candidates is a failure, whatever status it came with.
 */
export function decodeResult(body: string, context: AnswerContext): DecodedResult {
  const text = body.trim();
  if (text === '') return bad('The provider sent an empty answer');
  if (text.startsWith('<')) return bad('The provider sent a web page instead of an answer');
  const value = parseJson(text);
  if (value === undefined) return bad('The provider sent an answer that is not valid JSON');
  const responses = (Array.isArray(value) ? value : [value]).filter(isJsonObject);
  const reader = new AnswerReader(context);
  const pieces: StreamPiece[] = [];
  for (const response of responses) reader.read(response, pieces);
  const broken = pieces.find((piece) => typeof piece === 'object' && piece.type === 'failure');
  if (typeof broken === 'object' && broken.type === 'failure') return { ok: false, failure: broken.failure };
  const collector = new ResultCollector();
  for (const piece of pieces) collector.add(piece);
  const { choices, ...rest } = collector.result();
  if (choices.length === 0) return bad('The provider sent an answer without candidates');
  return { ok: true, result: { ...rest, choices: choices.map((choice) => complete(choice, reader)) } };
}

/** A whole answer has ended, also where it does not say how; one that was held back says nothing rather than "". */
function complete(choice: Choice, reader: AnswerReader): Choice {
  const { anything, calls } = reader.saidBy(choice.index);
  const reason = choice.finish_reason ?? (calls ? 'tool_calls' : 'stop');
  const content = reason === 'content_filter' && !anything ? null : choice.message.content;
  return { ...choice, finish_reason: reason, message: { ...choice.message, content } };
}

function bad(message: string): DecodedResult {
  return { ok: false, failure: failure('bad_response', message) };
}
