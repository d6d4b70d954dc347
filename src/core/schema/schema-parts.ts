/** What rewriting and joining schemas have in common. */
import { isJsonObject } from '../../protocol/json.ts';
import type { SchemaRules } from './schema-rules.ts';

/** A JSON Schema, as far as it is an object. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Levels that are rewritten where answers are not held to them; what is below stays as it is. */
export const MOST_DEPTH = 64;
/** Schemas that are looked at in one: few references can stand for millions of schemas. */
const MOST_LOOKED = 20_000;
/** Characters of one rule in a description. */
const MAX_DESCRIBED_CHARACTERS = 2_000;

/** Words whose value is a schema, a list of schemas, or schemas by name. */
export const SCHEMA_KEYWORDS = new Set([
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
export const LIST_KEYWORDS = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems']);
export const MAP_KEYWORDS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);

/** Words that say nothing about values, and nothing that a model needs. */
export const SILENT_KEYWORDS = new Set([
  '$schema',
  '$id',
  'id',
  '$comment',
  '$anchor',
  'title',
  'deprecated',
  'readOnly',
  'writeOnly',
]);

/** What is found while one schema is rewritten. */
export interface State {
  readonly root: JsonSchema;
  readonly rules: SchemaRules;
  /** Places of `$ref` that are being followed, against circles. */
  readonly following: Set<unknown>;
  optional: number;
  unions: number;
  /** Schemas that were looked at. What is referred to is looked at again for each reference. */
  looked: number;
  isImpossible: boolean;
}

export function referredSchema(schema: JsonSchema, state: State): JsonSchema | undefined {
  const { root, following } = state;
  const { $ref: reference } = schema;
  if (typeof reference !== 'string' || isTooMuch(state)) return undefined;
  const target = resolve(root, reference);
  if (!isJsonObject(target) || target === schema || following.has(target)) return undefined;
  return target;
}

export function isTooMuch(state: State): boolean {
  state.looked += 1;
  return state.looked > MOST_LOOKED;
}

/** Words that are lost, as text for a description. */
export function describedWords(schema: JsonSchema, words: readonly string[]): readonly string[] {
  return words
    .filter((word) => !SILENT_KEYWORDS.has(word))
    .map((word) => cut(`${word}: ${JSON.stringify(schema[word])}`));
}

export function cut(text: string): string {
  return text.length > MAX_DESCRIBED_CHARACTERS ? `${text.slice(0, MAX_DESCRIBED_CHARACTERS)}…` : text;
}

/** A schema whose description ends with these texts. */
export function withDescription(schema: JsonSchema, texts: readonly string[]): JsonSchema {
  if (texts.length === 0) return schema;
  const { description } = schema;
  const own = typeof description === 'string' && description !== '' ? [description] : [];
  return { ...schema, description: [...own, texts.join(', ')].join('. ') };
}

export function without(schema: JsonSchema, words: readonly string[]): JsonSchema {
  return entriesToSchema(Object.entries(schema).filter(([word]) => !words.includes(word)));
}

/** Names such as `__proto__` are names like any other. */
export function entriesToSchema(entries: readonly (readonly [string, unknown])[]): JsonSchema {
  return Object.fromEntries(entries);
}

export function isOfType({ type }: JsonSchema, wanted: string): boolean {
  return type === wanted || (Array.isArray(type) && type.includes(wanted));
}

export function isScalar(value: unknown): boolean {
  return value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

export function isList(value: unknown, of: (one: unknown) => boolean): value is readonly unknown[] {
  return Array.isArray(value) && value.every(of);
}

export function isSame(left: unknown, right: unknown): boolean {
  return left === right || JSON.stringify(left) === JSON.stringify(right);
}

export function isPartOf(text: unknown, whole: unknown): boolean {
  return typeof text === 'string' && typeof whole === 'string' && whole.includes(text);
}

/** Follows the references inside a schema; a way that comes back to where it was is a circle. */
export function refersToItself(root: JsonSchema): boolean {
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

function resolve(root: JsonSchema, reference: string): unknown {
  if (!reference.startsWith('#')) return undefined;
  let place: unknown = root;
  for (const step of reference.split('/').slice(1)) {
    if (!isJsonObject(place)) return undefined;
    place = place[step.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return place;
}
