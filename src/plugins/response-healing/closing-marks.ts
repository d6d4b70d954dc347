/** Decides where a text in broken JSON ends. */

/** What a text is in: it is a key, or a value in an object, an array or a tuple. */
export type TextPlace = 'key' | Bracket;

/** What a pair of brackets around values makes of them. */
type Bracket = 'object' | 'array' | 'tuple';

/** What is known of the place of a text. */
export interface TextContext {
  readonly place: TextPlace;
  /** All brackets around it, the innermost last. */
  readonly open: readonly Bracket[];
  /** Keys of this object go without quotes. */
  readonly bareKeys: boolean;
  /** The source has commands of LaTeX that cannot be escapes. */
  readonly latex: boolean;
}

/** How far a quote looks ahead for what follows it. */
const FAR = 200;

/** A key with its colon. Sticky. */
export const QUOTED_KEY = /[urb]{0,2}["'“”„‘`][^"'“”„‘’`\n:{}[\]]{1,120}["'”“’`]\s{0,20}[:=：]/y;
/** A key with its colon, and the beginning of a value behind it. Sticky. */
export const KEY_AND_VALUE =
  /["'“”„‘`][^"'“”„‘’`\n:{}[\]]{1,120}["'”“’`]\s{0,20}[:=：]\s{0,20}(?:["'“„`{[\d-]|(?:true|false|null|True|False|None)\b)/y;
const CUT_OFF_KEY = /["'“„`][^"'“”„‘’`\n:{}[\]]{0,120}["'”“’`]?\s{0,20}$/y;
/** A key without its first quote or without any. */
const HALF_QUOTED_KEY = /[\p{L}_][\p{L}\p{N}_-]{0,60}["'”’]\s{0,5}:/uy;
const BARE_KEY = /[\p{L}\p{N}_$][\p{L}\p{N}_$-]{0,60}\s{0,5}[:=：]/uy;
const BARE_KEY_AND_VALUE =
  /[\p{L}_$][\p{L}\p{N}_$-]{0,60}\s{0,5}:\s{0,20}(?:["'“„`{[\d-]|(?:true|false|null|True|False|None)\b)/uy;
const VALUE = /[urb]{0,2}["'“„`]|[{[(\d.-]|true\b|false\b|null\b|True\b|False\b|None\b|NaN\b/y;
/** A text in a list, with what must follow it there. Sticky. */
export const WHOLE_ITEM = /["“](?:[^"“”\n\\]|\\.){0,400}["”]\s{0,20}(?:[,\]]|$)/y;
/** A text in a list that has its line for itself, whatever quotes are in it. Sticky. */
export const ITEM_ON_LINE = /["“][^\n]{0,1000}["”],?[ \t]{0,20}\n/y;
/** What else a line of a list may be or begin with, where commas are missing. */
const ITEM_WITHOUT_QUOTES = /(?:-?\d[\d.eE+-]{0,30}|true|false|null|True|False|None)[ \t]{0,20}(?:[\n,}\]]|$)|[{[]/y;
/** A text in a list that lacks its first quote, behind a comma. Sticky. */
export const HALF_QUOTED_ITEM = /\s{0,40},\s{0,40}\p{L}[^"“”\n{}[\]:,]{0,120}["”]\s{0,40}[,\]]/uy;
/** A member behind a bracket that closed too soon. */
const NEXT_MEMBER = /,?\s{0,40}["“][^"“”\n:{}[\]]{1,120}["”]\s{0,20}:\s{0,20}["“{[\dtfnTFN-]/y;
/** A quote that a closing bracket follows, before any bracket is opened. */
const LATER_END = /[^{[]{0,4000}?["'”’]\s{0,40}[}\]]/y;

/**
 * Whether a quote ends its text, or belongs to it because somebody forgot to escape it. It ends the text when what
 * follows could follow a value there: another key behind a comma, or brackets that are open, followed by something
 * that their surroundings can go on with.
 *
 * @param at - First position behind the quote.
 */
export function endsText(source: string, at: number, context: TextContext): boolean {
  const { place, bareKeys } = context;
  if (place === 'key') return true;
  const next = skipSpace(source, at);
  const brokeLine = source.slice(at, next).includes('\n');
  switch (source[next]) {
    case undefined:
      return true;
    case '}':
    case ']':
    case ')':
      return closes(source, next, context);
    case ';':
      // In sentences and in source code it stands behind quoted words, too.
      if (!/^\s*\n/.test(source.slice(next + 1, next + 20))) {
        return place === 'object' && matches(KEY_AND_VALUE, source, skipSpace(source, next + 1));
      }
      return goesOn(source, skipSpace(source, next + 1), context);
    case ',':
    case '，':
    case '；':
      return goesOn(source, skipSpace(source, next + 1), context);
    case '/':
      return source[next + 1] === '/' || source[next + 1] === '*';
    case '#':
      return next > at;
    case '+':
      return /\+\s{0,20}["'`]/y.test(source.slice(next, next + 30));
    case '"':
    case "'":
    case '“':
      if (place === 'object') return matches(QUOTED_KEY, source, next);
      return next > at && (brokeLine || source[next] === '"');
    case '`':
    case '~':
      return brokeLine && /^(?:```|~~~)/.test(source.slice(next, next + 3));
    default:
      if (!brokeLine) return false;
      if (place !== 'object') return matches(ITEM_WITHOUT_QUOTES, source, next);
      return matches(bareKeys ? BARE_KEY : BARE_KEY_AND_VALUE, source, next);
  }
}

/** Whether a source goes on at a position, which is one behind a comma. */
function goesOn(source: string, at: number, { place, bareKeys }: Pick<TextContext, 'place' | 'bareKeys'>): boolean {
  const next = source[at];
  if (next === undefined || next === '}' || next === ']' || next === '/' || next === '#') return true;
  if (next === ')') return place === 'tuple';
  if (place !== 'object') return matches(VALUE, source, at);
  return (
    matches(QUOTED_KEY, source, at) ||
    matches(CUT_OFF_KEY, source, at) ||
    matches(HALF_QUOTED_KEY, source, at) ||
    matches(bareKeys ? BARE_KEY : BARE_KEY_AND_VALUE, source, at)
  );
}

/** Whether brackets behind a quote close something that is open, and whatever is around that can go on behind them. */
function closes(source: string, at: number, context: TextContext): boolean {
  const { open } = context;
  const level = open.findLastIndex((one) => source[at] === closerOf(one));
  // Nothing of the kind is open: the wrong bracket, or one too many, if the text cannot go on.
  if (level < 0)
    return isEnd(source, at + 1) || (open.length > 1 && closesOn(source, at + 1, open.length - 1, context));
  if (closesOn(source, at + 1, level, context)) return true;
  return level < open.length - 1 && closesOn(source, at + 1, open.length - 1, context);
}

/** Whether a source can go on behind a bracket when so many brackets are still open. */
function closesOn(source: string, at: number, level: number, { open, bareKeys }: TextContext): boolean {
  let depth = level;
  let next = skipSpace(source, at);
  for (let brackets = 0; depth > 0 && brackets < FAR; brackets += 1) {
    const character = source[next] ?? '';
    if (character === '' || !'}])'.includes(character)) break;
    const outer = open.slice(0, depth).findLastIndex((one) => character === closerOf(one));
    if (outer < 0) return true;
    depth = outer;
    next = skipSpace(source, next + 1);
  }
  if (depth === 0) return !matches(LATER_END, source, next) || matches(NEXT_MEMBER, source, next);
  const following = source[next];
  const around = open[depth - 1] ?? 'array';
  if (following === ',' || following === ';')
    return goesOn(source, skipSpace(source, next + 1), { place: around, bareKeys });
  if (following === undefined || /[`~/#]/.test(following)) return true;
  if (around === 'object') return goesOn(source, next, { place: around, bareKeys });
  return /["'{[(]/.test(following) || matches(ITEM_WITHOUT_QUOTES, source, next);
}

/** Nothing but brackets and the end of a fence is left. */
function isEnd(source: string, at: number): boolean {
  return source.length - at <= FAR && /^[\s}\]`~;]*$/.test(source.slice(at));
}

/** The bracket that closes. */
function closerOf(bracket: Bracket): string {
  return bracket === 'object' ? '}' : bracket === 'array' ? ']' : ')';
}

/** First position from a place on that is no white space. */
export function skipSpace(source: string, at: number): number {
  let next = at;
  while (next < at + FAR && /\s/.test(source[next] ?? '.')) next += 1;
  return next;
}

/** Whether a sticky pattern matches at a place. */
export function matches(pattern: RegExp, source: string, at: number): boolean {
  pattern.lastIndex = at;
  return pattern.test(source);
}

/** A bracket that is open. */
export interface OpenBracket {
  readonly kind: Bracket;
  /** White space before the line that it is in. */
  readonly indent: number;
  /** Keys of this object go without quotes. */
  readonly bareKeys: boolean;
}

/** What a closing bracket is meant for. */
type BracketMeaning =
  /** It closes the innermost bracket. */
  | 'closes'
  /** It closes the innermost bracket, but is of the wrong kind. */
  | 'wrong'
  /** It closes nothing. */
  | 'superfluous'
  /** It closes something further out, so the innermost bracket was never closed. */
  | 'outer';

/** Characters that are looked at for the beginning of a line. */
const MAX_LINE = 200;

/**
 * Says what the closing bracket at a place is meant for, going by its kind, by what follows it, and by how far it is
 * indented.
 *
 * @param open - All open brackets, the innermost last.
 */
export function meaningOf(source: string, at: number, open: readonly OpenBracket[]): BracketMeaning {
  const character = source[at];
  const fits = (one: OpenBracket | undefined): boolean => one !== undefined && character === closerOf(one.kind);
  const behind = at + 1;
  if (fits(open.at(-1))) {
    if (open.length === 1 && couldFollow(source, behind, open) && !couldFollow(source, behind, [])) {
      return 'superfluous';
    }
    return isIndentedLikeOuter(source, at, open) ? 'outer' : 'closes';
  }
  const outer = open.findLastIndex(fits);
  if (outer >= 0 && couldFollow(source, behind, open.slice(0, outer))) return 'outer';
  if (couldFollow(source, behind, open.slice(0, -1))) return 'wrong';
  if (couldFollow(source, behind, open)) return 'superfluous';
  return outer >= 0 ? 'outer' : 'wrong';
}

/** White space at the beginning of the line of a place; 0 for the first line and for long ones. */
export function indentOf(source: string, at: number): number {
  return /^[ \t]*/.exec(lineBefore(source, at) ?? '')?.[0].length ?? 0;
}

/** Whether what follows a bracket can, when only certain brackets are open behind it. */
function couldFollow(source: string, at: number, open: readonly OpenBracket[]): boolean {
  let depth = open.length;
  let next = skipSpace(source, at);
  for (;;) {
    const around = open[depth - 1];
    const character = source[next] ?? '';
    if (around === undefined) {
      return !/^(?:[}\]]|,\s*["“'{[\w]|"[^"\n]{1,120}"\s*:)/.test(source.slice(next, next + 150));
    }
    if (character === '') return false;
    if (character === closerOf(around.kind)) {
      depth -= 1;
      next = skipSpace(source, next + 1);
      continue;
    }
    const comma = character === ',';
    const member = comma ? skipSpace(source, next + 1) : next;
    if (!comma && !/["“'{[]/.test(character)) return false;
    if (around.kind !== 'object' && matches(QUOTED_KEY, source, member)) return false;
    return goesOn(source, member, { place: around.kind, bareKeys: around.bareKeys });
  }
}

/** A bracket that begins a line belongs to what began a line that is indented as far. */
function isIndentedLikeOuter(source: string, at: number, open: readonly OpenBracket[]): boolean {
  const inner = open.at(-1);
  const line = lineBefore(source, at);
  if (inner === undefined || line === undefined || line.length >= inner.indent || line.trim() !== '') return false;
  return open.some((one) => one !== inner && one.indent === line.length && source[at] === closerOf(one.kind));
}

/** The line of a place, up to there; undefined for the first line and for a long one. */
function lineBefore(source: string, at: number): string | undefined {
  const before = source.slice(Math.max(0, at - MAX_LINE), at);
  const line = before.lastIndexOf('\n') + 1;
  return line === 0 ? undefined : before.slice(line);
}

/** Characters at the end of a text that may be brackets. */
const MAX_TAIL = 200;

/**
 * A text that ran to the end of an answer without the brackets of its objects and lists: it only lost its closing quote.
 *
 * @param written - As JSON writes it, with quotes.
 */
export function withoutBrackets(
  written: string,
  open: readonly OpenBracket[],
): { readonly json: string; /** False where its brackets are not those that are missing. */ readonly isSure: boolean } {
  const json = written
    .replace(/(?:\\n|\s){0,20}(?:```|~~~)(?:\\n|\s){0,20}"$/, '"')
    // Brackets and the end of a fence: what follows them is prose.
    .replace(/((?:\\n|\s){1,20}[}\]](?:\\n|[\s}\]]){0,60})(?:```|~~~)(?:\\n|\s)[\s\S]*"$/, '$1"');
  const tail = /[\s}\]]*$/.exec(json.slice(-MAX_TAIL, -1).replaceAll('\\n', '  '))?.[0] ?? '';
  const brackets = tail.replaceAll(/\s/g, '');
  const expected = open
    .map((one) => (one.kind === 'object' ? '}' : ']'))
    .toReversed()
    .join('');
  if (brackets === '') return { json, isSure: true };
  const short = `${json.slice(0, json.length - 1 - tail.length)}"`;
  if (expected.startsWith(brackets) || brackets.startsWith(expected)) return { json: short, isSure: true };
  // On a line of their own they are hardly a part of the text.
  const ownLine = /\\n/.test(json.slice(-1 - tail.length, -1));
  return { json: ownLine ? short : json, isSure: !ownLine };
}
