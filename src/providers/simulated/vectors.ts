import type { EmbeddingItem } from '../../protocol/embedding-request.ts';
import { hashText } from './chance.ts';

/** Places of a vector that one feature touches: enough that different features hardly ever fall together. */
const PLACES_PER_FEATURE = 8;
/** Words longer than this count by their beginning; nobody writes such words. */
const LONGEST_WORD = 64;

/**
 * Makes a vector of length 1 for an input. The same seed, model and input give the same vector, and inputs that share
 * words, or pieces of words, are closer to each other than inputs that do not.
 */
export function vectorFor(input: EmbeddingItem, dimensions: number, seed: string): Float32Array {
  const vector = new Float64Array(dimensions);
  for (const [feature, weight] of featuresOf(input)) {
    let state = hashText(`${seed}\n${feature}`);
    for (let place = 0; place < PLACES_PER_FEATURE; place += 1) {
      state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
      const at = (state >>> 1) % dimensions;
      vector[at] = (vector[at] ?? 0) + (state % 2 === 0 ? weight : -weight);
    }
  }
  const length = Math.sqrt(vector.reduce((sum, number) => sum + number * number, 0));
  // Features that cancel each other out leave nothing to scale.
  if (length === 0) vector[hashText(seed) % dimensions] = 1;
  return Float32Array.from(vector, (number) => (length === 0 ? number : number / length));
}

/** What counts in an input, and how much: whole words most, their pieces less. */
function featuresOf(input: EmbeddingItem): ReadonlyMap<string, number> {
  const features = new Map<string, number>();
  const add = (feature: string, weight: number): void => {
    features.set(feature, (features.get(feature) ?? 0) + weight);
  };
  if (typeof input === 'string') addText(input, add);
  else if ('content' in input) {
    for (const part of input.content) {
      if (part.type === 'text') addText(part.text, add);
      else add(JSON.stringify(part), 1);
    }
  } else for (const token of input) add(`token ${token}`, 1);
  return features;
}

function addText(text: string, add: (feature: string, weight: number) => void): void {
  const words = text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [text];
  for (const word of words) {
    const bounded = ` ${word.slice(0, LONGEST_WORD)} `;
    add(bounded, 1);
    for (let at = 0; at + 3 <= bounded.length; at += 1) add(bounded.slice(at, at + 3), 0.3);
  }
}
