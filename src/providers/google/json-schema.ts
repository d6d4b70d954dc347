import { isJsonObject } from '../../protocol/json.ts';
import * as read from '../../platform/json.ts';

/** Keywords that Google refuses or that mean nothing to it. */
const LEFT_OUT = new Set(['$schema', '$comment', 'const', 'nullable', 'definitions', 'allOf']);
/** Keywords whose value is one schema. */
const ONE_SCHEMA = new Set(['additionalProperties', 'not', 'contains', 'propertyNames', 'if', 'then', 'else']);
/** Keywords whose value is a list of schemas. */
const LISTS = new Set(['anyOf', 'oneOf', 'prefixItems']);
/** Keywords whose value holds schemas by name. */
const MAPS = new Set(['properties', 'patternProperties', '$defs', 'dependentSchemas']);

type Schema = Readonly<Record<string, unknown>>;

/**
 * Writes a JSON Schema as `parametersJsonSchema` and `responseJsonSchema` take it. Those are JSON Schema, and what
 * Google's models do not follow they ignore; only these are put differently: `const` becomes an `enum` of one,
 * `definitions` `$defs`, a list of `items` `prefixItems`, `nullable` a type, `allOf` one schema; beside a `$ref` stands
 * nothing, and `$schema` goes.
 */
export function googleSchema(schema: Schema): Schema {
  const merged = Array.isArray(schema['allOf']) ? mergeAll(schema, schema['allOf']) : schema;
  const written: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(merged)) {
    if (LEFT_OUT.has(keyword) || (merged['$ref'] !== undefined && !keyword.startsWith('$'))) continue;
    set(written, keyword === 'items' && Array.isArray(value) ? 'prefixItems' : keyword, convert(keyword, value));
  }
  if (merged['$ref'] === undefined && 'const' in merged) written['enum'] = [merged['const']];
  if (isJsonObject(merged['definitions'])) {
    const known = read.object(written['$defs']);
    written['$defs'] = { ...convertMap(merged['definitions']), ...known };
  }
  if (merged['nullable'] === true && typeof written['type'] === 'string') written['type'] = [written['type'], 'null'];
  return written;
}

/** The schema of a function: what it takes is an object, also where the root is a choice of several or a reference. */
export function functionSchema(schema: Schema): Schema {
  const written = googleSchema(schema);
  if (written['type'] === 'object') return written;
  const { $ref: reference, $defs: definitions, ...rest } = written;
  const shared = definitions === undefined ? {} : { $defs: definitions };
  return reference === undefined
    ? { ...written, type: 'object' }
    : { ...rest, type: 'object', anyOf: [{ $ref: reference }], ...shared };
}

/** True for the schema of a function that takes nothing: older models refuse an object without properties. */
export function takesNothing(schema: Schema | null | undefined): boolean {
  if (schema == null) return true;
  const { type, properties, ...rest } = schema;
  if (type !== undefined && type !== 'object') return false;
  if (isJsonObject(properties) && Object.keys(properties).length > 0) return false;
  return Object.entries(rest).every(
    ([keyword, value]) => SAYS_NOTHING.has(keyword) || value === false || isEmpty(value),
  );
}

/** Keywords that add no parameter. */
const SAYS_NOTHING = new Set(['$schema', '$id', '$comment', 'title', 'description', '$defs', 'definitions', 'strict']);

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function convert(keyword: string, value: unknown): unknown {
  if (keyword === '$ref' && typeof value === 'string') return value.replace(/^#\/definitions\//, '#/$defs/');
  if (keyword === 'items') return Array.isArray(value) ? value.map(convertOne) : convertOne(value);
  if (ONE_SCHEMA.has(keyword)) return convertOne(value);
  if (LISTS.has(keyword) && Array.isArray(value)) return value.map(convertOne);
  return MAPS.has(keyword) && isJsonObject(value) ? convertMap(value) : value;
}

function convertOne(value: unknown): unknown {
  return isJsonObject(value) ? googleSchema(value) : value;
}

function convertMap(schemas: Schema): Schema {
  const converted: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(schemas)) set(converted, name, convertOne(schema));
  return converted;
}

/** Puts the members of `allOf` into one schema; of keywords that are in several, properties and required add up. */
function mergeAll(schema: Schema, members: readonly unknown[]): Schema {
  let merged: Schema = {};
  for (const member of [...members, { ...schema, allOf: undefined }]) {
    if (!isJsonObject(member)) continue;
    const flat: Schema = Array.isArray(member['allOf']) ? mergeAll(member, member['allOf']) : member;
    merged = { ...merged, ...flat, ...both(merged, flat) };
  }
  const { allOf: _, ...rest } = merged;
  return rest;
}

function both(left: Schema, right: Schema): Schema {
  const joined: Record<string, unknown> = {};
  for (const keyword of ['properties', '$defs', 'definitions']) {
    const [one, other] = [left[keyword], right[keyword]];
    if (isJsonObject(one) && isJsonObject(other)) joined[keyword] = { ...one, ...other };
  }
  const [one, other] = [left['required'], right['required']];
  if (Array.isArray(one) && Array.isArray(other)) joined['required'] = [...new Set<unknown>([...one, ...other])];
  return joined;
}

/** Names such as `__proto__` are names like any other. */
function set(target: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}
