/**
 * What every option of the router is made of. A table names its options once; the types of what programs write and of
 * what the router reads, the defaults, the faults at start-up and `docs/configuration.md` all come from it. The comment
 * above an option in its table is what editors and the page say about it.
 *
 * The kinds of values are those of requests (`src/schema`), with the words of `options/values`; what an option says beside
 * them is whether it may be left out, and the columns of the page.
 */
import { union } from '../schema/choices.ts';
import { array, record } from '../schema/collections.ts';
import type { AnySchema, NumberLimits, Schema, Shape } from '../schema/form.ts';
import { optional } from '../schema/modifiers.ts';
import { strictObject } from '../schema/object.ts';
import { boolean, enumeration, number, unknown } from '../schema/scalars.ts';
import {
  amount,
  anyString,
  milliseconds,
  nonEmptyString,
  stringThat,
  valueThat,
  wholeNumber,
  withFunctions,
} from './values.ts';

/**
 * What an option is when it is left out: its `default`; something that the router `computed` from its other options or
 * its surroundings; nothing, where it is `optional`. One that is `required` is never left out.
 */
export type When = 'default' | 'computed' | 'optional' | 'required';

/**
 * One option: the schema of its value where it is set, and what is said beside it. `Value` is what programs give, `Whole`
 * what the router reads.
 */
export interface Option<Value = unknown, Left extends When = When, Whole = unknown> extends Schema<Value> {
  readonly when: Left;
  readonly default?: unknown;
  /** Unit of its number. Counts have none. */
  readonly unit?: string | undefined;
  /** Name of its TypeScript type, where the schema does not give it. */
  readonly type?: string | undefined;
  /** The options inside, where it is an object with options of its own. */
  readonly table?: OptionTable | undefined;
  /** Whether the object is filled with the defaults of its table; otherwise it stays as it was given. */
  readonly isFilled?: boolean | undefined;
  /** Carries the types; never there. */
  readonly types?: { readonly value: Value; readonly whole: Whole };
}

/** Options by name, in the order in which they are listed. */
export type OptionTable = Readonly<Record<string, Option>>;

/** What an option takes. */
export type ValueOf<One extends Option> = NonNullable<One['types']>['value'];

/** What an option is for the router. */
type WholeOf<One extends Option> = NonNullable<One['types']>['whole'];

/** Options of a table as programs write them. */
export type OptionsOf<Table extends OptionTable> = {
  readonly [Name in keyof Table as Table[Name]['when'] extends 'required' ? Name : never]: ValueOf<Table[Name]>;
} & {
  readonly [Name in keyof Table as Table[Name]['when'] extends 'required' ? never : Name]?:
    | ValueOf<Table[Name]>
    | undefined;
};

/** Options of a table as the router reads them: nothing is left out that can be filled in. */
export type ResolvedOf<Table extends OptionTable> = {
  readonly [Name in keyof Table]: Table[Name]['when'] extends 'optional'
    ? WholeOf<Table[Name]> | undefined
    : WholeOf<Table[Name]>;
};

/** Options of a table with their defaults; what is computed is still to come. */
export type FilledOf<Table extends OptionTable> = {
  readonly [Name in keyof Table]: Table[Name]['when'] extends 'optional' | 'computed'
    ? WholeOf<Table[Name]> | undefined
    : WholeOf<Table[Name]>;
};

/** Makes every member, also inside, optional. */
export type Partially<Whole> = {
  readonly [Name in keyof Whole]?: (Whole[Name] extends object ? Partially<Whole[Name]> : Whole[Name]) | undefined;
};

/** Puts the defaults of a table under what was given. An option that is undefined counts as left out. */
export function fill<Table extends OptionTable>(table: Table, given: object = {}): FilledOf<Table> {
  const values = given as Readonly<Record<string, unknown>>;
  const filled = Object.entries(table).map(([name, { table: inside, isFilled, default: usual }]) => {
    const value = values[name];
    if (inside !== undefined && isFilled === true) return [name, fill(inside, value as object | undefined)];
    return [name, value === undefined ? usual : value];
  });
  return Object.fromEntries(filled) as FilledOf<Table>;
}

/** Whether two values of an option say the same: data by what it holds, everything else by identity. */
export function sameOption(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (!isData(one) || !isData(other) || Array.isArray(one) !== Array.isArray(other)) return false;
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].every((name) => sameOption(one[name], other[name]));
}

function isData(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || Array.isArray(value);
}

/** The schema of an object with the options of a table. */
export function schemaOf(table: OptionTable): AnySchema {
  const members = Object.entries(table).map(([name, one]) => [name, one.when === 'required' ? one : optional(one)]);
  return strictObject(Object.fromEntries(members) as Shape);
}

/** Marks an option whose default the router computes. */
export function computed<Value, Whole>(one: Option<Value, When, Whole>): Option<Value, 'computed', Whole> {
  return { ...one, when: 'computed' };
}

/** Marks an option that must be given. */
export function required<Value, Whole>(one: Option<Value, When, Whole>): Option<Value, 'required', Whole> {
  return { ...one, when: 'required' };
}

