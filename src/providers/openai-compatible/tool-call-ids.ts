import type { ToolIdRule } from '../tool-ids.ts';
import type { Dialect } from './dialect.ts';

const ALPHABET = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const LENGTH = 9;

/** Ids of exactly nine letters and digits, as some servers demand them. */
export const NINE_CHARACTERS: ToolIdRule = { allowed: /^[a-zA-Z0-9]{9}$/, replace: nineCharacters };

/** What a dialect demands of the ids of tool calls; undefined when they may be anything. */
export function toolIdRule({ toolCallIds }: Dialect): ToolIdRule | undefined {
  return toolCallIds === 'nine-alphanumeric' ? NINE_CHARACTERS : undefined;
}

/** Nine letters and digits for an id, others for every salt. */
function nineCharacters(id: string, salt: number): string {
  let state = 0x811c9dc5 ^ salt;
  for (let index = 0; index < id.length; index += 1) state = Math.imul(state ^ id.charCodeAt(index), 0x01000193);
  let text = '';
  for (let index = 0; index < LENGTH; index += 1) {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + index;
    text += ALPHABET[(state >>> 8) % ALPHABET.length] ?? 'a';
  }
  return text;
}
