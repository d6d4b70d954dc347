import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mostTokens } from '../../../src/core/tokens/token-ceiling.ts';
import { countMessage, fairShare, type TokenCounter } from '../../../src/plugins/context-compression/count-message.ts';
import { type Compressed, GAP, middleOut, shortenText } from '../../../src/plugins/context-compression/middle-out.ts';
import { leastTokens } from '../../../src/plugins/context-compression/prompt-units.ts';
import type { Message } from '../../../src/protocol/message.ts';
import { runs } from '../../support/properties.ts';

/** Counters that could hardly be more different. */
const COUNTERS: readonly TokenCounter[] = [
  mostTokens,
  (text) => text.length,
  (text) => Math.ceil(text.length / 7),
  (text) => text.split(/\s+/).length + text.length / 50,
];

function tokensOf(messages: readonly Message[], count: TokenCounter = mostTokens): number {
  return messages.reduce((sum, message) => sum + countMessage(message, count, 1_600).tokens, 0);
}

function compress(
  messages: readonly Message[],
  tokens: number,
  { most = Infinity, count = mostTokens }: { readonly most?: number; readonly count?: TokenCounter } = {},
): Compressed | undefined {
  const sizes = messages.map((message) => countMessage(message, count, 1_600));
  return middleOut(messages, sizes, { tokens, messages: most }, count);
}

const text = fc.oneof(
  fc.lorem({ maxCount: 6, mode: 'sentences' }),
  fc.string({ maxLength: 300 }),
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.integer({ min: 1, max: 1_000 }).map((length) => 'long '.repeat(length)),
);
const content = fc.oneof(
  text,
  fc.array(
    fc.oneof(
      text.map((one) => ({ type: 'text' as const, text: one })),
      fc.constant({
        type: 'image_url' as const,
        image_url: { url: 'data:image/png;base64,AA', detail: 'low' as const },
      }),
    ),
    { minLength: 1, maxLength: 3 },
  ),
);

/** Turns of a conversation; the calls of a turn get ids of their own. */
const turn = fc.oneof(
  { weight: 3, arbitrary: content.map((one): readonly Message[] => [{ role: 'user', content: one }]) },
  { weight: 3, arbitrary: text.map((one): readonly Message[] => [{ role: 'assistant', content: one }]) },
  { weight: 1, arbitrary: text.map((one): readonly Message[] => [{ role: 'system', content: one.slice(0, 80) }]) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.array(text, { minLength: 1, maxLength: 3 }), fc.nat())
      .map(([results, id]): readonly Message[] => [
        {
          role: 'assistant',
          content: null,
          tool_calls: results.map((_, index) => ({
            id: `${id}_${index}`,
            type: 'function',
            function: { name: 'look_up', arguments: '{"a":1}' },
          })),
        },
        ...results.map((result, index): Message => ({ role: 'tool', tool_call_id: `${id}_${index}`, content: result })),
      ]),
  },
);
const conversation = fc.array(turn, { minLength: 1, maxLength: 25 }).map((turns) => turns.flat());

/** A message without its texts: what is left of it must be the same as before. */
function bones(message: Message): unknown {
  const { content: said, ...rest } = message;
  if (typeof said === 'string' || said == null) return rest;
  return { ...rest, parts: said.map((part) => (part.type === 'text' ? 'text' : part)) };
}

function textsOf({ content: said }: Message): readonly string[] {
  if (typeof said === 'string') return [said];
  return (said ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : []));
}

/** True when a text is another one, or its beginning, the mark and its end. */
function isCutOf(short: string, whole: string): boolean {
  if (short === whole || short === GAP.trim()) return true;
  return short.split(GAP).some((_, index, parts) => {
    const head = parts.slice(0, index).join(GAP);
    const tail = parts.slice(index).join(GAP);
    return index > 0 && whole.startsWith(head) && whole.endsWith(tail) && head.length + tail.length < whole.length;
  });
}

