import type { Finding } from './verdict.ts';
import { fold } from './fold.ts';

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
  find(words: Words): readonly Finding[] {
    const findings: Finding[] = [];
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

  #try(phrases: readonly Phrase[] | undefined, words: Words, at: number, findings: Finding[]): void {
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
    if (KINDS.size < MAX_KNOWN) KINDS.set(code, kind);
  }
  return kind;
}

const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;
const KINDS = new Map<number, number>();
const MAX_KNOWN = 20_000;
