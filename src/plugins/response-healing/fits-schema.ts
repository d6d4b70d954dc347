/** Decides whether a JSON value fits a JSON Schema. */
import type { Mismatch } from '../../contracts/failure.ts';
import { percentDecoded } from '../../platform/data-url.ts';
import { charactersIn } from '../../schema/scalars.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import { canonical, list, number } from '../../platform/json.ts';
import { matchesPattern } from './safe-pattern.ts';

/** Subschemas that are applied before the answer is "nobody can say": a schema can be made to branch without end. */
const MAX_STEPS = 100_000;
const MAX_DEPTH = 200;

/** Keywords that say something about a value which is not worked out here. */
const NOT_UNDERSTOOD = ['unevaluatedProperties', 'unevaluatedItems', '$dynamicRef', '$recursiveRef', 'dependencies'];

/**
 * Whether a JSON value fits a JSON Schema (2020-12, with what drafts 4 and 7 and OpenAPI 3.0 say differently): true or
 * false when that is certain, undefined when nobody can say. Formats are remarks, as the standard has it; references to
 * elsewhere, `unevaluated…` and expressions whose work has no limit are not worked out; an unknown keyword says nothing.
 * So false is only ever said of values that do not fit.
 */
export function fitsSchema(schema: JsonValue, value: JsonValue): Verdict {
  return new Validation(schema).check(schema, value, 0);
}

/**
 * The first place where a value does not fit a schema, by path, and what is wrong there; undefined for one that fits or
 * of which nobody can say. Names of the schema and of the value are said, values never.
 */
export function firstMismatch(schema: JsonValue, value: JsonValue): SchemaMismatch | undefined {
  return new Validation(schema).mismatch(schema, value, { path: '', depth: 0 });
}

/** Where a value does not fit a schema. */
type SchemaMismatch = Pick<Mismatch, 'path' | 'problem'>;

/** Where a search for a mismatch stands. */
interface Place {
  readonly path: string;
  readonly depth: number;
}

class Validation {
  readonly #root: JsonValue;
  /** Until draft 7, what is beside a reference says nothing. */
  readonly #refersAlone: boolean;
  #steps = 0;

  constructor(root: JsonValue) {
    this.#root = root;
    const draft = isJsonObject(root) ? root['$schema'] : undefined;
    this.#refersAlone = typeof draft === 'string' && /draft-0[3-7]/.test(draft);
  }