describe('middle-out', () => {
  it('fits, keeps order and pairs, changes nothing but the middle of texts, and does nothing twice', () => {
    fc.assert(
      fc.property(
        conversation,
        fc.integer({ min: 5, max: 100 }),
        fc.integer({ min: 2, max: 80 }),
        fc.constantFrom(...COUNTERS),
        (messages, percent, most, count) => {
          const tokens = Math.floor((tokensOf(messages, count) * percent) / 100);
          const compressed = compress(messages, tokens, { most, count });
          if (compressed === undefined) return;
          const kept = compressed.messages;
          expect(tokensOf(kept, count)).toBeLessThanOrEqual(tokens);
          expect(kept.length).toBeLessThanOrEqual(most);
          expect(compressed.removed).toBe(messages.length - kept.length);

          // Every message that is left is one of those before, in their order, and the same but for cut texts.
          let at = -1;
          for (const message of kept) {
            const texts = textsOf(message);
            at = messages.findIndex(
              (one, index) =>
                index > at &&
                JSON.stringify(bones(one)) === JSON.stringify(bones(message)) &&
                textsOf(one).every((whole, part) => isCutOf(texts[part] ?? '', whole)),
            );
            expect(at).toBeGreaterThanOrEqual(0);
          }

          const calls = new Set(
            kept.flatMap((one) => (one.role === 'assistant' ? (one.tool_calls ?? []).map(({ id }) => id) : [])),
          );
          const results = new Set(kept.flatMap((one) => (one.role === 'tool' ? [one.tool_call_id] : [])));
          expect(results).toEqual(calls);

          const instructions = messages.filter((one) => one.role === 'system');
          expect(kept.filter((one) => one.role === 'system')).toEqual(instructions);
          expect(kept.filter((one) => one.role === 'user').length > 0).toBe(
            messages.some((one) => one.role === 'user'),
          );

          const again = compress(kept, tokens, { most, count });
          expect(again?.messages).toEqual(kept);
        },
      ),
      runs(250),
    );
  });

  it('manages whenever what has to stay can be brought down far enough', () => {
    fc.assert(
      fc.property(conversation, fc.integer({ min: 0, max: 200 }), (messages, more) => {
        const sizes = messages.map((message) => countMessage(message, mostTokens, 1_600));
        expect(compress(messages, leastTokens(messages, sizes, { withInstructions: false }) + more)).toBeDefined();
      }),
      runs(200),
    );
  });

  it('keeps the last message of the user whole when only the history is too long', () => {
    const history = Array.from({ length: 40 }, (_, index): Message => ({
      role: index % 2 === 0 ? 'user' : 'assistant',
      content: `Message ${index}: ${'and so it goes on and on '.repeat(20)}`,
    }));
    const system: Message = { role: 'system', content: 'Be brief.' };
    const question: Message = { role: 'user', content: `The question is ${'really '.repeat(300)}long.` };
    const compressed = compress([system, ...history, question], 2_000);
    const kept = compressed?.messages ?? [];
    expect([kept[0], kept.at(-1)]).toEqual([system, question]);
    const left = kept.slice(1, -1).map((message) => Number(/Message (\d+)/.exec(JSON.stringify(message))?.[1]));
    // Some from the beginning, some from the end, about as many of each, and whole but for those at the gap.
    const gap = left.findIndex((place, index) => place !== index);
    const cut = left.filter((place, index) => kept[index + 1] !== history[place]);
    expect(left.slice(Math.max(0, gap - 2), gap + 2)).toEqual(expect.arrayContaining(cut));
    expect(left.length - cut.length).toBeGreaterThan(5);
    expect(Math.abs(gap - (left.length - gap))).toBeLessThanOrEqual(2);
    expect(left.at(-1)).toBe(39);
    // User and assistant still take turns.
    const roles = kept.slice(1).map((message) => message.role);
    expect(roles.every((role, index) => index === 0 || role !== roles[index - 1])).toBe(true);
  });

  it('shortens what stands at the gap where whole messages leave room, and user and assistant still take turns', () => {
    const words = [40, 30, 60, 2_000, 50, 900, 40, 3_000, 30, 20, 1_500, 60, 40];
    const messages = words.map((count, index): Message => {
      return { role: index % 2 === 0 ? 'user' : 'assistant', content: `${index} ${'word '.repeat(count)}` };
    });
    for (const tokens of [400, 700, 1_000, 1_500, 2_000, 3_000, 5_000]) {
      const kept = compress(messages, tokens)?.messages ?? [];
      expect(tokensOf(kept)).toBeLessThanOrEqual(tokens);
      expect(tokensOf(kept) / tokens).toBeGreaterThan(0.97);
      expect(kept.every(({ role }, index) => index === 0 || role !== kept[index - 1]?.role)).toBe(true);
    }
  });

  it('leaves next to nothing of the room unused where all messages are short, and where several are shortened', () => {
    for (const shape of [
      [30, 90, 20, 140, 60, 35, 110, 25, 80, 50, 130, 45, 70],
      [10, 400, 12, 900, 15, 30, 700, 20, 1_200, 11, 500],
    ]) {
      const messages = shape.flatMap((count, index): readonly Message[] => [
        { role: 'user', content: `${index} ${'asked about it '.repeat(count / 2)}` },
        { role: 'assistant', content: `${index} ${'answered at length '.repeat(count)}` },
      ]);
      const whole = tokensOf(messages);
      for (let tokens = 800; tokens < whole; tokens += 170) {
        const kept = compress(messages, tokens)?.messages ?? [];
        expect(tokensOf(kept)).toBeLessThanOrEqual(tokens);
        expect(tokensOf(kept) / tokens).toBeGreaterThan(0.97);
        expect(kept.every(({ role }, index) => index === 0 || role !== kept[index - 1]?.role)).toBe(true);
      }
    }
  });

  it('shortens one long message rather than dropping many short ones', () => {
    const messages: Message[] = [
      { role: 'user', content: 'Here is a log.' },
      { role: 'assistant', content: 'Send it.' },
      { role: 'user', content: `BEGIN ${'line of a log file with words\n'.repeat(2_000)}END` },
      { role: 'assistant', content: 'Thank you.' },
      { role: 'user', content: 'What is in it?' },
    ];
    const compressed = compress(messages, 3_000);
    expect(compressed).toMatchObject({ removed: 0, shortened: 1 });
    const [, , log] = compressed?.messages ?? [];
    expect(log?.content).toMatch(/^BEGIN line[^]*\n\[…\]\n[^]*END$/);
    expect(tokensOf(compressed?.messages ?? [])).toBeGreaterThan(2_700);
  });

  it('shortens the last message of the user when it is too long by itself', () => {
    const messages: Message[] = [
      { role: 'system', content: 'Summarise.' },
      { role: 'user', content: 'An old question.' },
      { role: 'assistant', content: 'An old answer.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a b c '.repeat(10_000) },
          { type: 'text', text: 'In German, please.' },
        ],
      },
    ];
    const compressed = compress(messages, 1_000);
    expect(compressed).toMatchObject({ removed: 2, shortened: 1 });
    expect(compressed?.messages[1]?.content).toMatchObject([{}, { text: 'In German, please.' }]);
  });

  it('gives up when the instructions alone are too long', () => {
    expect(
      compress(
        [
          { role: 'system', content: 'word '.repeat(2_000) },
          { role: 'user', content: 'Hi' },
        ],
        1_000,
      ),
    ).toBeUndefined();
  });

  it('never shortens what a model thought or the arguments of its calls', () => {
    const thought: Message = {
      role: 'assistant',
      content: 'said '.repeat(500),
      reasoning_details: [{ type: 'reasoning.text', text: 'x', signature: 'y' }],
    };
    const messages: Message[] = [{ role: 'user', content: 'a' }, thought, { role: 'user', content: 'b '.repeat(900) }];
    const kept = compress(messages, 1_400)?.messages ?? [];
    expect(kept.every((message) => message.role !== 'assistant' || message === thought)).toBe(true);
  });

  it('keeps half of the messages from the beginning and half from the end when there are too many', () => {
    const messages = Array.from({ length: 5_000 }, (_, index): Message => ({
      role: index % 2 === 0 ? 'user' : 'assistant',
      content: `${index}`,
    }));
    const kept = compress(messages, Infinity, { most: 1_000 })?.messages ?? [];
    const places = kept.map((message) => Number(message.content));
    const gap = places.findIndex((place, index) => place !== index);
    expect(places.length).toBeGreaterThanOrEqual(998);
    expect(places.length).toBeLessThanOrEqual(1_000);
    expect(gap).toBeGreaterThan(495);
    expect(gap).toBeLessThan(505);
    expect(places.at(-1)).toBe(4_999);
  });

  it.each([
    ['10,000 messages', Array.from({ length: 10_000 }, (_, index) => 'word '.repeat(1 + (index % 50)))],
    ['messages of a megabyte', Array.from({ length: 4 }, (_, index) => 'word and more '.repeat(70_000 + index))],
    ['a megabyte without a space', ['x'.repeat(1_000_000), 'y'.repeat(1_000_000)]],
    ['a megabyte of rare signs', ['𝔛'.repeat(500_000), '清'.repeat(1_000_000)]],
  ])('takes time in proportion to the length of %s', (_name, texts) => {
    const messages = texts.map((one, index): Message => ({
      role: index % 2 === 0 ? 'user' : 'assistant',
      content: one,
    }));
    const before = process.cpuUsage();
    const compressed = compress(messages, 6_000);
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(2_500);
    expect(tokensOf(compressed?.messages ?? [])).toBeLessThanOrEqual(6_000);
    expect(tokensOf(compressed?.messages ?? [])).toBeGreaterThan(4_000);
  });
});

