/**
 * Rewrites a JSON Schema for a provider that takes only some of its words: by an allow-list, so that words to come are
 * rewritten as well. What cannot be said is told in descriptions, where the model reads it. Pure; what a provider takes
 * is in {@link SchemaRules} of its record.
 */
import { isJsonObject } from '../../protocol/json.ts';

/** A JSON Schema, as far as it is an object. */
export type Schema = Readonly<Record<string, unknown>>;

/** Which JSON Schema a provider takes. Data only. */
export interface SchemaRules {
  /** Words that may be anywhere. Default: all. */
  readonly words?: ReadonlySet<string> | undefined;
  /** Words that may not be at the root, which must be one object. Default: none. */
  readonly notAtRoot?: ReadonlySet<string> | undefined;
  /** Values of `format`. Default: all. */
  readonly formats?: ReadonlySet<string> | undefined;
  /** Patterns that are refused. Default: none. */
  readonly refusedPatterns?: RegExp | undefined;
  /** Largest `minItems`. Default: any. */
  readonly mostMinItems?: number | undefined;
  /** Whether an object must have `properties`, and an array `items`. Default false. */
  readonly complete?: boolean | undefined;
  /** Whether a `$ref` must be alone. Default false. */
  readonly lonelyReferences?: boolean | undefined;
  /** What more is demanded where answers are held to the schema. Absent: they are not, so any object may be open. */
  readonly held?: HeldRules | undefined;
}

/** Rules of a provider that holds answers to schemas. */
export interface HeldSchemaRules extends SchemaRules {
  readonly held: HeldRules;
}

/** What more is demanded of a schema to which answers are held. Objects are closed. */
export interface HeldRules {
  /** Whether all properties must be required. Default false. */
  readonly allRequired?: boolean | undefined;
  /** Whether a schema may refer to itself. Default false. */
  readonly recursion?: boolean | undefined;
  /** Whether each schema must say of what type its values are. Default false. */
  readonly typed?: boolean | undefined;
  /** Optional properties in one request. Default: any number. */
  readonly mostOptional?: number | undefined;
  /** Properties with several types, and unions, in one request. Default: any number. */
  readonly mostUnions?: number | undefined;
  /** Levels of nesting. */
  readonly mostDepth: number;
}

/** Levels that are rewritten where answers are not held to them; what is below stays as it is. */
const MOST_DEPTH = 64;
/** Schemas that are looked at in one: few references can stand for millions of schemas. */
const MOST_LOOKED = 20_000;
/** Characters of one rule in a description. */
const MOST_TOLD = 2_000;

/** Words whose value is a schema, a list of schemas, or schemas by name. */
const ONE = new Set([
  'items',
  'additionalProperties',
  'additionalItems',
  'unevaluatedItems',
  'unevaluatedProperties',
  'contains',
  'propertyNames',
  'not',
  'if',
  'then',
  'else',
]);
const LISTS = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems']);
const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);

/** Words that say nothing about values, and nothing that a model needs. */
const SILENT = new Set(['$schema', '$id', 'id', '$comment', '$anchor', 'title', 'deprecated', 'readOnly', 'writeOnly']);

/** What is found while one schema is rewritten. */
interface State {
  readonly root: Schema;
  readonly rules: SchemaRules;
  /** Places of `$ref` that are being followed, against circles. */
  readonly following: Set<unknown>;
  optional: number;
  unions: number;
  /** Schemas that were looked at. What is referred to is looked at again for each reference. */
  looked: number;
  isImpossible: boolean;
}

/**
 * The schema of a tool's arguments as a provider takes it: always one object. The same value where nothing has to change.
 */
export function toolSchema(schema: Schema, rules: SchemaRules): Schema {
  const state = stateOf(schema, { ...rules, held: undefined });
  const object = asObject(schema, state);
  return rewrite(object, state, 0);
}

/**
 * A schema to which a provider can hold answers; undefined where it cannot: schemas that refer to themselves or to other
 * documents, objects that are open to any property, and ones that are too large. Then it is sent without being held, or
 * as an instruction.
 *
 * @param before - What other schemas of the request have used of the limits. This one is added.
 */
