import { describeIssues, type Problem } from '../issues.ts';
import type { Issue } from './issue.ts';
import { REFUSED, type Schema } from './schema.ts';

/** A value that satisfies a schema, or the one problem worth telling. */
export type Reading<Output> = { readonly ok: true; readonly value: Output } | ({ readonly ok: false } & Problem);

/** The value as a schema gives it back, or a refusal without reasons. */
export function valueOf<Output>(schema: Schema<Output>, value: unknown): Output | typeof REFUSED {
  const accepted = schema.accept(value);
  if (accepted !== REFUSED) return accepted;
  const issues: Issue[] = [];
  const parsed = schema.parse(value, issues);
  return issues.length === 0 ? parsed : REFUSED;
}

/**
 * Reads a value by a schema. Only a refused one is looked at in order, to say what is wrong with it.
 *
 * @param shown - What the caller sent, when the value was made from it: problems name what stands there.
 */
export function read<Output>(schema: Schema<Output>, value: unknown, shown: unknown = value): Reading<Output> {
  const accepted = schema.accept(value);
  if (accepted !== REFUSED) return { ok: true, value: accepted };
  const issues: Issue[] = [];
  const parsed = schema.parse(value, issues);
  return issues.length === 0 ? { ok: true, value: parsed } : { ok: false, ...describeIssues(issues, shown) };
}
