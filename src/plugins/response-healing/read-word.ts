/** Reads literals, numbers and unquoted words of broken JSON. */
import type { JsonObject, JsonValue } from '../../protocol/json.ts';
import { fitsSchema } from './fits-schema.ts';
import { isQuote, readQuoted } from './read-text.ts';

/** Brackets within brackets that are read. An answer that goes deeper stays as it is. */
export const MAX_DEPTH = 64;

/** A value without quotes as JSON writes it. */
interface ReadWord {
  readonly json: string;
  /** First position behind it. */
  readonly end: number;
  readonly repair?: 'literals' | 'numbers' | 'quotes' | undefined;
  /** True when the end of the source may have cut it off. */
  readonly cut: boolean;
}

/** Literals of JSON, Python, JavaScript, Ruby and Go. JSON has no numbers that are none, so they become null. */
const LITERALS: Readonly<Record<string, string>> = {
  true: 'true',
  True: 'true',
  TRUE: 'true',
  false: 'false',
  False: 'false',
  FALSE: 'false',
  null: 'null',
  None: 'null',
  NULL: 'null',
  Null: 'null',
  nil: 'null',
  undefined: 'null',
  NaN: 'null',
  nan: 'null',
  Infinity: 'null',
  '-Infinity': 'null',
  inf: 'null',
  '-inf': 'null',
};