export function heldSchema(schema: Schema, rules: HeldSchemaRules, before?: HeldUse): Schema | undefined {
  const { held } = rules;
  if (held.recursion !== true && refersToItself(schema)) return undefined;
  const state = stateOf(schema, rules);
  const rewritten = rewrite(asObject(schema, state), state, 0);
  const optional = state.optional + (before?.optional ?? 0);
  const unions = state.unions + (before?.unions ?? 0);
  if (state.isImpossible || optional > (held.mostOptional ?? Infinity) || unions > (held.mostUnions ?? Infinity)) {
    return undefined;
  }
  if (before !== undefined) Object.assign(before, { optional, unions });
  return rewritten;
}

/** What schemas of one request have used of limits that they share. */
export interface HeldUse {
  optional: number;
  unions: number;
}

function stateOf(root: Schema, rules: SchemaRules): State {
  return { root, rules, following: new Set(), optional: 0, unions: 0, looked: 0, isImpossible: false };
}

/** One object, without the words that a root may not have. */
function asObject(schema: Schema, state: State): Schema {
  const { notAtRoot } = state.rules;
  if (notAtRoot === undefined) return schema;
  const whole = withoutReference(schema, state);
  let object = whole['$ref'] === undefined ? whole : without(whole, ['$ref']);
  for (const word of ['allOf', 'anyOf', 'oneOf'] as const) {
    if (notAtRoot.has(word) && Array.isArray(object[word])) {
      object = word === 'allOf' ? conjunction(object, state) : flattened(object, word, state);
    }
  }
  const refused = Object.keys(object).filter((word) => notAtRoot.has(word));
  if (refused.length > 0) object = withTold(without(object, refused), told(object, refused));
  // A tool that names no argument takes none.
  const isBare = state.rules.held !== undefined && object['properties'] === undefined;
  if (isBare && object['additionalProperties'] === undefined) object = { ...object, properties: {} };
  return object['type'] === 'object' ? object : { ...object, type: 'object' };
}

/** A root that is only a reference, with what it refers to in its place. */
function withoutReference(schema: Schema, state: State): Schema {
  const target = targetOf(schema, state);
  if (target === undefined) return schema;
  const { $ref: _, ...rest } = schema;
  state.following.add(target);
  const whole = withoutReference(conjoin(target, rest, state), state);
  state.following.delete(target);
  return whole;
}

function targetOf(schema: Schema, state: State): Schema | undefined {
  const { root, following } = state;
  const { $ref: reference } = schema;
  if (typeof reference !== 'string' || isTooMuch(state)) return undefined;
  const target = resolve(root, reference);
  if (!isJsonObject(target) || target === schema || following.has(target)) return undefined;
  return target;
}

function isTooMuch(state: State): boolean {
  state.looked += 1;
  return state.looked > MOST_LOOKED;
}

function rewrite(schema: Schema, state: State, depth: number): Schema {
  const { held } = state.rules;
  if (held === undefined) return depth > MOST_DEPTH ? schema : rewriteWords(schema, state, depth);
  if (depth > held.mostDepth || isTooMuch(state)) state.isImpossible = true;
  if (state.isImpossible) return {};
  const plain = joined(withNull(schema), state);
  const isClosed = mustClose(plain, held, state);
  const rewritten = rewriteWords(plain, state, depth);
  if (held.typed === true && !TYPING.some((word) => word in rewritten)) state.isImpossible = true;
  return isClosed && rewritten['additionalProperties'] !== false
    ? { ...rewritten, additionalProperties: false }
    : rewritten;
}

/** Words of which one says of what type a value is. */
const TYPING = ['type', 'anyOf', '$ref', 'enum', 'const'];

/** Another standard than JSON Schema has a word for values that may be null. */
function withNull({ nullable, ...schema }: Schema): Schema {
  if (nullable === undefined) return schema;
  const { type } = schema;
  return nullable === true && typeof type === 'string' && type !== 'null'
    ? { ...schema, type: [type, 'null'] }
    : schema;
}

/**
 * A schema whose `allOf` is merged, and whose conditional unions are told: each of their members would be closed by
 * itself, so that nothing fits any more.
 */
function joined(schema: Schema, state: State): Schema {
  let one = Array.isArray(schema['allOf']) ? conjunction(schema, state) : schema;
  for (const word of ['anyOf', 'oneOf'] as const) {
    if (Array.isArray(one[word]) && isJsonObject(one['properties'])) one = flattened(one, word, state);
  }
  return one;
}