  check(schema: JsonValue | undefined, value: JsonValue, depth: number): Verdict {
    if (typeof schema === 'boolean') return schema;
    this.#steps += 1;
    if (!isJsonObject(schema) || depth > MAX_DEPTH || this.#steps > MAX_STEPS) return undefined;
    if (value === null && schema['nullable'] === true) return true;
    return all(this.#verdicts(schema, value, depth + 1));
  }

  *#verdicts(schema: JsonObject, value: JsonValue, depth: number): Generator<Verdict> {
    if (NOT_UNDERSTOOD.some((keyword) => schema[keyword] !== undefined)) yield undefined;
    if (typeof schema['$ref'] === 'string') {
      yield this.#referred(schema['$ref'], value, depth);
      if (this.#refersAlone) return;
    }
    yield* scalarVerdicts(schema, value);
    if (isJsonObject(value)) yield* this.#ofObject(schema, value, depth);
    if (Array.isArray(value)) yield* this.#ofArray(schema, value, depth);
    const { allOf, anyOf, oneOf } = schema;
    if (Array.isArray(allOf)) yield all(this.#each(allOf, value, depth));
    if (Array.isArray(anyOf)) yield any(this.#each(anyOf, value, depth));
    if (Array.isArray(oneOf)) yield some(this.#each(oneOf, value, depth), 1, 1);
    if (schema['not'] !== undefined) yield not(this.check(schema['not'], value, depth));
    if (schema['if'] !== undefined) yield this.#conditional(schema, value, depth);
  }

  *#each(schemas: readonly JsonValue[], value: JsonValue, depth: number): Generator<Verdict> {
    for (const schema of schemas) yield this.check(schema, value, depth);
  }

  #conditional(schema: JsonObject, value: JsonValue, depth: number): Verdict {
    const holds = this.check(schema['if'], value, depth);
    const then = this.check(schema['then'] ?? true, value, depth);
    const otherwise = this.check(schema['else'] ?? true, value, depth);
    if (holds === undefined) return then === otherwise ? then : undefined;
    return holds ? then : otherwise;
  }

  *#ofObject(schema: JsonObject, value: JsonObject, depth: number): Generator<Verdict> {
    const keys = Object.keys(value);
    const { required, minProperties, maxProperties, propertyNames, dependentRequired, dependentSchemas } = schema;
    if (Array.isArray(required)) yield required.every((name) => typeof name !== 'string' || Object.hasOwn(value, name));
    if (typeof minProperties === 'number') yield keys.length >= minProperties;
    if (typeof maxProperties === 'number') yield keys.length <= maxProperties;
    if (propertyNames !== undefined) for (const key of keys) yield this.check(propertyNames, key, depth);
    for (const key of keys) yield this.#member(schema, key, value[key] ?? null, depth);
    for (const [key, names] of members(dependentRequired)) {
      if (!Object.hasOwn(value, key) || !Array.isArray(names)) continue;
      yield names.every((name) => typeof name !== 'string' || Object.hasOwn(value, name));
    }
    for (const [key, dependent] of members(dependentSchemas)) {
      if (Object.hasOwn(value, key)) yield this.check(dependent, value, depth);
    }
  }

  #member(schema: JsonObject, key: string, value: JsonValue, depth: number): Verdict {
    const { properties, patternProperties, additionalProperties } = schema;
    const own = isJsonObject(properties) && Object.hasOwn(properties, key) ? properties[key] : undefined;
    const verdicts = own === undefined ? [] : [this.check(own, value, depth)];
    let isUnsure = false;
    for (const [pattern, one] of members(patternProperties)) {
      const matches = matchesPattern(pattern, key);
      if (matches === true) verdicts.push(this.check(one, value, depth));
      else if (matches === undefined) isUnsure = true;
    }
    if (isUnsure) verdicts.push(undefined);
    else if (verdicts.length === 0 && additionalProperties !== undefined) {
      return this.check(additionalProperties, value, depth);
    }
    return all(verdicts);
  }

  *#ofArray(schema: JsonObject, value: readonly JsonValue[], depth: number): Generator<Verdict> {
    const { minItems, maxItems, uniqueItems, prefixItems, items, additionalItems, contains } = schema;
    if (typeof minItems === 'number') yield value.length >= minItems;
    if (typeof maxItems === 'number') yield value.length <= maxItems;
    if (uniqueItems === true) yield new Set(value.map(canonical)).size === value.length;
    const first = Array.isArray(prefixItems) ? prefixItems : list(items);
    const rest = Array.isArray(items) ? additionalItems : items;
    for (const [index, item] of value.entries()) yield this.check(first[index] ?? rest ?? true, item, depth);
    if (contains === undefined) return;
    const least = number(schema['minContains']) ?? 1;
    const most = number(schema['maxContains']) ?? Infinity;
    yield some(
      value.map((item) => this.check(contains, item, depth)),
      least,
      most,
    );
  }

