/** Schemas of lists and of objects with arbitrary keys. */
import {
  type AnySchema,
  type Issue,
  type ArrayLimits,
  type MapLimits,
  below,
  echoKey,
  isObject,
  hasMajor,
  wrongKind,
  NOT_ACCEPTED,
  type Schema,
} from './form.ts';
import { unknown, tooBig, tooSmall } from './scalars.ts';

type Pairs<Value> = Record<string, Value>;

/**
 * An object whose keys are the caller's own, of values of one kind.
 *
 * @param keys - The only keys that it may have, when not any.
 */
export function record<Value>(value: Schema<Value>, keys?: readonly string[]): Schema<Pairs<Value>> {
  return {
    form: { kind: 'record', value, keys },
    isOptional: false,
    accept: (given) => {
      const pairs = acceptPairs(given);
      if (pairs === NOT_ACCEPTED || (value.form.kind === 'unknown' && keys === undefined)) return pairs as Pairs<Value>;
      for (const key in pairs) {
        const accepted = keys?.includes(key) === false ? NOT_ACCEPTED : value.accept(pairs[key]);
        // What changes a value is left to the other reading.
        if (accepted === NOT_ACCEPTED || accepted !== pairs[key]) return NOT_ACCEPTED;
      }
      return pairs as Pairs<Value>;
    },
    parse: (given, issues) => {
      const result: Pairs<Value> = {};
      const unknownKeys: string[] = [];
      for (const [key, member] of Object.entries(parsePairs(given, issues))) {
        if (keys?.includes(key) === false) {
          unknownKeys.push(JSON.stringify(key));
          continue;
        }
        const from = issues.length;
        result[key] = value.parse(member, issues);
        below(key, issues, from);
      }
      if (unknownKeys.length > 0) {
        const message = `Unrecognized key${unknownKeys.length > 1 ? 's' : ''}: ${unknownKeys.join(', ')}`;
        issues.push({ code: 'custom', message, path: [], isMinor: true });
      }
      return result;
    },
  };
}

/** A JSON object whose members nobody here looks at. */
export const jsonObject: Schema<Pairs<unknown>> = record(unknown);

/**
 * An object whose keys are the caller's own. Nothing behind the first wrong member is looked at, so that an object with
 * a hundred thousand of them costs no more than one.
 */
export function boundedRecord(value: AnySchema, limits: MapLimits = {}): Schema<Pairs<unknown>> {
  const { pairs: most = Infinity, keyLength = Infinity, key: wanted = ANY_KEY } = limits;
  return {
    form: { kind: 'boundedRecord', value, ...limits },
    isOptional: false,
    accept: (given) => {
      const pairs = acceptPairs(given);
      if (pairs === NOT_ACCEPTED) return NOT_ACCEPTED;
      let count = 0;
      for (const key in pairs) {
        count += 1;
        if (count > most || key.length > keyLength || !wanted[0].test(key)) return NOT_ACCEPTED;
        if (value.accept(pairs[key]) === NOT_ACCEPTED) return NOT_ACCEPTED;
      }
      return pairs;
    },
    parse: (given, issues) => {
      const from = issues.length;
      // Of an object with too many pairs nothing is made.
      const size = isObject(given) ? Object.keys(given).length : 0;
      if (size > most + 1) {
        issues.push({ code: 'custom', message: tooManyPairs(most, size), path: [] });
        return {};
      }
      const pairs = parsePairs(given, issues);
      if (issues.length === from) checkPairs(pairs, value, { pairs: most, keyLength, key: wanted }, issues);
      return pairs;
    },
  };
}

const ANY_KEY: readonly [RegExp, string] = [/(?:)/, ''];

function tooManyPairs(most: number, size: number): string {
  return `must have at most ${most} pairs, not ${size}`;
}

function checkPairs(
  given: Pairs<unknown>,
  value: AnySchema,
  { pairs, keyLength, key: [form, keys] }: Required<MapLimits>,
  issues: Issue[],
): void {
  const entries = Object.entries(given);
  const report = (message: string): void => {
    issues.push({ code: 'custom', message, path: [] });
  };
  if (entries.length > pairs) return report(tooManyPairs(pairs, entries.length));
  for (const [key, member] of entries) {
    if (key.length > keyLength) return report(`has a key of more than ${keyLength} characters: "${echoKey(key)}"`);
    if (!form.test(key)) return report(`must have ${keys} as its keys, not "${echoKey(key)}"`);
    const found: Issue[] = [];
    value.parse(member, found);
    const [first] = found;
    if (first === undefined) continue;
    issues.push({ ...first, path: [key, ...first.path], isMinor: false });
    return;
  }
}

/** The pairs by reference; a `__proto__` that JSON may carry is left to the other reading, which takes it out. */
function acceptPairs(value: unknown): Pairs<unknown> | typeof NOT_ACCEPTED {
  if (!isObject(value) || Object.hasOwn(value, '__proto__')) return NOT_ACCEPTED;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null ? value : NOT_ACCEPTED;
}

function parsePairs(value: unknown, issues: Issue[]): Pairs<unknown> {
  if (isObject(value) && isPlain(value)) {
    return Object.fromEntries(Object.entries(value).filter(([key]) => key !== '__proto__'));
  }
  wrongKind('record', issues);
  return {};
}

/** Instances of classes are no JSON, even when they look like it. */
function isPlain(value: object): boolean {
  const { constructor } = value;
  if (typeof constructor !== 'function') return true;
  const prototype: unknown = constructor.prototype;
  return typeof prototype === 'object' && prototype !== null && Object.hasOwn(prototype, 'isPrototypeOf');
}

/** A list of values of one kind. Of one that is too long no item is looked at. */
export function array<Item>(item: Schema<Item>, limits: ArrayLimits = {}): Schema<Item[]> {
  const { least = 0, most = Infinity, says } = limits;
  return {
    form: { kind: 'array', item, ...limits },
    isOptional: false,
    accept: (value) => {
      if (!Array.isArray(value) || value.length < least || value.length > most) return NOT_ACCEPTED;
      let items = value as Item[];
      for (let index = 0; index < value.length; index += 1) {
        const accepted = item.accept(value[index]);
        if (accepted === NOT_ACCEPTED) return NOT_ACCEPTED;
        if (accepted === value[index]) continue;
        if (items === value) items = [...items];
        items[index] = accepted;
      }
      return items;
    },
    parse: (value, issues) => {
      if (!Array.isArray(value)) {
        wrongKind('array', issues);
        return [];
      }
      if (value.length > most) {
        issues.push({ ...tooBig('array', most, says), isMinor: false });
        return [];
      }
      const start = issues.length;
      const items: Item[] = [];
      for (let index = 0; index < value.length; index += 1) {
        // One wrong item among many costs no more than the reading of that one.
        const accepted = item.accept(value[index]);
        if (accepted !== NOT_ACCEPTED) {
          items.push(accepted);
          continue;
        }
        const from = issues.length;
        items.push(item.parse(value[index], issues));
        if (issues.length === from) continue;
        below(index, issues, from);
        if (hasMajor(issues, from)) return items;
      }
      if (issues.length === start && items.length < least) issues.push(tooSmall('array', least));
      return items;
    },
  };
}
