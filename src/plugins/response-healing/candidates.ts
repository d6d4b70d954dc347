import { repair } from './repair.ts';
import { strictEnd } from './strict-end.ts';
import { tidy } from './tidy.ts';

/** A part of an answer that may be what was asked for. */
export interface Candidate {
  /** JSON. */
  readonly json: string;
  readonly kind: 'object' | 'array';
  /** False when the answer ended before its brackets were closed. */
  readonly closed: boolean;
  /** It is all there is, or all there is in a fence; not something in the middle of a sentence. */
  readonly alone: boolean;
  readonly repairs: readonly string[];
  readonly start: number;
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
  /\{\s{0,200}(?:\/\/|\/\*|#|,?\s{0,20}[urb]{0,2}\\?["'“„`]?[^\n"'“”„`:{}[\]]{1,120}\\?["'”“`]?\s{0,20}[:：=])|\[\s{0,200},?\s{0,20}[{["'“„`(\d.-]/y;
const KEY_FIRST = /^\s{0,200}["“][^"“”\n]{1,120}["”]\s{0,20}:/;
/** Opening line of a fence, and whatever else may stand between the beginning of a text and its JSON. */
const FENCED =
  /(?:^|[\s\S])(?:```|~~~)[ \t]{0,8}(?:json[5cl]?|javascript|js|python|py|typescript|ts)?\s{0,200}(?:(?:const|let|var) \w{1,40} ?= ?)?$/i;
const ALONE = /^\s{0,200}(?:json\s{1,20}|<\w{1,40}>\s{0,20}|\w{1,40} ?= ?)?$/i;

/** Finds everything in a text that is an object or array, or could be made one. In the order of their places. */
export function findCandidates(text: string, latex: boolean): readonly Candidate[] {
  const found: Candidate[] = [];
  const keyFirst = KEY_FIRST.test(text) ? tidy(`{${text}`, 0, latex) : undefined;
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
    const place = { kind: text[start] === '{' ? ('object' as const) : ('array' as const), alone, start };
    const strict = strictEnd(text, start);
    if (strict.isJson) {
      const json = text.slice(start, strict.end);
      found.push({ json, end: strict.end, closed: true, repairs: [], ...place });
      start = nextBracket(text, strict.end);
      continue;
    }
    const tidied = tidy(text, start, latex);
    spent += strict.end + tidied.end - 2 * start;
    if (tidied.json !== undefined) {
      found.push({ ...tidied, ...place });
      if (!tidied.closed) break;
      start = nextBracket(text, tidied.end);
      continue;
    }
    let slow: ReturnType<typeof repairedSpan>;
    for (const end of endsOf(text, start, alone)) {
      repaired += end - start + PER_REPAIR;
      if (repaired <= MAX_REPAIRED) slow ??= repairedSpan(text, start, end, latex);
    }
    if (slow !== undefined) found.push({ ...slow, ...place });
    start = nextBracket(text, slow?.end ?? behindBroken(text, start, alone));
  }
  return found;
}

/** Where to look on behind something beyond repair. What stands within it is a part of an answer and not the answer. */
function behindBroken(text: string, start: number, alone: boolean): number {
  if (/^\{\s*\{/.test(text.slice(start, start + 20))) return start + 1;
  const end = balancedEnd(text, start);
  if (end > 0) return end;
  return alone ? text.length : start + 1;
}

/** Where the brackets at a place may end: where they are balanced, or, where nothing else is, at the last one. */
function endsOf(text: string, start: number, alone: boolean): readonly number[] {
  const balanced = balancedEnd(text, start);
  const last = alone ? Math.max(text.lastIndexOf('}'), text.lastIndexOf(']')) + 1 : 0;
  return [...new Set([balanced, last])].filter((end) => end > start);
}

function repairedSpan(
  text: string,
  start: number,
  end: number,
  latex: boolean,
): Pick<Candidate, 'json' | 'end' | 'closed' | 'repairs'> | undefined {
  const written = text.slice(start, end);
  // Without a single quote it is more likely code or a sentence than data.
  const json = /["'“„`]/.test(written) ? repair(written, latex) : undefined;
  if (json === undefined || json[0] !== written[0]) return undefined;
  return { json, end, closed: true, repairs: ['rewritten'] };
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
  PROMISING.lastIndex = start;
  return PROMISING.test(text) || (/^(?:\{\s*\}|\[\s*\])/.test(text.slice(start, start + 20)) && isAlone(text, start));
}

function isAlone(text: string, start: number): boolean {
  const before = text.slice(Math.max(0, start - 300), start);
  return (start <= 300 && ALONE.test(before)) || /\n[ \t]*$/.test(before) || FENCED.test(before);
}
