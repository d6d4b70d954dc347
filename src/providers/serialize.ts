/**
 * Serialises a body. Halves of characters, which several providers answer with an error, become U+FFFD; `JSON.stringify`
 * escapes them, so a text without such escapes needs no second look. Linear, whatever is in the body.
 */
export function serialize(body: Readonly<Record<string, unknown>>): string {
  const json = JSON.stringify(body);
  // What is found may also be a backslash and letters that somebody wrote: then the second time makes the same.
  return json.includes('\\ud') ? JSON.stringify(body, withoutHalves) : json;
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
