import { LONG_TEXT } from '../platform/verbatim-text.ts';

/**
 * Any escape, and in the group one that is half of a character, standing alone. Escapes are taken one by one from the
 * left, so that `\\ud800` is a backslash and five letters, and the work is linear however many backslashes there are.
 */
const ESCAPE = /\\(?:(ud[89a-f][0-9a-f]{2})|[^])/g;

/**
 * Serialises a body once. Halves of characters, which several providers answer with an error, become U+FFFD;
 * `JSON.stringify` escapes them, so a text without such escapes needs no second look.
 *
 * @param verbatim - Long texts that may stand in the body, and of which it is known that they need no escape.
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
  if (!json.includes('\\ud')) return json;
  return json.replace(ESCAPE, (escape: string, half: string | undefined) => (half === undefined ? escape : '\uFFFD'));
}
