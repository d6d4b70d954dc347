/** What a text is in: it is a key, or a value in an object, an array or a tuple. */
export type TextPlace = 'key' | 'object' | 'array' | 'tuple';

/** What is known of the place of a text. */
export interface TextContext {
  readonly place: TextPlace;
  /** The brackets around it are the outermost ones, so that prose may follow them. */
  readonly outermost: boolean;
  /** Keys of this object go without quotes. */
  readonly bareKeys: boolean;
  /** The source has commands of LaTeX that cannot be escapes. */
  readonly latex: boolean;
}

/** How far a quote looks ahead for what follows it. */
const FAR = 200;

/** A key with its colon. Sticky. */
export const QUOTED_KEY = /[urb]{0,2}["'“”„‘`][^"'“”„‘’`\n:{}[\]]{1,120}["'”“’`]\s{0,20}[:=：]/y;
const CUT_OFF_KEY = /["'“„`][^"'“”„‘’`\n:{}[\]]{0,120}$/y;
const BARE_KEY = /[\p{L}\p{N}_$][\p{L}\p{N}_$-]{0,60}\s{0,5}[:=：]/uy;
const VALUE = /[urb]{0,2}["'“„`]|[{[(\d.-]|true\b|false\b|null\b|True\b|False\b|None\b|NaN\b/y;

/**
 * Whether a quote ends its text, or belongs to it because somebody forgot to escape it. It ends the text when what
 * follows could follow a value there: another key behind a comma, a bracket that is followed by something sensible.
 *
 * @param at - First position behind the quote.
 */
export function endsText(source: string, at: number, context: TextContext): boolean {
  const { place, bareKeys, outermost } = context;
  if (place === 'key') return true;
  const next = skipSpace(source, at);
  const brokeLine = source.slice(at, next).includes('\n');
  switch (source[next]) {
    case undefined:
      return true;
    case '}':
    case ']':
      return endsBracket(source, next + 1, outermost);
    case ')':
      return place === 'tuple' && endsBracket(source, next + 1, outermost);
    case ',':
    case ';':
    case '，':
    case '；':
      return goesOn(source, skipSpace(source, next + 1), place, bareKeys);
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
    default:
      return brokeLine && place === 'object' && bareKeys && matches(BARE_KEY, source, next);
  }
}

/** What may be behind a comma. */
function goesOn(source: string, at: number, place: TextPlace, bareKeys: boolean): boolean {
  const next = source[at];
  if (next === undefined || next === '}' || next === ']' || next === '/' || next === '#') return true;
  if (next === ')') return place === 'tuple';
  if (place !== 'object') return matches(VALUE, source, at);
  return (
    matches(QUOTED_KEY, source, at) || matches(CUT_OFF_KEY, source, at) || (bareKeys && matches(BARE_KEY, source, at))
  );
}

/** What may be behind a closing bracket. */
function endsBracket(source: string, at: number, outermost: boolean): boolean {
  const next = skipSpace(source, at);
  if (next > at && (outermost || source.slice(at, next).includes('\n'))) return true;
  const following = source.slice(next, next + 1);
  return /^(?:[,;，；}\])`~<"'{#/]|$)/.test(following) || (outermost && /[.:!?。]/.test(following));
}

function skipSpace(source: string, at: number): number {
  let next = at;
  while (next < at + FAR && /\s/.test(source[next] ?? '.')) next += 1;
  return next;
}

function matches(pattern: RegExp, source: string, at: number): boolean {
  pattern.lastIndex = at;
  return pattern.test(source);
}
