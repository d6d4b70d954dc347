/** Follows JSON that arrives in pieces, to find whether it is complete. */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/**
 * Follows a JSON object or array that arrives in pieces, and knows whether it is complete. Looks at each character
 * once and keeps none: asking `JSON.parse` after every piece would be quadratic.
 */
export class JsonProgress {
  #depth = 0;
  #inString = false;
  #escaped = false;
  #began = false;

  /** True before the first character that is not a space. */
  get empty(): boolean {
    return !this.#began;
  }

  /** True once everything that was opened is closed again. */
  get complete(): boolean {
    return this.#began && this.#depth === 0 && !this.#inString;
  }

  /** Reads one more piece. */
  read(text: string): void {
    this.#began ||= text.trim() !== '';
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      if (this.#inString) this.#insideString(code);
      else if (code === QUOTE) this.#inString = true;
      else if (code === OPEN_BRACE || code === OPEN_BRACKET) this.#depth += 1;
      else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) this.#depth -= 1;
    }
  }

  #insideString(code: number): void {
    if (this.#escaped) this.#escaped = false;
    else if (code === BACKSLASH) this.#escaped = true;
    else if (code === QUOTE) this.#inString = false;
  }
}
