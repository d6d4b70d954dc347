/** Finds everything that is wrong with options, by their schemas. Requests are told one fault, programs all of them. */
import { group, type OptionShape } from '../options/values.ts';
import { describeIssues } from '../protocol/issues.ts';
import { echo } from '../protocol/fault.ts';
import { nearName } from '../protocol/near-name.ts';
import { ConfigError, type ConfigProblem } from '../protocol/router-error.ts';
import { isMisplaced } from '../schema/choices.ts';
import { type AnySchema, type Form, type Issue, isObject, NOT_ACCEPTED } from '../schema/form.ts';

/**
 * Refuses options that are not known, or not of their kind.
 *
 * @param owner - Name of the function that takes them.
 * @param required - Options that must be there.
 * @throws {@link ConfigError} with everything that is wrong.
 */
export function checkShape<Options>(
  shape: OptionShape<Options>,
  options: unknown,
  owner: string,
  required: readonly (keyof Options & string)[] = [],
): void {
  const problems = optionProblems(group(shape, required), options, owner);
  if (problems.length > 0) throw new ConfigError(problems);
}

/**
 * Everything that is wrong with the value of an option, or with options: each that is not known is named, with the one
 * that was probably meant, and each that is known is checked.
 *
 * @param path - Where it stands; empty for the top.
 */
export function optionProblems(schema: AnySchema, value: unknown, path: string): readonly ConfigProblem[] {
  return [...problemsOf(schema, value, path)];
}

function* problemsOf(schema: AnySchema, value: unknown, path: string): Generator<ConfigProblem> {
  const { form } = schema;
  switch (form.kind) {
    case 'object':
      if (isObject(value)) yield* memberProblems(form, value, path);
      else yield { path: path === '' ? 'The configuration' : path, problem: not(form.saysOfOthers ?? OBJECT, value) };
      return;
    case 'array':
      if (!Array.isArray(value)) yield { path, problem: not('must be a list', value) };
      else for (const [index, one] of value.entries()) yield* problemsOf(form.item, one, `${path}[${index}]`);
      return;
    case 'record':
      if (!isObject(value)) yield { path, problem: not(OBJECT, value) };
      else for (const [name, one] of Object.entries(value)) yield* problemsOf(form.value, one, below(path, name));
      return;
    case 'union': {
      // What is wrong is what is wrong with the last of them.
      const found = form.options.map((option) => optionProblems(option, value, path));
      if (found.every((problems) => problems.length > 0)) yield* found.at(-1) ?? [];
      return;
    }
    case 'narrowed': {
      const further = form.narrow(value as Readonly<Record<string, unknown>>);
      if (further === undefined) return;
      if (isMisplaced(further)) yield { path: further.path.reduce(below, path), problem: further.says };
      else yield* problemsOf(further, value, path);
      return;
    }
    case 'refine': {
      const found = optionProblems(form.inner, value, path);
      if (found.length > 0) yield* found;
      else if (schema.accept(value) === NOT_ACCEPTED) yield { path, problem: ruleOf(form, value) };
      return;
    }
    case 'check':
      yield* problemsOf(form.inner, value, path);
      yield* form.check(value, path);
      return;
    case 'optional':
      if (value !== undefined) yield* problemsOf(form.inner(), value, path);
      return;
    case 'lazy':
      yield* problemsOf(form.inner(), value, path);
      return;
    default:
      if (schema.accept(value) === NOT_ACCEPTED) yield { path, problem: problemOf(schema, value) };
  }
}

const OBJECT = 'must be an object';

type FormOf<Kind> = Extract<Form, { kind: Kind }>;

function ruleOf({ rule: { says } }: FormOf<'refine'>, value: unknown): string {
  return typeof says === 'string' ? says : says(value as never);
}

/** Options in the order in which they are given; members of what a program brings itself in the order of the schema. */
function* memberProblems(
  { shape, unknownKeys }: FormOf<'object'>,
  value: Readonly<Record<string, unknown>>,
  path: string,
): Generator<ConfigProblem> {
  const isClosed = unknownKeys === 'refused';
  for (const [name, given] of isClosed ? Object.entries(value) : []) {
    const known = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (known === undefined) yield { path: below(path, name), problem: unknownProblem(name, Object.keys(shape)) };
    else if (given !== undefined) yield* problemsOf(known, given, below(path, name));
  }
  for (const [name, member] of Object.entries(shape)) {
    const given = value[name];
    if (given === undefined ? !member.isOptional : !isClosed) yield* problemsOf(member, given, below(path, name));
  }
}

/** What is wrong with a value that has no parts. */
function problemOf(schema: AnySchema, value: unknown): string {
  const { form } = schema;
  switch (form.kind) {
    case 'boolean':
      return not('must be true or false', value);
    case 'enum': {
      const near = typeof value === 'string' ? nearName(value, form.words) : undefined;
      const right = `must be ${form.words.map((word) => `"${word}"`).join(' or ')}`;
      return near === undefined ? not(right, value) : `${right}, did you mean "${near}"?`;
    }
    case 'string':
      // Of a text that has not the right form nothing is said but that it is empty.
      if (form.says !== undefined && form.least === undefined && typeof value === 'string') return form.says;
  }
  if ('says' in form && typeof form.says === 'string') return not(form.says, value);
  const issues: Issue[] = [];
  schema.parse(value, issues);
  return describeIssues(issues, value).problem;
}

function not(says: string, value: unknown): string {
  return `${says}, not ${describe(value)}`;
}

/** Says what a value is; only numbers and words of the language are told themselves. */
function describe(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'undefined';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return value.trim() === '' ? 'an empty string' : 'a string';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function unknownProblem(name: string, known: readonly string[]): string {
  const near = nearName(name, known);
  if (near !== undefined) return `is not an option; did you mean "${near}"?`;
  return `is not an option; there ${known.length === 1 ? 'is' : 'are'} ${known.join(', ')}`;
}

function below(path: string, name: string): string {
  const last = /^[A-Za-z_$][\w$]{0,63}$/.test(name) ? name : `[${echo(name)}]`;
  if (path === '') return last;
  return last.startsWith('[') ? `${path}${last}` : `${path}.${last}`;
}
