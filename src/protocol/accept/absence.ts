import { REFUSED, type Schema } from './schema.ts';

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
export function nullable<Output>(inner: Schema<Output>): Schema<Output | null> {
  return {
    form: { kind: 'nullable', inner: () => inner },
    isOptional: inner.isOptional,
    accept: (value) => (value === null ? null : inner.accept(value)),
    parse: (value, issues) => (value === null ? null : inner.parse(value, issues)),
  };
}

/** A field that may be left out or null; both mean "not set". */
export function nullish<Output>(inner: Schema<Output>): Schema<Output | null | undefined> {
  return optional(nullable(inner));
}

/** A value that is made up when it is left out. */
export function defaulted<Output>(inner: Schema<Output>, missing: () => Output): Schema<Output> {
  return {
    form: { kind: 'defaulted', inner: () => inner, missing },
    isOptional: true,
    // Objects are accepted by the members that they have, so what is missing is left to the other reading.
    accept: () => REFUSED,
    parse: (value, issues) => (value === undefined ? missing() : inner.parse(value, issues)),
  };
}

/** A schema that is found when it is used, because it contains itself. */
export function later<Output>(inner: () => Schema<Output>): Schema<Output> {
  return {
    form: { kind: 'later', inner },
    isOptional: false,
    accept: (value) => inner().accept(value),
    parse: (value, issues) => inner().parse(value, issues),
  };
}
