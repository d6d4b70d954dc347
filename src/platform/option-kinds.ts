/** The kinds of values that options of factories have, and what is wrong with others. */
import type { NumberRange, Option, OptionTable } from '../options/option.ts';
import { echo } from '../protocol/fault.ts';
import { nearName } from '../protocol/near-name.ts';
import { ConfigError, type ConfigProblem } from '../protocol/router-error.ts';

/** Finds what is wrong with the value of an option that is set. */
export type OptionKind = (value: unknown, path: string) => Iterable<ConfigProblem>;

/** The options of a type and their kinds: one that is missing, or that the type does not have, does not compile. */
export type OptionShape<Options> = { readonly [Name in keyof Options]-?: OptionKind };

/** A kind that says with one sentence what would be right. What was given is not repeated: it may be a secret. */
export function kind(right: string, isRight: (value: unknown) => boolean): OptionKind {
  return (value, path) => (isRight(value) ? [] : [{ path, problem: `must be ${right}, not ${describe(value)}` }]);
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

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
const isText = (value: unknown): value is string => typeof value === 'string';

/** Takes anything: checked elsewhere, or by nobody. */
export const unknown: OptionKind = () => [];
export const string = kind('a non-empty string', (value) => isText(value) && value.trim() !== '');
export const boolean = kind('true or false', (value) => typeof value === 'boolean');
export const callable = kind('a function', (value) => typeof value === 'function');
export const amount = kind('a non-negative number', (value) => isNumber(value) && value >= 0);
export const milliseconds = kind('a non-negative number of milliseconds', (value) => isNumber(value) && value >= 0);

/** A text of some form. Nothing of a text that does not have it is shown. */
export function stringThat(right: string, isRight: (string: string) => boolean): OptionKind {
  return (value, path) => {
    if (isText(value) && isRight(value)) return [];
    return [{ path, problem: isText(value) ? `must be ${right}` : `must be ${right}, not ${describe(value)}` }];
  };
}

/** A key, or something else that is in a header. */
export const headerText = stringThat('one line of visible characters, without spaces', (value) =>
  /^[\x21-\x7e]+$/.test(value),
);
export const httpAddress = stringThat(
  'an http(s) address',
  (value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol),
);

/** A whole number from `least` on. */
export function integer(least: number): OptionKind {
  return kind(`a whole number from ${least} on`, (value) => Number.isInteger(value) && Number(value) >= least);
}

/** An object with functions of these names. */
export function withFunctions(right: string, ...names: readonly string[]): OptionKind {
  return kind(right, (value) => {
    const members = Object(value) as Readonly<Record<string, unknown>>;
    return typeof value === 'object' && names.every((name) => typeof members[name] === 'function');
  });
}

/** One of some words, all of them. */
export function enumeration<Word extends string>(words: Readonly<Record<Word, true>>): OptionKind {
  const all = Object.keys(words);
  const right = all.map((word) => `"${word}"`).join(' or ');
  return function* check(value, path) {
    if (isText(value) && all.includes(value)) return;
    const near = isText(value) ? nearName(value, all) : undefined;
    const hint = near === undefined ? `not ${describe(value)}` : `did you mean "${near}"?`;
    yield { path, problem: `must be ${right}, ${hint}` };
  };
}

/** A list whose items are of one kind. */
export function array(item: OptionKind): OptionKind {
  return function* check(value, path) {
    if (!Array.isArray(value)) yield { path, problem: `must be a list, not ${describe(value)}` };
    else for (const [index, one] of value.entries()) yield* item(one, `${path}[${index}]`);
  };
}

/** Either of two kinds; the problem is that of the second. */
export function union(first: OptionKind, second: OptionKind): OptionKind {
  return (value, path) => ([...first(value, path)].length === 0 ? [] : second(value, path));
}

/** An object with names of the program's own and values of one kind. */
export function record(item: OptionKind): OptionKind {
  return function* check(value, path) {
    if (!isObject(value)) yield { path, problem: `must be an object, not ${describe(value)}` };
    else for (const [name, one] of Object.entries(value)) yield* item(one, below(path, name));
  };
}

/** An object that has some members, each of its kind, and may have others of its own. */
export function having(
  right: string,
  required: Readonly<Record<string, OptionKind>>,
  optional: Readonly<Record<string, OptionKind>>,
): OptionKind {
  return function* check(value, path) {
    if (!isObject(value)) {
      yield { path, problem: `must be ${right}, not ${describe(value)}` };
      return;
    }
    for (const [name, member] of Object.entries(required)) yield* member(value[name], below(path, name));
    for (const [name, member] of Object.entries(optional)) {
      if (value[name] !== undefined) yield* member(value[name], below(path, name));
    }
  };
}

/** An object with known options. Options that are undefined count as left out. */
export function group<Options>(
  shape: OptionShape<Options>,
  required: readonly (keyof Options & string)[] = [],
): OptionKind {
  return function* check(value, path) {
    yield* optionProblems(shape, value, path);
    if (!isObject(value)) return;
    for (const name of required) if (value[name] === undefined) yield* shape[name](undefined, below(path, name));
  };
}

/**
 * What is wrong with options: each that is not known is named, with the one that was probably meant, and each that is
 * known is checked.
 *
 * @param path - Where the options stand; empty for the top.
 */
export function* optionProblems<Options>(
  shape: OptionShape<Options>,
  options: unknown,
  path: string,
): Generator<ConfigProblem> {
  if (!isObject(options)) {
    yield { path: path === '' ? 'The configuration' : path, problem: `must be an object, not ${describe(options)}` };
    return;
  }
  const kinds = shape as Readonly<Record<string, OptionKind>>;
  for (const [name, value] of Object.entries(options)) {
    const known = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
    if (known === undefined) yield { path: below(path, name), problem: unknownProblem(name, Object.keys(kinds)) };
    else if (value !== undefined) yield* known(value, below(path, name));
  }
}

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
  const problems = [...group(shape, required)(options, owner)];
  if (problems.length > 0) throw new ConfigError(problems);
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

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What finds the faults in the options of a table, by the names of the options. */
type Kinds<Table extends OptionTable> = { readonly [Name in keyof Table]: OptionKind };

/** What finds the faults in each option of a table. */
export function kindsOf<Table extends OptionTable>(table: Table): Kinds<Table> {
  return Object.fromEntries(Object.entries(table).map(([name, one]) => [name, kindOf(one)])) as Kinds<Table>;
}

/** What finds the faults in an object whose options are those of a table. */
export function groupOf(table: OptionTable): OptionKind {
  const names = Object.keys(table).filter((name) => table[name]?.when === 'required');
  return group<Readonly<Record<string, unknown>>>(kindsOf(table), names);
}

/** What finds the faults in an option that is set. */
export function kindOf({ kind: one }: Option): OptionKind {
  switch (one.is) {
    case 'number':
      return kind(one.right, (value) => isInRange(one, value));
    case 'boolean':
      return boolean;
    case 'unknown':
      return unknown;
    case 'string':
      return string;
    case 'pattern':
      return stringThat(one.right, (value) => one.pattern.test(value));
    case 'enum':
      return enumeration(Object.fromEntries(one.words.map((word) => [word, true])));
    case 'array':
      return array(kindOf(one.of));
    case 'record':
      return record(kindOf(one.of));
    case 'union':
      return union(kindOf(one.one), kindOf(one.other));
    case 'section':
    case 'object':
      return groupOf(one.options);
    case 'function':
      return one.right === 'a function' ? callable : kind(one.right, (value) => typeof value === 'function');
    case 'contract':
      return withFunctions(one.right, ...one.functions);
    case 'checked':
      return one.check;
  }
}

function isInRange(range: NumberRange, value: unknown): boolean {
  const { least, most = Infinity, endless = false } = range;
  if (typeof value !== 'number' || Number.isNaN(value) || (!endless && !Number.isFinite(value))) return false;
  return value >= least && value <= most && (range.integer !== true || Number.isInteger(value));
}
