const ALPHABET = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const LENGTH = 9;

/**
 * Gives every tool call id of a conversation a stand-in of exactly nine letters and digits, for servers that demand
 * it. The same id always gets the same stand-in, so prompt caches keep working; two ids never share one.
 */
export function nineCharacterIds(): (id: string) => string {
  const known = new Map<string, string>();
  const taken = new Set<string>();
  return (id) => {
    const found = known.get(id);
    if (found !== undefined) return found;
    let salt = 0;
    let short = /^[a-zA-Z0-9]{9}$/.test(id) ? id : nineCharacters(id, salt);
    while (taken.has(short)) {
      salt += 1;
      short = nineCharacters(id, salt);
    }
    known.set(id, short);
    taken.add(short);
    return short;
  };
}

/** Nine letters and digits for an id, others for every salt. */
export function nineCharacters(id: string, salt: number): string {
  let state = 0x811c9dc5 ^ salt;
  for (let index = 0; index < id.length; index += 1) state = Math.imul(state ^ id.charCodeAt(index), 0x01000193);
  let text = '';
  for (let index = 0; index < LENGTH; index += 1) {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + index;
    text += ALPHABET[(state >>> 8) % ALPHABET.length] ?? 'a';
  }
  return text;
}
