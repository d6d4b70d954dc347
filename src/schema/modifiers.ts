/** Schemas around others: optional, nullable, with a default, with a rule, found later. */
import { type Check, type Issue, NOT_ACCEPTED, type Schema, type Refinement } from './form.ts';

/** A value for which a rule holds as well. */
export function refine<Output>(inner: Schema<Output>, rule: Refinement<Output>): Schema<Output> {
  return {
    form: { kind: 'refine', inner, rule },
    isOptional: inner.isOptional,
    accept: (value) => {
      const accepted = inner.accept(value);
      return accepted === NOT_ACCEPTED || !rule.test(accepted) ? NOT_ACCEPTED : accepted;
    },
    parse: (value, issues) => {
      const from = issues.length;
      const parsed = inner.parse(value, issues);
      if (issues.length === from && !rule.test(parsed)) issues.push(issueOf(rule, parsed));
      return parsed;
    },
  };
}

function issueOf<Output>({ says, path = [], decides = false }: Refinement<Output>, value: Output): Issue {
  const message = typeof says === 'string' ? says : says(value);
  return { code: 'custom', message, path: [...path], isMinor: !decides };
}

/** A value in which a check finds nothing wrong, either. It runs whatever else is wrong. */
export function checked<Output>(inner: Schema<Output>, check: Check): Schema<Output> {
  return {
    form: { kind: 'check', inner, check },
    isOptional: inner.isOptional,
    accept: (value) => ([...check(value, '')].length > 0 ? NOT_ACCEPTED : inner.accept(value)),
    parse: (value, issues) => {
      const parsed = inner.parse(value, issues);
      for (const { path, problem } of check(value, '')) {
        issues.push({ code: 'custom', message: problem, path: path === '' ? [] : [path], isMinor: true });
      }
      return parsed;
    },
  };
}

/** A value that may be left out. */
export function optional<Output>(inner: Schema<Output>): Schema<Output | undefined> {
  return {
    form: { kind: 'optional', inner: () => inner },
    isOptional: true,
    accept: (value) => (value === undefined ? undefined : inner.accept(value)),
    parse: (value, issues) => (value === undefined ? undefined : inner.parse(value, issues)),
  };
}

/** A value that may be null. */
function nullable<Output>(inner: Schema<Output>): Schema<Output | null> {
  return {
    form: { kind: 'nullable', inner: () => inner },
    isOptional: inner.isOptional,
    accept: (value) => (value === null ? null : inner.accept(value)),
    parse: (value, issues) => (value === null ? null : inner.parse(value, issues)),
  };
}

/** A field that may be left out or null; both mean "not set". */
export function nullish<Output>(inner: Schema<Output>): Schema<Output | null | undefined> {
  return {
    ...optional(nullable(inner)),
    // Most fields have a schema like this, so it asks what is inside at once.
    accept: (value) => (value == null ? value : inner.accept(value)),
  };
}

/** A value that is made up when it is left out. */
export function defaulted<Output>(inner: Schema<Output>, missing: () => Output): Schema<Output> {
  return {
    form: { kind: 'default', inner: () => inner, missing },
    isOptional: true,
    // Objects are accepted by the members that they have, so what is missing is left to the other reading.
    accept: () => NOT_ACCEPTED,
    parse: (value, issues) => (value === undefined ? missing() : inner.parse(value, issues)),
  };
}

/** A schema that is found when it is used, because it contains itself. */
export function lazy<Output>(inner: () => Schema<Output>): Schema<Output> {
  return {
    form: { kind: 'lazy', inner },
    isOptional: false,
    accept: (value) => inner().accept(value),
    parse: (value, issues) => inner().parse(value, issues),
  };
}
