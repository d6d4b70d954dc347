import { LONG_TEXT } from '../platform/decode-text.ts';

/**
 * Serialises a value once. Halves of characters, which several providers answer with an error, become U+FFFD;
 * `JSON.stringify` escapes them, so a text without such escapes needs no second look.
 */
export function serialize(value: unknown): string {
  const json = JSON.stringify(value);
  // What is found may also be a backslash and letters that somebody wrote: then the second time makes the same.
  return json.includes('\\ud') ? JSON.stringify(value, withoutHalves) : json;
}

/**
 * The same in parts, with the long texts that need no escape as parts of their own, which nobody has copied.
 *
 * @param verbatim - Long texts that may be in the value, and of which it is known that they need no escape.
 */
export function serializeInParts(value: unknown, verbatim: readonly string[]): readonly string[] {
  const parts: string[] = [];
  const rest = writeAround(value, verbatim, parts, '');
  return [...parts, rest];
}

/** Writes a value behind what was written, and moves that into the parts when a long text comes. Gives what is open. */
function writeAround(value: unknown, verbatim: readonly string[], parts: string[], before: string): string {
  if (typeof value === 'string' && value.length >= LONG_TEXT && verbatim.includes(value)) {
    parts.push(`${before}"`, value);
    return '"';
  }
  if (typeof value !== 'object' || value === null) return before + serialize(value);
  let json = before;
  if (Array.isArray(value)) {
    json += '[';
    for (const [index, item] of (value as readonly unknown[]).entries()) {
      if (index > 0) json += ',';
      json = item === undefined ? `${json}null` : writeAround(item, verbatim, parts, json);
    }
    return `${json}]`;
  }
  json += '{';
  let isFirst = true;
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    json = writeAround(member, verbatim, parts, `${json}${isFirst ? '' : ','}${serialize(name)}:`);
    isFirst = false;
  }
  return `${json}}`;
}

function withoutHalves(_key: string, value: unknown): unknown {
  if (typeof value === 'string') return wellFormed(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const names = Object.keys(value);
  if (names.every((name) => wellFormed(name) === name)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [wellFormed(name), member]));
}

/** In every runtime for years, and not yet in the declarations that we compile with. */
function wellFormed(text: string): string {
  return (text as string & { toWellFormed(): string }).toWellFormed();
}
