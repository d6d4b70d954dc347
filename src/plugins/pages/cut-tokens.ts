import { likelyTokens } from '../../core/normalize/token-estimate.ts';

/** A text within a number of tokens. */
export interface CutText {
  readonly text: string;
  readonly truncated: boolean;
}

/** Cuts a text to the likely number of tokens, at the end of a line or a word where there is one nearby. */
export function cutToTokens(text: string, maxTokens: number): CutText {
  if (likelyTokens(text) <= maxTokens) return { text, truncated: false };
  let [low, high] = [0, Math.min(text.length, maxTokens * 4)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (likelyTokens(text.slice(0, middle)) <= maxTokens) low = middle;
    else high = middle - 1;
  }
  const cut = text.slice(0, low);
  const end = Math.max(cut.lastIndexOf('\n'), cut.lastIndexOf(' '));
  return { text: (end > low * 0.9 ? cut.slice(0, end) : cut).trimEnd(), truncated: true };
}
