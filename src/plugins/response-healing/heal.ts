import { fitsSchema } from '../../core/json-schema/validate.ts';
import type { JsonObject, JsonValue } from '../../protocol/json.ts';
import { type Candidate, findCandidates } from './candidates.ts';
import { writesLatex } from './latex.ts';
import { isJson } from './strict-end.ts';

/** What is known of an answer besides its text. */
export interface HealOptions {
  /** JSON Schema that the answer must follow. */
  readonly schema?: JsonObject | undefined;
  /** False when the answer was cut off: then no brackets are closed that the model did not close. Default true. */
  readonly complete?: boolean | undefined;
}

/** What became of a text. */
export type Healed =
  /** It is JSON already, and stays as it is. */
  | { readonly type: 'intact' }
  | { readonly type: 'healed'; readonly json: string; readonly repairs: readonly string[]; readonly fits: boolean }
  /** It stays as it is, because nothing in it can be made JSON without inventing something. */
  | { readonly type: 'failed'; readonly reason: HealFailure };

/** Why a text was not healed. */
export type HealFailure = 'no JSON found' | 'cut off' | 'does not fit the schema' | 'too long';

/** Longer answers stay as they are. */
const MAX_LENGTH = 500_000;

/**
 * Makes JSON of an answer that should be JSON: takes it out of fences and prose, repairs it, and checks it against the
 * schema if there is one. Never changes what is JSON, never completes what was cut off, and invents no members.
 */
export function heal(text: string, { schema, complete = true }: HealOptions = {}): Healed {
  if (isJson(text)) return { type: 'intact' };
  if (text.length > MAX_LENGTH) return { type: 'failed', reason: 'too long' };
  const answer = withoutThinking(text);
  const candidates = findCandidates(answer, writesLatex(answer));
  const usable = candidates.filter((one) => complete || one.closed).filter((one) => isJson(one.json));
  if (usable.length === 0) {
    const cutOff = candidates.some((one) => !one.closed);
    return { type: 'failed', reason: cutOff ? 'cut off' : 'no JSON found' };
  }
  const ranked = usable
    .filter((one) => schema !== undefined || isPlausible(one))
    .sort((left, right) => rankOf(left) - rankOf(right) || right.json.length - left.json.length);
  for (const { json, repairs, start } of ranked) {
    const fits = schema === undefined ? undefined : fitsSchema(schema, JSON.parse(json) as JsonValue);
    if (fits === false) continue;
    const taken = start > 0 || answer !== text || repairs.length === 0 ? ['extracted', ...repairs] : repairs;
    return { type: 'healed', json, repairs: taken, fits: fits === true };
  }
  return { type: 'failed', reason: schema === undefined ? 'no JSON found' : 'does not fit the schema' };
}

/** A list in the middle of a sentence is rather a citation, unless it holds texts or objects. */
function isPlausible({ kind, alone, json }: Candidate): boolean {
  return alone || (kind === 'object' ? json.length > 2 : /^\[\s*[{"]/.test(json));
}

/** Objects before lists, whole ones before those that were cut off, those that stand alone before others. */
function rankOf({ kind, alone, closed }: Candidate): number {
  return (kind === 'object' ? 0 : 4) + (closed ? 0 : 2) + (alone ? 0 : 1);
}

/** What stands behind the end of the model's thinking, where a provider left it in the text. */
function withoutThinking(text: string): string {
  const end = /<\/(?:think|thinking|thought|reasoning|reflection)>/i;
  let rest = text;
  for (let found = end.exec(rest); found !== null; found = end.exec(rest)) {
    rest = rest.slice(found.index + found[0].length);
  }
  return rest.includes('{') || rest.includes('[') || rest.includes(':') ? rest : text;
}
