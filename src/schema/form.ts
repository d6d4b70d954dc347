/** The types that all schemas of requests are made of. */

/** Any schema. */
export type AnySchema = Schema<unknown>;
/** Schemas of the members of an object, by name. */
export type Shape = Readonly<Record<string, AnySchema>>;

/** Limits of a text, in characters of Unicode. */
export interface StringLimits {
  /** Fewest characters. */
  readonly least?: number;
  /** Most characters. */
  readonly most?: number;
  /** What it has to look like, and what is said when it does not. */
  readonly pattern?: readonly [RegExp, string];
  /** Whether white space around it is taken off first. */
  readonly isTrimmed?: boolean;
  /** Whether NUL characters are refused. */
  readonly withoutNul?: boolean;
  /** What is said of a value that is no text. */
  readonly says?: string;
}

/** What is said of a text with a NUL character, where those are refused. */
export const HAS_NUL = 'must not contain a NUL character';

/** Limits of a number. */
export interface NumberLimits {
  readonly least?: number;
  readonly most?: number;
  /** What it has to be more than. */
  readonly above?: number;
  /** 1: whole numbers alone, also those that are too large to be written exactly. */
  readonly multipleOf?: 1;
  /** Whether `Infinity` is right, too. */
  readonly isEndless?: boolean;
  /** What is said of a value that is not such a number. */
  readonly says?: string;
}

/** Limits of a list. */
export interface ArrayLimits {
  /** Fewest items. */
  readonly least?: number;
  /** Most items. */
  readonly most?: number;
  /** What is said of a list that is too long. */
  readonly says?: string;
}

/** Limits of an object whose keys are the caller's own. */
export interface MapLimits {
  /** Most pairs. */
  readonly pairs?: number;
  /** Most characters of a key. */
  readonly keyLength?: number;
  /** What keys have to look like, and what they are, in words. */
  readonly key?: readonly [RegExp, string];
}

/** What an object does with unknown members: keeps them, refuses them, or takes them out. */
export type UnknownKeys = 'kept' | 'refused' | 'dropped';

/** A schema as data. */
export type Form =
  | ({ readonly kind: 'string' } & StringLimits)
  | ({ readonly kind: 'number'; readonly isInteger: boolean } & NumberLimits)
  | { readonly kind: 'boolean' | 'unknown' }
  | { readonly kind: 'enum'; readonly words: readonly string[] }
  | { readonly kind: 'literal'; readonly value: string | number | boolean; readonly says?: string | undefined }
  | ({ readonly kind: 'array'; readonly item: AnySchema } & ArrayLimits)
  | {
      readonly kind: 'object';
      readonly shape: Shape;
      readonly unknownKeys: UnknownKeys;
      /** What is said of an unknown member, given its name. */
      readonly says?: ((name: string) => string) | undefined;
      /** What is said of a value that is no object. */
      readonly saysOfOthers?: string | undefined;
    }
  | { readonly kind: 'record'; readonly value: AnySchema; readonly keys?: readonly string[] | undefined }
  | ({ readonly kind: 'boundedRecord'; readonly value: AnySchema } & MapLimits)
  | { readonly kind: 'union'; readonly options: readonly AnySchema[] }
  | { readonly kind: 'discriminatedUnion'; readonly tag: string; readonly options: readonly AnySchema[] }
  | { readonly kind: 'refine'; readonly inner: AnySchema; readonly rule: Refinement<never> }
  | { readonly kind: 'narrowed'; readonly base: AnySchema; readonly narrow: Narrowing }
  | { readonly kind: 'custom'; readonly test: (value: unknown) => boolean; readonly says: string }
  | { readonly kind: 'check'; readonly inner: AnySchema; readonly check: Check }
  | { readonly kind: 'optional' | 'nullable' | 'lazy'; readonly inner: () => AnySchema }
  | { readonly kind: 'default'; readonly inner: () => AnySchema; readonly missing: () => unknown };

/** What is wrong with an object, seen from its own members alone. */
export interface Misplaced {
  readonly says: string;
  readonly path: readonly string[];
}

/** Finds everything that is wrong with a value, where that is more than one rule. */
export type Check = (value: unknown, path: string) => Iterable<{ readonly path: string; readonly problem: string }>;

