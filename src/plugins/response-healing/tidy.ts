import {
  type Bracket,
  closerOf,
  goesOn,
  matches,
  QUOTED_KEY,
  skipSpace,
  type TextContext,
  type TextPlace,
} from './closing-quote.ts';
import { MAX_DEPTH } from './depth.ts';
import { isQuote, readText } from './read-text.ts';
import { readWord } from './read-word.ts';

/** What a reader made of an object or array that is almost JSON. */
export interface Tidied {
  /** JSON. */
  readonly json: string;
  /** First position behind it in the source. */
  readonly end: number;
  /** False when the source ended before the outermost bracket was closed. */
  readonly closed: boolean;
  /** What had to be done, in order of first use. */
  readonly repairs: readonly string[];
  /** True when it could have been meant otherwise just as well. */
  readonly doubtful: boolean;
  /** True when texts had no quotes at all. */
  readonly bareTexts: boolean;
}

/** What a reader gave up on. */
export interface NotTidied {
  readonly json?: undefined;
  readonly bareTexts?: undefined;
  /** How far it had come. */
  readonly end: number;
}

interface Frame {
  readonly kind: Bracket;
  /** Pieces before the member that is being read: where to cut when it turns out to be half a member. */
  before: number;
  /** What is expected next. */
  expects: 'key' | 'colon' | 'value' | 'comma';
  members: number;
  bareKeys: boolean;
  /** White space before the line that its bracket is in. */
  readonly indent: number;
}

const LEFT_OUT = 'unfinished member left out';
const CLOSER = { object: '}', array: ']', tuple: ']' } as const;
const COMMENT = /\/\/[^\n]*|#[^\n]*|\/\*[\s\S]{0,2000}?\*\//y;
const BARE_KEY = /[^\s"'`“”„‘’,，;；:：={}()[\]#\\]{1,120}/uy;
/** A text without its first quote, up to its second. */
const NO_FIRST_QUOTE =
  /[\p{L}\p{N}][^"“”\n{}[\]:]{0,300}(?="\s{0,40}(?:[}\]]|,\s{0,40}(?:["'{}[\]]|[\p{L}_]\w{0,40}"?\s{0,5}:)))/uy;
