/** Makes guardrails ready to look at texts. */
import { type Guardrail, PII_KINDS } from '../../protocol/guardrail-options.ts';
import { fold, type FoldedText, PhraseList, type Words, wordsOf } from './phrases.ts';
import { PII_FINDERS } from './pii-kinds.ts';
import { INJECTION_PATTERNS, type InjectionPattern, TEMPLATE_MARKS } from './injection-patterns.ts';
import type { GuardrailFinding } from './finding.ts';

/** A text that several guardrails look at. What they need of it is computed once. */
export class TextView {
  readonly text: string;
  readonly folded: FoldedText;
  #words: Words | undefined;

  constructor(text: string) {
    this.text = text;
    this.folded = fold(text);
  }

  get words(): Words {
    return (this.#words ??= wordsOf(this.folded.text));
  }
}

/** A guardrail that is ready to look at texts. */
export interface Detector {
  readonly guardrail: Guardrail;
  /** Whose rule it is. */
  readonly scope: string;
  /** What it finds, in places of the original text. */
  find(view: TextView): readonly GuardrailFinding[];
  /** What is in the place of a finding that is taken out (gaps 7.4). */
  placeholder(finding: GuardrailFinding): string;
}

/** How deep texts may be hidden in each other. */
const MAX_DEPTH = 2;

/** Makes a guardrail ready. */
export function detectorOf(guardrail: Guardrail, defaultScope: string): Detector {
  const scope = guardrail.scope ?? defaultScope;
  switch (guardrail.type) {
    case 'pii': {
      const finders = (guardrail.kinds ?? PII_KINDS).map((kind) => PII_FINDERS[kind]);
      return {
        guardrail,
        scope,
        find: ({ folded }) =>
          located(
            folded,
            finders.flatMap((find) => find(folded.text)),
          ),
        placeholder: ({ pattern }) => `[${pattern}]`,
      };
    }
    case 'content': {
      const { label, patterns } = guardrail;
      const phrases = new PhraseList(patterns.map((pattern) => ({ name: label, pattern })));
      return {
        guardrail,
        scope,
        find: (view) => located(view.folded, phrases.find(view.words)),
        placeholder: () => '[REDACTED]',
      };
    }
    case 'prompt-injection': {
      const own = new PhraseList((guardrail.patterns ?? []).map((pattern) => ({ name: 'custom', pattern })));
      return {
        guardrail,
        scope,
        find: (view) => injectionsIn(view, own, MAX_DEPTH),
        placeholder: () => '[PROMPT_INJECTION]',
      };
    }
  }
}

/** What is hidden in code counts for the whole of its code. */
function injectionsIn(view: TextView, own: PhraseList, depth: number): readonly GuardrailFinding[] {
  const open = located(view.folded, [...findInjections(view.folded.text, view.words), ...own.find(view.words)]);
  if (depth === 0) return open;
  const hidden = hiddenTexts(view.text).flatMap(({ text, start, end }) =>
    injectionsIn(new TextView(text), own, depth - 1).map(({ pattern }) => ({ pattern, start, end })),
  );
  return [...open, ...hidden];
}

function located({ original }: FoldedText, findings: readonly GuardrailFinding[]): readonly GuardrailFinding[] {
  return findings.map(({ pattern, start: from, end: to }) => {
    const [start, end] = original(from, to);
    return { pattern, start, end };
  });
}

/** A text that was found in another one, encoded. */
interface HiddenText {
  readonly text: string;
  /** Where its code stands. */
  readonly start: number;
  readonly end: number;
}

/** Characters of code in one text that are looked into. More than that is a file, not a message. */
const BUDGET = 400_000;
/** Shorter ones hold no sentence. */
const SHORTEST = 16;
/** Of what is decoded, the part that must be letters, digits, blanks and the like to be text. */
const PRINTABLE = 0.9;

/** Texts that are hidden in base64, also over several lines. */
function hiddenTexts(text: string): readonly HiddenText[] {
  const found: HiddenText[] = [];
  let left = BUDGET;
  for (const match of text.matchAll(CODE)) {
    const [run] = match;
    if (run.length > left) continue;
    left -= run.length;
    const start = match.index;
    const whole = decode(run);
    if (whole !== undefined) found.push({ text: whole, start, end: start + run.length });
    // Lines that only look like parts of one code may each be one.
    else if (run.includes('\n')) found.push(...hiddenLines(run, start));
  }
  return found;
}

function hiddenLines(run: string, start: number): readonly HiddenText[] {
  return [...run.matchAll(/[^\r\n]+/g)].flatMap((line) => {
    const text = decode(line[0]);
    const at = start + line.index;
    return text === undefined ? [] : [{ text, start: at, end: at + line[0].length }];
  });
}

/** Runs of base64; lines of one follow each other directly. */
const CODE = /[A-Za-z0-9+/_-]{16,}(?:\r?\n[A-Za-z0-9+/_-]{4,})*={0,2}/g;

function decode(run: string): string | undefined {
  const code = run.replaceAll(/[\s=]/g, '').replaceAll('-', '+').replaceAll('_', '/');
  if (code.length < SHORTEST) return undefined;
  try {
    const binary = atob(code.slice(0, code.length % 4 === 1 ? -1 : code.length));
    const text = new TextDecoder().decode(Uint8Array.from(binary, (character) => character.charCodeAt(0)));
    const printable = text.match(/[\p{L}\p{N}\p{P}\p{Z}\n\t]/gu)?.length ?? 0;
    return printable >= Array.from(text).length * PRINTABLE ? text : undefined;
  } catch {
    return undefined;
  }
}

interface Step {
  /** Words that may be between this one and the one before. */
  readonly gap: number;
  readonly exact: ReadonlySet<string>;
  readonly prefixes: readonly string[];
}

interface Compiled {
  readonly name: string;
  readonly steps: readonly Step[];
}

/**
 * Finds attempts to take over a model. Every pattern is a row of words with limited gaps, so the work is proportional
 * to the number of words.
 *
 * @param folded - The text that the words come from.
 */
function findInjections(folded: string, words: Words): readonly GuardrailFinding[] {
  const findings: GuardrailFinding[] = [];
  for (let at = 0; at < words.text.length; at += 1) {
    const word = words.text[at] ?? '';
    for (const pattern of BY_FIRST.get(word) ?? NONE) findings.push(...follow(pattern, words, at));
    for (const { prefix, pattern } of BY_PREFIX) {
      if (word.startsWith(prefix)) findings.push(...follow(pattern, words, at));
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
function follow({ name, steps }: Compiled, words: Words, at: number): readonly GuardrailFinding[] {
  let places: readonly number[] = [at];
  for (const step of steps.slice(1)) {
    const next = new Set<number>();
    for (const place of places) {
      for (let to = place + 1; to <= place + 1 + step.gap; to += 1) {
        const word = words.text[to];
        if (word !== undefined && fits(step, word)) next.add(to);
      }
    }
    if (next.size === 0) return NOT_FOUND;
    places = [...next];
  }
  const last = Math.min(...places);
  return [{ pattern: name, start: words.start[at] ?? 0, end: words.end[last] ?? 0 }];
}

const NOT_FOUND: readonly GuardrailFinding[] = [];

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
