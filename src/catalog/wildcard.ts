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