/** Words without quotes where a member must follow or nothing more. */
const BARE_TEXT =
  /[\p{L}/][^"'`“”„‘’,;\n{}[\]()\\]{0,300}(?=\s{0,40}(?:[}]|\n|,\s{0,40}(?:["'][^"'\n]{1,60}["']|[\p{L}_]\w{0,40})\s{0,5}:))/uy;
const BARE_ITEM = /[\p{L}][^"'`“”„‘’,:\n{}[\]()\\]{0,120}(?=\s{0,40}[,\]])/uy;
/** Characters at the end of a text that may be brackets. */
const MAX_TAIL = 200;
/** A last remark without quotes and brackets. */
const PROSE = /[^"“{}[\]]{1,2000}$/y;
/** Characters that are looked at for the beginning of a line. */
const MAX_LINE = 200;
/** The end of a fence is the end of what stands in it. */
const FENCE = /```|~~~/y;
const ELLIPSIS = /\.{3}|…/y;

/**
 * Reads the object or array at a position in one pass, and writes it down as JSON: quotes of any kind, bare keys,
 * literals and escapes of other languages, comments, missing and superfluous commas, missing brackets. Half a member
 * at the end is left out rather than completed. Gives up on what needs more guessing than that.
 *
 * @param latex - Whether the text has commands of LaTeX that cannot be escapes.
 */
export function tidy(source: string, at: number, latex: boolean): Tidied | NotTidied {
  return new Tidier(source, at, latex).run();
}

class Tidier {
  readonly #source: string;
  readonly #latex: boolean;
  readonly #pieces: string[] = [];
  readonly #frames: Frame[] = [];
  readonly #repairs = new Set<string>();
  #at: number;
  #doubtful = false;
  #bareTexts = false;
  /** An object within an object has been closed, so that a superfluous bracket may have closed it too soon. */
  #closedWithin = false;

  constructor(source: string, at: number, latex: boolean) {
    this.#source = source;
    this.#at = at;
    this.#latex = latex;
  }

  run(): Tidied | NotTidied {
    this.#open();
    for (;;) {
      const frame = this.#frames.at(-1);
      if (frame === undefined) return this.#finished(true);
      this.#skipSpace();
      if (this.#at >= this.#source.length || this.#match(FENCE) !== '') return this.#cutOff();
      if (!this.#step(frame)) {
        if (frame.expects !== 'comma' || !this.#isBeforeProse()) return { end: this.#at };
        return this.#cutOff();
      }
    }
  }

  /** Reads what comes next; false when that is beyond this reader. */
  #step(frame: Frame): boolean {
    const character = this.#source[this.#at] ?? '';
    if ('}])'.includes(character)) return this.#close(frame, character);
    switch (frame.expects) {
      case 'comma':
        return this.#comma(frame, character);
      case 'key':
        return this.#key(frame, character);
      case 'colon':
        return this.#colon(frame, character);
      default:
        return this.#value(frame, character);
    }
  }

  #comma(frame: Frame, character: string): boolean {
    if (',;，；'.includes(character)) {
      if (character !== ',') this.#repairs.add('commas');
      this.#at += 1;
    } else if (isQuote(character) || /[\p{L}\p{N}_$[{(-]/u.test(character)) this.#repairs.add('commas');
    else return false;
    frame.expects = frame.kind === 'object' ? 'key' : 'value';
    return true;
  }

  #key(frame: Frame, character: string): boolean {
    if (this.#skipsNothing(character)) return true;
    let json: string;
    this.#skipPrefix();
    if (isQuote(this.#source[this.#at])) {
      const text = this.#text('key', frame);
      if (!text.closed) return this.#leaveOut();
      json = text.json;
    } else {
      const name = this.#match(BARE_KEY);
      if (name === '') return false;
      const behind = this.#source.slice(this.#at + name.length, this.#at + name.length + 40);
      if (behind.trim() === '' && this.#at + name.length + behind.length === this.#source.length) {
        this.#at = this.#source.length;
        return this.#leaveOut();
      }
      if (!/^\s*[:：=]/.test(behind)) return false;
      this.#at += name.length;
      this.#repairs.add('keys');
      frame.bareKeys = true;
      json = JSON.stringify(name);
    }
    this.#begin(frame);
    this.#pieces.push(json, ':');
    frame.expects = 'colon';
    return true;
  }

  #colon(frame: Frame, character: string): boolean {
    const separator = /^(?::|：|=>|=)/.exec(this.#source.slice(this.#at, this.#at + 2))?.[0] ?? '';
    if (separator === '' && !isQuote(character) && !/[\d{[-]/.test(character)) return false;
    if (separator !== ':') this.#repairs.add('colons');
    this.#at += separator.length;
    frame.expects = 'value';
    return true;
  }

  #value(frame: Frame, character: string): boolean {
    if (frame.kind === 'object') {
      if (',;'.includes(character)) return this.#nothing(frame);
    } else if (this.#skipsNothing(character)) return true;
    if ('{[('.includes(character)) {
      if (frame.kind !== 'object') this.#begin(frame);
      frame.expects = 'comma';
      return this.#open();
    }
    if (this.#isKeyOfParent(frame)) return this.#leave(frame);
    this.#skipPrefix();
    if (isQuote(this.#source[this.#at])) return this.#quotedValue(frame);
    const word = readWord(this.#source, this.#at);
    if (word === undefined) return this.#bareText(frame);
    this.#at = word.end;
    if (word.cut) return this.#leaveOut();
    // A call such as Decimal("1.5") or a sentence is not for this reader.
    if (/^\s*[("'\p{L}]/u.test(this.#source.slice(word.end, word.end + 1))) return false;
    if (word.repair !== undefined) this.#repairs.add(word.repair);
    this.#emit(frame, word.json);
    return true;
  }

  /** A text that lacks its first quote, or both. */
  #bareText(frame: Frame): boolean {
    const half = this.#match(NO_FIRST_QUOTE);
    const text = half === '' ? this.#match(frame.kind === 'object' ? BARE_TEXT : BARE_ITEM) : half;
    if (text === '') return false;
    this.#at += text.length + (half === '' ? 0 : 1);
    if (half === '') this.#bareTexts = true;
    this.#repairs.add('quotes');
    this.#emit(frame, JSON.stringify(text.trimEnd()));
    return true;
  }

  #quotedValue(frame: Frame): boolean {
    const text = this.#text(frame.kind, frame);
    if (text.closed) {
      this.#skipSpace();
      if (this.#source[this.#at] === '+') return false;
      this.#emit(frame, text.json);
      return true;
    }
    if (text.guessed) return false;
    this.#emit(frame, this.#withoutBrackets(text.json));
    this.#repairs.add('quotes');
    return true;
  }

  /** A text that ends with the brackets of its objects only lost its closing quote. */
  #withoutBrackets(json: string): string {
    const open = this.#frames.map((frame) => CLOSER[frame.kind]).toReversed();
    const tail = /[\s}\]]*$/.exec(json.slice(-MAX_TAIL, -1).replaceAll('\\n', '  '))?.[0] ?? '';
    const brackets = tail.replaceAll(/\s/g, '');
    if (brackets === '' || !open.join('').startsWith(brackets)) return json;
    return `${json.slice(0, json.length - 1 - tail.length)}"`;
  }

  #text(place: TextPlace, { bareKeys }: Frame): ReturnType<typeof readText> {
    const context: TextContext = { place, bareKeys, latex: this.#latex, open: this.#frames.map((frame) => frame.kind) };
    const text = readText(this.#source, this.#at, context);
    this.#at = text.end;
    for (const repair of text.repairs) this.#repairs.add(repair);
    this.#doubtful ||= text.doubtful;
    return text;
  }

  /** Superfluous commas and an ellipsis stand where a member could. */
  #skipsNothing(character: string): boolean {
    const skipped = ',;，；'.includes(character) ? character : this.#match(ELLIPSIS);
    if (skipped === '') return false;
    this.#repairs.add('commas');
    this.#at += skipped.length;
    return true;
  }

  #open(): boolean {
    if (this.#frames.length >= MAX_DEPTH) return false;
    const character = this.#source[this.#at];
    const kind = character === '{' ? 'object' : character === '[' ? 'array' : 'tuple';
    if (kind === 'tuple') this.#repairs.add('literals');
    this.#pieces.push(kind === 'object' ? '{' : '[');
    const expects = kind === 'object' ? 'key' : 'value';
    const indent = this.#indent();
    this.#frames.push({ kind, before: this.#pieces.length, expects, members: 0, bareKeys: false, indent });
    this.#at += 1;
    return true;
  }

  #close(frame: Frame, character: string): boolean {
    if (frame.expects === 'colon') return false;
    if (frame.kind === 'object' && frame.expects === 'value') this.#nothing(frame);
    if (frame.members > 0 && frame.expects !== 'comma') this.#repairs.add('commas');
    switch (this.#meaningOf(character)) {
      case 'closes':
        this.#at += 1;
        return this.#pop(frame);
      case 'wrong':
        this.#repairs.add('brackets');
        this.#at += 1;
        return this.#pop(frame);
      case 'superfluous':
        this.#repairs.add('brackets');
        this.#doubtful ||= this.#closedWithin;
        this.#at += 1;
        frame.expects = 'comma';
        return true;
      default:
        // It closes something further out, so this one was never closed.
        this.#repairs.add('brackets');
        return this.#pop(frame);
    }
  }

  /** Only prose follows, behind a blank line: brackets are missing. */
  #isBeforeProse(): boolean {
    const blank = /\n[ \t]*\n\s*$/.test(this.#source.slice(Math.max(0, this.#at - MAX_LINE), this.#at));
    return blank && this.#match(PROSE) !== '';
  }

  /** What a closing bracket is meant for, going by its kind, by what follows it, and by how far it is indented. */
  #meaningOf(character: string): 'closes' | 'wrong' | 'superfluous' | 'outer' {
    const kinds = this.#frames.map((frame) => frame.kind);
    const fits = (one: Bracket | undefined): boolean => one !== undefined && character === closerOf(one);
    const behind = this.#at + 1;
    if (fits(kinds.at(-1))) {
      const isTooEarly = kinds.length === 1 && this.#couldFollow(behind, kinds) && !this.#couldFollow(behind, []);
      if (isTooEarly) return 'superfluous';
      return this.#isIndentedLikeOuter(character) ? 'outer' : 'closes';
    }
    const outer = kinds.findLastIndex(fits);
    if (outer >= 0 && this.#couldFollow(behind, kinds.slice(0, outer))) return 'outer';
    if (this.#couldFollow(behind, kinds.slice(0, -1))) return 'wrong';
    if (this.#couldFollow(behind, kinds)) return 'superfluous';
    return outer >= 0 ? 'outer' : 'wrong';
  }

  /** Whether what follows a bracket can, when only certain brackets are open behind it. */
  #couldFollow(at: number, kinds: readonly Bracket[]): boolean {
    let depth = kinds.length;
    let next = skipSpace(this.#source, at);
    for (;;) {
      const around = kinds[depth - 1];
      const character = this.#source[next] ?? '';
      if (around === undefined) return !/^(?:[}\]]|,\s*["“'{[\w])/.test(this.#source.slice(next, next + 40));
      if (character === '') return false;
      if (character === closerOf(around)) {
        depth -= 1;
        next = skipSpace(this.#source, next + 1);
        continue;
      }
      const comma = character === ',';
      const member = comma ? skipSpace(this.#source, next + 1) : next;
      if (!comma && !/["“'{[]/.test(character)) return false;
      if (around !== 'object' && matches(QUOTED_KEY, this.#source, member)) return false;
      return goesOn(this.#source, member, around, this.#frames.at(-1)?.bareKeys ?? false);
    }
  }

  /** A bracket that begins a line belongs to what began a line that is indented as far. */
  #isIndentedLikeOuter(character: string): boolean {
    const frame = this.#frames.at(-1);
    const line = this.#lineBefore();
    const indent = line?.length ?? 0;
    if (frame === undefined || line === undefined || indent >= frame.indent || line.trim() !== '') return false;
    return this.#frames.some((one) => one !== frame && one.indent === indent && character === closerOf(one.kind));
  }

  /** White space at the beginning of the line that is being read. */
  #indent(): number {
    return /^[ \t]*/.exec(this.#lineBefore() ?? '')?.[0].length ?? 0;
  }

  /** The line that is being read, up to here; undefined for a long one and for the first. */
  #lineBefore(): string | undefined {
    const before = this.#source.slice(Math.max(0, this.#at - MAX_LINE), this.#at);
    const line = before.lastIndexOf('\n') + 1;
    return line === 0 ? undefined : before.slice(line);
  }

  #pop(frame: Frame): true {
    this.#frames.pop();
    if (frame.kind === 'object' && this.#frames.at(-1)?.kind === 'object') this.#closedWithin = true;
    this.#pieces.push(CLOSER[frame.kind]);
    return true;
  }

  /** In a list within an object, a key belongs to the object: the list was never closed. */
  #isKeyOfParent(frame: Frame): boolean {
    return frame.kind === 'array' && this.#frames.at(-2)?.kind === 'object' && this.#match(QUOTED_KEY) !== '';
  }

  #leave(frame: Frame): true {
    this.#repairs.add('brackets');
    this.#pop(frame);
    const parent = this.#frames.at(-1);
    if (parent !== undefined) parent.expects = 'key';
    return true;
  }

  /** Letters in front of a text of Python: `u'…'`, `r"…"`. */
  #skipPrefix(): void {
    const prefix = /^(?:[urbf]|rb|br)(?=["'])/i.exec(this.#source.slice(this.#at, this.#at + 3))?.[0] ?? '';
    if (prefix !== '') this.#repairs.add('quotes');
    this.#at += prefix.length;
  }

  /** The source has ended within a member. */
  #leaveOut(): true {
    this.#repairs.add(LEFT_OUT);
    return true;
  }

  #emit(frame: Frame, json: string): void {
    if (frame.kind !== 'object') this.#begin(frame);
    this.#pieces.push(json);
    frame.expects = 'comma';
  }

  /** A key without a value. */
  #nothing(frame: Frame): boolean {
    this.#repairs.add('literals');
    this.#emit(frame, 'null');
    return true;
  }

  #begin(frame: Frame): void {
    frame.before = this.#pieces.length;
    if (frame.members > 0) this.#pieces.push(',');
    frame.members += 1;
  }

  /** The source has ended: leaves out half a member of the innermost bracket and closes all. */
  #cutOff(): Tidied {
    const inner = this.#frames.at(-1);
    if (inner?.kind === 'object' && (inner.expects === 'colon' || inner.expects === 'value')) {
      this.#pieces.length = inner.before;
      this.#leaveOut();
    }
    for (const frame of this.#frames.toReversed()) this.#pieces.push(CLOSER[frame.kind]);
    this.#repairs.add('brackets');
    return this.#finished(false);
  }

  #finished(closed: boolean): Tidied {
    return {
      json: this.#pieces.join(''),
      end: this.#at,
      closed,
      repairs: [...this.#repairs],
      doubtful: this.#doubtful,
      bareTexts: this.#bareTexts,
    };
  }

  #skipSpace(): void {
    for (;;) {
      while (/\s/.test(this.#source[this.#at] ?? '.')) this.#at += 1;
      const comment = this.#match(COMMENT);
      if (comment === '') return;
      this.#repairs.add('comments');
      this.#at += comment.length;
    }
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#source)?.[0] ?? '';
  }
}