  /** The first place where a value does not fit; see {@link firstMismatch}. */
  mismatch(schema: JsonValue | undefined, value: JsonValue, place: Place): SchemaMismatch | undefined {
    if (this.check(schema, value, place.depth) !== false) return undefined;
    const { path } = place;
    const at = path === '' ? '$' : path;
    if (!isJsonObject(schema)) return { path: at, problem: 'must not be there' };
    const inside = this.#within(schema, value, { path, depth: place.depth + 1 });
    return inside ?? { path: at, problem: this.#problem(schema, value, place.depth) };
  }

  /** The same for the parts of a value, and for schemas that a schema refers to. */
  #within(schema: JsonObject, value: JsonValue, place: Place): SchemaMismatch | undefined {
    const { $ref: reference, properties, items, prefixItems, additionalProperties, allOf } = schema;
    const referred = typeof reference === 'string' ? this.#find(reference) : undefined;
    const parts: (() => SchemaMismatch | undefined)[] = [];
    if (referred !== undefined) parts.push(() => this.mismatch(referred, value, place));
    if (isJsonObject(value)) {
      const declared = isJsonObject(properties) ? properties : {};
      for (const [key, one] of Object.entries(value)) {
        const path = /^\w{1,80}$/.test(key)
          ? `${place.path}.${key}`.replace(/^\./, '')
          : `${place.path}[${JSON.stringify(key.slice(0, 80))}]`;
        const part = Object.hasOwn(declared, key)
          ? declared[key]
          : isJsonObject(additionalProperties)
            ? additionalProperties
            : true;
        parts.push(() => this.mismatch(part, one ?? null, { ...place, path }));
      }
    }
    if (Array.isArray(value)) {
      const first = Array.isArray(prefixItems) ? prefixItems : list(items);
      const rest = Array.isArray(items) ? schema['additionalItems'] : items;
      for (const [index, one] of value.entries()) {
        const path = `${place.path === '' ? '$' : place.path}[${index}]`;
        parts.push(() => this.mismatch(first[index] ?? rest ?? true, one, { ...place, path }));
      }
    }
    if (Array.isArray(allOf)) for (const one of allOf) parts.push(() => this.mismatch(one, value, place));
    const form = this.#likelyForm(schema, value, place.depth);
    if (form !== undefined) parts.push(() => this.mismatch(form, value, place));
    for (const part of parts) {
      const found = part();
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Of several forms, none of which fits, the only one for a value of this type: what is wrong is within it. */
  #likelyForm({ anyOf, oneOf }: JsonObject, value: JsonValue, depth: number): JsonValue | undefined {
    const given = anyOf ?? oneOf;
    const forms = (Array.isArray(given) ? (given as readonly JsonValue[]) : []).filter((form) => {
      const named = isJsonObject(form) && typeof form['$ref'] === 'string' ? this.#find(form['$ref']) : form;
      if (!isJsonObject(named) || named['type'] === undefined) return true;
      return this.check({ type: named['type'] }, value, depth) !== false;
    });
    return forms.length === 1 && this.check(forms[0], value, depth) === false ? forms[0] : undefined;
  }

  /** What is wrong with a value itself. */
  #problem(schema: JsonObject, value: JsonValue, depth: number): string {
    const { type, required, properties, patternProperties } = schema;
    if (type !== undefined && this.check({ type }, value, depth) === false) {
      return `must be of type ${[type].flat().map(String).join(' or ')}, not ${typeOf(value)}`;
    }
    if (isJsonObject(value)) {
      const missing = list(required).find((name) => typeof name === 'string' && !Object.hasOwn(value, name));
      if (missing !== undefined) return `must have ${JSON.stringify(missing)}`;
      const declared = isJsonObject(properties) ? properties : {};
      const extra = Object.keys(value).find((key) => !Object.hasOwn(declared, key));
      if (extra !== undefined && patternProperties === undefined && schema['additionalProperties'] === false) {
        return `must not have ${JSON.stringify(extra.slice(0, 80))}`;
      }
    }
    if (schema['const'] !== undefined) return 'must be the value of "const"';
    for (const [keyword, words] of PROBLEMS) {
      const limit = schema[keyword];
      if (limit === undefined || this.check({ [keyword]: limit }, value, depth) !== false) continue;
      return typeof limit === 'number' || typeof limit === 'string' ? `${words} ${limit}` : words;
    }
    return 'does not fit its schema';
  }

  /** What a reference within the schema stands for. */
  #find(reference: string): JsonValue | undefined {
    if (!/^#(?:\/|$)/.test(reference)) return undefined;
    let found: JsonValue | undefined = this.#root;
    for (const segment of reference.split('/').slice(1)) {
      const name = (percentDecoded(segment) ?? segment).replaceAll('~1', '/').replaceAll('~0', '~');
      if (Array.isArray(found)) found = found[Number(name)];
      else found = isJsonObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
    }
    return found;
  }

  #referred(reference: string, value: JsonValue, depth: number): Verdict {
    const found = this.#find(reference);
    return found === undefined ? undefined : this.check(found, value, depth);
  }
}

