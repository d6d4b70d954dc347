import { readFileSync } from 'node:fs';
import type { Random } from './templates.ts';

/** Words of nearly the same meaning, by word in small letters. */
export type WordNeighbours = ReadonlyMap<string, readonly string[]>;

/** Part of the words of a text that are replaced. */
const REPLACED = 0.3;

/**
 * Reads an object in JSON: a list of neighbours for each word. The weights of this project were trained with the eight
 * nearest by cosine, from 0.42 up, of the input word vectors of sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0),
 * each less the mean of them all; of words of three letters a to z and more.
 */
export function readWordNeighbours(path: string): WordNeighbours {
  return new Map(Object.entries(JSON.parse(readFileSync(path, 'utf8')) as Readonly<Record<string, readonly string[]>>));
}

/** Replaces some words of a text by neighbours, so that what is learned of a word is learned of those like it, too. */
export function varied(text: string, neighbours: WordNeighbours, random: Random): string {
  return text.replace(/[a-z]{3,}/gi, (word) => {
    if (random() >= REPLACED) return word;
    const alike = neighbours.get(word.toLowerCase()) ?? [];
    return alike[Math.floor(random() * alike.length)] ?? word;
  });
}
