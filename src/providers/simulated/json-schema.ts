import { isJsonObject } from '../../protocol/json.ts';

/** A JSON Schema that is not just `true` or `false`. Its members are checked where they are read. */
export type Schema = Readonly<Record<string, unknown>>;

/** References that point to references are followed this far. */
const MOST_REFERENCES = 8;

/** A schema as an object; anything else allows everything. */
export function asSchema(value: unknown): Schema {
  return isJsonObject(value) ? value : {};
}

/** A schema without `$ref` and `allOf` at its top: what they say is merged into it. */
export function flatten(schema: Schema, root: Schema, depth = 0): Schema {
  const { $ref: reference, allOf, ...rest } = schema;
  if (depth >= MOST_REFERENCES) return rest;
  const parts: Schema[] = [];
  if (typeof reference === 'string') parts.push(asSchema(resolve(reference, root)));
  if (Array.isArray(allOf)) parts.push(...allOf.map(asSchema));
  return parts.reduce<Schema>((merged, part) => merge(merged, flatten(part, root, depth + 1)), rest);
}

/** A schema that asks for what both ask for. */
export function merge(left: Schema, right: Schema): Schema {
  const merged: Record<string, unknown> = { ...left };
  for (const [key, value] of Object.entries(right)) {
    merged[key] = key in left ? mergeMember(key, left[key], value) : value;
  }
  return merged;
}

function mergeMember(key: string, left: unknown, right: unknown): unknown {
  if (key === 'properties' && isJsonObject(left) && isJsonObject(right)) return mergeProperties(left, right);
  if (Array.isArray(left) && Array.isArray(right)) {
    if (key === 'required') return [...new Set<unknown>([...left, ...right])];
    if (key === 'enum' || key === 'type') return left.filter((value) => right.some((other) => sameJson(value, other)));
  }
  if (typeof left === 'number' && typeof right === 'number') {
    if (/^(?:min|exclusiveMin)/.test(key)) return Math.max(left, right);
    if (/^(?:max|exclusiveMax)/.test(key)) return Math.min(left, right);
  }
  return isJsonObject(left) && isJsonObject(right) ? merge(left, right) : right;
}

function mergeProperties(left: Schema, right: Schema): Schema {
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return Object.fromEntries(
    [...names].map((name) => [name, merge(asSchema(left[name]), asSchema(right[name]))] as const),
  );
}

/** True for two JSON values that are written alike. */
export function sameJson(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

/** What a reference within the schema points to. */
function resolve(reference: string, root: Schema): unknown {
  if (!reference.startsWith('#')) return undefined;
  let value: unknown = root;
  for (const step of reference.slice(1).split('/').slice(1)) {
    const key = decodeStep(step);
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Schema)[key];
  }
  return value;
}

function decodeStep(step: string): string {
  const pointer = step.replaceAll('~1', '/').replaceAll('~0', '~');
  try {
    return decodeURIComponent(pointer);
  } catch {
    return pointer;
  }
}
