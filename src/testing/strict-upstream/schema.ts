/** Walks through JSON Schemas as the rules of strict upstreams need it, and makes a value that one describes. */
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import * as read from '../../platform/json.ts';

/** A schema inside another one. */
export interface InnerSchema {
  readonly schema: JsonObject;
  /** Words and names that lead to it from the root. */
  readonly path: readonly string[];
}

const OF_SCHEMAS = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];
const OF_LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const OF_ONE = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames'];

/** A schema and all schemas inside it, the outer ones first. */
export function* schemasIn(schema: JsonObject, path: readonly string[] = []): Generator<InnerSchema> {
  yield { schema, path };
  for (const word of OF_SCHEMAS) {
    for (const [name, inner] of Object.entries(read.object(schema[word]))) {
      if (isJsonObject(inner)) yield* schemasIn(inner, [...path, word, name]);
    }
  }
  for (const word of OF_LISTS) {
    for (const [index, inner] of read.list(schema[word]).entries()) {
      if (isJsonObject(inner)) yield* schemasIn(inner, [...path, word, String(index)]);
    }
  }
  for (const word of OF_ONE) {
    const inner = schema[word];
    if (isJsonObject(inner)) yield* schemasIn(inner, [...path, word]);
  }
}

/** The first schema inside one, itself included, that fits. */
export function schemaWith(schema: JsonObject, fits: (inner: InnerSchema) => boolean): InnerSchema | undefined {
  for (const inner of schemasIn(schema)) if (fits(inner)) return inner;
  return undefined;
}

/** The first word of a schema, or of one inside it, that a list does not name. */
export function wordOutside(
  schema: JsonObject,
  known: ReadonlySet<string>,
): (InnerSchema & { readonly word: string }) | undefined {
  for (const inner of schemasIn(schema)) {
    const word = Object.keys(inner.schema).find((one) => !known.has(one));
    if (word !== undefined) return { ...inner, word };
  }
  return undefined;
}

/** Whether a schema allows objects by its type. */
export function isObjectSchema({ type }: JsonObject): boolean {
  return type === 'object' || (Array.isArray(type) && type.includes('object'));
}

/** Whether references lead from a schema back to itself. */
export function isRecursive(root: JsonObject): boolean {
  const targets = new Map<string, readonly string[]>();
  for (const word of ['$defs', 'definitions']) {
    for (const [name, inner] of Object.entries(read.object(root[word]))) {
      if (isJsonObject(inner)) targets.set(`#/${word}/${name}`, referencesIn(inner));
    }
  }
  const { $defs: _, definitions: __, ...rest } = root;
  targets.set('#', referencesIn(rest));
  return [...targets.keys()].some((start) => {
    const seen = new Set<string>();
    const left = [...(targets.get(start) ?? [])];
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      if (next === start) return true;
      if (seen.has(next)) continue;
      seen.add(next);
      left.push(...(targets.get(next) ?? []));
    }
    return false;
  });
}

function referencesIn(schema: JsonObject): readonly string[] {
  return [...schemasIn(schema)].flatMap(({ schema: { $ref } }) => (typeof $ref === 'string' ? [$ref] : []));
}

/** How deep a value is made. */
const DEPTH = 6;

/** A small value that a schema describes, as far as words of its kind say: what its members are and which must be there. */
export function sampleOf(schema: unknown, root: unknown = schema, depth = 0): unknown {
  const fields = read.object(schema);
  if ('const' in fields) return fields['const'];
  const [first] = read.list(fields['enum']);
  if (first !== undefined) return first;
  if (depth > DEPTH) return null;
  const reference = read.text(fields['$ref']);
  if (reference !== undefined) return sampleOf(targetOf(root, reference), root, depth + 1);
  const [branch] = [...read.objects(fields['anyOf']), ...read.objects(fields['oneOf'])];
  if (branch !== undefined && fields['properties'] === undefined) return sampleOf(branch, root, depth + 1);
  const type = Array.isArray(fields['type']) ? fields['type'][0] : fields['type'];
  switch (type) {
    case 'string':
      return 'a';
    case 'integer':
    case 'number':
      return read.number(fields['minimum']) ?? 1;
    case 'boolean':
      return true;
    case 'null':
      return null;
    case 'array':
      return Array.from({ length: read.number(fields['minItems']) ?? 0 }, () =>
        sampleOf(fields['items'], root, depth + 1),
      );
    default: {
      const properties = read.object(fields['properties']);
      return Object.fromEntries(
        read
          .list(fields['required'])
          .filter((name) => typeof name === 'string')
          .map((name) => [name, sampleOf(properties[name], root, depth + 1)]),
      );
    }
  }
}

function targetOf(root: unknown, reference: string): unknown {
  if (!reference.startsWith('#')) return {};
  return reference
    .slice(1)
    .split('/')
    .filter((step) => step !== '')
    .reduce<unknown>((value, step) => read.object(value)[step], root);
}