/** Finds the schema that the members of an object require, or what is wrong with them. */
export type Narrowing = (value: Readonly<Record<string, unknown>>) => AnySchema | Misplaced | undefined;

interface Located {
  /** Steps from the value that was checked to the one that is wrong. */
  readonly path: PropertyKey[];
  /** Words of the schema's own; without them the code speaks. */
  readonly message?: string | undefined;
  /**
   * True when the value is of the right kind and breaks a limit or a rule. Of several alternatives the one whose issues
   * are all minor was meant, and checking an object goes on behind a minor issue.
   */
  readonly isMinor?: boolean | undefined;
}

interface Bound {
  readonly origin: 'string' | 'array' | 'number' | 'int';
  readonly inclusive: boolean;
}

/** One thing that is wrong with a value. */
export type Issue = Located &
  (
    | { readonly code: 'invalid_type'; readonly expected: string }
    | { readonly code: 'invalid_value'; readonly values: readonly unknown[] }
    | ({ readonly code: 'too_small'; readonly minimum: number } & Bound)
    | ({ readonly code: 'too_big'; readonly maximum: number } & Bound)
    | {
        readonly code: 'invalid_union';
        /** The issues of each alternative. */
        readonly errors: readonly (readonly Issue[])[];
        /** The words that distinguish the alternatives, when that is what is wrong. */
        readonly options?: readonly unknown[];
      }
    | { readonly code: 'custom'; readonly message: string }
  );

/** Adds the issue of a value that is of another kind. */
export function wrongKind(expected: string, issues: Issue[], message?: string): void {
  issues.push({ code: 'invalid_type', expected, path: [], message });
}

/** Puts a step in front of the paths of all issues from an index on. */
export function below(step: PropertyKey, issues: readonly Issue[], from: number): void {
  for (let index = from; index < issues.length; index += 1) issues[index]?.path.unshift(step);
}

/** True when one of the issues from an index on is more than a broken limit. */
export function hasMajor(issues: readonly Issue[], from: number): boolean {
  return issues.slice(from).some(({ isMinor }) => isMinor !== true);
}

/** What {@link Schema.accept} gives back for a value that it does not accept at first sight. */
export const NOT_ACCEPTED: unique symbol = Symbol('refused');

/**
 * What a value has to be. Written once as a table of small schemas, and read in two ways: `accept` is all that a
 * correct request pays, `parse` is called after a refusal and says what is wrong. The OpenAPI document is written from
 * `form`.
 *
 * Values come back as they are, by reference, unless something about them changes (a default, a trimmed text, a member
 * that is taken out): then what holds them is copied.
 */
export interface Schema<Output> {
  readonly form: Form;
  /** Whether a member with this schema may be left out. */
  readonly isOptional: boolean;
  /** The value, or a refusal without reasons. It may refuse what `parse` accepts, and never accepts what that refuses. */
  readonly accept: (value: unknown) => Output | typeof NOT_ACCEPTED;
  /** The value. Whatever is wrong is added to `issues`, and then what comes back means nothing. */
  readonly parse: (value: unknown, issues: Issue[]) => Output;
}

/** A rule that no limit expresses. It runs when everything else about the value is right. */
export interface Refinement<Value> {
  readonly test: (value: Value) => boolean;
  /** What is wrong, as the end of a sentence that begins with the path. */
  readonly says: string | ((value: Value) => string);
  /** The member that is wrong, when it is not the value itself. */
  readonly path?: readonly string[];
  /** Whether the value is then not of this kind at all, rather than a wrong one of it: decides between alternatives. */
  readonly decides?: boolean;
}

/** The type of the values that a schema accepts. */
export type OutputOf<One> = One extends Schema<infer Output> ? Output : never;

/** True for what JSON writes as an object: neither null nor an array. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Characters of a key of the caller that an error may repeat. */
const MAX_KEY = 32;

/** A key of the caller, cut to what an error may repeat. */
export function echoKey(key: string): string {
  return cut(key, MAX_KEY);
}

/** A text with at most so many characters, the last of them `…` where more were there. */
export function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}
