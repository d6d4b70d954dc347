/**
 * Any escape, and in the group one that is half of a character, standing alone. Escapes are taken one by one from the
 * left, so that `\\ud800` is a backslash and five letters, and the work is linear however many backslashes there are.
 */
const ESCAPE = /\\(?:(ud[89a-f][0-9a-f]{2})|[^])/g;

/**
 * Serialises a body once. Halves of characters, which several providers answer with an error, become U+FFFD;
 * `JSON.stringify` escapes them, so a text without such escapes needs no second look.
 */
export function serialize(body: Readonly<Record<string, unknown>>): string {
  const json = JSON.stringify(body);
  if (!json.includes('\\ud')) return json;
  return json.replace(ESCAPE, (escape: string, half: string | undefined) => (half === undefined ? escape : '\uFFFD'));
}