const WORD = /(?:(?!\/\*)[^\s"'`“”„‘’,，;；:：=(){}[\]]){1,400}/uy;
/** Things without a space that somebody forgot to quote: dates, times, shares, numbers with leading zeros. */
const UNQUOTED = /(?:(?!\/\*)[^\s"'`“”„‘’,，;；=(){}[\]]){1,400}/uy;
const NUMBER = /^[+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const BEGINS_LIKE_NUMBER = /^[+-]?[\d.$€£]/;
/** What the end of a text may leave of a number. */
const HALF_A_NUMBER = /^[+-]?(?:[\d_]*\.?|[\d_]*\.?\d*[eE][+-]?\d*)$/;

/**
 * Reads a literal or a number at a position, in the spelling of any common language. Undefined for anything else,
 * such as words that lack quotes.
 */
export function readWord(source: string, at: number): ReadWord | undefined {
  const word = match(WORD, source, at);
  const end = at + word.length;
  const atEnd = end === source.length;
  const literal = Object.hasOwn(LITERALS, word) ? LITERALS[word] : undefined;
  if (literal !== undefined)
    return { json: literal, end, cut: false, ...(literal === word ? {} : { repair: 'literals' }) };
  const completed = atEnd ? completedLiteral(word) : undefined;
  if (completed !== undefined) return { json: completed, end, cut: false, repair: 'literals' };
  if (atEnd && isHalf(word)) return { json: 'null', end, cut: true };
  if (!BEGINS_LIKE_NUMBER.test(word)) return undefined;
  const json = numberOf(word);
  const whole = match(UNQUOTED, source, at);
  if (json !== undefined && whole === word)
    return { json, end, cut: false, ...(json === word ? {} : { repair: 'numbers' }) };
  return { json: JSON.stringify(whole), end: at + whole.length, cut: false, repair: 'quotes' };
}

/** A number as JSON writes it; undefined for what is none. Leading zeros mean something, so that is none. */
function numberOf(word: string): string | undefined {
  if (/^[+-]?0[xX][\da-fA-F]{1,12}$|^[+-]?0[oO][0-7]{1,16}$|^[+-]?0[bB][01]{1,50}$/.test(word)) {
    const digits = Number(word.replace(/^[+-]/, ''));
    return `${word.startsWith('-') ? '-' : ''}${digits}`;
  }
  if (!NUMBER.test(word) || /^[+-]?0\d/.test(word)) return undefined;
  return word
    .replace(/^\+/, '')
    .replaceAll('_', '')
    .replace(/^(-?)\./, '$10.')
    .replace(/\.(?=$|[eE])/, '');
}

/** What a literal was going to be, where its beginning leaves but one value; a single letter may begin anything. */
function completedLiteral(word: string): string | undefined {
  if (word.length < LEAST_OF_LITERAL || !/^\p{L}/u.test(word)) return undefined;
  const values = new Set(
    Object.keys(LITERALS).flatMap((name) => (name.startsWith(word) ? (LITERALS[name] ?? []) : [])),
  );
  const [only] = values;
  return values.size === 1 ? only : undefined;
}

const LEAST_OF_LITERAL = 2;

/** True for the beginning of a literal or number that is no whole one. */
function isHalf(word: string): boolean {
  if (word === '') return true;
  if (HALF_A_NUMBER.test(word) && !/^[+-]?\d[\d_]*$/.test(word)) return true;
  return Object.keys(LITERALS).some((literal) => literal.startsWith(word));
}

function match(pattern: RegExp, source: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0] ?? '';
}

/** A text without its first quote, up to its second. */
const NO_FIRST_QUOTE =
  /[\p{L}\p{N}][^"“”\n{}[\]:]{0,300}(?="\s{0,40}(?:[}\]]|,\s{0,40}(?:["'{}[\]]|[\p{L}_]\w{0,40}"?\s{0,5}:)))/uy;
/** Words without quotes where a member must follow or nothing more. */
const BARE_TEXT =
  /[\p{L}/][^"'`“”„‘’,;\n{}[\]()\\]{0,300}(?=\s{0,40}(?:[}]|\n|,\s{0,40}(?:["'][^"'\n]{1,60}["']|[\p{L}_]\w{0,40})\s{0,5}:))/uy;
const BARE_ITEM = /[\p{L}][^"'`“”„‘’,:\n{}[\]()\\]{0,120}(?=\s{0,40}[,\]])/uy;
/** A text that lacks quotes as JSON writes it. */
interface ReadBareText {
  readonly json: string;
  /** First position behind it. */
  readonly end: number;
  /** True when only its first quote is missing. */
  readonly halfQuoted: boolean;
}

/** Reads words that lack their first quote, or both, where it is plain how far they go. Undefined for others. */
export function readBareText(
  source: string,
  at: number,
  { isMember }: { readonly isMember: boolean },
): ReadBareText | undefined {
  const half = match(NO_FIRST_QUOTE, source, at);
  const text = half === '' ? match(isMember ? BARE_TEXT : BARE_ITEM, source, at) : half;
  if (text === '') return undefined;
  const end = at + text.length + (half === '' ? 0 : 1);
  return { json: JSON.stringify(text.trimEnd()), end, halfQuoted: half !== '' };
}

/** Longer answers are prose. */
const MAX_LENGTH = 10_000;
const IN_FENCE = /^(?:```|~~~)[ \t]*(?:json[5cl]?|text|txt)?[ \t]*\n([\s\S]*?)\n?(?:```|~~~)?$/i;

/**
 * The JSON of an answer that is one number, literal or text, where the schema allows it: `True`, `'yes'`, `42` in a
 * fence, or, where the schema lists its values, one of them without quotes. Undefined for everything else, so that
 * prose never becomes a text.
 */
export function scalarOf(answer: string, schema: JsonObject): string | undefined {
  const trimmed = answer.trim();
  if (trimmed === '' || trimmed.length > MAX_LENGTH) return undefined;
  const written = (IN_FENCE.exec(trimmed)?.[1] ?? trimmed).trim();
  return [written, quotedText(written), plainWord(written), JSON.stringify(written)].find((json, index, all) => {
    const value = json === undefined ? undefined : parsed(json);
    if (value === undefined || fitsSchema(schema, value) !== true) return false;
    // Words without quotes are a text only where the schema knows these very words.
    return index < all.length - 1 || fitsSchema(schema, `${written} and more`) === false;
  });
}

function quotedText(written: string): string | undefined {
  if (!isQuote(written[0])) return undefined;
  const text = readQuoted(written, 0, { place: 'array', open: [], bareKeys: false, latex: false });
  return text.closed && !text.guessed && text.end === written.length ? text.json : undefined;
}

function plainWord(written: string): string | undefined {
  const read = readWord(`${written} `, 0);
  return read !== undefined && !read.cut && read.end === written.length && read.repair !== 'quotes'
    ? read.json
    : undefined;
}

/** A value that is neither object nor list. */
function parsed(json: string): JsonValue | undefined {
  try {
    const value = JSON.parse(json) as JsonValue;
    return typeof value === 'object' && value !== null ? undefined : value;
  } catch {
    return undefined;
  }
}
