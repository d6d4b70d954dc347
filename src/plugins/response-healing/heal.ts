/** Repairs answers that should be JSON and are not. */
import { fitsSchema } from './fits-schema.ts';
import { canonical } from '../../platform/json.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import { readEscape, writesLatex } from './read-text.ts';
import { MAX_DEPTH, scalarOf } from './read-word.ts';
import { tidy } from './tidy.ts';
import { jsonrepair } from 'jsonrepair';

/** What is known of an answer besides its text. */
interface HealOptions {
  /** JSON Schema that the answer must follow. */
  readonly schema?: JsonObject | undefined;
  /** False when the answer was cut off: then no brackets are closed that the model did not close. Default true. */
  readonly complete?: boolean | undefined;
}

/** What became of a text. */
export type Healed =
  /** It is JSON already, and stays as it is. */
  | { readonly type: 'intact' }
  | {
      readonly type: 'healed';
      readonly json: string;
      readonly repairs: readonly string[];
      readonly fits: boolean;
    }
  /** It stays as it is, because nothing in it can be made JSON without inventing something. */
  | {
      readonly type: 'failed';
      readonly reason: HealFailure;
      /** The JSON in it that came first and does not fit the schema. */
      readonly misfit?: string | undefined;
    };

/** Why a text was not healed. */
type HealFailure = 'no JSON found' | 'several answers' | 'cut off' | 'does not fit the schema' | 'too long';

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
  const candidates = findCandidates(answer, { latex: writesLatex(answer) });
  const usable = candidates.filter((one) => complete || one.closed).filter((one) => isJson(one.json));
  const scalar = schema === undefined ? undefined : scalarOf(answer, schema);
  if (scalar !== undefined) return { type: 'healed', json: scalar, repairs: ['scalar'], fits: true };
  if (usable.length === 0) {
    const cutOff = candidates.some((one) => !one.closed);
    return { type: 'failed', reason: cutOff ? 'cut off' : 'no JSON found' };
  }
  const ranked = usable
    .filter((one) => schema !== undefined || isPlausible(one, answer))
    .sort((left, right) => rankOf(left) - rankOf(right) || right.json.length - left.json.length);
  const fitting = ranked.flatMap((one) => {
    const fits = schema === undefined ? undefined : fitsSchema(schema, JSON.parse(one.json) as JsonValue);
    return fits === false || (one.doubtful && fits !== true) ? [] : [{ ...one, fits: fits === true }];
  });
  const [first, ...others] = fitting;
  if (first !== undefined) {
    if (others.some((other) => isRival(other, first))) return { type: 'failed', reason: 'several answers' };
    const { json, start, closed, fits } = first;
    // What is there may be a part of what was meant, its last number or text too.
    const repairs = closed ? first.repairs : [...first.repairs, 'end missing'];
    const taken = start > 0 || answer !== text || repairs.length === 0 ? ['extracted', ...repairs] : repairs;
    return { type: 'healed', json, repairs: taken, fits };
  }
  return {
    type: 'failed',
    reason: schema === undefined ? 'no JSON found' : 'does not fit the schema',
    ...(schema === undefined || ranked[0] === undefined ? {} : { misfit: ranked[0].json }),
  };
}

