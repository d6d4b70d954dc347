import { type TextContext, endsText } from './closing-quote.ts';
import { readEscape } from './read-escape.ts';

/** A quoted text as JSON writes it. */
export interface ReadText {
  /** With its quotes. */
  readonly json: string;
  /** First position behind it. */
  readonly end: number;
  /** False when the source ended first. */
  readonly closed: boolean;
  /** True when quotes within it were taken for a part of it. */
  readonly guessed: boolean;
  /** What had to be done. */
  readonly repairs: readonly string[];
}

/** Quotes that end a text, by the quote that began it. */
const CLOSERS: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '`': '`',
  '“': '”"',
  '”': '”"',
  '„': '“”"',
  '‘': "’'",
};

/** True for a character that may begin a text. */
export function isQuote(character: string | undefined): boolean {
  return character !== undefined && Object.hasOwn(CLOSERS, character);
}

/** Reads the quoted text at a position: any kind of quotes, bare line breaks, escapes of other languages. */
export function readText(source: string, at: number, context: TextContext): ReadText {
  const quote = source[at] ?? '"';
  const triple = quote.repeat(3);
  if ((quote === '"' || quote === "'") && source.startsWith(triple, at)) {
    const end = source.indexOf(triple, at + 3);
    if (end >= 0) return { ...read(source, at + 3, context, end), end: end + 3, closed: true };
  }
  return read(source, at + 1, context);
}

/** @param limit - Where the text ends, when that is known already. */
function read(source: string, from: number, context: TextContext, limit?: number): ReadText {
  const opener = source[from - 1] ?? '"';
  const closers = CLOSERS[opener] ?? '"';
  const isKey = context.place === 'key';
  const escapes = { isKey, latex: context.latex, path: /^[A-Za-z]:\\(?!\\)/.test(source.slice(from, from + 4)) };
  const repairs = new Set<string>(opener === '"' && limit === undefined ? [] : ['quotes']);
  const end = limit ?? source.length;
  let json = '"';
  let plain = from;
  let guessed = false;
  const done = (at: number, behind: number, closed: boolean): ReadText => {
    return { json: `${json}${source.slice(plain, at)}"`, end: behind, closed, guessed, repairs: [...repairs] };
  };
  for (let index = from; index < end; index += 1) {
    const character = source[index] ?? '';
    if (character === '\\') {
      const escape = readEscape(source, index, escapes);
      if (escape === undefined) return done(index, source.length, false);
      if (escape.changed) repairs.add('escapes');
      json += source.slice(plain, index) + escape.json;
      plain = escape.end;
      index = escape.end - 1;
    } else if (character < ' ') {
      repairs.add('control characters');
      json += source.slice(plain, index) + JSON.stringify(character).slice(1, -1);
      plain = index + 1;
    } else if (limit === undefined && closers.includes(character)) {
      const lost = isKey ? lostQuote(source, from, index) : -1;
      if (lost >= 0) {
        repairs.add('quotes');
        return { ...done(lost, lost, true), json: JSON.stringify(source.slice(from, lost).trim()) };
      }
      if (endsText(source, index + 1, context)) return done(index, index + 1, true);
      guessed = true;
      repairs.add('quotes');
      json += source.slice(plain, index) + (character === '"' ? '\\"' : character);
      plain = index + 1;
    } else if (character === '"') {
      json += `${source.slice(plain, index)}\\"`;
      plain = index + 1;
    }
  }
  return done(end, end, limit !== undefined);
}

/** Where a key ends that lost its closing quote, `{"a: 1, "b": 2}`; -1 for one that did not. */
function lostQuote(source: string, from: number, quote: number): number {
  if (/^\s{0,20}[:=：]/.test(source.slice(quote + 1, quote + 22))) return -1;
  const colon = source.slice(from, Math.min(quote, from + 120)).search(/[:：]/);
  return colon < 0 ? -1 : from + colon;
}
