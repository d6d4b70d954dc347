import { LONG_TEXT } from '../platform/decode-text.ts';

/**
 * Serialises a body once. Halves of characters, which several providers answer with an error, become U+FFFD;
 * `JSON.stringify` escapes them, so a text without such escapes needs no second look.
 *
 * @param verbatim - Long texts that may be in the body, and of which it is known that they need no escape.
 */
export function serialize(body: Readonly<Record<string, unknown>>, verbatim: readonly string[] = []): string {
  return verbatim.length === 0 ? written(body) : writtenAround(body, verbatim);
}

/** The same, with long texts of which it is known that they need no escape passed on as they are. */
function writtenAround(value: unknown, verbatim: readonly string[]): string {
  if (typeof value === 'string') {
    return value.length >= LONG_TEXT && verbatim.includes(value) ? `"${value}"` : written(value);
  }
  if (typeof value !== 'object' || value === null) return written(value);
  let json = '';
  if (Array.isArray(value)) {
    for (const item of value as readonly unknown[]) {
      json += `${json === '' ? '[' : ','}${item === undefined ? 'null' : writtenAround(item, verbatim)}`;
    }
    return json === '' ? '[]' : `${json}]`;
  }
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    json += `${json === '' ? '{' : ','}${written(name)}:${writtenAround(member, verbatim)}`;
  }
  return json === '' ? '{}' : `${json}}`;
}

function written(value: unknown): string {
  const json = JSON.stringify(value);
  // What is found may also be a backslash and letters that somebody wrote: then the second time makes the same.
  return json.includes('\\ud') ? JSON.stringify(value, withoutHalves) : json;
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
