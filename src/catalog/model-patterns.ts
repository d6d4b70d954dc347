/** Patterns for model slugs, such as `openai/gpt-5*`. */
import { MAX_MODEL_SLUG_LENGTH } from '../protocol/limits.ts';
import { foldSlug } from './slug.ts';

/** A list of model patterns, ready to be matched with many models. */
interface ModelPatterns {
  /** True when some pattern fits the slug. */
  matches(slug: string): boolean;
}

/**
 * Prepares patterns such as `anthropic/*`, `openai/gpt-5*` and `*-mini` (gaps 5.1). A `*` stands for any run of
 * characters, and a pattern fits the whole slug; capitals, and dots against dashes in version numbers, make no
 * difference. Patterns come from callers: those that no slug can fit are dropped, exact ones are looked up, and the
 * others cost at most their length times that of the slug.
 */
export function modelPatterns(patterns: readonly string[]): ModelPatterns {
  const exact = new Set<string>();
  const wild = new Set<string>();
  for (const pattern of patterns) {
    const folded = foldSlug(pattern).replace(/\*{2,}/g, '*');
    if (!folded.includes('*')) exact.add(folded);
    else if (lettersOf(folded) <= MAX_MODEL_SLUG_LENGTH) wild.add(folded);
  }
  const heads = [...wild].map((pattern) => ({
    pattern,
    head: pattern.slice(0, pattern.indexOf('*')),
    letters: lettersOf(pattern),
  }));
  return {
    matches(slug) {
      const folded = foldSlug(slug);
      if (exact.has(folded)) return true;
      return heads.some(
        ({ pattern, head, letters }) =>
          letters <= folded.length && folded.startsWith(head) && matchesWildcard(pattern, folded),
      );
    },
  };
}

/** Characters that a slug must have at least. */
function lettersOf(pattern: string): number {
  let letters = 0;
  for (const character of pattern) if (character !== '*') letters += character.length;
  return letters;
}

/**
 * Matches a model slug against a pattern in which `*` stands for any run of characters, `/` included.
 * Two pointers and no backtracking stack: the work is at most pattern length times text length, so patterns from
 * callers cannot stall the process. Patterns are never turned into regular expressions.
 */
export function matchesWildcard(pattern: string, text: string): boolean {
  let at = 0;
  let position = 0;
  let star = -1;
  let resume = 0;
  while (position < text.length) {
    const code = pattern.charCodeAt(at);
    if (code === STAR) {
      star = at;
      resume = position;
      at += 1;
    } else if (at < pattern.length && code === text.charCodeAt(position)) {
      at += 1;
      position += 1;
    } else if (star >= 0) {
      at = star + 1;
      resume += 1;
      position = resume;
    } else {
      return false;
    }
  }
  while (pattern.charCodeAt(at) === STAR) at += 1;
  return at === pattern.length;
}

const STAR = '*'.charCodeAt(0);
