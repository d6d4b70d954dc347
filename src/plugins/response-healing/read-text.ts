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
export function readQuoted(source: string, at: number, context: TextContext): ReadText {
  const quote = source[at] ?? '"';
  const triple = quote.repeat(3);
  if ((quote === '"' || quote === "'") && source.startsWith(triple, at)) {
    const end = source.indexOf(triple, at + 3);
    if (end >= 0) return { ...new TextReader(source, at + 3, context, end).read(), end: end + 3, closed: true };
  }
  return new TextReader(source, at + 1, context).read();
}

/** Reads one text, from behind its opening quote. */
class TextReader {
  readonly #source: string;
  readonly #from: number;
  readonly #context: TextContext;
  readonly #limit: number | undefined;
  readonly #closers: string;
  readonly #escapes: EscapePlace;
  readonly #repairs: Set<string>;
  /** What was read, up to `#plain`. */
  #json = '"';
  /** From here on, the text is as it was written. */
  #plain: number;
  #guessed = false;
  #doubtful = false;
  /** Brackets of JSON that the text itself quotes, `Send {"retries": 3} first`. */
  #nested = 0;
  /** A quote within the text has been opened and not closed. */
  #quoting = false;
  /** The first quote within the text closes something that was never opened. */
  #closesFirst = false;

  /** @param limit - Where the text ends, when that is known already. */
  constructor(source: string, from: number, context: TextContext, limit?: number) {
    const opener = source[from - 1] ?? '"';
    this.#source = source;
    this.#from = from;
    this.#plain = from;
    this.#context = context;
    this.#limit = limit;
    this.#closers = CLOSERS[opener] ?? '"';
    this.#escapes = {
      isKey: context.place === 'key',
      latex: context.latex,
      path: /^[A-Za-z]:\\(?!\\)/.test(source.slice(from, from + 4)),
    };
    this.#repairs = new Set(opener === '"' && limit === undefined ? [] : ['quotes']);
  }

  read(): ReadText {
    const source = this.#source;
    const end = this.#limit ?? source.length;
    for (let index = this.#from; index < end; index += 1) {
      const character = source[index] ?? '';
      if (character === '\\') {
        const escape = readEscape(source, index, this.#escapes);
        if (escape === undefined) return { ...this.#endedAt(index), end: source.length, closed: false };
        if (escape.changed) this.#repairs.add('escapes');
        this.#write(escape.json, index, escape.end);
        index = escape.end - 1;
      } else if (character < ' ') {
        this.#repairs.add('control characters');
        this.#write(JSON.stringify(character).slice(1, -1), index, index + 1);
      } else if (this.#limit === undefined && this.#closers.includes(character)) {
        const ended = this.#readQuote(character, index);
        if (ended !== undefined) return ended;
      } else if (this.#nested > 0 && (character === '{' || character === '[')) this.#nested += 1;
      else if (this.#nested > 0 && (character === '}' || character === ']')) this.#nested -= 1;
      else if (character === '"') this.#write('\\"', index, index + 1);
    }
    return { ...this.#endedAt(end), end, closed: this.#limit !== undefined };
  }

  /** Writes something in the place of what is there. */
  #write(json: string, at: number, behind: number): void {
    this.#json += this.#source.slice(this.#plain, at) + json;
    this.#plain = behind;
  }

  /** The text, if a quote ends it; undefined where the quote is a part of the text. */
  #readQuote(character: string, index: number): ReadText | undefined {
    const [source, context] = [this.#source, this.#context];
    const lost = this.#escapes.isKey ? lostQuote(source, this.#from, index) : -1;
    if (lost >= 0) {
      this.#repairs.add('quotes');
      const json = JSON.stringify(source.slice(this.#from, lost).trim());
      return { ...this.#endedAt(lost), json, end: lost, closed: true };
    }
    const isOpening = opensQuote(source, index, this.#from);
    if (this.#endsAt(index, { isOpening })) return { ...this.#endedAt(index), end: index + 1, closed: true };
    const before = this.#nested > 0 ? -1 : this.#lostEnd(index);
    if (before >= 0) {
      this.#repairs.add('quotes');
      const text = new TextReader(source, this.#from, context, before).read();
      return { ...text, end: skipSpace(source, before), closed: true, repairs: [...this.#repairs] };
    }
    if (this.#nested === 0 && /[{[]\s{0,40}$/.test(source.slice(Math.max(this.#from, index - 41), index)))
      this.#nested = 1;
    else if (this.#nested === 0 && isOpening && matches(KEY_AND_VALUE, source, index)) this.#doubtful = true;
    if (!this.#guessed) this.#closesFirst = !isOpening && /^[,\s]/.test(source.slice(index + 1, index + 2));
    this.#quoting = isOpening;
    this.#guessed = true;
    this.#repairs.add('quotes');
    this.#write(character === '"' ? '\\"' : character, index, index + 1);
    return undefined;
  }

  /** Whether the quote at a position ends the text. */
  #endsAt(index: number, { isOpening }: { readonly isOpening: boolean }): boolean {
    if (this.#nested > 0) return false;
    const [source, context] = [this.#source, this.#context];
    const isItem = context.place === 'array';
    // It closes what another quote within the text has opened.
    if (isItem && this.#quoting && !isOpening && /^\s*,/.test(source.slice(index + 1, index + 30))) return false;
    const half = isItem && !this.#guessed && matches(HALF_QUOTED_ITEM, source, index + 1);
    return half || endsText(source, index + 1, context);
  }

  /**
   * Where the text ends if it lost its closing quote: before brackets and a key that begin lines, or before a key or an
   * item that follows a comma. -1 for a text that goes on.
   */
  #lostEnd(at: number): number {
    const [source, from] = [this.#source, this.#from];
    const between = /\n[\s{}[\],]*$|\s*$/.exec(source.slice(Math.max(from, at - 200), at))?.[0] ?? '';
    const beganLine = between.includes('\n');
    // Where quotes are not escaped, a comma and a key within a line prove nothing.
    if (this.#guessed && !beganLine) return -1;
    const brackets = /[{}[\]]/.test(between);
    let end = at - between.length;
    while (end > from && /[ \t]/.test(source[end - 1] ?? '.')) end -= 1;
    const comma = source[end - 1] === ',';
    if (comma) end -= 1;
    if (brackets) return matches(KEY_AND_VALUE, source, at) || matches(WHOLE_ITEM, source, at) ? end : -1;
    if (this.#context.place === 'object') return (beganLine || comma) && matches(KEY_AND_VALUE, source, at) ? end : -1;
    return comma && (matches(WHOLE_ITEM, source, at) || (beganLine && matches(ITEM_ON_LINE, source, at))) ? end : -1;
  }

  /** What was read up to a position. */
  #endedAt(at: number): Omit<ReadText, 'end' | 'closed'> {
    // Then it is rather several texts without brackets around them than one, or lacks a quote that nobody can place.
    const isSeveral =
      this.#guessed &&
      this.#quoting &&
      (this.#closesFirst ? this.#context.place === 'object' : this.#limit === undefined);
    return {
      json: `${this.#json}${this.#source.slice(this.#plain, at)}"`,
      guessed: this.#guessed,
      doubtful: this.#doubtful || isSeveral,
      repairs: [...this.#repairs],
    };
  }
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