/** What a value must be under keywords that are looked at one by one. */
const PROBLEMS: readonly (readonly [keyword: string, words: string])[] = [
  ['enum', 'must be one of the values of "enum"'],
  ['minimum', 'must be at least'],
  ['maximum', 'must be at most'],
  ['exclusiveMinimum', 'must be more than'],
  ['exclusiveMaximum', 'must be less than'],
  ['multipleOf', 'must be a multiple of'],
  ['minLength', 'must have so many characters at least:'],
  ['maxLength', 'must have so many characters at most:'],
  ['pattern', 'must match the expression'],
  ['minItems', 'must have so many items at least:'],
  ['maxItems', 'must have so many items at most:'],
  ['uniqueItems', 'must have no item twice'],
  ['minProperties', 'must have so many members at least:'],
  ['maxProperties', 'must have so many members at most:'],
  ['contains', 'must have an item that fits "contains"'],
  ['propertyNames', 'must have no names that do not fit "propertyNames"'],
  ['anyOf', 'must fit one of the forms of "anyOf"'],
  ['oneOf', 'must fit exactly one of the forms of "oneOf"'],
  ['not', 'must not fit "not"'],
];

function typeOf(value: JsonValue): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function members(value: JsonValue | undefined): readonly (readonly [string, JsonValue])[] {
  return isJsonObject(value)
    ? Object.entries(value).flatMap(([key, one]) => (one === undefined ? [] : [[key, one] as const]))
    : [];
}

/** What the keywords about a value by itself say: its type, its set of values, limits of numbers and texts. */
function* scalarVerdicts(schema: JsonObject, value: JsonValue): Generator<Verdict> {
  if (schema['type'] !== undefined) yield any([schema['type']].flat().map((type) => isOfType(value, type)));
  if (Array.isArray(schema['enum'])) {
    const own = canonical(value);
    yield schema['enum'].some((one) => canonical(one) === own);
  }
  if (schema['const'] !== undefined) yield canonical(schema['const']) === canonical(value);
  if (typeof value === 'number') yield all(numberVerdicts(schema, value));
  if (typeof value === 'string') yield all(textVerdicts(schema, value));
}

function isOfType(value: JsonValue, type: JsonValue): Verdict {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isJsonObject(value);
    case 'integer':
      return Number.isInteger(value);
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type;
    default:
      return undefined;
  }
}

function* numberVerdicts(schema: JsonObject, value: number): Generator<Verdict> {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  // In draft 4 the exclusive limits are flags that are beside the limits.
  if (typeof minimum === 'number') yield exclusiveMinimum === true ? value > minimum : value >= minimum;
  if (typeof maximum === 'number') yield exclusiveMaximum === true ? value < maximum : value <= maximum;
  if (typeof exclusiveMinimum === 'number') yield value > exclusiveMinimum;
  if (typeof exclusiveMaximum === 'number') yield value < exclusiveMaximum;
  if (typeof multipleOf === 'number' && multipleOf > 0) {
    const times = value / multipleOf;
    // 0.3 is a multiple of 0.1, although binary fractions say otherwise.
    yield Math.abs(times - Math.round(times)) <= 1e-9 * Math.max(1, Math.abs(times));
  }
}

function* textVerdicts({ minLength, maxLength, pattern }: JsonObject, value: string): Generator<Verdict> {
  if (typeof minLength === 'number') yield charactersIn(value) >= minLength;
  if (typeof maxLength === 'number') yield charactersIn(value) <= maxLength;
  if (pattern !== undefined) yield typeof pattern === 'string' ? matchesPattern(pattern, value) : undefined;
}

/**
 * What is known about a value under a schema: true when it fits, false when it does not, undefined when nobody can
 * say, because a keyword is not understood or the work became too much.
 */
type Verdict = boolean | undefined;

/** True when all are; one that is false decides at once. */
function all(verdicts: Iterable<Verdict>): Verdict {
  let known = true;
  for (const verdict of verdicts) {
    if (verdict === false) return false;
    if (verdict === undefined) known = false;
  }
  return known ? true : undefined;
}

/** True when one is; one that is true decides at once. */
function any(verdicts: Iterable<Verdict>): Verdict {
  let known = true;
  for (const verdict of verdicts) {
    if (verdict === true) return true;
    if (verdict === undefined) known = false;
  }
  return known ? false : undefined;
}

/** True when as many are true as a rule allows: at least `least` and at most `most`. */
function some(verdicts: Iterable<Verdict>, least: number, most: number): Verdict {
  let sure = 0;
  let possible = 0;
  for (const verdict of verdicts) {
    if (verdict === true) sure += 1;
    if (verdict !== false) possible += 1;
  }
  if (sure > most || possible < least) return false;
  return sure >= least && possible <= most ? true : undefined;
}

/** The opposite, if it is known. */
function not(verdict: Verdict): Verdict {
  return verdict === undefined ? undefined : !verdict;
}
