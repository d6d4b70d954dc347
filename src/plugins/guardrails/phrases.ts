/** Finds many phrases in a text in one pass. */
import type { GuardrailFinding } from './finding.ts';

/** One word of a phrase: itself, its beginning, its end, or any. */
type PhraseWord = { readonly type: 'exact' | 'prefix' | 'suffix'; readonly text: string } | { readonly type: 'any' };

interface Phrase {
  readonly name: string;
  readonly words: readonly PhraseWord[];
}

/** Phrases by how they begin, so that a text is gone through once, however many there are. */
export class PhraseList {
  readonly #exact = new Map<string, Phrase[]>();
  readonly #prefix = new Map<number, Map<string, Phrase[]>>();
  readonly #suffix = new Map<number, Map<string, Phrase[]>>();

  /**
   * @param phrases - Patterns as a program writes them, each with the name under which it is found.
   */
  constructor(phrases: Iterable<{ readonly name: string; readonly pattern: string }>) {
    for (const { name, pattern } of phrases) {
      const words = parsePhrase(pattern);
      const [first] = words;
      if (first === undefined || first.type === 'any') continue;
      if (first.type === 'exact') add(this.#exact, first.text, { name, words });
      else {
        const index = first.type === 'prefix' ? this.#prefix : this.#suffix;
        const ofLength = index.get(first.text.length) ?? new Map<string, Phrase[]>();
        index.set(first.text.length, ofLength);
        add(ofLength, first.text, { name, words });
      }
    }
  }

  /** All places where a phrase stands. */
  find(words: Words): readonly GuardrailFinding[] {
    const findings: GuardrailFinding[] = [];
    for (let at = 0; at < words.text.length; at += 1) {
      const word = words.text[at] ?? '';
      if (word === '') continue;
      this.#try(this.#exact.get(word), words, at, findings);
      for (const [length, phrases] of this.#prefix) {
        if (word.length >= length) this.#try(phrases.get(word.slice(0, length)), words, at, findings);
      }
      for (const [length, phrases] of this.#suffix) {
        if (word.length >= length) this.#try(phrases.get(word.slice(-length)), words, at, findings);
      }
    }
    return findings;
  }

  #try(phrases: readonly Phrase[] | undefined, words: Words, at: number, findings: GuardrailFinding[]): void {
    for (const { name, words: wanted } of phrases ?? []) {
      if (!wanted.every((one, index) => matches(one, words.text[at + index]))) continue;
      const last = at + wanted.length - 1;
      findings.push({ pattern: name, start: words.start[at] ?? 0, end: words.end[last] ?? 0 });
    }
  }
}

function add(index: Map<string, Phrase[]>, key: string, phrase: Phrase): void {
  const list = index.get(key);
  if (list === undefined) index.set(key, [phrase]);
  else list.push(phrase);
}

function matches(wanted: PhraseWord, word: string | undefined): boolean {
  if (word === undefined) return false;
  switch (wanted.type) {
    case 'any':
      return true;
    case 'exact':
      return word === wanted.text;
    case 'prefix':
      return word.startsWith(wanted.text);
    case 'suffix':
      return word.endsWith(wanted.text);
  }
}

/** Reads a pattern in the same way as a text, so that both see the same words. */
function parsePhrase(pattern: string): readonly PhraseWord[] {
  return pattern
    .trim()
    .split(/\s+/)
    .flatMap((piece): readonly PhraseWord[] => {
      if (piece === '*') return [{ type: 'any' }];
      const { text } = wordsOf(fold(piece).text);
      return text.map((word, index) => ({
        type:
          piece.startsWith('*') && index === 0
            ? 'suffix'
            : piece.endsWith('*') && index === text.length - 1
              ? 'prefix'
              : 'exact',
        text: word,
      }));
    });
}

/** Words of a folded text and where they stand. Arrays side by side: a text may have a million words. */
export interface Words {
  readonly text: readonly string[];
  readonly start: readonly number[];
  readonly end: readonly number[];
}

/** Words that are longer are none: nothing that guardrails look for is, and comparing them costs. */
const MAX_LENGTH = 64;

/**
 * Splits a folded text into words: runs of letters and digits. Characters of scripts that put no spaces between words
 * are words of their own.
 */
export function wordsOf(folded: string): Words {
  const text: string[] = [];
  const start: number[] = [];
  const end: number[] = [];
  const addWord = (from: number, to: number): void => {
    text.push(to - from > MAX_LENGTH ? '' : folded.slice(from, to));
    start.push(from);
    end.push(to);
  };
  let begun = -1;
  for (let at = 0; at < folded.length;) {
    const code = folded.codePointAt(at) ?? 0;
    const kind = code < 0x80 ? ASCII_KINDS[code] : kindOf(code);
    const next = at + (code > 0xffff ? 2 : 1);
    if (kind === LETTER && begun < 0) begun = at;
    if (kind !== LETTER && begun >= 0) {
      addWord(begun, at);
      begun = -1;
    }
    if (kind === ALONE) addWord(at, next);
    at = next;
  }
  if (begun >= 0) addWord(begun, folded.length);
  return { text, start, end };
}

const OTHER = 0;
const LETTER = 1;
const ALONE = 2;

