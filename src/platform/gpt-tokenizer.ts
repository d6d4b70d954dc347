/** Counts tokens exactly with the optional package `gpt-tokenizer`. */
import { type MaybePromise, onDemand } from './wait.ts';

/** Vocabularies of the package `gpt-tokenizer` that are used here. */
export type GptEncoding = 'o200k_base' | 'cl100k_base';

/** The time of the package grows with the square of an unbroken piece, so pieces are at most so long. */
const LONGEST_PIECE = 256;
const UNBROKEN = new RegExp(`\\S{${LONGEST_PIECE + 1}}`);

/** Counts the tokens of a text. */
type TokenCounter = (text: string) => number;

const COUNTERS = {
  o200k_base: onDemand(() => loadCounter('o200k_base')),
  cl100k_base: onDemand(() => loadCounter('cl100k_base')),
};

/**
 * An exact counter of tokens from the optional package `gpt-tokenizer` (80 MB of memory), loaded by the first who asks.
 *
 * @returns Undefined where the package is not installed.
 */
export function loadGptTokenizer(encoding: GptEncoding): MaybePromise<TokenCounter | undefined> {
  return COUNTERS[encoding]();
}

async function loadCounter(encoding: GptEncoding): Promise<TokenCounter | undefined> {
  try {
    // Each is awaited by itself inside the `try`: only such imports are optional for bundlers.
    const { countTokens } =
      encoding === 'o200k_base'
        ? await import('gpt-tokenizer/encoding/o200k_base')
        : await import('gpt-tokenizer/encoding/cl100k_base');
    // What looks like a control token in a prompt is text.
    const options = { disallowedSpecial: new Set<string>() };
    return (text) => piecesOf(text).reduce((sum, piece) => sum + countTokens(piece, options), 0);
  } catch (error) {
    // Node says ERR_MODULE_NOT_FOUND, bundlers MODULE_NOT_FOUND; versions before 2.1 have only one of the encodings.
    if (/(?:MODULE_NOT_FOUND|PATH_NOT_EXPORTED)$/.test(String((error as { code?: unknown }).code))) return undefined;
    throw error;
  }
}

function piecesOf(text: string): readonly string[] {
  if (!UNBROKEN.test(text)) return [text];
  return text.match(new RegExp(`[^]{1,${LONGEST_PIECE}}`, 'gu')) ?? [];
}
