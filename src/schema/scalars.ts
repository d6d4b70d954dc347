/** Schemas of strings, numbers, booleans and constants. */
import {
  HAS_NUL,
  type Issue,
  type NumberLimits,
  type StringLimits,
  wrongKind,
  NOT_ACCEPTED,
  type Schema,
} from './form.ts';

/** A text. Its characters are counted as Unicode counts them, so an emoji is one. */
export function string(limits: StringLimits = {}): Schema<string> {
  const { least = 0, most = Infinity, pattern, isTrimmed = false, withoutNul = false, says } = limits;
  return {
    form: { kind: 'string', ...limits },
    isOptional: false,
    accept: (value) => {
      if (typeof value !== 'string') return NOT_ACCEPTED;
      const read = isTrimmed ? value.trim() : value;
      if (excessOf(read, least, most) !== 0 || (withoutNul && read.includes('\0'))) return NOT_ACCEPTED;
      return pattern?.[0].test(read) === false ? NOT_ACCEPTED : read;
    },
    parse: (value, issues) => {
      if (typeof value !== 'string') {
        wrongKind('string', issues, says);
        return '';
      }
      const read = isTrimmed ? value.trim() : value;
      const excess = excessOf(read, least, most);
      if (excess < 0) issues.push(tooSmall('string', least));
      else if (excess > 0) issues.push(tooBig('string', most));
      else if (withoutNul && read.includes('\0')) issues.push(minor(HAS_NUL));
      else if (pattern?.[0].test(read) === false) issues.push(minor(pattern[1]));
      return read;
    },
  };
}

function minor(message: string): Issue {
  return { code: 'custom', message, path: [], isMinor: true };
}

/**
 * Whether a text has too many characters (1), too few (-1), or as many as it may. A character has one or two code units,
 * so nearly always their number is enough to know.
 */
function excessOf(value: string, least: number, most: number): -1 | 0 | 1 {
  const { length } = value;
  if (length >= 2 * least && length <= most) return 0;
  const characters = length < least || length > 2 * most ? length : charactersIn(value);
  return characters < least ? -1 : characters > most ? 1 : 0;
}

export function charactersIn(value: string): number {
  let count = 0;
  for (const _ of value) count += 1;
  return count;
}

/** A finite number. */
export function number(limits: NumberLimits = {}): Schema<number> {
  return numeric(limits, 'number');
}

/** A whole number that can be written exactly. */
export function integer(limits: NumberLimits = {}): Schema<number> {
  return numeric(limits, 'int');
}

function numeric(limits: NumberLimits, kind: 'number' | 'int'): Schema<number> {
  const { least = -Infinity, most = Infinity, above = -Infinity, multipleOf, isEndless = false, says } = limits;
  const isInteger = kind === 'int';
  const isRight = isInteger ? Number.isSafeInteger : multipleOf === 1 ? Number.isInteger : Number.isFinite;
  const accept = (value: unknown): number | typeof NOT_ACCEPTED =>
    typeof value === 'number' && isRight(value) && value >= least && value <= most && value > above
      ? value
      : NOT_ACCEPTED;
  return {
    form: { kind: 'number', isInteger, ...limits },
    isOptional: false,
    accept: isEndless ? (value) => (value === Infinity ? value : accept(value)) : accept,
    parse: (value, issues) => {
      if (says !== undefined || isEndless) {
        if (accept(value) === NOT_ACCEPTED && !(isEndless && value === Infinity)) wrongKind('number', issues, says);
      } else if (typeof value !== 'number' || !Number.isFinite(value)) wrongKind('number', issues);
      else if (isInteger && !Number.isInteger(value)) wrongKind('int', issues);
      else if (isInteger && value > Number.MAX_SAFE_INTEGER) issues.push(tooBig('int', Number.MAX_SAFE_INTEGER));
      else if (isInteger && value < Number.MIN_SAFE_INTEGER) issues.push(tooSmall('int', Number.MIN_SAFE_INTEGER));
      else if (value < least) issues.push(tooSmall('number', least));
      else if (value <= above) issues.push({ ...tooSmall('number', above), inclusive: false });
      else if (value > most) issues.push(tooBig('number', most));
      return value as number;
    },
  };
}

/** True or false. */
export const boolean: Schema<boolean> = {
  form: { kind: 'boolean' },
  isOptional: false,
  accept: (value) => (typeof value === 'boolean' ? value : NOT_ACCEPTED),
  parse: (value, issues) => {
    if (typeof value !== 'boolean') wrongKind('boolean', issues);
    return value as boolean;
  },
};

/** A value that nobody here looks at. As a member of an object it has to be there all the same. */
export const unknown: Schema<unknown> = {
  form: { kind: 'unknown' },
  isOptional: false,
  accept: (value) => value,
  parse: (value) => value,
};

/** One of several words. */
export function enumeration<const Word extends string>(words: readonly Word[]): Schema<Word> {
  const known = new Set<unknown>(words);
  return {
    form: { kind: 'enum', words },
    isOptional: false,
    accept: (value) => (known.has(value) ? (value as Word) : NOT_ACCEPTED),
    parse: (value, issues) => {
      if (!known.has(value)) issues.push({ code: 'invalid_value', values: words, path: [] });
      return value as Word;
    },
  };
}

/** Exactly one value. */
export function literal<const Value extends string | number | boolean>(value: Value, says?: string): Schema<Value> {
  return {
    form: { kind: 'literal', value, says },
    isOptional: false,
    accept: (given) => (given === value ? value : NOT_ACCEPTED),
    parse: (given, issues) => {
      if (given !== value) issues.push({ code: 'invalid_value', values: [value], path: [], message: says });
      return value;
    },
  };
}

/** A value that one test finds right, for what no other kind says. */
export function custom<Value>(test: (value: unknown) => boolean, says: string): Schema<Value> {
  return {
    form: { kind: 'custom', test, says },
    isOptional: false,
    accept: (value) => (test(value) ? (value as Value) : NOT_ACCEPTED),
    parse: (value, issues) => {
      if (!test(value)) issues.push({ code: 'custom', message: says, path: [] });
      return value as Value;
    },
  };
}

type TooSmall = Extract<Issue, { code: 'too_small' }>;

/** The issue of a value below its limit. */
export function tooSmall(origin: 'string' | 'array' | 'number' | 'int', minimum: number): TooSmall {
  return { code: 'too_small', origin, minimum, inclusive: true, path: [], isMinor: true };
}

/** The issue of a value above its limit. */
export function tooBig(origin: 'string' | 'array' | 'number' | 'int', maximum: number, message?: string): Issue {
  return { code: 'too_big', origin, maximum, inclusive: true, path: [], isMinor: true, message };
}