const ASCII_KINDS: readonly number[] = Array.from({ length: 0x80 }, (_, code) =>
  /[a-z0-9]/.test(String.fromCharCode(code)) ? LETTER : OTHER,
);

function kindOf(code: number): number {
  let kind = KINDS.get(code);
  if (kind === undefined) {
    const character = String.fromCodePoint(code);
    kind = UNSPACED.test(character) ? ALONE : /[\p{L}\p{N}]/u.test(character) ? LETTER : OTHER;
    if (KINDS.size < MAX_KNOWN_KINDS) KINDS.set(code, kind);
  }
  return kind;
}

const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;
const KINDS = new Map<number, number>();
const MAX_KNOWN_KINDS = 20_000;

/** A text as guardrails read it, and where its characters come from. */
export interface FoldedText {
  /** In small letters, without accents and invisible characters, look-alikes replaced. */
  readonly text: string;
  /** The place in the original where a stretch of the folded text begins and ends. */
  readonly original: (start: number, end: number) => readonly [start: number, end: number];
}

/**
 * Folds a text to what a reader, or a model, takes it for: full-width letters, accents, look-alikes of other alphabets,
 * letters that are hidden in tags and characters that nobody sees make no difference then.
 */
export function fold(text: string): FoldedText {
  if (ASCII.test(text)) return { text: text.toLowerCase(), original: (start, end) => [start, end] };
  const parts: string[] = [];
  // One entry for each unit of the folded text; the end of a stretch is the end of its last character.
  const starts: number[] = [];
  const ends: number[] = [];
  let at = 0;
  for (const character of text) {
    const folded = foldCharacter(character);
    const end = at + character.length;
    if (folded !== '') parts.push(folded);
    for (let unit = 0; unit < folded.length; unit += 1) {
      starts.push(at);
      ends.push(end);
    }
    at = end;
  }
  return { text: parts.join(''), original: (start, end) => [starts[start] ?? at, ends[end - 1] ?? at] };
}

const ASCII = /^[\0-\x7f]*$/;

function foldCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return character.toLowerCase();
  const known = FOLDED.get(code);
  if (known !== undefined) return known;
  const folded = computeFold(character, code);
  if (FOLDED.size < MAX_KNOWN_FOLDED) FOLDED.set(code, folded);
  return folded;
}

/** Characters that were met before: texts use few different ones. */
const FOLDED = new Map<number, string>();
const MAX_KNOWN_FOLDED = 20_000;

function computeFold(character: string, code: number): string {
  // Tags: an invisible alphabet that models read.
  if (code >= 0xe0020 && code <= 0xe007e) return String.fromCharCode(code - 0xe0000).toLowerCase();
  if (INVISIBLE.test(character)) return '';
  const existingJob = LOOK_ALIKES.get(character);
  if (existingJob !== undefined) return existingJob;
  if (/\p{Nd}/u.test(character)) return digitOf(code) ?? character.normalize('NFKD');
  if (/\p{Pd}/u.test(character)) return '-';
  if (/\p{Z}/u.test(character)) return ' ';
  const plain = character.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  return Array.from(plain, (one) => LOOK_ALIKES.get(one) ?? one).join('');
}

/** Formatting, variation selectors, fillers, combining marks: they change nothing about what is read. */
const INVISIBLE = /[\p{Cf}\p{M}\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0]/u;

/** Zeros of scripts whose digits follow each other. */
const ZEROS = [
  0x0660, 0x06f0, 0x07c0, 0x0966, 0x09e6, 0x0a66, 0x0ae6, 0x0b66, 0x0be6, 0x0c66, 0x0ce6, 0x0d66, 0x0e50, 0x0ed0,
  0x0f20, 0x1040, 0x17e0, 0x1810,
];

function digitOf(code: number): string | undefined {
  const zero = ZEROS.find((one) => code >= one && code <= one + 9);
  return zero === undefined ? undefined : String(code - zero);
}

/** Letters of other alphabets that look like Latin ones, large and small. */
const LOOK_ALIKES: ReadonlyMap<string, string> = new Map(
  (
    [
      ['a', 'аАαΑɑ'],
      ['b', 'ВвΒьЬЪ'],
      ['c', 'сСϲⅽϹ'],
      ['d', 'ԁԀⅾ'],
      ['e', 'еЕεΕҽ℮'],
      ['f', 'ғϝſ'],
      ['g', 'ɡԌԍ'],
      ['h', 'һҺНнΗ'],
      ['i', 'іІιΙıɩ'],
      ['j', 'јЈϳ'],
      ['k', 'кКκΚ'],
      ['l', 'ӏӀⅼ'],
      ['m', 'мМΜⅿ'],
      ['n', 'ոΝп'],
      ['o', 'оОοΟօσ'],
      ['p', 'рРρΡ'],
      ['q', 'ԛԚ'],
      ['r', 'гɍ'],
      ['s', 'ѕЅ'],
      ['t', 'тТτΤ'],
      ['u', 'υսц'],
      ['v', 'νѵѴⅴ'],
      ['w', 'ԝԜωшШ'],
      ['x', 'хХχΧⅹ'],
      ['y', 'уУүΥγҮ'],
      ['z', 'ΖᴢᏃ'],
    ] as const
  ).flatMap(([letter, twins]) => Array.from(twins, (existingJob) => [existingJob, letter] as const)),
);
