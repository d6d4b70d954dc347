import { type GptEncoding, loadGptTokenizer } from '../../platform/gpt-tokenizer.ts';
import type { TokenCounter } from './count-message.ts';

export type { GptEncoding } from '../../platform/gpt-tokenizer.ts';

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
  const count = await loadGptTokenizer(encoding);
  if (count !== undefined) return count;
  throw new Error('gptTokens() needs the package gpt-tokenizer; install it with "npm install gpt-tokenizer"');
}