/** Objects must be closed; one that is open on purpose would lose everything it is for. */
function mustClose(schema: Schema, held: HeldRules, state: State): boolean {
  const { type, properties, required, additionalProperties: more } = schema;
  if (Array.isArray(type) || Array.isArray(schema['anyOf']) || Array.isArray(schema['oneOf'])) state.unions += 1;
  if (!isOfType(schema, 'object') && properties === undefined) return false;
  const names = isJsonObject(properties) ? Object.keys(properties) : [];
  const isOpen = more === true || isJsonObject(more) || (more === undefined && properties === undefined);
  if (isOpen || schema['patternProperties'] !== undefined) state.isImpossible = true;
  const needed = new Set<unknown>(Array.isArray(required) ? required : []);
  const optional = names.filter((name) => !needed.has(name)).length;
  state.optional += optional;
  if (held.allRequired === true && optional > 0) state.isImpossible = true;
  return true;
}

/** Rewrites word by word. The same value where nothing has to change, because nearly nothing ever has. */
function rewriteWords(schema: Schema, state: State, depth: number): Schema {
  const { rules } = state;
  let entries: [string, unknown][] | undefined;
  let lost: string[] | undefined;
  const words = Object.keys(schema);
  const isReference = rules.lonelyReferences === true && typeof schema['$ref'] === 'string' && words.length > 1;
  for (const [index, word] of words.entries()) {
    const value = schema[word];
    const written = isReference && !isKeptBesideReference(word) ? undefined : rewriteWord(word, value, state, depth);
    if (written === undefined || written[0] !== word || written[1] !== value) {
      entries ??= words.slice(0, index).map((name) => [name, schema[name]]);
    }
    if (written !== undefined) entries?.push(written);
    else if (!SILENT.has(word) && !isReference) (lost ??= []).push(word);
  }
  let rewritten: Schema = entries === undefined ? schema : entriesToSchema(entries);
  if (lost !== undefined) rewritten = withTold(rewritten, told(schema, lost));
  return rules.complete === true ? completed(rewritten) : rewritten;
}

/** A reference is alone, but for the definitions at the root and the text that the model reads. */
function isKeptBesideReference(word: string): boolean {
  return word === '$ref' || word === '$defs' || word === 'definitions';
}

/** A word as it may be written, under another name perhaps; undefined where it cannot be. */
function rewriteWord(word: string, value: unknown, state: State, depth: number): [string, unknown] | undefined {
  const { rules } = state;
  const { words } = rules;
  // Before 2020 a list of `items` said what is called `prefixItems` now, and limits were excluded by a flag.
  if (word === 'items' && Array.isArray(value)) return rewriteWord('prefixItems', value, state, depth);
  if (typeof value === 'boolean' && (word === 'exclusiveMinimum' || word === 'exclusiveMaximum')) return undefined;
  if (word === 'required' && !Array.isArray(value)) return undefined;
  if (words?.has(word) === false) return replacement(word, value, state, depth);
  if (word === '$ref' && rules.held !== undefined && !(typeof value === 'string' && value.startsWith('#'))) {
    state.isImpossible = true;
  }
  if (word === 'format' && rules.formats?.has(String(value)) === false) return undefined;
  if (word === 'pattern' && rules.refusedPatterns?.test(String(value)) === true) return undefined;
  if (word === 'minItems' && Number(value) > (rules.mostMinItems ?? Infinity)) return undefined;
  if (words !== undefined && word === 'enum' && !isList(value, isScalar)) return undefined;
  return [word, rewriteValue(word, value, state, depth + 1)];
}

/** What says the same, or a little less, in words that are taken. */
function replacement(word: string, value: unknown, state: State, depth: number): [string, unknown] | undefined {
  const takes = (name: string): boolean => state.rules.words?.has(name) === true;
  if (word === 'oneOf' && Array.isArray(value) && takes('anyOf')) {
    return ['anyOf', rewriteValue('anyOf', value, state, depth + 1)];
  }
  if (word === 'const' && takes('enum') && isScalar(value)) return ['enum', [value]];
  if (word === 'definitions' && takes('$defs')) return ['$defs', rewriteValue('$defs', value, state, depth + 1)];
  return undefined;
}

