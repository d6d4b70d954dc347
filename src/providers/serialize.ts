/** An escaped half of a character outside the basic plane, standing alone; `\\` pairs in front are not escapes. */
const LONE_SURROGATE = /(?<=(?:^|[^\\])(?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;

/**
 * Serialises a body once. Halves of characters, which several providers answer with an error, become U+FFFD;
 * `JSON.stringify` escapes them, so a text without such escapes needs no second look.
 */
export function serialize(body: Readonly<Record<string, unknown>>): string {
  const json = JSON.stringify(body);
  return json.includes('\\ud') ? json.replace(LONE_SURROGATE, '\uFFFD') : json;
}
