import { MAX_DEPTH } from './depth.ts';

/** Where something that may be JSON ends, and whether it is JSON. */
export interface StrictEnd {
  readonly isJson: boolean;
  /** First position behind it, or behind what was looked at. */
  readonly end: number;
}

/** Finds the end of the brackets at a position, going strictly by the rules of JSON. */
export function strictEnd(text: string, start: number): StrictEnd {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') {
      at += 1;
      while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
    } else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') depth -= 1;
    if (depth === 0) return { isJson: isJson(text.slice(start, at + 1)), end: at + 1 };
    if (depth > MAX_DEPTH) return { isJson: false, end: at };
  }
  return { isJson: false, end: text.length };
}

/** True for a text that is JSON as it stands. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