/** What an option may say beside its schema. */
interface Said<Value> {
  readonly default?: Value;
  readonly unit?: string;
}

type Plain<Value, Saying> = Option<Value, Saying extends { default: Value } ? 'default' : 'optional', Value>;

function plain<Value, const Saying extends Said<Value>>(schema: AnySchema, said: Saying | undefined, type?: string) {
  const when = said !== undefined && 'default' in said ? 'default' : 'optional';
  return { ...schema, when, ...said, type } as Plain<Value, Saying>;
}

/** Options that stay as they were given, of a type that is made from their table. */
function object<Value>(table: OptionTable): Option<Value, 'optional', Value>;
function object<Value>(table: OptionTable, said: { readonly default: Value }): Option<Value, 'default', Value>;
function object<Value>(table: OptionTable, said?: { readonly default: Value }): Option<Value, When, Value> {
  return { ...plain(schemaOf(table), said), table };
}

/** The kinds of options. Each takes its default, and its unit where it is a number. */
export const option = {
  /** Milliseconds. */
  ms: <const Saying extends Said<number> = object>(said?: Saying): Plain<number, Saying> =>
    plain(milliseconds, { unit: 'milliseconds', ...said } as Saying & Said<number>),
  /** A whole number from `least` on. */
  integer: <const Saying extends Said<number> = object>(least: number, said?: Saying): Plain<number, Saying> =>
    plain(wholeNumber(least), said),
  /** A number that is not negative. */
  amount: <const Saying extends Said<number> = object>(said?: Saying): Plain<number, Saying> => plain(amount, said),
  /** A number from 0 to 1. */
  share: <const Saying extends Said<number> = object>(said?: Saying): Plain<number, Saying> =>
    plain(number({ least: 0, most: 1, says: 'must be a number from 0 to 1' }), said),
  /** A number with limits of its own, and the sentence that is said of others. */
  number: <const Saying extends Said<number> = object>(
    limits: NumberLimits & { readonly says: string },
    said?: Saying,
  ): Plain<number, Saying> => plain(number(limits), said),
  boolean: <const Saying extends Said<boolean> = object>(said?: Saying): Plain<boolean, Saying> => plain(boolean, said),
  /** A text that is not empty. */
  string: <Value extends string = string, const Saying extends Said<Value> = object>(
    said?: Saying,
  ): Plain<Value, Saying> => plain(nonEmptyString, said),
  /** A text, whatever it says. */
  anyString: (): Option<string, 'optional', string> => plain(anyString, undefined),
  /** A text of some form. Faults do not repeat it: it may be a secret. */
  stringThat: (right: string, pattern: RegExp): Option<string, 'optional', string> =>
    plain(stringThat(right, pattern), undefined),
  /** One of some words. */
  enum: <const Word extends string, const Saying extends Said<Word> = object>(
    words: readonly Word[],
    said?: Saying,
  ): Plain<Word, Saying> => plain(enumeration(words), said),
  array: <Value, const Saying extends Said<readonly Value[]> = object>(
    of: Option<Value>,
    said?: Saying,
  ): Plain<readonly Value[], Saying> => plain(array(of), said),
  /** An object with names of the program's own. */
  record: <Value, const Saying extends Said<Readonly<Record<string, Value>>> = object>(
    of: Option<Value>,
    said?: Saying,
  ): Plain<Readonly<Record<string, Value>>, Saying> => plain(record(of), said),
  /** One of two kinds; what is wrong with a value is what is wrong with it as the second. */
  union: <One, Other>(one: Option<One>, other: Option<Other>): Option<One | Other, 'optional', One | Other> =>
    plain(union([one, other]), undefined),
  /** Options that are filled with their defaults, all of which have one, or have one computed. */
  section: <Whole extends object>(options: {
    readonly [Name in keyof Whole]: Option<unknown, 'default' | 'computed', Exclude<Whole[Name], undefined>>;
  }): Option<Partially<Whole>, 'default', Whole> => {
    const table = options as unknown as OptionTable;
    return { ...schemaOf(table), when: 'default', table, isFilled: true } as Option<Partially<Whole>, 'default', Whole>;
  },
  object,
  /** A function of the given type, such as `(event: RequestEvent) => void`. */
  callable: <Value>(type: string, right = 'a function'): Option<Value, 'optional', Value> =>
    plain(
      valueThat(right, (value) => typeof value === 'function'),
      undefined,
      type,
    ),
  /** An object with functions of these names: something that implements a contract. */
  contract: <Value>(
    type: string,
    right: string,
    functions: readonly (keyof Value & string)[],
  ): Option<Value, 'optional', Value> => plain(withFunctions(right, ...functions), undefined, type),
  /** What a schema of its own accepts. */
  checked: <Value>(type: string, schema: AnySchema): Option<Value, 'optional', Value> => plain(schema, undefined, type),
  /** Anything here: it is looked at where it is used. */
  unknown: <Value>(type: string): Option<Value, 'optional', Value> => plain(unknown, undefined, type),
};