function rewriteValue(word: string, value: unknown, state: State, depth: number): unknown {
  if (ONE.has(word)) return rewriteOne(value, state, depth);
  if (LISTS.has(word) && Array.isArray(value)) {
    return unchanged(
      value,
      value.map((one: unknown) => rewriteOne(one, state, depth)),
    );
  }
  if (!MAPS.has(word) || !isJsonObject(value)) return value;
  const names = Object.keys(value);
  const schemas = names.map((name) => value[name]);
  const rewritten = unchanged(
    schemas,
    schemas.map((one) => rewriteOne(one, state, depth)),
  );
  return rewritten === schemas ? value : entriesToSchema(names.map((name, index) => [name, rewritten[index]]));
}

function rewriteOne(value: unknown, state: State, depth: number): unknown {
  if (value === true && state.rules.complete === true) return {};
  return isJsonObject(value) ? rewrite(value, state, depth) : value;
}

function unchanged(before: readonly unknown[], after: readonly unknown[]): readonly unknown[] {
  return after.every((value, index) => value === before[index]) ? before : after;
}

/** Servers that check schemas demand what JSON Schema takes for granted. */
function completed(schema: Schema): Schema {
  if (isOfType(schema, 'object') && schema['properties'] === undefined) return { ...schema, properties: {} };
  if (isOfType(schema, 'array') && schema['items'] === undefined) return { ...schema, items: {} };
  return schema;
}

/** A schema with the members of its `allOf` merged into it. */
function conjunction(schema: Schema, state: State): Schema {
  const { allOf, ...rest } = schema;
  const members = (allOf as readonly unknown[]).filter(isJsonObject);
  const [only] = members;
  // Models of programs are often referred to in this way, to have a text of their own beside the reference.
  if (members.length === 1 && only !== undefined && isAlone(only, rest, state)) return { ...only, ...rest };
  let merged: Schema = rest;
  for (const member of members) merged = conjoin(merged, member, state);
  return Array.isArray(merged['allOf']) ? conjunction(merged, state) : merged;
}

function isAlone(only: Schema, rest: Schema, state: State): boolean {
  if (typeof only['$ref'] !== 'string' || state.rules.held?.recursion !== true) return false;
  return Object.keys(rest).every((word) => word === 'description' || SILENT.has(word));
}

/**
 * One schema for values that fit two, or a little more than those: where a word has two values that cannot be joined,
 * the second is told.
 */
function conjoin(left: Schema, second: Schema, state: State): Schema {
  const target = targetOf(second, state);
  if (target !== undefined) {
    const { $ref: _, ...rest } = second;
    state.following.add(target);
    const merged = conjoin(conjoin(left, target, state), rest, state);
    state.following.delete(target);
    return merged;
  }
  const right = Array.isArray(second['allOf']) ? conjunction(second, state) : second;
  const merged = new Map<string, unknown>(Object.entries(left));
  const lost: string[] = [];
  for (const [word, value] of Object.entries(right)) {
    const before = merged.get(word);
    const both = before === undefined ? value : conjoinWord(word, before, value, state);
    if (both === undefined) lost.push(word);
    else merged.set(word, both);
  }
  return withTold(entriesToSchema([...merged]), told(right, lost));
}

/** The value of a word that both schemas have; undefined where it cannot be one. */
function conjoinWord(word: string, left: unknown, right: unknown, state: State): unknown {
  if (SILENT.has(word) || isSame(left, right)) return left;
  if (word === 'description') return isPartOf(right, left) ? left : `${String(left)}. ${String(right)}`;
  if (MAPS.has(word) && isJsonObject(left) && isJsonObject(right)) {
    const merged = new Map<string, unknown>(Object.entries(left));
    for (const [name, schema] of Object.entries(right)) {
      const before = merged.get(name);
      merged.set(
        name,
        isJsonObject(before) && isJsonObject(schema) ? conjoin(before, schema, state) : (before ?? schema),
      );
    }
    return entriesToSchema([...merged]);
  }
  if (word === 'items' && isJsonObject(left) && isJsonObject(right)) return conjoin(left, right, state);
  if (word === 'required' && Array.isArray(left) && Array.isArray(right))
    return [...new Set<unknown>([...left, ...right])];
  if (word === 'additionalProperties') return left === false || right === false ? false : undefined;
  if (word === 'type') return typesOfBoth(left, right);
  return undefined;
}