describe('shortening a text', () => {
  it('keeps its beginning and its end, in whole characters', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', minLength: 200, maxLength: 900 }),
        fc.integer({ min: 16, max: 100 }),
        (whole, tokens) => {
          const short = shortenText(whole, tokens, (one) => one.length / 3);
          expect(isCutOf(short, whole)).toBe(true);
          expect(short.length / 3).toBeLessThanOrEqual(tokens);
          expect(Buffer.from(short).toString()).toBe(short);
        },
      ),
      runs(300),
    );
  });

  it('does not cut words where there are spaces', () => {
    const short = shortenText('alpha beta gamma delta epsilon '.repeat(100), 40, mostTokens);
    const [head = '', tail = ''] = short.split(GAP);
    expect([head.split(' ').at(-1), tail.trim().split(' ')[0]]).toEqual([
      expect.stringMatching(/^(?:alpha|beta|gamma|delta|epsilon)$/),
      expect.stringMatching(/^(?:alpha|beta|gamma|delta|epsilon)$/),
    ]);
  });
});

describe('a fair share', () => {
  it('is the largest that fits', () => {
    const fits = (lengths: readonly number[], share: number, room: number): boolean =>
      lengths.reduce((sum, length) => sum + Math.min(length, share), 0) <= room;
    fc.assert(
      fc.property(fc.array(fc.nat(1_000), { maxLength: 20 }), fc.nat(5_000), (lengths, room) => {
        const share = fairShare(lengths, room);
        expect(fits(lengths, share, room)).toBe(true);
        if (share !== Infinity) expect(fits(lengths, share + 1, room)).toBe(false);
      }),
      runs(500),
    );
  });
});
