/** Finds the line and column of a mistake in JSON, for errors. */

/** Characters of a body in which the place of a mistake is looked for. */
const MAX_LENGTH = 1_000_000;

/** White space, and behind it one token of JSON. */
const TOKEN =
  /[ \t\n\r]*(?:([{}[\],:])|("[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*")|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null)(?!\w))/y;

/** What may come next. */
type Expected = 'value' | 'first item' | 'first key' | 'key' | 'colon' | 'comma';

/**
 * Says what is wrong with a text that is not JSON: "mistake at line 3, column 14" or "it ends too early". Engines tell
 * the place in different words or not at all, and what they say repeats the text. Undefined for texts that are too long
 * to look through.
 */
export function mistakeInJson(text: string): string | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const open: string[] = [];
  let expected: Expected = 'value';
  let end = 0;
  for (;;) {
    TOKEN.lastIndex = end;
    const token = TOKEN.exec(text);
    const next: Expected | undefined =
      token === null ? undefined : step(expected, token[1] ?? (token[2] === undefined ? '0' : '"'), open);
    if (next === undefined) return placeOf(text, end);
    expected = next;
    end = TOKEN.lastIndex;
  }
}

/** Takes one token; undefined when it may not are here. Scalars other than strings come as "0". */
function step(expected: Expected, token: string, open: string[]): Expected | undefined {
  if (token === '}' || token === ']') {
    const empty = expected === (token === '}' ? 'first key' : 'first item');
    const closes = open.pop() === (token === '}' ? '{' : '[');
    return closes && (empty || expected === 'comma') ? 'comma' : undefined;
  }
  if (expected === 'colon') return token === ':' ? 'value' : undefined;
  if (expected === 'comma') {
    if (token !== ',' || open.length === 0) return undefined;
    return open.at(-1) === '{' ? 'key' : 'value';
  }
  if (expected === 'key' || expected === 'first key') return token === '"' ? 'colon' : undefined;
  if (token === '{' || token === '[') {
    open.push(token);
    return token === '{' ? 'first key' : 'first item';
  }
  return token === '"' || token === '0' ? 'comma' : undefined;
}

/** Line and column of the first character that is not white space from there on. */
function placeOf(text: string, from: number): string {
  const at = from + text.slice(from).search(/[^ \t\n\r]/);
  if (at < from) return 'it ends too early';
  const before = text.slice(0, at).split('\n');
  return `mistake at line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}
