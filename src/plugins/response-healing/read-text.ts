/** Reads quoted texts of broken JSON. */
import {
  endsText,
  HALF_QUOTED_ITEM,
  ITEM_ON_LINE,
  KEY_AND_VALUE,
  matches,
  skipSpace,
  type TextContext,
  WHOLE_ITEM,
} from './closing-marks.ts';

/** A quoted text as JSON writes it. */
interface ReadText {
  /** With its quotes. */
  readonly json: string;
  /** First position behind it. */
  readonly end: number;
  /** False when the source ended first. */
  readonly closed: boolean;
  /** True when quotes within it were taken for a part of it. */
  readonly guessed: boolean;
  /** True when something within it looks like the members that follow it. */
  readonly doubtful: boolean;
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
  const { place } = context;
  const isKey = place === 'key';
  const escapes = {
    isKey,
    latex: context.latex,
    path: /^[A-Za-z]:\\(?!\\)/.test(source.slice(from, from + 4)),
  };
  const repairs = new Set<string>(opener === '"' && limit === undefined ? [] : ['quotes']);
  const end = limit ?? source.length;
  let json = '"';
  let plain = from;
  let guessed = false;
  let doubtful = false;
  /** Brackets of JSON that the text itself quotes, `Send {"retries": 3} first`. */
  let nested = 0;
  /** A quote within the text has been opened and not closed. */
  let quoting = false;
  /** The first quote within the text closes something that was never opened. */
  let closesFirst = false;
  const done = (at: number, behind: number, closed: boolean): ReadText => {
    return {
      json: `${json}${source.slice(plain, at)}"`,
      end: behind,
      closed,
      guessed,
      // Then it is rather several texts without brackets around them than one, or lacks a quote that nobody can place.
      doubtful: doubtful || (guessed && quoting && (closesFirst ? place === 'object' : limit === undefined)),
      repairs: [...repairs],
    };
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
      const isOpening = opensQuote(source, index, from);
      const pairs =
        context.place === 'array' && quoting && !isOpening && /^\s*,/.test(source.slice(index + 1, index + 30));
      const half = context.place === 'array' && !guessed && matches(HALF_QUOTED_ITEM, source, index + 1);
      if (nested === 0 && !pairs && (half || endsText(source, index + 1, context))) return done(index, index + 1, true);
      const before = nested > 0 ? -1 : lostEnd(source, from, index, context, guessed);
      if (before >= 0) {
        repairs.add('quotes');
        return {
          ...read(source, from, context, before),
          end: skipSpace(source, before),
          closed: true,
          repairs: [...repairs],
        };
      }
      if (nested === 0 && /[{[]\s{0,40}$/.test(source.slice(Math.max(from, index - 41), index))) nested = 1;
      else if (nested === 0 && isOpening && matches(KEY_AND_VALUE, source, index)) doubtful = true;
      if (!guessed) closesFirst = !isOpening && /^[,\s]/.test(source.slice(index + 1, index + 2));
      quoting = isOpening;
      guessed = true;
      repairs.add('quotes');
      json += source.slice(plain, index) + (character === '"' ? '\\"' : character);
      plain = index + 1;
    } else if (nested > 0 && (character === '{' || character === '[')) nested += 1;
    else if (nested > 0 && (character === '}' || character === ']')) nested -= 1;
    else if (character === '"') {
      json += `${source.slice(plain, index)}\\"`;
      plain = index + 1;
    }
  }
  return done(end, end, limit !== undefined);
}

/** A line within a text that looks like a member behind it; without quotes around its key, code looks like that, too. */
const HOLDS_MEMBERS =
  /,[ \t]{0,20}\n\s{0,200}["“'][^"“”'\n:{}[\]]{1,60}["”'][ \t]{0,5}[:：][ \t]{0,5}["“'{[\dtfnTFN-]/u;
const HOLDS_BARE_MEMBERS = /,[ \t]{0,20}\n\s{0,200}[\p{L}_]\w{0,40}"?[ \t]{0,5}[:：][ \t]{0,5}["“'{[\dtfnTFN-]/u;
/**
 * Whether a text, as it was written, seems to hold members behind it: then it lacks its closing quote.
 *
 * @param guessed - Whether quotes within it were taken for a part of it.
 */
export function swallowsMembers(written: string, { guessed }: { readonly guessed: boolean }): boolean {
  return HOLDS_MEMBERS.test(written) || (guessed && HOLDS_BARE_MEMBERS.test(written));
}

/** True for a quote that begins something, going by the characters beside it. */
function opensQuote(source: string, at: number, from: number): boolean {
  const before = at === from ? ' ' : (source[at - 1] ?? ' ');
  // What follows a quoted text, as in `"11 ", then`, begins none.
  return /[\s([{]/.test(before) && /^(?![,;:!?)`]|\.(?:\s|$))\S/.test(source.slice(at + 1, at + 3));
}

/**
 * Where a text ends that lost its closing quote: before brackets and a key that begin lines, or before a key or an item
 * that follows a comma. -1 for a text that goes on.
 */
function lostEnd(source: string, from: number, at: number, { place }: TextContext, guessed: boolean): number {
  const between = /\n[\s{}[\],]*$|\s*$/.exec(source.slice(Math.max(from, at - 200), at))?.[0] ?? '';
  const beganLine = between.includes('\n');
  // Where quotes are not escaped, a comma and a key within a line prove nothing.
  if (guessed && !beganLine) return -1;
  const brackets = /[{}[\]]/.test(between);
  let end = at - between.length;
  while (end > from && /[ \t]/.test(source[end - 1] ?? '.')) end -= 1;
  const comma = source[end - 1] === ',';
  if (comma) end -= 1;
  if (brackets) return matches(KEY_AND_VALUE, source, at) || matches(WHOLE_ITEM, source, at) ? end : -1;
  if (place === 'object') return (beganLine || comma) && matches(KEY_AND_VALUE, source, at) ? end : -1;
  return comma && (matches(WHOLE_ITEM, source, at) || (beganLine && matches(ITEM_ON_LINE, source, at))) ? end : -1;
}

/** Where a key ends that lost its closing quote, `{"a: 1, "b": 2}`; -1 for one that did not. */
function lostQuote(source: string, from: number, quote: number): number {
  if (/^\s{0,20}[:=：]/.test(source.slice(quote + 1, quote + 22))) return -1;
  const colon = source.slice(from, Math.min(quote, from + 120)).search(/[:：]/);
  return colon < 0 ? -1 : from + colon;
}

/** An escape as JSON writes it. */
interface ReadEscape {
  readonly json: string;
  /** First position behind it. */
  readonly end: number;
  /** True when it had to be written differently. */
  readonly changed: boolean;
}

/** What is known of the text around an escape. */
interface EscapePlace {
  readonly isKey: boolean;
  /** The text has commands of LaTeX that cannot be escapes. */
  readonly latex: boolean;
  /** The text is a path of Windows, in which every backslash stands for itself. */
  readonly path: boolean;
}

/**
 * Reads the escape at a backslash. What JSON does not know keeps its backslash (`\alpha`, `\d`), and so does what only
 * looks like an escape of JSON (`\theta`, `\frac`). Undefined for an escape that the end of the text cuts off.
 */
export function readEscape(source: string, at: number, place: EscapePlace): ReadEscape | undefined {
  const next = source[at + 1];
  if (next === undefined) return undefined;
  const kept = { json: `\\${next}`, end: at + 2, changed: false };
  const literal = { json: '\\\\', end: at + 1, changed: true };
  if (next === '\\' || next === '"') return kept;
  if (place.path) return literal;
  switch (next) {
    case '/':
      return kept;
    case 'b':
    case 'f':
      return literal;
    case 'n':
    case 'r':
    case 't':
      return isLatexCommand(wordAt(source, at + 1), place) ? literal : kept;
    case 'u':
      return unicodeEscape(source, at, literal);
    case 'U':
      return codeEscape(source, at, 8) ?? literal;
    case 'x':
      return codeEscape(source, at, 2) ?? literal;
    case '\n':
      return { json: '\\n', end: at + 2, changed: true };
    case "'":
    case '`':
      return { json: next, end: at + 2, changed: true };
    default:
      // Markdown escapes underscores, and no key means a backslash.
      return place.isKey && /[_*#.-]/.test(next) ? { json: next, end: at + 2, changed: true } : literal;
  }
}

function unicodeEscape(source: string, at: number, literal: ReadEscape): ReadEscape | undefined {
  const digits = source.slice(at + 2, at + 6);
  if (/^[\da-fA-F]{4}$/.test(digits)) return { json: source.slice(at, at + 6), end: at + 6, changed: false };
  return at + 2 + digits.length === source.length && /^[\da-fA-F]*$/.test(digits) ? undefined : literal;
}

/** `\x41` of JavaScript and Python, `\U0001F600` of Python. */
function codeEscape(source: string, at: number, length: number): ReadEscape | undefined {
  const digits = source.slice(at + 2, at + 2 + length);
  const code = digits.length === length && /^[\da-fA-F]+$/.test(digits) ? Number.parseInt(digits, 16) : Infinity;
  if (code > 0x10_ffff) return undefined;
  return {
    json: JSON.stringify(String.fromCodePoint(code)).slice(1, -1),
    end: at + 2 + length,
    changed: true,
  };
}

function wordAt(source: string, at: number): string {
  return /^[a-zA-Z]*/.exec(source.slice(at, at + 24))?.[0] ?? '';
}

/**
 * Commands of LaTeX that begin like an escape of JSON: `\nabla` like a line break, `\theta` like a tab, `\rho` like a
 * carriage return. Commands with `\b` and `\f` need no list, because nobody means a backspace or a form feed.
 */
const COMMANDS = new Set(
  (
    'nabla neq neg newline newcommand ngeq nleq nmid not notag notin nsubseteq nparallel natural nearrow nonumber ' +
    'noindent nolimits nexists norm ' +
    'rangle rbrace rbrack rceil rfloor rho right rightarrow rightharpoonup rightleftharpoons rm root rVert rvert ' +
    'rtimes raisebox ref renewcommand rlap ' +
    'tan tanh tau tbinom text textbf textit textrm texttt textsf textup textstyle textcolor textbackslash tfrac ' +
    'therefore theta thickapprox thicksim tilde times top triangle triangleq triangleleft triangleright ' +
    'twoheadrightarrow'
  ).split(' '),
);

/** Short ones, which a word of a language behind a line break could be just as well. */
const SHORT_COMMANDS = new Set(['nu', 'ne', 'ni', 'to', 'tt', 'tag', 'num']);

/** A backslash with a word that no escape of JSON begins with: the text writes its backslashes singly. */
const OTHER_COMMAND = /(?<!\\)\\[ac-eg-mo-qsv-zA-Z][a-zA-Z]/;

/** True for a text with commands of LaTeX that cannot be escapes. */
export function writesLatex(source: string): boolean {
  return OTHER_COMMAND.test(source);
}

/** True when the word behind a backslash is a command of LaTeX rather than an escape and a word. */
function isLatexCommand(word: string, { latex }: Pick<EscapePlace, 'latex'>): boolean {
  return COMMANDS.has(word) || (latex && SHORT_COMMANDS.has(word));
}
