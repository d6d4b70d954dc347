import type { TokenCounter } from './count-message.ts';

/** Vocabularies of the package `gpt-tokenizer` that are offered here. */
export type GptEncoding = 'o200k_base' | 'cl100k_base';

/** The time of the package grows with the square of an unbroken piece, so pieces are at most so long. */
const LONGEST_PIECE = 256;
const UNBROKEN = new RegExp(`\\S{${LONGEST_PIECE + 1}}`);

/**
 * Counts tokens exactly, with a vocabulary of OpenAI: `contextCompression({ countTokens: gptTokens() })`. Needs the
 * package `gpt-tokenizer`, which is loaded when a prompt is too long for the first time (80 MB of memory).
 *
 * @param encoding - `o200k_base` (default) is that of GPT-4o and everything after it.
 * @throws Error that names the package, when it is not installed.
 */
export function gptTokens(encoding: GptEncoding = 'o200k_base'): () => PromiseLike<TokenCounter> {
  let loaded: Promise<TokenCounter> | undefined;
  return () => {
    loaded ??= load(encoding).catch((error: unknown) => {
      loaded = undefined;
      throw error;
    });
    return loaded;
  };
}

async function load(encoding: GptEncoding): Promise<TokenCounter> {
  try {
    const { countTokens } = await (encoding === 'o200k_base'
      ? import('gpt-tokenizer/encoding/o200k_base')
      : import('gpt-tokenizer/encoding/cl100k_base'));
    // What looks like a control token in a prompt is text.
    const options = { disallowedSpecial: new Set<string>() };
    return (text) => piecesOf(text).reduce((sum, piece) => sum + countTokens(piece, options), 0);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new Error('gptTokens() needs the package gpt-tokenizer; install it with "npm install gpt-tokenizer"', {
      cause: error,
    });
  }
}

function piecesOf(text: string): readonly string[] {
  if (!UNBROKEN.test(text)) return [text];
  return text.match(new RegExp(`[^]{1,${LONGEST_PIECE}}`, 'gu')) ?? [];
}
