/** Makes up the answer of a simulated model. */
import type { JsonSchema } from '../../core/schema/schema-parts.ts';
import type { Chance } from './chance.ts';
import { writeAnswer, writeReasoning } from './prose.ts';
import type { SimulatedAnswer, SimulatedToolCall } from './options.ts';
import type { FunctionTool } from '../../protocol/tools.ts';
import { isJsonObject, type JsonValue } from '../../protocol/json.ts';
import { asSchema, flatten, merge, sameJson, textFor } from './json-text.ts';
import * as read from '../../platform/json.ts';
import type { Assignment, Prompt } from './prompt-types.ts';

/** A function call as it appears in an answer. */
export interface DraftCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** An answer before it is cut into tokens and to its limits. */
export interface Draft {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly DraftCall[];
}

/** Letters and digits of an id. */
const ID_LENGTH = 24;

/** Makes up the answer: calls of functions if some are due, otherwise JSON if that is wanted, otherwise prose. */
export function draftAnswer(assignment: Assignment, prompt: Prompt, chance: Chance): Draft {
  const { reasoning, schema, verbosity } = assignment;
  const thought = reasoning === undefined ? '' : writeReasoning(prompt, chance.fork('reasoning'), reasoning.sentences);
  const calls = chooseTools(assignment, prompt).map(({ function: { name, parameters } }, index): DraftCall => {
    const own = chance.fork(`call ${index}`);
    const values = jsonFromSchema({ type: 'object', ...parameters }, own, prompt);
    return { id: newId(own), name, arguments: JSON.stringify(values) };
  });
  if (calls.length > 0) return { reasoning: thought, text: '', calls };
  const text =
    schema === undefined
      ? writeAnswer(prompt, chance.fork('text'), verbosity)
      : JSON.stringify(jsonFromSchema(schema, chance.fork('json'), prompt));
  return { reasoning: thought, text, calls };
}

/** The answer of a script. */
export function draftScripted(answer: string | SimulatedAnswer, chance: Chance): Draft {
  const { text = '', toolCalls = [], reasoning = '' } = typeof answer === 'string' ? { text: answer } : answer;
  const calls = toolCalls.map((call, index): DraftCall => ({
    id: call.id ?? newId(chance.fork(`call ${index}`)),
    name: call.name,
    arguments: argumentsOf(call),
  }));
  return { reasoning, text, calls };
}

function argumentsOf({ arguments: given = {} }: SimulatedToolCall): string {
  return typeof given === 'string' ? given : JSON.stringify(given);
}

function newId(chance: Chance): string {
  const source = chance.fork('id');
  return `call_${Array.from({ length: ID_LENGTH }, () => source.integer(0, 35).toString(36)).join('')}`;
}

/** Parts of a function's name that say what it does rather than what it is about. */
const VERBS = new Set(
  'add all by call create current delete do fetch find for from function get in list lookup make my new of on read router run send set the to tool update use with'.split(
    ' ',
  ),
);

/**
 * The functions that an answer calls.
 *
 * With `auto`, a function is called when the last user message says every part of its name that is not a verb or a
 * filler: `get_weather` for "weather", `create_calendar_event` for "calendar" and "event", in any order and case, in
 * singular or plural. Descriptions are not looked at. `required` calls those functions, or the first one if the message
 * names none; a named function is called whatever was said. After the result of a tool nothing is called unless it is
 * forced, so that a loop of tool calls ends.
 */
function chooseTools(
  { tools, toolChoice, parallelToolCalls }: Assignment,
  { question, toolResults }: Prompt,
): readonly FunctionTool[] {
  if (typeof toolChoice === 'object') return tools.filter((tool) => tool.function.name === toolChoice.name).slice(0, 1);
  if (toolChoice === 'auto' && toolResults !== undefined) return [];
  const said = new Set(wordsOf(question));
  const requested = tools.filter((tool) => subjectOf(tool.function.name).every((word) => said.has(word)));
  const chosen = requested.length === 0 && toolChoice === 'required' ? tools.slice(0, 1) : requested;
  return parallelToolCalls ? chosen : chosen.slice(0, 1);
}

/** What a function is about, from its name; the whole name where all of it is verbs. */
function subjectOf(name: string): readonly string[] {
  const words = wordsOf(name);
  const subject = words.filter((word) => !VERBS.has(word));
  return subject.length > 0 ? subject : words;
}

/** The words of a text or of an identifier, in lower case and singular. */
function wordsOf(text: string): readonly string[] {
  const spaced = text.replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2').toLowerCase();
  return (spaced.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => (word.length > 3 ? word.replace(/s$/, '') : word));
}

/** Nesting from which on only what is required is written. */
const DEEP = 4;
/** Nesting, and values in all, at which writing ends whatever the schema says, so that every schema comes to an end. */
const DEEPEST = 32;
const MOST_VALUES = 5_000;
/** Attempts to find another value for an array whose items must differ. */
const MOST_VARIATIONS = 100;

