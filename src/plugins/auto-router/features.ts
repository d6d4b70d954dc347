import { RULES } from './task-types.ts';

/** Features of a text and how much each counts. The squares of all weights add up to one. */
export interface Features {
  /** Hashes from 0 to {@link MAX_FEATURE}. So many are possible that two features hardly ever share one. */
  readonly hashes: readonly number[];
  readonly weights: readonly number[];
}

/** The largest hash of a feature. */
const MAX_FEATURE = 0xf_ffff;

/** Characters at the beginning, and near enough at the end, that count fully. */
const FULL = 150;
/** How much words count at least. */
const LEAST_WEIGHT = 0.3;
/** Length of the word beginnings that stand for all forms of a word. */
const STEM = 5;
/** Words at the beginning, where requests mostly say what they want. */
const OPENING_WORDS = 3;

/**
 * Turns a text into features: its words, their beginnings, pairs of neighbours, the first words, words that begin a
 * sentence, signs, its length, and what the {@link RULES} find. Chinese, Japanese and Korean count by character. One
 * pass, no dictionary.
 */
export function featuresOf(text: string): Features {
  const found = new Map<number, number>();
  const note = (hash: number, weight: number): void => {
    const feature = mixed(hash) & MAX_FEATURE;
    if ((found.get(feature) ?? 0) < weight) found.set(feature, weight);
  };
  scanWords(text, note);
  const size = Math.min(12, Math.floor(Math.log2(text.length + 1)));
  note(LENGTH + size, 1);
  for (const [index, rule] of RULES.entries()) if (rule.test(text)) note(RULE + index, 1);
  return normalized(found);
}

/** Salts that keep the kinds of features apart. */
const WORD = 0x811c9dc5;
const STEMMED = 0x2f0b4c47;
const PAIR = 0x5bd1e995;
const OPENING = 0x1b873593;
const SIGN = 0x3c6ef372;
const BEGINNING = 0x510e527f;
const LENGTH = 0x6a09e667;
const RULE = 0x7f4a7c15;

/** Walks over the words of a text and hashes them as it goes, without making a string of any. */
function scanWords(text: string, note: (hash: number, weight: number) => void): void {
  const lower = text.toLowerCase();
  const end = lower.length;
  let before = 0;
  let words = 0;
  let begins = true;
  let at = 0;
  while (at < end) {
    const weight = weightAt(at, end);
    const code = lower.charCodeAt(at);
    if (!isLetter(code)) {
      if (code > SPACE) note(SIGN ^ code, weight);
      begins ||= ENDS.has(code);
      if (code !== SPACE) before = 0;
      at += 1;
      continue;
    }
    let hash = WORD;
    let stem = 0;
    const first = at;
    do {
      hash = Math.imul(hash ^ lower.charCodeAt(at), PRIME);
      at += 1;
      if (at - first === STEM) stem = hash;
    } while (at < end && !isWide(code) && isLetter(lower.charCodeAt(at)) && !isWide(lower.charCodeAt(at)));
    note(hash, weight);
    if (stem !== 0) note(stem ^ STEMMED, weight);
    if (before !== 0) note(Math.imul(before, PAIR) ^ hash, weight);
    if (words < OPENING_WORDS) note(hash ^ OPENING, weight);
    if (begins) note(hash ^ BEGINNING, weight);
    begins = false;
    before = hash;
    words += 1;
  }
}

/**
 * What is wanted stands at the beginning or at the end of a prompt, and what is pasted between them may be about
 * anything: a word counts the less, the farther it is from the nearer end.
 */
function weightAt(at: number, end: number): number {
  const distance = Math.min(at, (end - at) * 1.5);
  return distance <= FULL ? 1 : Math.max(LEAST_WEIGHT, FULL / distance);
}

/** Where a sentence or a line ends, and what comes before a colon: requests within a text begin behind it. */
const ENDS = new Set(Array.from('.!?:\n', (sign) => sign.charCodeAt(0)));

const PRIME = 0x01000193;
const SPACE = 0x20;

/** Letters and digits of all scripts, near enough: signs of ASCII, Latin-1 and general punctuation are none. */
function isLetter(code: number): boolean {
  if (code < 0x80) return (code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39) || code === 0x5f;
  if (code < 0xc0) return false;
  return !(code >= 0x2000 && code < 0x2c00) && !(code >= 0x3000 && code < 0x3040) && !(code >= 0xff00 && code < 0xff10);
}

/** Scripts without spaces between words. */
function isWide(code: number): boolean {
  return code >= 0x2e80 && code < 0xd7b0;
}

/** Spreads the bits of a hash, whose low ones alone would say little. */
function mixed(hash: number): number {
  const folded = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (folded ^ (folded >>> 13)) >>> 0;
}

function normalized(found: ReadonlyMap<number, number>): Features {
  const hashes = [...found.keys()];
  const weights = [...found.values()];
  const norm = Math.sqrt(weights.reduce((sum, weight) => sum + weight * weight, 0));
  return { hashes, weights: weights.map((weight) => weight / norm) };
}
