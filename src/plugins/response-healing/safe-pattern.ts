/**
 * Runs the expressions of schemas, which come from callers. One can be made to compute for hours, so only those are run
 * whose work has a limit that can be read off them.
 */

/** Steps that matching a text may take at most. */
const MOST_STEPS = 10_000_000;

/** Product of all numbers of repetitions. */
const MOST_REPETITIONS = 100_000;

/** Compiled expressions by their source; undefined for one that is not run. */
const KNOWN = new Map<string, Readonly<{ expression: RegExp; loops: number }> | undefined>();
const MOST_KNOWN = 500;

/** Whether a text matches an expression; undefined where it would take too long to find out, or is no expression. */
export function matchesPattern(pattern: string, text: string): boolean | undefined {
  let known = KNOWN.get(pattern);
  if (known === undefined && !KNOWN.has(pattern)) {
    if (KNOWN.size >= MOST_KNOWN) KNOWN.clear();
    known = compiled(pattern);
    KNOWN.set(pattern, known);
  }
  // Each part that repeats may end anywhere.
  if (known === undefined || (text.length + 2) ** known.loops * pattern.length > MOST_STEPS) return undefined;
  return known.expression.test(text);
}

function compiled(pattern: string): Readonly<{ expression: RegExp; loops: number }> | undefined {
  const inside = loopsIn(pattern);
  if (inside === undefined) return undefined;
  // The search may begin anywhere, too.
  const loops = pattern.startsWith('^') && !pattern.includes('|') ? inside : inside + 1;
  try {
    return { expression: new RegExp(pattern, 'u'), loops };
  } catch {
    return undefined;
  }
}

/** What an expression consists of, as far as its work depends on it. */
const TOKEN =
  /\\(?:[1-9]|k<)|\\.|\[(?:\\.|[^\]\\])*\]|\((?:\?(?:<?[=!]|:|<\w+>))?|\)|\||[*+?]\??|\{\d+(?:,\d*)?\}\??|[\s\S]/gu;

/** A group that is open. */
interface OpenGroup {
  /** Whether its content may have one of several lengths, or may be matched in several ways. */
  varies: boolean;
}

/**
 * How many parts of an expression repeat, so that its work is at most the length of the text to that power; undefined
 * where that cannot be said: what varies is repeated, or the expression looks around or back.
 */
function loopsIn(pattern: string): number | undefined {
  const open: OpenGroup[] = [{ varies: false }];
  let last: OpenGroup = { varies: false };
  let loops = 0;
  let repetitions = 1;
  for (const [token] of pattern.matchAll(TOKEN)) {
    const group = open.at(-1);
    if (group === undefined || /^\\(?:[1-9]|k<)$/.test(token) || /^\(\?<?[=!]$/.test(token)) return undefined;
    if (token.startsWith('(')) {
      open.push({ varies: false });
    } else if (token === ')') {
      last = group;
      open.pop();
      const outer = open.at(-1);
      if (outer !== undefined) outer.varies ||= group.varies;
    } else if (token === '|') {
      group.varies = true;
      loops += 1;
    } else if (isQuantifier(token)) {
      const isFixed = /^\{\d+\}/.test(token);
      if (last.varies && !token.startsWith('?')) return undefined;
      if (!isFixed) {
        group.varies = true;
        loops += 1;
      }
      // Repetitions within repetitions are written out.
      for (const [times] of token.matchAll(/\d+/g)) repetitions *= Math.max(1, Number(times));
      if (repetitions > MOST_REPETITIONS) return undefined;
    } else {
      last = { varies: false };
    }
  }
  return loops;
}

function isQuantifier(token: string): boolean {
  return /^[*+?]/.test(token) || /^\{\d/.test(token);
}
