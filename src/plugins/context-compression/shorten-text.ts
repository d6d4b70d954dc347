import type { TokenCounter } from './count-message.ts';

/** Stands where the middle of a text was. */
export const GAP = '\n[…]\n';

/** Characters that the end of a text may have at most per token; where the search for its length begins. */
const MOST_CHARACTERS = 6;
/** Characters that are given up so that a text is not cut within a word. */
const WORD = 40;

/**
 * Takes away the middle of a text, so that its beginning, a mark and its end are left, unchanged and about equally
 * long.
 *
 * @param tokens - What the result may have; from 16 up.
 */
export function shortenText(text: string, tokens: number, count: TokenCounter): string {
  let goal = (tokens - count(GAP)) / 2;
  for (let tries = 0; tries < 12 && goal >= 1; tries += 1, goal *= 0.9) {
    const head = headOf(text, goal, count);
    const tail = tailOf(text, goal, count);
    const result = `${head}${GAP}${tail}`;
    if (head.length + tail.length < text.length && count(result) <= tokens) return result;
  }
  return GAP.trim();
}

function headOf(text: string, tokens: number, count: TokenCounter): string {
  return search(text, tokens, count, (length) => {
    const space = lastSpace(text, length - WORD, length);
    return text.slice(0, isWhole(text, length) ? (space ?? length) : (space ?? length - 1));
  });
}

function tailOf(text: string, tokens: number, count: TokenCounter): string {
  return search(text, tokens, count, (length) => {
    const from = text.length - length;
    const space = firstSpace(text, from, from + WORD);
    return text.slice(isWhole(text, from) ? (space ?? from) : (space ?? from + 1));
  });
}

/** Finds about the longest piece with so many tokens. Every try is at most as long as the last. */
function search(text: string, tokens: number, count: TokenCounter, pieceOf: (length: number) => string): string {
  let length = Math.min(Math.floor(text.length / 2), Math.ceil(tokens * MOST_CHARACTERS));
  for (let tries = 0; tries < 12 && length > 0; tries += 1) {
    const piece = pieceOf(length);
    const used = count(piece);
    if (used <= tokens) return piece;
    length = Math.floor(Math.min(length - 1, (length * tokens * 0.98) / used));
  }
  return '';
}

/** False between the two halves of a character beyond the basic plane. */
function isWhole(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return !(code >= 0xdc00 && code < 0xe000);
}

function lastSpace(text: string, from: number, to: number): number | undefined {
  for (let at = to; at > Math.max(0, from); at -= 1) if (isSpace(text, at)) return at;
  return undefined;
}

function firstSpace(text: string, from: number, to: number): number | undefined {
  for (let at = from; at < Math.min(text.length, to); at += 1) if (isSpace(text, at)) return at;
  return undefined;
}

function isSpace(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code === 32 || code === 10;
}
