import { likelyTextTokens } from '../../src/core/normalize/likely-tokens.ts';
import { mostTokens } from '../../src/core/normalize/token-ceiling.ts';
import { countMessage } from '../../src/plugins/context-compression/count-message.ts';
import { type Compressed, middleOut } from '../../src/plugins/context-compression/middle-out.ts';
import { relevant } from '../../src/plugins/context-compression/relevant.ts';
import type { Message } from '../../src/protocol/message.ts';
import type { PluginCase } from './plugin-case.ts';

const SENTENCE = 'The committee discussed the budget for another hour and then agreed on it. ';

/** What counting and compressing prompts costs. */
export function compressionCases(): readonly PluginCase[] {
  const chat = conversation(40, 6);
  const long = conversation(10_000, 1);
  const large = conversation(4, 13_000);
  const text = SENTENCE.repeat(13_334);
  return [
    { name: `compression: tokens of ${text.length} characters of prose`, run: () => mostTokens(text) },
    { name: 'compression: 40 messages of 450 characters to 2,000 tokens', run: () => compress(chat, 2_000) },
    { name: 'compression: 10,000 messages of 75 characters to 8,000 tokens', run: () => compress(long, 8_000) },
    {
      name: `estimate: likely tokens of ${text.length} characters of prose, by samples`,
      run: () => likelyTextTokens([text]),
    },
    { name: 'compression, relevant: 40 messages of 450 characters to 2,000 tokens', run: () => keep(chat, 2_000) },
    { name: 'compression, relevant: 10,000 messages of 75 characters to 8,000 tokens', run: () => keep(long, 8_000) },
    { name: 'compression, relevant: 4 messages of a megabyte to 8,000 tokens', run: () => keep(large, 8_000) },
    { name: 'compression: 4 messages of a megabyte to 8,000 tokens', run: () => compress(large, 8_000) },
  ];
}

function conversation(messages: number, sentences: number): readonly Message[] {
  return Array.from({ length: messages }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: `${index}: ${SENTENCE.repeat(sentences)}`,
  }));
}

function keep(messages: readonly Message[], tokens: number): Compressed | undefined {
  const sizes = messages.map((message) => countMessage(message, mostTokens, 1_600));
  return relevant(messages, sizes, { tokens, messages: Infinity }, mostTokens);
}

function compress(messages: readonly Message[], tokens: number): Compressed | undefined {
  const sizes = messages.map((message) => countMessage(message, mostTokens, 1_600));
  return middleOut(messages, sizes, { tokens, messages: Infinity }, mostTokens);
}
