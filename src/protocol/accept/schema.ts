import type { Form } from './form.ts';
import type { Issue } from './issue.ts';

/** What {@link Schema.accept} gives back for a value that it does not accept at first sight. */
export const REFUSED: unique symbol = Symbol('refused');

/**
 * What a value has to be. Written once as a table of small schemas, and read in two ways: `accept` is all that a correct
 * request pays, `parse` is asked after a refusal and says what is wrong. The OpenAPI document is written from `form`.
 *
 * Values come back as they are, by reference, unless something about them changes (a default, a trimmed text, a member
 * that is taken out): then what holds them is copied.
 */
export interface Schema<Output> {
  readonly form: Form;
  /** Whether a member with this schema may be left out. */
  readonly isOptional: boolean;
  /** The value, or a refusal without reasons. It may refuse what `parse` accepts, and never accepts what that refuses. */
  readonly accept: (value: unknown) => Output | typeof REFUSED;
  /** The value. Whatever is wrong is added to `issues`, and then what comes back means nothing. */
  readonly parse: (value: unknown, issues: Issue[]) => Output;
}

/** The type of the values that a schema accepts. */
export type OutputOf<One> = One extends Schema<infer Output> ? Output : never;
