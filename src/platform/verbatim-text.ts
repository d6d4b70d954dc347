/** Characters from which on a text is written verbatim where that is known to be right. Shorter ones are quoted fast. */
export const LONG_TEXT = 32 * 1024;

/** Values that are looked at. A body of more is no body of a few long texts. */
const MOST_VALUES = 20_000;

/**
 * The long texts of a JSON body in whose text there is no backslash. JSON cannot hold quotes and control characters any
 * other way, and UTF-8 no halves of characters, so such a text and its JSON are the same but for the quotes: an image of
 * megabytes can be passed on without looking at each of its characters again. Undefined where there is none.
 *
 * @param text - The body as it came, decoded from valid UTF-8.
 * @param value - What it was parsed to, within the depth that the runtime can parse.
 */
export function verbatimTexts(text: string, value: unknown): readonly string[] | undefined {
  if (text.length < LONG_TEXT || text.includes('\\')) return undefined;
  const found: string[] = [];
  // Not by recursion: nobody has looked yet how deep the body is.
  const left: unknown[] = [[value]];
  let looked = 0;
  for (let one = left.pop(); one !== undefined; one = left.pop()) {
    const members = Array.isArray(one) ? (one as readonly unknown[]) : Object.values(one as object);
    looked += 1 + members.length;
    if (looked > MOST_VALUES) return undefined;
    for (const member of members) {
      if (typeof member === 'string') {
        if (member.length >= LONG_TEXT) found.push(member);
      } else if (typeof member === 'object' && member !== null) left.push(member);
    }
  }
  return found.length === 0 ? undefined : found;
}
