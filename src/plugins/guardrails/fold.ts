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
  if (FOLDED.size < MAX_KNOWN) FOLDED.set(code, folded);
  return folded;
}

/** Characters that were met before: texts use few different ones. */
const FOLDED = new Map<number, string>();
const MAX_KNOWN = 20_000;

function computeFold(character: string, code: number): string {
  // Tags: an invisible alphabet that models read.
  if (code >= 0xe0020 && code <= 0xe007e) return String.fromCharCode(code - 0xe0000).toLowerCase();
  if (INVISIBLE.test(character)) return '';
  const twin = LOOK_ALIKES.get(character);
  if (twin !== undefined) return twin;
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
  ).flatMap(([letter, twins]) => Array.from(twins, (twin) => [twin, letter] as const)),
);
