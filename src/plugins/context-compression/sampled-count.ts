import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { Message } from '../../protocol/message.ts';
import type { TokenCounter } from './count-message.ts';

/** Characters of a prompt that are counted one by one; counting these takes about 15 ms, in which no other work runs. */
const EXACT = 250_000;

/** Characters of one sample. */
const SAMPLE = 1_024;
/** Characters that are counted of any text. */
const LEAST = 16;

/**
 * A counter that takes about as long for any prompt: up to 250,000 characters are counted exactly, and of longer
 * prompts samples of every text, from its beginning to its end. Such a prompt has 50,000 tokens and more, of which the
 * samples miss a few in a hundred.
 */
export function sampledCount(
  count: TokenCounter,
  request: Pick<NormalizedRequest, 'messages' | 'tools'>,
): TokenCounter {
  const tools = request.tools.length === 0 ? 0 : JSON.stringify(request.tools).length;
  const characters = request.messages.reduce((sum, message) => sum + charactersOf(message), tools);
  if (characters <= EXACT) return count;
  const part = EXACT / characters;
  return (text) => {
    const wanted = Math.max(LEAST, Math.ceil(text.length * part));
    if (text.length <= 2 * wanted) return count(text);
    const samples = Math.ceil(wanted / SAMPLE);
    const length = Math.min(SAMPLE, wanted);
    const step = samples === 1 ? 0 : (text.length - length) / (samples - 1);
    let counted = 0;
    for (let index = 0; index < samples; index += 1) {
      const from = Math.floor(index * step);
      counted += count(text.slice(from, from + length));
    }
    return Math.ceil((counted / (samples * length)) * text.length);
  };
}

function charactersOf(message: Message): number {
  const { content } = message;
  const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : [];
  const beside = calls.reduce((sum, call) => sum + call.function.arguments.length, 0);
  if (typeof content === 'string') return content.length + beside;
  return (content ?? []).reduce((sum, one) => sum + (one.type === 'text' ? one.text.length : 0), beside);
}
