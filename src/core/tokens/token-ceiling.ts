/** Estimates the tokens of a text from above. */
import { prepareRates, scanTokens, type TokenRates } from './token-scan.ts';

/**
 * Tokens that a text has at most, give or take a few in a hundred, in the vocabularies of OpenAI (`o200k_base`,
 * `cl100k_base`), which most others resemble. For deciding whether a text fits: prose comes out a tenth to a third too
 * high, languages that newer vocabularies know better than older ones up to twice too high. One pass over the text.
 */
export function mostTokens(text: string): number {
  return Math.ceil(scanTokens(text, CEILING));
}

/** White space and control characters, one run after the other. */
const BLANKS = /[\0-\x20\x7f-\xa0\u2000-\u200f\u2028-\u202f\u3000\ufeff]{3,}/g;
/** Longest run of one character that is a token in both vocabularies, and shortest that is counted here. */
const RUN = /\r|([^\r])\1{0,3}/gu;

/**
 * The same for what is reserved: never below either vocabulary for runs of white space and control characters, which
 * are counted by their changes. Vocabularies have long runs of one of them, but not of all patterns.
 */
export function highTokens(text: string): number {
  let more = 0;
  for (const [blanks] of text.matchAll(BLANKS)) {
    const changes = blanks.replaceAll('\r\n', '\n').match(RUN)?.length ?? 0;
    const bytes = ENCODER.encode(blanks).byteLength;
    const isPlain = /^[\t\n\r ]*$/.test(blanks);
    more += isPlain ? (changes > 3 ? changes : 0) : bytes;
  }
  return Math.max(Math.min(1, text.length), mostTokens(text)) + more;
}

const ENCODER = new TextEncoder();

/** Tokens per character of the scripts beyond Latin: the first character of each range and what one costs. */
const SCRIPTS: TokenRates['scripts'] = [
  [0x80, 1], // signs
  [0xc0, 1.2], // accented letters; see ACCENT
  [0x250, 2],
  [0x370, 1.1], // Greek
  [0x400, 0.75], // Cyrillic
  [0x530, 2.2], // Armenian
  [0x590, 1.2], // Hebrew
  [0x600, 0.95], // Arabic
  [0x700, 2.1],
  [0x900, 1.35], // Devanagari
  [0x980, 1.65], // Bengali and the other scripts of India
  [0xe00, 1.05], // Thai
  [0xe80, 2.6],
  [0x10a0, 2.2], // Georgian
  [0x1100, 3], // Ethiopic and many small ones
  [0x1e00, 1.5], // accented letters of Vietnamese
  [0x2000, 2], // exotic spaces, joiners
  [0x2010, 1.2], // dashes, curly quotes, ellipsis
  [0x2030, 2.4], // mathematics, arrows, symbols
  [0x3000, 1.1], // punctuation of East Asia
  [0x3040, 1.1], // kana
  [0x3130, 2],
  [0x3400, 2.6], // rare Han
  [0x4e00, 1.75], // Han
  [0xa000, 2.6],
  [0xac00, 1.6], // Hangul
  [0xd800, 1.9], // halves of pairs: emoji, rare signs
  [0xe000, 3],
  [0xf900, 2],
  [0xff00, 1.2], // full width
];

const CEILING = prepareRates({
  english: { word: 0.55, letter: 0.13 },
  european: { word: 0.3, letter: 0.35 },
  foreign: { word: 0.3, letter: 0.45 },
  common: 1.1,
  accent: 0.7,
  rareAccent: 1,
  consonants: { word: 0.3, letter: 0.68 },
  capitals: { word: 0.3, letter: 0.45 },
  mixedCapitals: { word: 0.3, letter: 0.68 },
  digits: { word: 0.5, letter: 0.5 },
  spacedDigits: 0.7,
  line: 1,
  indent: 1,
  space: 1,
  marks: { word: 0.6, letter: 0.45 },
  scripts: SCRIPTS,
});
