import { readFileSync } from 'node:fs';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { likelyTextTokens } from '../../src/core/tokens/likely-tokens.ts';
import { mostTokens } from '../../src/core/tokens/token-ceiling.ts';
import { countMessage } from '../../src/plugins/context-compression/count-message.ts';
import { type Compressed, middleOut } from '../../src/plugins/context-compression/middle-out.ts';
import { relevant } from '../../src/plugins/context-compression/relevant.ts';
import type { Message } from '../../src/protocol/message.ts';
import { needlesKept, PLACES } from '../../test/support/needles.ts';
import type { PluginCase } from './plugin-case.ts';

const SENTENCE = 'The committee discussed the budget for another hour and then agreed on it. ';

/** Room for prompts, in tokens. */
const ROOMS = [1_000, 2_000, 4_000, 8_000, 16_000] as const;

type Count = (text: string) => number;

/** Prints how much of the room for a prompt is used, and gives what counting and compressing costs. */
export function compressionCases(): readonly PluginCase[] {
  tellRoomUsed();
  tellNeedles();
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

/** Prints what is left of facts in documents, wherever these stand in a prompt. */
function tellNeedles(): void {
  const seeds = Array.from({ length: 200 }, (_, index) => index + 1);
  for (const place of PLACES) {
    const list = [0.5, 0.25, 0.1].map((part) => {
      const { kept, refused, used } = needlesKept(place, part, seeds);
      const told = `${(100 * kept).toFixed(1)} % at ${100 * part} % of the length (${(100 * used).toFixed(1)} % of it used)`;
      return refused === 0 ? told : `${told}, ${(100 * refused).toFixed(1)} % refused`;
    });
    console.log(`compression, relevant, facts kept in documents in ${place}: ${list.join(', ')}`);
  }
}

/** Texts of all kinds, each of them a message: what is kept of them, in the tokens that they are counted with. */
function tellRoomUsed(): void {
  const texts = readFileSync(new URL('../../test/fixtures/tokens/likely.txt', import.meta.url), 'utf8').split(
    /^=== .*\n/m,
  );
  const messages = Array.from({ length: 8 }, () => texts.slice(1))
    .flat()
    .map((content, index): Message => ({
      role: index % 2 === 0 ? 'user' : 'assistant',
      content: `${index} ${content}`,
    }));
  const exact: Count = (text) => countTokens(text, { disallowedSpecial: new Set() });
  for (const [engine, compressed] of [
    ['middle-out', middleOut],
    ['relevant', relevant],
  ] as const) {
    for (const [counter, count] of [
      ['gpt-tokenizer', exact],
      ['the estimate', mostTokens],
    ] as const) {
      const sizeOf = (message: Message) => countMessage(message, count, 1_600);
      const sizes = messages.map(sizeOf);
      const shares = ROOMS.map((tokens) => {
        const kept = compressed(messages, sizes, { tokens, messages: Infinity }, count)?.messages ?? [];
        return (100 * kept.reduce((sum, message) => sum + sizeOf(message).tokens, 0)) / tokens;
      });
      const list = shares.map((share, index) => `${share.toFixed(1)} % of ${ROOMS[index]}`).join(', ');
      console.log(`compression, ${engine}, counted by ${counter}: ${list} tokens used`);
    }
  }
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
