import type { Finding } from './finding.ts';
import { fold } from './fold.ts';
import { type Words, wordsOf } from './words.ts';

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
