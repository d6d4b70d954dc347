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
  const add = (from: number, to: number): void => {
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
      add(begun, at);
      begun = -1;
    }
    if (kind === ALONE) add(at, next);
    at = next;
  }
  if (begun >= 0) add(begun, folded.length);
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
