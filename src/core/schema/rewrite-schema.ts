/**
 * Rewrites a JSON Schema for a provider that takes only some of its words: by an allow-list, so that words to come are
 * rewritten as well. What cannot be said is told in descriptions, where the model reads it. Pure; what a provider takes
 * is in {@link SchemaRules} of its record.
 */
import { isJsonObject } from '../../protocol/json.ts';
import {
  type JsonSchema,
  MOST_DEPTH,
  SCHEMA_KEYWORDS,
  LIST_KEYWORDS,
  MAP_KEYWORDS,
  SILENT_KEYWORDS,
  type State,
  referredSchema,
  isTooMuch,
  describedWords,
  withDescription,
  without,
  entriesToSchema,
  isOfType,
  isScalar,
  isList,
  refersToItself,
} from './schema-parts.ts';
import { conjunction, conjoin, flattened } from './join-schemas.ts';
import { type HeldRules, type HeldSchemaRules, type SchemaRules, takesWord } from './schema-rules.ts';

/**
 * The schema of a tool's arguments as a provider takes it: always one object. The same value where nothing has to change.
 */
export function toolArgumentsSchema(schema: JsonSchema, rules: SchemaRules): JsonSchema {
  const state = stateOf(schema, rules.held === undefined ? rules : { ...rules, held: undefined });
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
export function heldSchema(schema: JsonSchema, rules: HeldSchemaRules, before?: HeldUse): JsonSchema | undefined {
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

function stateOf(root: JsonSchema, rules: SchemaRules): State {
  return { root, rules, following: new Set(), optional: 0, unions: 0, looked: 0, isImpossible: false };
}

/** One object, without the words that a root may not have. */
function asObject(schema: JsonSchema, state: State): JsonSchema {
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
  if (refused.length > 0) object = withDescription(without(object, refused), describedWords(object, refused));
  return object['type'] === 'object' ? object : { ...object, type: 'object' };
}

/** A root that is only a reference, with what it refers to in its place. */
function withoutReference(schema: JsonSchema, state: State): JsonSchema {
  const target = referredSchema(schema, state);
  if (target === undefined) return schema;
  const { $ref: _, ...rest } = schema;
  state.following.add(target);
  const whole = withoutReference(conjoin(target, rest, state), state);
  state.following.delete(target);
  return whole;
}

function rewrite(schema: JsonSchema, state: State, depth: number): JsonSchema {
  const { held } = state.rules;
  if (held === undefined) return depth > MOST_DEPTH ? schema : rewriteWords(sayable(schema, state), state, depth);
  if (depth > held.mostDepth || isTooMuch(state)) state.isImpossible = true;
  if (state.isImpossible) return {};
  const plain = joined(withNull(withDefinitions(schema, state)), state);
  const isClosed = mustClose(plain, held, state);
  const rewritten = rewriteWords(plain, state, depth);
  if (held.typed === true && !TYPING.some((word) => word in rewritten)) state.isImpossible = true;
  return isClosed && rewritten['additionalProperties'] !== false
    ? { ...rewritten, additionalProperties: false }
    : rewritten;
}

/** A schema without what has another spelling in words that are taken. */
function sayable(schema: JsonSchema, state: State): JsonSchema {
  const { rules } = state;
  if (rules.words === undefined && rules.refused === undefined) return schema;
  const defined = withDefinitions(schema, state);
  const one = defined['nullable'] !== undefined && !takesWord(rules, 'nullable') ? withNull(defined) : defined;
  return Array.isArray(one['allOf']) && !takesWord(rules, 'allOf') ? conjunction(one, state) : one;
}

/** Definitions under the name that they have since 2019, where the other one is not taken. */
function withDefinitions(schema: JsonSchema, { rules: { words } }: State): JsonSchema {
  if (words === undefined || schema['definitions'] === undefined || words.has('definitions')) return schema;
  const { definitions, ...rest } = schema;
  if (!isJsonObject(definitions)) return schema;
  const { $defs: known } = rest;
  return { ...rest, $defs: isJsonObject(known) ? { ...definitions, ...known } : definitions };
}

/** Words of which one says of what type a value is. */
const TYPING = ['type', 'anyOf', '$ref', 'enum', 'const'];

/** Another standard than JSON Schema has a word for values that may be null. */
function withNull(said: JsonSchema): JsonSchema {
  if (said['nullable'] === undefined) return said;
  const { nullable, ...schema } = said;
  const { type } = schema;
  return nullable === true && typeof type === 'string' && type !== 'null'
    ? { ...schema, type: [type, 'null'] }
    : schema;
}

/**
 * A schema whose `allOf` is merged, and whose conditional unions are told: each of their members would be closed by
 * itself, so that nothing fits any more.
 */
function joined(schema: JsonSchema, state: State): JsonSchema {
  let one = Array.isArray(schema['allOf']) ? conjunction(schema, state) : schema;
  for (const word of ['anyOf', 'oneOf'] as const) {
    if (Array.isArray(one[word]) && isJsonObject(one['properties'])) one = flattened(one, word, state);
  }
  return one;
}

/** Objects must be closed; one that is open on purpose would lose everything it is for. */
function mustClose(schema: JsonSchema, held: HeldRules, state: State): boolean {
  const { type, properties, required, additionalProperties: more } = schema;
  if (Array.isArray(type) || Array.isArray(schema['anyOf']) || Array.isArray(schema['oneOf'])) state.unions += 1;
  if (!isOfType(schema, 'object') && properties === undefined) return false;
  const names = isJsonObject(properties) ? Object.keys(properties) : [];
  const isOpen = more === true || isJsonObject(more) || (more === undefined && properties === undefined);
  if (isOpen || schema['patternProperties'] !== undefined) state.isImpossible = true;
  const needed = new Set<unknown>(Array.isArray(required) ? required : []);
  const optional = names.filter((name) => !needed.has(name)).length;
  state.optional += optional;
  if (held.fullObjects === true && (names.length === 0 || Array.isArray(type))) state.isImpossible = true;
  if (held.allRequired === true && optional > 0) state.isImpossible = true;
  return true;
}

/**
 * Rewrites word by word. The same value where nothing has to change, because nearly nothing ever has: then nothing is
 * made either, as each request passes here with all of its schemas.
 */
function rewriteWords(schema: JsonSchema, state: State, depth: number): JsonSchema {
  const { rules } = state;
  let entries: [string, unknown][] | undefined;
  let lost: string[] | undefined;
  const words = Object.keys(schema);
  const isReference = rules.lonelyReferences === true && typeof schema['$ref'] === 'string' && words.length > 1;
  if (isReference && words.some((word) => !isKeptBesideReference(word) && !SILENT_KEYWORDS.has(word))) {
    return rewriteWords(withReferenceInside(schema), state, depth);
  }
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? '';
    const value = schema[word];
    const isLeftOut = isReference && !isKeptBesideReference(word);
    if (!isLeftOut && isTaken(word, value, state)) {
      const written = rewriteValue(word, value, state, depth + 1);
      if (written !== value) entries ??= entriesBefore(schema, words, index);
      entries?.push([word, written]);
      continue;
    }
    entries ??= entriesBefore(schema, words, index);
    const other = isLeftOut ? undefined : replacement(word, value, state, depth);
    if (other !== undefined) entries.push(other);
    else if (!SILENT_KEYWORDS.has(word) && !isReference) (lost ??= []).push(word);
  }
  let rewritten: JsonSchema = entries === undefined ? schema : entriesToSchema(entries);
  if (lost !== undefined) rewritten = withDescription(rewritten, describedWords(schema, lost));
  return rules.complete === true ? completed(rewritten, rules) : rewritten;
}

function entriesBefore(schema: JsonSchema, words: readonly string[], end: number): [string, unknown][] {
  return words.slice(0, end).map((word) => [word, schema[word]]);
}

/** A reference is alone, but for the definitions at the root. */
function isKeptBesideReference(word: string): boolean {
  return word === '$ref' || word === '$defs' || word === 'definitions';
}

/** A schema whose reference is alone in a union of one, so that what is beside it may stay there. */
function withReferenceInside({ $ref: reference, ...beside }: JsonSchema): JsonSchema {
  const inside = { $ref: reference };
  if (beside['anyOf'] === undefined) return { anyOf: [inside], ...beside };
  return { ...without(beside, ['anyOf']), anyOf: [inside], ...describedBeside(beside) };
}

/** A union beside a reference, of which only one can be said. */
function describedBeside(schema: JsonSchema): JsonSchema {
  const { description } = withDescription(schema, describedWords(schema, ['anyOf']));
  return { description };
}

/** Where definitions were before 2019. */
const OLD_DEFINITIONS = '#/definitions/';

/** Whether a reference is to definitions under their old name, where that is not taken. */
function isOldReference(value: unknown, { words }: SchemaRules): boolean {
  return words?.has('definitions') === false && String(value).startsWith(OLD_DEFINITIONS);
}

/** Whether a word may stay where it is, under its name. */
function isTaken(word: string, value: unknown, state: State): boolean {
  const { rules } = state;
  const { words } = rules;
  // Before 2020 a list of `items` said what is called `prefixItems` now, and limits were excluded by a flag.
  if (word === 'items' && Array.isArray(value)) return false;
  if (typeof value === 'boolean' && (word === 'exclusiveMinimum' || word === 'exclusiveMaximum')) return false;
  if (word === 'required' && !Array.isArray(value)) return false;
  if (!takesWord(rules, word) || (word === '$ref' && isOldReference(value, rules))) return false;
  if (word === '$ref' && rules.held !== undefined && !(typeof value === 'string' && value.startsWith('#'))) {
    state.isImpossible = true;
  }
  if (word === 'format' && rules.formats?.has(String(value)) === false) return false;
  if (word === 'pattern' && rules.refusedPatterns?.test(String(value)) === true) return false;
  if (word === 'minItems' && Number(value) > (rules.mostMinItems ?? Infinity)) return false;
  return words === undefined || word !== 'enum' || isList(value, isScalar);
}

/** What says the same, or a little less, in words that are taken; undefined where there is nothing like it. */
function replacement(word: string, value: unknown, state: State, depth: number): [string, unknown] | undefined {
  const takes = (name: string): boolean => takesWord(state.rules, name);
  const renamed = (name: string): [string, unknown] => [name, rewriteValue(name, value, state, depth + 1)];
  if (word === 'items' && Array.isArray(value) && takes('prefixItems')) return renamed('prefixItems');
  if (word === '$ref' && isOldReference(value, state.rules)) {
    return ['$ref', `#/$defs/${String(value).slice(OLD_DEFINITIONS.length)}`];
  }
  if (takes(word)) return undefined;
  if (word === 'oneOf' && Array.isArray(value) && takes('anyOf')) return renamed('anyOf');
  if (word === 'const' && takes('enum') && isScalar(value)) return ['enum', [value]];
  return undefined;
}

function rewriteValue(word: string, value: unknown, state: State, depth: number): unknown {
  if (SCHEMA_KEYWORDS.has(word))
    return word === 'additionalProperties' && value === true ? value : rewriteOne(value, state, depth);
  if (LIST_KEYWORDS.has(word) && Array.isArray(value)) {
    let list: unknown[] | undefined;
    for (let index = 0; index < value.length; index += 1) {
      const one: unknown = value[index];
      const rewritten = rewriteOne(one, state, depth);
      if (rewritten !== one) list ??= value.slice(0, index);
      list?.push(rewritten);
    }
    return list ?? value;
  }
  if (!MAP_KEYWORDS.has(word) || !isJsonObject(value)) return value;
  const names = Object.keys(value);
  let entries: [string, unknown][] | undefined;
  for (let index = 0; index < names.length; index += 1) {
    const name = names[index] ?? '';
    const rewritten = rewriteOne(value[name], state, depth);
    if (rewritten !== value[name]) entries ??= entriesBefore(value, names, index);
    entries?.push([name, rewritten]);
  }
  return entries === undefined ? value : entriesToSchema(entries);
}

function rewriteOne(value: unknown, state: State, depth: number): unknown {
  if (value === true && state.rules.complete === true) return {};
  return isJsonObject(value) ? rewrite(value, state, depth) : value;
}

const OPEN = { additionalProperties: true };

/** Servers that check schemas demand what JSON Schema takes for granted. */
function completed(schema: JsonSchema, { saysOpen }: SchemaRules): JsonSchema {
  if (isOfType(schema, 'object') && schema['properties'] === undefined) {
    const open = saysOpen === true && schema['additionalProperties'] === undefined ? OPEN : undefined;
    return { ...schema, properties: {}, ...open };
  }
  if (isOfType(schema, 'array') && schema['items'] === undefined) return { ...schema, items: {} };
  return schema;
}
