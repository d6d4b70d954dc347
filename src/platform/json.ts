/** Reads values out of JSON whose form is unknown. */
import { isJsonObject, type JsonObject, type JsonValue } from '../protocol/json.ts';

// Readers of JSON of which nothing is known yet. None of them throws. What is not of the kind that a reader is named
// after counts as missing: `undefined` for a single value, an empty one for an object or a list. Import them under one
// name, `import * as read from '…/platform/json.ts'`, because variables often have the names of the kinds.

/** True for a string that is not empty. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** A string that is not empty; undefined for anything else. White space counts. */
export function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A string, which may be empty; undefined for anything else. */
export function string(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** A number, whatever its sign; undefined for anything else. */
export function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** More than one answer can have of anything that is counted. What so many cost is still a safe integer of nano-dollars. */
export const MOST_COUNTED = 1e9;
/** US dollars that no answer costs. */
const MOST_USD = 1e6;

/**
 * A number of things in one answer, such as tokens: from 0 to 10⁹, rounded to a whole number; undefined for anything
 * else. Counts are added up, priced and stored, so one that only a broken server can report must not get through.
 */
export function count(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= MOST_COUNTED ? Math.round(value) : undefined;
}

/** What one answer costs in US dollars: from 0 to 10⁶; undefined for anything else. */
export function usd(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= MOST_USD ? value : undefined;
}

const NO_ITEMS: readonly never[] = [];

/** The items of an array, as they are; none for anything else. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : NO_ITEMS;
}

/** The items of an array that are objects, in their order; none for anything else. */
export function objects(value: unknown): readonly JsonObject[] {
  if (!Array.isArray(value)) return NO_ITEMS;
  return value.every(isJsonObject) ? value : value.filter(isJsonObject);
}

/** An object that is no array, as it is; an empty one for anything else. */
export function object(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The value that a JSON text spells; undefined when it is not JSON. */
export function parse(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}

/** The object that a JSON text spells; undefined when it is not JSON, or spells anything else. */
export function parseObject(json: string): JsonObject | undefined {
  const value = parse(json);
  return isJsonObject(value) ? value : undefined;
}

/** A text that two JSON values share exactly when they are equal, whatever the order of their members. */
export function canonical(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map((one: JsonValue) => canonical(one)).join()}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key] ?? null)}`);
  return `{${members.join()}}`;
}
