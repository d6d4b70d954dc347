import type { Issue } from './issue.ts';
import { REFUSED, type Schema } from './schema.ts';

/** A rule that no limit expresses. It runs when everything else about the value is right. */
export interface Rule<Value> {
  readonly test: (value: Value) => boolean;
  /** What is wrong, as the end of a sentence that begins with the path. */
  readonly says: string | ((value: Value) => string);
  /** The member that is wrong, when it is not the value itself. */
  readonly path?: readonly string[];
  /** Whether the value is then not of this kind at all, rather than a wrong one of it: decides between alternatives. */
  readonly decides?: boolean;
}

/** A value for which a rule holds as well. */
export function ruled<Output>(inner: Schema<Output>, rule: Rule<Output>): Schema<Output> {
  return {
    form: { kind: 'ruled', inner, rule },
    isOptional: inner.isOptional,
    accept: (value) => {
      const accepted = inner.accept(value);
      return accepted === REFUSED || !rule.test(accepted) ? REFUSED : accepted;
    },
    parse: (value, issues) => {
      const from = issues.length;
      const parsed = inner.parse(value, issues);
      if (issues.length === from && !rule.test(parsed)) issues.push(issueOf(rule, parsed));
      return parsed;
    },
  };
}

function issueOf<Output>({ says, path = [], decides = false }: Rule<Output>, value: Output): Issue {
  const message = typeof says === 'string' ? says : says(value);
  return { code: 'custom', message, path: [...path], isMinor: !decides };
}
