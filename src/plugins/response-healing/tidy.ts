/** Reads broken JSON in one pass and writes it as valid JSON. */
import {
  indentOf,
  meaningOf,
  type OpenBracket,
  QUOTED_KEY,
  type TextContext,
  type TextPlace,
  withoutBrackets,
} from './closing-marks.ts';
import { MAX_DEPTH, readBareText, readWord } from './read-word.ts';
import { isQuote, readQuoted, swallowsMembers } from './read-text.ts';
import type { NotTidied, Tidied } from './tidied.ts';

interface Frame extends OpenBracket {
  /** Pieces before the member that is being read: where to cut when it turns out to be half a member. */
  before: number;
  /** What is expected next. */
  expects: 'key' | 'colon' | 'value' | 'comma';
  members: number;
  bareKeys: boolean;
  /** The piece that opened it. */
  readonly opened: number;
}

const LEFT_OUT = 'unfinished member left out';
const CLOSER = { object: '}', array: ']', tuple: ']' } as const;
const COMMENT = /\/\/[^\n]*|#[^\n]*|\/\*[\s\S]{0,2000}?\*\//y;
const BARE_KEY = /[^\s"'`“”„‘’,，;；:：={}()[\]#\\]{1,120}/uy;

/** What a model adds to a value: `5 (out of 10)`. */
const REMARK = /\([^()"“{}[\]\n]{1,120}\)(?=\s{0,40}[,}\]])/y;
/** A last remark without quotes and brackets. */
const PROSE = /[^"“{}[\]]{1,2000}$/y;
/** The end of a fence is the end of what is in it. */
const FENCE = /```|~~~/y;
const ELLIPSIS = /\.{3}|…/y;

/**
 * Reads the object or array at a position in one pass, and writes it down as JSON: quotes of any kind, bare keys,
 * literals and escapes of other languages, comments, missing and superfluous commas, missing brackets. Half a member
 * at the end is left out rather than completed. Gives up on what needs more guessing than that.
 *
 * @param latex - Whether the text has commands of LaTeX that cannot be escapes.
 */
export function tidy(source: string, at: number, { latex }: { readonly latex: boolean }): Tidied | NotTidied {
  return new Tidier(source, at, { latex }).run();
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

  constructor(source: string, at: number, { latex }: { readonly latex: boolean }) {
    this.#source = source;
    this.#at = at;
    this.#latex = latex;
  }

  run(): Tidied | NotTidied {
    this.#open();
    for (;;) {
      const frame = this.#frames.at(-1);
      if (frame === undefined) return this.#finished('closed');
      this.#skipSpace();
      if (this.#at >= this.#source.length || this.#match(FENCE) !== '') {
        return this.#frames.length === 1 && frame.members === 0 && this.#at < this.#source.length
          ? { end: this.#at }
          : this.#cutOff();
      }
      if (!this.#step(frame)) {
        if (frame.expects !== 'comma' || !this.#isBeforeProse()) return { end: this.#at };
        return this.#cutOff();
      }
    }
  }

  /** Reads what comes next; false when that is beyond this reader. */
  #step(frame: Frame): boolean {
    const character = this.#source[this.#at] ?? '';
    if ('}])'.includes(character)) return this.#close(frame);
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
    const remark = this.#match(REMARK);
    if (remark !== '') {
      this.#repairs.add('comments');
      this.#at += remark.length;
      return true;
    }
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
      // Its first quote may be all that it lacks.
      const quote = /^["'”’](?=\s*[:：=])/.test(behind) ? 1 : 0;
      if (!/^\s*[:：=]/.test(behind.slice(quote))) return false;
      this.#at += name.length + quote;
      this.#repairs.add('keys');
      frame.bareKeys ||= quote === 0;
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
    if (word.cut) {
      // Without its only item the answer would say that there is nothing.
      if (this.#frames.length === 1 && frame.members === 0) this.#doubtful = true;
      return this.#leaveOut();
    }
    // A call such as Decimal("1.5") or a sentence is not for this reader.
    if (/^\s*[("'\p{L}]/u.test(this.#source.slice(word.end, word.end + 1))) return false;
    if (word.repair !== undefined) this.#repairs.add(word.repair);
    this.#emit(frame, word.json);
    return true;
  }

  /** A text that lacks its first quote, or both. */
  #bareText(frame: Frame): boolean {
    const read = readBareText(this.#source, this.#at, { isMember: frame.kind === 'object' });
    if (read === undefined) return false;
    this.#at = read.end;
    if (!read.halfQuoted) this.#bareTexts = true;
    this.#repairs.add('quotes');
    this.#emit(frame, read.json);
    return true;
  }

  #quotedValue(frame: Frame): boolean {
    const began = this.#at;
    const text = this.#text(frame.kind, frame);
    this.#doubtful ||= swallowsMembers(this.#source.slice(began, text.end), { guessed: text.guessed });
    if (text.closed) {
      this.#skipSpace();
      if (this.#source[this.#at] === '+') return false;
      this.#emit(frame, text.json);
      return true;
    }
    if (text.guessed) return false;
    const { json, isSure } = withoutBrackets(text.json, this.#frames);
    this.#doubtful ||= !isSure;
    this.#emit(frame, json);
    this.#repairs.add('quotes');
    return true;
  }

  #text(place: TextPlace, { bareKeys }: Frame): ReturnType<typeof readQuoted> {
    const context: TextContext = {
      place,
      bareKeys,
      latex: this.#latex,
      open: this.#frames.map((frame) => frame.kind),
    };
    const text = readQuoted(this.#source, this.#at, context);
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
    const indent = indentOf(this.#source, this.#at);
    this.#frames.push({
      kind,
      before: this.#pieces.length,
      expects,
      members: 0,
      bareKeys: false,
      indent,
      opened: this.#pieces.length - 1,
    });
    this.#at += 1;
    return true;
  }

  #close(frame: Frame): boolean {
    if (frame.expects === 'colon') return false;
    if (frame.kind === 'object' && frame.expects === 'value') this.#nothing(frame);
    if (frame.members > 0 && frame.expects !== 'comma') this.#repairs.add('commas');
    switch (meaningOf(this.#source, this.#at, this.#frames)) {
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
    const blank = /\n[ \t]*\n\s*$/.test(this.#source.slice(Math.max(0, this.#at - 200), this.#at));
    return blank && this.#match(PROSE) !== '';
  }

  #pop(frame: Frame): true {
    this.#frames.pop();
    // In Python, brackets around one value without a comma are only brackets.
    if (frame.kind === 'tuple' && frame.members === 1 && frame.expects === 'comma') {
      this.#pieces[frame.opened] = '';
      this.#pieces.push('');
      return true;
    }
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
    const prefix =
      /^(?:[urbf]|rb|br)(?=["'])(?!["']\s{0,20}:)/i.exec(this.#source.slice(this.#at, this.#at + 30))?.[0] ?? '';
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

  /**
   * The source has ended: leaves out half a member of the innermost bracket, and brackets of which nothing is left then,
   * and closes all.
   */
  #cutOff(): Tidied {
    for (let inner = this.#frames.at(-1); inner !== undefined; inner = this.#frames.at(-1)) {
      if (inner.kind === 'object' && (inner.expects === 'colon' || inner.expects === 'value')) {
        this.#pieces.length = inner.before;
        inner.members -= 1;
        this.#leaveOut();
      }
      const outer = this.#frames.at(-2);
      if (inner.members > 0 || outer === undefined) break;
      // What was only begun says nothing, and certainly not that it is empty.
      this.#frames.pop();
      this.#pieces.length = outer.before;
      outer.members -= 1;
      outer.expects = 'comma';
      this.#leaveOut();
    }
    for (const frame of this.#frames.toReversed()) this.#pieces.push(CLOSER[frame.kind]);
    this.#repairs.add('brackets');
    return this.#finished('cut off');
  }

  #finished(ending: 'closed' | 'cut off'): Tidied {
    return {
      json: this.#pieces.join(''),
      end: this.#at,
      closed: ending === 'closed',
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