/**
 * Writes a value that is valid for a JSON Schema, the same one for the same chance. Understands types, enum, const,
 * properties, required, additionalProperties, items, prefixItems, the bounds of numbers, texts and arrays, uniqueItems,
 * formats, anyOf, oneOf, allOf and references within the schema. Ignores `pattern`, `not` and conditions.
 */
export function jsonFromSchema(schema: JsonSchema, chance: Chance, prompt: Prompt): JsonValue {
  return new JsonWriter(schema, chance, prompt).write(schema, '', 0);
}

class JsonWriter {
  readonly #root: JsonSchema;
  readonly #chance: Chance;
  readonly #prompt: Prompt;
  #values = 0;
  /** Counts up while another value is looked for. */
  #variation = 0;

  constructor(root: JsonSchema, chance: Chance, prompt: Prompt) {
    this.#root = root;
    this.#chance = chance;
    this.#prompt = prompt;
  }

  /** @param name - Name of the property that the value is for, which may hint at what it means. */
  write(given: unknown, name: string, depth: number): JsonValue {
    this.#values += 1;
    if (depth > DEEPEST || this.#values > MOST_VALUES) return null;
    const schema = this.#choose(flatten(asSchema(given), this.#root), depth);
    if ('const' in schema) return schema['const'] as JsonValue;
    const type = this.#typeOf(schema, depth);
    const options = Array.isArray(schema['enum']) ? schema['enum'].filter((value) => fits(value, type, schema)) : [];
    if (options.length > 0) return this.#chance.pick(options as [JsonValue, ...JsonValue[]]);
    switch (type) {
      case 'object':
        return this.#object(schema, depth);
      case 'array':
        return this.#array(schema, name, depth);
      case 'integer':
      case 'number':
        return numberFor(schema, type, this.#chance, this.#variation);
      case 'boolean':
        return this.#chance.next() < 0.5;
      case 'null':
        return null;
      default:
        return textFor(schema, name, this.#prompt, { chance: this.#chance, variation: this.#variation });
    }
  }

  /** Decides between the branches of `anyOf` and `oneOf`; deep down for the one that is the least work. */
  #choose(schema: JsonSchema, depth: number): JsonSchema {
    const { anyOf, oneOf, ...rest } = schema;
    let chosen: JsonSchema = rest;
    for (const branches of [anyOf, oneOf]) {
      if (!Array.isArray(branches) || branches.length === 0) continue;
      const known = branches.map((branch) => flatten(asSchema(branch), this.#root));
      chosen = merge(chosen, depth >= DEEP ? leastWork(known) : this.#anyBut(known, isNull));
    }
    const isOpen = 'anyOf' in chosen || 'oneOf' in chosen;
    return isOpen && depth < DEEPEST ? this.#choose(chosen, depth + 1) : chosen;
  }

  #typeOf(schema: JsonSchema, depth: number): string {
    const { type } = schema;
    if (typeof type === 'string') return type;
    if (Array.isArray(type) && type.length > 0) {
      if (depth >= DEEP && type.includes('null')) return 'null';
      return String(this.#anyBut(type, (one) => one === 'null'));
    }
    return guessType(schema);
  }

  /** One of a list, and only rarely one that is plain but says little. */
  #anyBut<Value>(list: readonly Value[], isPlain: (value: Value) => boolean): Value {
    const rich = list.filter((value) => !isPlain(value));
    const from = rich.length === 0 || (rich.length < list.length && this.#chance.next() < 0.1) ? list : rich;
    return this.#chance.pick(from as readonly [Value, ...Value[]]);
  }

  #object(schema: JsonSchema, depth: number): JsonValue {
    const properties = asSchema(schema['properties']);
    const required = new Set(Array.isArray(schema['required']) ? schema['required'].map(String) : []);
    const rest = schema['additionalProperties'];
    const entries: [string, JsonValue][] = [];
    for (const name of new Set([...Object.keys(properties), ...required])) {
      if (!required.has(name) && (depth >= DEEP || this.#chance.next() < 0.3)) continue;
      const member = Object.hasOwn(properties, name) ? properties[name] : rest;
      entries.push([name, this.write(member, name, depth + 1)]);
    }
    const wanted = Math.min(
      countOf(schema, 'minProperties') ?? (isJsonObject(rest) && depth < DEEP ? 1 : 0),
      MOST_VALUES,
    );
    if (rest === false) return Object.fromEntries(entries);
    while (entries.length < wanted) entries.push([`item_${entries.length + 1}`, this.write(rest, '', depth + 1)]);
    return Object.fromEntries(entries);
  }

  #array(schema: JsonSchema, name: string, depth: number): JsonValue {
    const first = read.list(schema['prefixItems']);
    const least = countOf(schema, 'minItems') ?? 0;
    const most = countOf(schema, 'maxItems') ?? Infinity;
    const wanted = depth >= DEEP ? least : Math.max(least, first.length, this.#chance.integer(1, 3));
    const items = schema['items'];
    const list: JsonValue[] = [];
    while (list.length < Math.min(wanted, most) && this.#values <= MOST_VALUES) {
      const isFirst = list.length < first.length;
      if (!isFirst && items === false) break;
      const item = isFirst ? first[list.length] : items;
      list.push(
        schema['uniqueItems'] === true ? this.#another(item, name, depth, list) : this.write(item, name, depth + 1),
      );
    }
    return list;
  }

  /** A value that is not in the list yet, if one can be found. */
  #another(schema: unknown, name: string, depth: number, list: readonly JsonValue[]): JsonValue {
    const before = this.#variation;
    let value = this.write(schema, name, depth + 1);
    for (let attempt = 1; attempt <= MOST_VARIATIONS && list.some((one) => sameJson(one, value)); attempt += 1) {
      this.#variation = before + attempt;
      value = this.write(schema, name, depth + 1);
    }
    this.#variation = before;
    return value;
  }
}

function isNull(schema: JsonSchema): boolean {
  return schema['type'] === 'null' || schema['const'] === null;
}

/** The branch that ends soonest: a plain value, then an array that may be empty, then an object that may be. */
function leastWork(branches: readonly JsonSchema[]): JsonSchema {
  const work = ({ type, required, minItems, ...schema }: JsonSchema): number => {
    if ('const' in schema || 'enum' in schema) return 0;
    if (type === 'array') return minItems === undefined || minItems === 0 ? 1 : 3;
    if (type === 'object' || 'properties' in schema) return Array.isArray(required) && required.length > 0 ? 3 : 2;
    return 'anyOf' in schema || 'oneOf' in schema ? 4 : 0;
  };
  return branches.reduce((best, branch) => (work(branch) < work(best) ? branch : best));
}

function guessType(schema: JsonSchema): string {
  if ('enum' in schema) return '';
  if ('properties' in schema || 'required' in schema || 'additionalProperties' in schema) return 'object';
  if ('items' in schema || 'prefixItems' in schema || 'minItems' in schema) return 'array';
  return 'minimum' in schema || 'maximum' in schema || 'multipleOf' in schema ? 'number' : 'string';
}

/** Whether a value of `enum` also follows the type beside it. */
function fits(value: unknown, type: string, schema: JsonSchema): boolean {
  if (schema['type'] === undefined) return true;
  const types = Array.isArray(schema['type']) ? schema['type'] : [type];
  const own = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  return types.some((one) => one === own || (one === 'integer' && Number.isInteger(value)));
}

function countOf(schema: JsonSchema, name: string): number | undefined {
  const value = schema[name];
  return typeof value === 'number' && value >= 0 ? Math.min(value, MOST_VALUES) : undefined;
}

/** How far numbers go where the schema does not say. */
const USUAL_SPAN = 100;

/**
 * A number within the bounds of a schema.
 *
 * @param variation - Added on top where there is room, to find different numbers.
 */
function numberFor(schema: JsonSchema, type: 'integer' | 'number', chance: Chance, variation: number): number {
  const step = stepOf(schema, type);
  const lowest = Math.max(boundOf(schema, 'minimum', -Infinity), boundOf(schema, 'exclusiveMinimum', -Infinity));
  const highest = Math.min(boundOf(schema, 'maximum', Infinity), boundOf(schema, 'exclusiveMaximum', Infinity));
  const from = lowest === -Infinity ? Math.min(1, highest - USUAL_SPAN) : lowest;
  const to = highest === Infinity ? Math.max(from + USUAL_SPAN, 1) : highest;
  if (step === undefined) return rounded(from, to, chance.next());
  // Counting in steps keeps multiples exact; the bounds are moved inward to the nearest multiple that they allow.
  const first = firstStep(from, step, boundOf(schema, 'exclusiveMinimum', NaN));
  const last = -firstStep(-to, step, -boundOf(schema, 'exclusiveMaximum', NaN));
  const room = Math.max(1, last - first + 1);
  const steps = first + ((chance.integer(0, Math.min(room, USUAL_SPAN) - 1) + variation) % room);
  return steps * step + 0;
}

function stepOf(schema: JsonSchema, type: 'integer' | 'number'): number | undefined {
  const multiple = schema['multipleOf'];
  const step = typeof multiple === 'number' && multiple > 0 ? multiple : undefined;
  if (type === 'number') return step;
  if (step === undefined) return 1;
  // A whole number that is a multiple of a broken one: the smallest whole multiple will do as the step.
  for (let factor = 1; factor <= USUAL_SPAN; factor += 1) if (Number.isInteger(step * factor)) return step * factor;
  return 1;
}

/** The first multiple of a step from a number on, which is not the excluded one. */
function firstStep(from: number, step: number, excluded: number): number {
  const first = Math.ceil(from / step);
  return from === excluded && first * step === from ? first + 1 : first;
}

/** A number with few digits, if one lies between the bounds. */
function rounded(from: number, to: number, share: number): number {
  const exact = from + (to - from) * (0.1 + 0.8 * share);
  for (const digits of [1, 10, 100, 1_000]) {
    const short = Math.round(exact * digits) / digits;
    if (short > from && short < to) return short + 0;
  }
  return exact;
}

function boundOf(schema: JsonSchema, name: string, without: number): number {
  const value = schema[name];
  return typeof value === 'number' ? value : without;
}
