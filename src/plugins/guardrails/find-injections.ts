import type { Finding } from './finding.ts';
import { INJECTION_PATTERNS, type InjectionPattern, TEMPLATE_MARKS } from './injection-patterns.ts';
import type { Words } from './words.ts';

interface Step {
  /** Words that may stand between this one and the one before. */
  readonly gap: number;
  readonly exact: ReadonlySet<string>;
  readonly prefixes: readonly string[];
}

interface Compiled {
  readonly name: string;
  readonly steps: readonly Step[];
}

/**
 * Finds attempts to take over a model. Every pattern is a row of words with bounded gaps, so the work is proportional
 * to the number of words.
 *
 * @param folded - The text that the words come from.
 */
export function findInjections(folded: string, words: Words): readonly Finding[] {
  const findings: Finding[] = [];
  for (let at = 0; at < words.text.length; at += 1) {
    const word = words.text[at] ?? '';
    for (const { name, steps } of BY_FIRST.get(word) ?? NONE) follow(name, steps, words, at, findings);
    for (const { prefix, pattern } of BY_PREFIX) {
      if (word.startsWith(prefix)) follow(pattern.name, pattern.steps, words, at, findings);
    }
  }
  for (const mark of TEMPLATE_MARKS) {
    for (let at = folded.indexOf(mark); at >= 0; at = folded.indexOf(mark, at + mark.length)) {
      findings.push({ pattern: 'template_marks', start: at, end: at + mark.length });
    }
  }
  return findings;
}

/** Goes from the first word to the last, keeping all places where the one before may have been. */
function follow(name: string, steps: readonly Step[], words: Words, at: number, findings: Finding[]): void {
  let places: readonly number[] = [at];
  for (const step of steps.slice(1)) {
    const next = new Set<number>();
    for (const place of places) {
      for (let to = place + 1; to <= place + 1 + step.gap; to += 1) {
        const word = words.text[to];
        if (word !== undefined && fits(step, word)) next.add(to);
      }
    }
    if (next.size === 0) return;
    places = [...next];
  }
  const last = Math.min(...places);
  findings.push({ pattern: name, start: words.start[at] ?? 0, end: words.end[last] ?? 0 });
}

function fits({ exact, prefixes }: Step, word: string): boolean {
  return exact.has(word) || prefixes.some((prefix) => word.startsWith(prefix));
}

function compile({ name, shape }: InjectionPattern): Compiled {
  let gap = 0;
  const steps: Step[] = [];
  for (const piece of shape) {
    if (typeof piece === 'number') {
      gap = piece;
      continue;
    }
    steps.push({
      gap,
      exact: new Set(piece.filter((word) => !word.endsWith('*'))),
      prefixes: piece.filter((word) => word.endsWith('*')).map((word) => word.slice(0, -1)),
    });
    gap = 0;
  }
  return { name, steps };
}

const COMPILED = INJECTION_PATTERNS.map(compile);
const NONE: readonly Compiled[] = [];
const BY_FIRST = new Map<string, Compiled[]>();
const BY_PREFIX: { readonly prefix: string; readonly pattern: Compiled }[] = [];
for (const pattern of COMPILED) {
  for (const word of pattern.steps[0]?.exact ?? []) BY_FIRST.set(word, [...(BY_FIRST.get(word) ?? []), pattern]);
  for (const prefix of pattern.steps[0]?.prefixes ?? []) BY_PREFIX.push({ prefix, pattern });
}