function typesOfBoth(left: unknown, right: unknown): unknown {
  const [one, other] = [[left].flat(), [right].flat()];
  const types = one.flatMap((type) => {
    if (other.includes(type)) return [type];
    if (type === 'number' && other.includes('integer')) return ['integer'];
    return type === 'integer' && other.includes('number') ? [type] : [];
  });
  return types.length > 1 ? types : types[0];
}

const RULES = { anyOf: 'At least one of these rules must be kept', oneOf: 'Exactly one of these rules must be kept' };

/**
 * An object without its union: with the properties of all its members, of which those are required that all require. The
 * rule itself is told. A property that only some members name is as they have it.
 */
function flattened(schema: Schema, word: 'anyOf' | 'oneOf', state: State): Schema {
  const { [word]: union, ...base } = schema;
  const members = (union as readonly unknown[])
    .filter(isJsonObject)
    .map((member) => plainMember(member, state))
    .filter((member) => member['type'] === undefined || isOfType(member, 'object'));
  if (members.length === 0) return base;
  const properties = new Map<string, unknown>(
    Object.entries(isJsonObject(base['properties']) ? base['properties'] : {}),
  );
  const found = new Map<string, unknown[]>();
  for (const { properties: named } of members) {
    for (const [name, value] of Object.entries(isJsonObject(named) ? named : {})) {
      if (properties.has(name)) continue;
      const schemas = found.get(name) ?? [];
      if (!schemas.some((one) => isSame(one, value))) schemas.push(value);
      found.set(name, schemas);
    }
  }
  for (const [name, schemas] of found) properties.set(name, anyOf(schemas));
  const required = requiredByAll(base, members);
  const rule = `${RULES[word]}: ${members.map(ruleOf).join(' | ')}`;
  const more = base['additionalProperties'] ?? moreOf(members);
  return withTold(
    {
      ...base,
      ...(properties.size > 0 ? { properties: entriesToSchema([...properties]) } : {}),
      ...(required.length > 0 ? { required } : {}),
      ...(more === undefined ? {} : { additionalProperties: more }),
    },
    [rule],
  );
}

/** A member of a union without references and unions of its own. */
function plainMember(member: Schema, state: State): Schema {
  const target = targetOf(member, state);
  if (target !== undefined) {
    const { $ref: _, ...rest } = member;
    state.following.add(target);
    const plain = plainMember(conjoin(target, rest, state), state);
    state.following.delete(target);
    return plain;
  }
  let plain = Array.isArray(member['allOf']) ? conjunction(member, state) : member;
  for (const word of ['anyOf', 'oneOf'] as const) {
    if (Array.isArray(plain[word])) plain = flattened(plain, word, state);
  }
  return plain;
}

function requiredByAll(base: Schema, members: readonly Schema[]): readonly unknown[] {
  const lists = members.map(requiredOf);
  const shared = (lists[0] ?? []).filter((name) => lists.every((list) => list.includes(name)));
  return [...new Set([...requiredOf(base), ...shared])];
}

function requiredOf({ required }: Schema): readonly unknown[] {
  return Array.isArray(required) ? (required as readonly unknown[]) : [];
}

/** Closed only where every member is. */
function moreOf(members: readonly Schema[]): unknown {
  if (members.every((member) => member['additionalProperties'] === false)) return false;
  return members.some((member) => isOpenOnPurpose(member)) ? true : undefined;
}

function isOpenOnPurpose({ additionalProperties: more }: Schema): boolean {
  return more === true || isJsonObject(more);
}

/** One schema for values of any of these; values that are named one by one stay a list of values. */
function anyOf(schemas: readonly unknown[]): unknown {
  if (schemas.length === 1) return schemas[0];
  const objects = schemas.filter(isJsonObject);
  const values = objects.map(valuesOf);
  if (objects.length < schemas.length || values.some((list) => list === undefined)) return { anyOf: schemas };
  const types = [...new Set(objects.flatMap(({ type }) => (typeof type === 'string' ? [type] : [])))];
  const type = types.length === 1 && objects.every((one) => one['type'] !== undefined) ? { type: types[0] } : {};
  return { ...type, enum: [...new Set(values.flat())] };
}

