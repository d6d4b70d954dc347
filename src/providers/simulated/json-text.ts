/** Makes up JSON and texts that fit a schema, for simulated models. */
import type { JsonSchema } from '../../core/schema/schema-parts.ts';
import type { Chance } from './chance.ts';
import { COMMON_TOPICS, properNounOf, writeSentence } from './prose.ts';
import { percentDecoded } from '../../platform/data-url.ts';
import { isJsonObject } from '../../protocol/json.ts';
import type { Prompt } from './prompt-types.ts';

const LONGEST_QUESTION = 200;
/** Texts are made no longer than this, whatever the schema requires. */
const LONGEST_TEXT = 10_000;

/** Texts in the formats that JSON Schema names. */
const FORMATS: ReadonlyMap<string, (number: number) => string> = new Map([
  ['date-time', (number) => `${dateOf(number)}T09:30:00Z`],
  ['date', dateOf],
  ['time', (number) => `${twoDigits(number % 24)}:30:00Z`],
  ['duration', (number) => `PT${1 + (number % 59)}M`],
  ['email', (number) => `person${number}@example.com`],
  ['idn-email', (number) => `person${number}@example.com`],
  ['hostname', (number) => `host${number}.example.com`],
  ['idn-hostname', (number) => `host${number}.example.com`],
  ['ipv4', (number) => `192.0.2.${number % 256}`],
  ['ipv6', (number) => `2001:db8::${(number % 65_536).toString(16)}`],
  ['uri', (number) => `https://example.com/${number}`],
  ['uri-reference', (number) => `/${number}`],
  ['iri', (number) => `https://example.com/${number}`],
  ['url', (number) => `https://example.com/${number}`],
  ['uuid', (number) => `00000000-0000-4000-8000-${number.toString(16).padStart(12, '0')}`],
]);

/** Formats that the names of properties hint at, where the schema names none. */
const HINTS: readonly (readonly [name: RegExp, format: string])[] = [
  [/(?:^|_)(?:date|day)$|Date$/, 'date'],
  [/(?:^|_)(?:timestamp|datetime)$|(?:_at|At)$/, 'date-time'],
  [/(?:^|_)email$|Email$/, 'email'],
  [/(?:^|_)(?:url|uri|link|website)$|Ur[li]$/, 'uri'],
];

const ASKS = /^(?:q|query|question|prompt|text|message|content|input|instructions?)$|(?:_query|Query)$/;
const NAMES = /(?:city|town|country|location|place|address|origin|destination|name|title|person|author)$/i;
const PROSE = /(?:summary|description|explanation|reason|reasoning|answer|comment|analysis|notes?|details)$/i;

/**
 * A text for a schema. Names of properties decide what it says: a query takes the question, a place the first name in
 * it, a summary a sentence about it, and everything else one of its topics.
 *
 * @param variation - Above 0 the text carries a number, to find different texts.
 */
export function textFor(
  schema: JsonSchema,
  name: string,
  prompt: Prompt,
  { chance, variation }: { readonly chance: Chance; readonly variation: number },
): string {
  const least = Math.min(lengthOf(schema, 'minLength') ?? 0, LONGEST_TEXT);
  const most = lengthOf(schema, 'maxLength') ?? LONGEST_TEXT;
  const number = chance.integer(1, 99) + variation;
  const named = typeof schema['format'] === 'string' ? FORMATS.get(schema['format'])?.(number) : undefined;
  if (named !== undefined) return named;
  const hinted = FORMATS.get(HINTS.find(([pattern]) => pattern.test(name))?.[1] ?? '')?.(number);
  if (hinted !== undefined && hinted.length >= least && hinted.length <= most) return hinted;
  const said = say(name, prompt, chance);
  if (variation === 0) return fit(said, least, most);
  const numbered = `${said} ${variation + 1}`;
  return fit(numbered.length > most ? `${variation + 1} ${said}` : numbered, least, most);
}

function say(name: string, prompt: Prompt, chance: Chance): string {
  const question = prompt.question.trim();
  if (ASKS.test(name) && question !== '') return question.slice(0, LONGEST_QUESTION);
  if (PROSE.test(name)) return writeSentence(prompt, chance);
  const properNoun = NAMES.test(name) ? properNounOf(question) : undefined;
  const [first, ...more] = prompt.topics;
  return properNoun ?? (first === undefined ? chance.pick(COMMON_TOPICS) : chance.pick([first, ...more]));
}

/** Cuts a text, or goes on with it, until its length is right. Lengths count characters, not UTF-16 units. */
function fit(text: string, least: number, most: number): string {
  const characters = Array.from(text);
  const more = Array.from(` and ${text || 'more'}`);
  while (characters.length < least) characters.push(...more);
  return characters.slice(0, most).join('');
}

function lengthOf(schema: JsonSchema, name: string): number | undefined {
  const value = schema[name];
  return typeof value === 'number' && value >= 0 ? Math.floor(value) : undefined;
}

function dateOf(number: number): string {
  return `2026-${twoDigits(1 + (number % 12))}-${twoDigits(1 + (number % 28))}`;
}

function twoDigits(number: number): string {
  return String(number).padStart(2, '0');
}

/** References that point to references are followed this far. */
const MOST_REFERENCES = 8;

/** A schema as an object; anything else allows everything. */
export function asSchema(value: unknown): JsonSchema {
  return isJsonObject(value) ? value : {};
}

/** A schema without `$ref` and `allOf` at its top: what they say is merged into it. */
export function flatten(schema: JsonSchema, root: JsonSchema, depth = 0): JsonSchema {
  const { $ref: reference, allOf, ...rest } = schema;
  if (depth >= MOST_REFERENCES) return rest;
  const parts: JsonSchema[] = [];
  if (typeof reference === 'string') parts.push(asSchema(resolve(reference, root)));
  if (Array.isArray(allOf)) parts.push(...allOf.map(asSchema));
  return parts.reduce<JsonSchema>((merged, part) => merge(merged, flatten(part, root, depth + 1)), rest);
}

/** A schema that requires what both require. */
export function merge(left: JsonSchema, right: JsonSchema): JsonSchema {
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

function mergeProperties(left: JsonSchema, right: JsonSchema): JsonSchema {
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
function resolve(reference: string, root: JsonSchema): unknown {
  if (!reference.startsWith('#')) return undefined;
  let value: unknown = root;
  for (const step of reference.slice(1).split('/').slice(1)) {
    const key = decodeStep(step);
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as JsonSchema)[key];
  }
  return value;
}

function decodeStep(step: string): string {
  const pointer = step.replaceAll('~1', '/').replaceAll('~0', '~');
  return percentDecoded(pointer) ?? pointer;
}
