import { type AttemptFailure, failure } from '../core/fallback/failure.ts';
import { isJsonObject, type JsonObject } from '../protocol/json.ts';
import { parseJson } from './parse-json.ts';

/** The object that an answer consists of, or what came in its place. */
export type JsonAnswer =
  | { readonly ok: true; readonly value: JsonObject }
  | { readonly ok: false; readonly failure: AttemptFailure };

/**
 * Reads the body of a whole answer. One that is HTML, empty, or not a JSON object is a failure.
 *
 * @param content - What the answer should hold, for example `choices`.
 */
export function readJsonAnswer(body: string, content: string): JsonAnswer {
  const text = body.trim();
  if (text === '') return bad('an empty answer');
  if (text.startsWith('<')) return bad('a web page instead of an answer');
  const value = parseJson(text);
  if (value === undefined) return bad('an answer that is not valid JSON');
  // Google's compatible layer puts errors into an array.
  const parsed: unknown = Array.isArray(value) ? value[0] : value;
  return isJsonObject(parsed) ? { ok: true, value: parsed } : bad(`an answer without ${content}`);
}

function bad(what: string): JsonAnswer {
  return { ok: false, failure: failure('bad_response', `The provider sent ${what}`) };
}