/** The values of a schema that says nothing but which they are. */
function valuesOf(schema: Schema): readonly unknown[] | undefined {
  const { const: one, enum: several, type: _, title: __, ...rest } = schema;
  if (Object.keys(rest).length > 0) return undefined;
  if (isList(several, isScalar)) return several;
  return isScalar(one) ? [one] : undefined;
}

/** What a member of a union demands: what it requires, and the values that tell it from others. */
function ruleOf(member: Schema): string {
  const { properties, required, description } = member;
  const named = Object.entries(isJsonObject(properties) ? properties : {});
  const telling = named.flatMap(([name, one]) => {
    const values = isJsonObject(one) ? valuesOf(one) : undefined;
    return values === undefined ? [] : [[name, values.length === 1 ? values[0] : values] as const];
  });
  const parts = [
    ...(typeof description === 'string' ? [description] : []),
    ...(requiredOf(member).length > 0 ? [`required ${JSON.stringify(required)}`] : []),
    ...(telling.length > 0 ? [`with ${JSON.stringify(Object.fromEntries(telling))}`] : []),
  ];
  if (parts.length > 0) return parts.join(' ');
  const names = named.map(([name]) => name);
  return names.length > 0 ? `properties ${JSON.stringify(names)}` : cut(JSON.stringify(member));
}

/** Words that are lost, as text for a description. */
function told(schema: Schema, words: readonly string[]): readonly string[] {
  return words.filter((word) => !SILENT.has(word)).map((word) => cut(`${word}: ${JSON.stringify(schema[word])}`));
}

function cut(text: string): string {
  return text.length > MOST_TOLD ? `${text.slice(0, MOST_TOLD)}…` : text;
}

function withTold(schema: Schema, texts: readonly string[]): Schema {
  if (texts.length === 0) return schema;
  const { description } = schema;
  const own = typeof description === 'string' && description !== '' ? [description] : [];
  return { ...schema, description: [...own, texts.join(', ')].join('. ') };
}

function without(schema: Schema, words: readonly string[]): Schema {
  return entriesToSchema(Object.entries(schema).filter(([word]) => !words.includes(word)));
}

/** Names such as `__proto__` are names like any other. */
function entriesToSchema(entries: readonly (readonly [string, unknown])[]): Schema {
  return Object.fromEntries(entries);
}

function isOfType({ type }: Schema, wanted: string): boolean {
  return type === wanted || (Array.isArray(type) && type.includes(wanted));
}

function isScalar(value: unknown): boolean {
  return value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

function isList(value: unknown, of: (one: unknown) => boolean): value is readonly unknown[] {
  return Array.isArray(value) && value.every(of);
}

function isSame(left: unknown, right: unknown): boolean {
  return left === right || JSON.stringify(left) === JSON.stringify(right);
}

function isPartOf(text: unknown, whole: unknown): boolean {
  return typeof text === 'string' && typeof whole === 'string' && whole.includes(text);
}

/** Follows the references inside a schema; a way that comes back to where it was is a circle. */
function refersToItself(root: Schema): boolean {
  const done = new Set<unknown>();
  const visit = (value: unknown, trail: ReadonlySet<unknown>): boolean => {
    if (Array.isArray(value)) return value.some((one: unknown) => visit(one, trail));
    if (!isJsonObject(value) || done.has(value)) return false;
    if (trail.has(value) || trail.size > MOST_DEPTH) return true;
    const inner = new Set(trail).add(value);
    const { $ref: reference } = value;
    const target = typeof reference === 'string' ? resolve(root, reference) : undefined;
    const circular = visit(target, inner) || Object.values(value).some((one) => visit(one, inner));
    done.add(value);
    return circular;
  };
  return visit(root, new Set());
}

function resolve(root: Schema, reference: string): unknown {
  if (!reference.startsWith('#')) return undefined;
  let place: unknown = root;
  for (const step of reference.split('/').slice(1)) {
    if (!isJsonObject(place)) return undefined;
    place = place[step.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return place;
}