/** A list in the middle of a sentence is rather a citation, unless it holds texts or objects. */
function isPlausible({ kind, alone, json, start }: Candidate, answer: string): boolean {
  return alone || (kind === 'object' ? json.length > 2 : /^\[\s*[{["'“(]/.test(answer.slice(start, start + 40)));
}

/** Whether something else in an answer could be what was requested as well as what comes first, and says another thing. */
function isRival(other: Candidate, first: Candidate): boolean {
  if (rankOf(other) !== rankOf(first)) return false;
  const [one, whole] = [JSON.parse(other.json) as JsonValue, JSON.parse(first.json) as JsonValue];
  if (!isJsonObject(one) || !isJsonObject(whole)) return canonical(one) !== canonical(whole);
  // One with all members of the other and more was filled in later; two of a kind contradict each other.
  const has = Object.keys(one).every((key) => Object.hasOwn(whole, key));
  return has && Object.keys(whole).length > Object.keys(one).length ? false : canonical(one) !== canonical(whole);
}

/** Objects before lists, whole ones before those that were cut off, those that stand alone before others. */
function rankOf({ kind, alone, closed }: Candidate): number {
  return (kind === 'object' ? 0 : 4) + (closed ? 0 : 2) + (alone ? 0 : 1);
}

/** What is behind the end of the model's thinking, where a provider left it in the text. */
function withoutThinking(text: string): string {
  const end = /<\/(?:think|thinking|thought|reasoning|reflection)>/i;
  let rest = text;
  for (let found = end.exec(rest); found !== null; found = end.exec(rest)) {
    rest = rest.slice(found.index + found[0].length);
  }
  return rest.includes('{') || rest.includes('[') || rest.includes(':') ? rest : text;
}

/** In which script a text is written. */
interface Script {
  /** It has commands of LaTeX that cannot be escapes. */
  readonly latex: boolean;
}

/** Where a part of an answer begins, and what is around it. */
interface CandidatePlace {
  readonly kind: 'object' | 'array';
  /** It is all there is, or all there is in a fence; not something in the middle of a sentence. */
  readonly alone: boolean;
  readonly start: number;
}

/** A part of an answer that may be what was requested. */
interface Candidate extends CandidatePlace {
  /** JSON. */
  readonly json: string;
  /** False when the answer ended before its brackets were closed. */
  readonly closed: boolean;
  readonly repairs: readonly string[];
  /** True when it could have been meant otherwise just as well. */
  readonly doubtful: boolean;
  readonly end: number;
}

/** Brackets that are looked at. An answer with more is no answer with a bit of prose around it. */
const MAX_STARTS = 2_000;
/** Characters that are given to the slow repair, all places together; each place counts for some more. */
const MAX_REPAIRED = 65_536;
const PER_REPAIR = 1_000;

const BRACKET = /[{[]/g;
/** Something like `"key":` or `key:` behind a brace, or a value behind a bracket. */
const PROMISING =
  /\{\s{0,200}(?:\/\/|\/\*|#|,?\s{0,20}[urb]{0,2}\\?(?:["'“„`]?[^\n"'“”„`:{}[\]]{1,120}\\?["'”“`]?|""|'')\s{0,20}[:：=])|\[\s{0,200},?\s{0,20}(?:[{["'“„`(\d.-]|\/\*|(?:true|false|null|True|False|None|undefined)\b)/y;
/** What is promising only where it stands alone: keys without colons, words in a list, nothing at all. */
const PROMISING_ALONE =
  /\{\s{0,200}["'“„`][^\n"'“”„`:{}[\]]{1,120}["'”“`]\s{0,20}["'“\d{[tfn]|\[\s{0,200}\p{L}[^\n{}[\]"]{0,200},|[{[]\s{0,20}(?:(?:\.{3}|…)\s{0,20}[}\]]|$)/uy;
/** What comes before a brace of LaTeX: `_{k=0}`, `\\frac{…}{…}`. */
const FORMULA = /[_^]$|\\[A-Za-z]{1,30}(?:\{[^{}]{0,30}\})?$/;
/** A member behind a closed object: it was closed too soon. */
const GOES_ON = /^\s{0,40},?\s{0,40}"[^"\n]{1,120}"\s{0,20}:/;
const KEY_FIRST = /^\s{0,200}["“][^"“”\n]{1,120}["”]\s{0,20}:/;
/** Opening line of a fence, and whatever else may be between the beginning of a text and its JSON. */
const FENCED =
  /(?:^|[\s\S])(?:```|~~~)[ \t]{0,8}(?:json[5cl]?|javascript|js|python|py|typescript|ts)?\s{0,200}(?:(?:const|let|var) \w{1,40} ?= ?)?$/i;
const ALONE = /^\s{0,200}(?:\/\*[^*]{0,200}\*\/\s{0,20})?(?:json\s{1,20}|<\w{1,40}>\s{0,20}|\w{1,40} ?[=(]\s{0,20})?$/i;

/** Finds everything in a text that is an object or array, or could be made one. In the order of their places. */
function findCandidates(text: string, script: Script): readonly Candidate[] {
  const found: Candidate[] = [];
  const keyFirst = KEY_FIRST.test(text) ? tidy(`{${text}`, 0, script) : undefined;
  if (keyFirst?.json !== undefined) {
    const repairs = [...new Set(['brackets', ...keyFirst.repairs])];
    return [{ ...keyFirst, repairs, kind: 'object', alone: true, start: 0 }];
  }
  let starts = 0;
  let repaired = 0;
  let spent = 0;
  for (let start = nextBracket(text, 0); start >= 0 && starts < MAX_STARTS; starts += 1) {
    if (!promises(text, start)) {
      start = nextBracket(text, start + 1);
      continue;
    }
    // Text is read again for every bracket that leads nowhere, but not again and again.
    if (spent > 3 * text.length) break;
    const alone = isAlone(text, start);
    const place: CandidatePlace = { kind: text[start] === '{' ? 'object' : 'array', alone, start };
    const strict = strictEnd(text, start);
    if (strict.isJson && !GOES_ON.test(text.slice(strict.end, strict.end + 200))) {
      const json = text.slice(start, strict.end);
      found.push({ json, end: strict.end, closed: true, repairs: [], doubtful: false, ...place });
      start = nextBracket(text, strict.end);
      continue;
    }
    const tidied = tidy(text, start, script);
    spent += strict.end + tidied.end - 2 * start;
    // Without a single quote it is more likely code or a sentence than data, unless it stands alone.
    const isSentence = !alone && tidied.bareTexts === true && !/["'“„`]/.test(text.slice(start, tidied.end));
    if (tidied.json !== undefined && !isSentence) {
      // A quote right behind it says that it ended within a text.
      const doubtful = tidied.doubtful || /^\s{0,20}"\s{0,20}[,}\]]/.test(text.slice(tidied.end, tidied.end + 50));
      found.push({ ...tidied, ...place, doubtful });
      if (!tidied.closed) break;
      start = nextBracket(text, tidied.end);
      continue;
    }
    let slow: ReturnType<typeof repairedSpan>;
    for (const end of endsOf(text, place)) {
      repaired += end - start + PER_REPAIR;
      if (repaired <= MAX_REPAIRED) slow ??= repairedSpan(text, { start, end }, script);
    }
    if (slow !== undefined) found.push({ ...slow, ...place });
    start = nextBracket(text, slow?.end ?? behindBroken(text, place));
  }
  return found;
}

/** Where to look on behind something beyond repair. What stands within it is a part of an answer and not the answer. */
function behindBroken(text: string, { start, alone }: CandidatePlace): number {
  if (/^\{\s*\{/.test(text.slice(start, start + 20))) return start + 1;
  const end = balancedEnd(text, start);
  if (end > 0) return end;
  return alone || /^[{[]\s*(?:\{\s*)?"[^"\n]{1,120}"\s*:/.test(text.slice(start, start + 300))
    ? text.length
    : start + 1;
}

/** Where the brackets at a place may end: where they are balanced, or, where nothing else is, at the last one. */
function endsOf(text: string, { start, alone }: CandidatePlace): readonly number[] {
  const balanced = balancedEnd(text, start);
  const last = alone ? Math.max(text.lastIndexOf('}'), text.lastIndexOf(']')) + 1 : 0;
  return [...new Set([balanced, last])].filter((end) => end > start);
}

function repairedSpan(
  text: string,
  { start, end }: { readonly start: number; readonly end: number },
  script: Script,
): Pick<Candidate, 'json' | 'end' | 'closed' | 'repairs' | 'doubtful'> | undefined {
  const written = text.slice(start, end);
  // Without a single quote it is more likely code or a sentence than data.
  const json = /["'“„`]/.test(written) ? repair(written, script) : undefined;
  if (json === undefined || json[0] !== written[0]) return undefined;
  // Another member behind the last bracket says that it was not the last one.
  return { json, end, closed: !/^\s*,/.test(text.slice(end, end + 40)), repairs: ['rewritten'], doubtful: false };
}

/** Where the bracket at a place is closed, going by brackets alone; 0 when it is not. */
function balancedEnd(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    if (character === 0x7b || character === 0x5b) depth += 1;
    else if (character === 0x7d || character === 0x5d) depth -= 1;
    if (depth === 0) return at + 1;
  }
  return 0;
}

function nextBracket(text: string, from: number): number {
  BRACKET.lastIndex = from;
  return BRACKET.exec(text)?.index ?? -1;
}

function promises(text: string, start: number): boolean {
  if (FORMULA.test(text.slice(Math.max(0, start - 40), start))) return false;
  PROMISING.lastIndex = start;
  if (PROMISING.test(text)) return true;
  PROMISING_ALONE.lastIndex = start;
  if (PROMISING_ALONE.test(text) && isAlone(text, start)) return true;
  return /^(?:\{\s*\}|\[\s*\])/.test(text.slice(start, start + 20)) && isAlone(text, start);
}

function isAlone(text: string, start: number): boolean {
  const before = text.slice(Math.max(0, start - 300), start);
  return (start <= 300 && ALONE.test(before)) || /\n[ \t]*$/.test(before) || FENCED.test(before);
}

/** Where something that may be JSON ends, and whether it is JSON. */
interface StrictEnd {
  readonly isJson: boolean;
  /** First position behind it, or behind what was looked at. */
  readonly end: number;
}

/** Finds the end of the brackets at a position, going strictly by the rules of JSON. */
function strictEnd(text: string, start: number): StrictEnd {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') {
      at += 1;
      while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
    } else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') depth -= 1;
    if (depth === 0) return { isJson: isJson(text.slice(start, at + 1)), end: at + 1 };
    if (depth > MAX_DEPTH) return { isJson: false, end: at };
  }
  return { isJson: false, end: text.length };
}

/** True for a text that is JSON as it stands. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Longer texts are not repaired: the time it takes can grow with the square of the length. */
const MAX_REPAIRED_LENGTH = 32_768;

/**
 * Repairs what the own reader gives up on: calls around values, texts that are put together, words without quotes.
 * Backslashes that JSON does not know are doubled first, because the library drops them.
 *
 * @returns JSON, or undefined when there is nothing to be done.
 */
export function repair(text: string, script: Script): string | undefined {
  if (text.length > MAX_REPAIRED_LENGTH || isDeep(text)) return undefined;
  try {
    const repaired = jsonrepair(withKnownEscapes(text, script));
    JSON.parse(repaired, refuseGarbage);
    return repaired.trim();
  } catch {
    return undefined;
  }
}

/** Brackets within brackets cost the library its stack. */
function isDeep(text: string): boolean {
  let depth = 0;
  for (const bracket of text.match(/[{}[\]]/g) ?? []) {
    depth += bracket === '{' || bracket === '[' ? 1 : -1;
    if (depth > MAX_DEPTH) return true;
  }
  return false;
}

function withKnownEscapes(text: string, { latex }: Script): string {
  let result = '';
  let plain = 0;
  for (let at = text.indexOf('\\'); at >= 0; at = text.indexOf('\\', plain)) {
    const escape = readEscape(text, at, { isKey: false, latex, path: false });
    if (escape === undefined) break;
    result += text.slice(plain, at) + escape.json;
    plain = escape.end;
  }
  return result + text.slice(plain);
}

/** Where the library takes punctuation for texts and keys, it has lost its way. */
function refuseGarbage(this: unknown, key: string, value: unknown): unknown {
  const strayText = typeof value === 'string' && /^\s*(?:[:,}\]]|[()[{;]+\s*$)/.test(value);
  const strayKey = !Array.isArray(this) && /["{}[\]\n]|^\s*[:,]/.test(key);
  if (strayText || strayKey) throw new SyntaxError('punctuation was taken for a text');
  return value;
}
