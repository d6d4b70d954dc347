import { type Guardrail, PII_KINDS } from '../../protocol/guardrail-options.ts';
import { findInjections } from './find-injections.ts';
import type { Finding } from './finding.ts';
import { type FoldedText, fold } from './fold.ts';
import { hiddenTexts } from './hidden-texts.ts';
import { PhraseList } from './phrases.ts';
import { PII_FINDERS } from './pii/kinds.ts';
import { type Words, wordsOf } from './words.ts';

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
  find(view: TextView): readonly Finding[];
  /** What stands in the place of a finding that is taken out (gaps 7.4). */
  placeholder(finding: Finding): string;
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
function injectionsIn(view: TextView, own: PhraseList, depth: number): readonly Finding[] {
  const open = located(view.folded, [...findInjections(view.folded.text, view.words), ...own.find(view.words)]);
  if (depth === 0) return open;
  const hidden = hiddenTexts(view.text).flatMap(({ text, start, end }) =>
    injectionsIn(new TextView(text), own, depth - 1).map(({ pattern }) => ({ pattern, start, end })),
  );
  return [...open, ...hidden];
}

function located({ original }: FoldedText, findings: readonly Finding[]): readonly Finding[] {
  return findings.map(({ pattern, start: from, end: to }) => {
    const [start, end] = original(from, to);
    return { pattern, start, end };
  });
}
