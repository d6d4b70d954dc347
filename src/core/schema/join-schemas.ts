/**
 * Makes one schema of several, for providers that take no `allOf`, or no union at the root: a schema that takes what they
 * took, or a little more, and says the rest in its description.
 */
import { isJsonObject } from '../../protocol/json.ts';
import {
  type JsonSchema,
  MAP_KEYWORDS,
  SILENT_KEYWORDS,
  type State,
  referredSchema,
  describedWords,
  cut,
  withDescription,
  entriesToSchema,
  isOfType,
  isScalar,
  isList,
  isSame,
  isPartOf,
} from './schema-parts.ts';

/** A schema with the members of its `allOf` merged into it. */
export function conjunction(schema: JsonSchema, state: State): JsonSchema {
  const { allOf, ...rest } = schema;
  const members = (allOf as readonly unknown[]).filter(isJsonObject);
  const [only] = members;
  // Models of programs are often referred to in this way, to have a text of their own beside the reference.
  if (members.length === 1 && only !== undefined && isAlone(only, rest, state)) return { ...only, ...rest };
  let merged: JsonSchema = rest;
  for (const member of members) merged = conjoin(merged, member, state);
  return Array.isArray(merged['allOf']) ? conjunction(merged, state) : merged;
}

function isAlone(only: JsonSchema, rest: JsonSchema, state: State): boolean {
  const { held } = state.rules;
  if (typeof only['$ref'] !== 'string' || (held !== undefined && held.recursion !== true)) return false;
  return Object.keys(rest).every((word) => word === 'description' || SILENT_KEYWORDS.has(word));
}

/**
 * One schema for values that fit two, or a little more than those: where a word has two values that cannot be joined,
 * the second is told.
 */
export function conjoin(left: JsonSchema, second: JsonSchema, state: State): JsonSchema {
  const target = referredSchema(second, state);
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
  return withDescription(entriesToSchema([...merged]), describedWords(right, lost));
}

/** The value of a word that both schemas have; undefined where it cannot be one. */
function conjoinWord(word: string, left: unknown, right: unknown, state: State): unknown {
  if (SILENT_KEYWORDS.has(word) || isSame(left, right)) return left;
  if (word === 'description') return isPartOf(right, left) ? left : `${String(left)}. ${String(right)}`;
  if (MAP_KEYWORDS.has(word) && isJsonObject(left) && isJsonObject(right)) {
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
export function flattened(schema: JsonSchema, word: 'anyOf' | 'oneOf', state: State): JsonSchema {
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
  return withDescription(
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
function plainMember(member: JsonSchema, state: State): JsonSchema {
  const target = referredSchema(member, state);
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

function requiredByAll(base: JsonSchema, members: readonly JsonSchema[]): readonly unknown[] {
  const lists = members.map(requiredOf);
  const shared = (lists[0] ?? []).filter((name) => lists.every((list) => list.includes(name)));
  return [...new Set([...requiredOf(base), ...shared])];
}

function requiredOf({ required }: JsonSchema): readonly unknown[] {
  return Array.isArray(required) ? (required as readonly unknown[]) : [];
}

/** Closed only where every member is. */
function moreOf(members: readonly JsonSchema[]): unknown {
  if (members.every((member) => member['additionalProperties'] === false)) return false;
  return members.some((member) => isOpenOnPurpose(member)) ? true : undefined;
}

function isOpenOnPurpose({ additionalProperties: more }: JsonSchema): boolean {
  return more === true || isJsonObject(more);
}

/** One schema for values of any of these; values that are named one by one stay a list of values. */
export function anyOf(schemas: readonly unknown[]): unknown {
  if (schemas.length === 1) return schemas[0];
  const objects = schemas.filter(isJsonObject);
  const values = objects.map(valuesOf);
  if (objects.length < schemas.length || values.some((list) => list === undefined)) return { anyOf: schemas };
  const types = [...new Set(objects.flatMap(({ type }) => (typeof type === 'string' ? [type] : [])))];
  const type = types.length === 1 && objects.every((one) => one['type'] !== undefined) ? { type: types[0] } : {};
  return { ...type, enum: [...new Set(values.flat())] };
}

/** The values of a schema that says nothing but which they are. */
function valuesOf(schema: JsonSchema): readonly unknown[] | undefined {
  const { const: one, enum: several, type: _, title: __, ...rest } = schema;
  if (Object.keys(rest).length > 0) return undefined;
  if (isList(several, isScalar)) return several;
  return isScalar(one) ? [one] : undefined;
}

/** What a member of a union demands: what it requires, and the values that tell it from others. */
function ruleOf(member: JsonSchema): string {
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
