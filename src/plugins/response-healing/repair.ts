import { jsonrepair } from 'jsonrepair';
import { MAX_DEPTH } from './depth.ts';
import { readEscape } from './read-text.ts';

/** Longer texts are not repaired: the time it takes can grow with the square of the length. */
const MAX_LENGTH = 32_768;

/**
 * Repairs what the own reader gives up on: calls around values, texts that are put together, words without quotes.
 * Backslashes that JSON does not know are doubled first, because the library drops them.
 *
 * @returns JSON, or undefined when there is nothing to be done.
 */
export function repair(text: string, latex: boolean): string | undefined {
  if (text.length > MAX_LENGTH || isDeep(text)) return undefined;
  try {
    const repaired = jsonrepair(withKnownEscapes(text, latex));
    JSON.parse(repaired, refuseGarbage);
    return repaired.trim();
  } catch {
    return undefined;
  }
}

/** Brackets within brackets cost the library its stack. */
function isDeep(text: string): boolean {
  let depth = 0;
  for (const bracket of text.match(/[{}[\]]/g) ?? []) {
    depth += bracket === '{' || bracket === '[' ? 1 : -1;
    if (depth > MAX_DEPTH) return true;
  }
  return false;
}

function withKnownEscapes(text: string, latex: boolean): string {
  let result = '';
  let plain = 0;
  for (let at = text.indexOf('\\'); at >= 0; at = text.indexOf('\\', plain)) {
    const escape = readEscape(text, at, { isKey: false, latex, path: false });
    if (escape === undefined) break;
    result += text.slice(plain, at) + escape.json;
    plain = escape.end;
  }
  return result + text.slice(plain);
}

/** Where the library takes punctuation for texts and keys, it has lost its way. */
function refuseGarbage(this: unknown, key: string, value: unknown): unknown {
  const strayText = typeof value === 'string' && /^\s*[:,}\]]/.test(value);
  const strayKey = !Array.isArray(this) && /["{}[\]\n]|^\s*[:,]/.test(key);
  if (strayText || strayKey) throw new SyntaxError('punctuation was taken for a text');
  return value;
}
