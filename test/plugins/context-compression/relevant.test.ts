import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mostTokens } from '../../../src/core/tokens/token-ceiling.ts';
import { countMessage, type TokenCounter } from '../../../src/plugins/context-compression/count-message.ts';
import { type Compressed, middleOut } from '../../../src/plugins/context-compression/middle-out.ts';
import { relevance } from '../../../src/plugins/context-compression/relevance.ts';
import { relevant } from '../../../src/plugins/context-compression/relevant.ts';
import type { Message } from '../../../src/protocol/message.ts';
import { needlesKept, PLACES } from '../../support/needles.ts';
import { runs } from '../../support/properties.ts';

function tokensOf(messages: readonly Message[], count: TokenCounter): number {
  return messages.reduce((sum, message) => sum + countMessage(message, count, 1_600).tokens, 0);
}

function compress(
  messages: readonly Message[],
  tokens: number,
  { most = Infinity, count = mostTokens }: { readonly most?: number; readonly count?: TokenCounter } = {},
): Compressed | undefined {
  const sizes = messages.map((message) => countMessage(message, count, 1_600));
  return relevant(messages, sizes, { tokens, messages: most }, count);
}

const SUBJECTS = ['harbour', 'library', 'orchard', 'railway', 'theatre', 'glacier', 'brewery', 'lighthouse', 'quarry'];
const PEOPLE = ['Marta', 'Osman', 'Ingrid', 'Tadeo', 'Yuki', 'Brennan', 'Celeste', 'Dmitri', 'Fatima', 'Goran'];
const DEEDS = ['restored', 'painted', 'inherited', 'surveyed', 'abandoned', 'photographed', 'described', 'flooded'];

/** A long conversation of reports, each about something else. */
function reports(count: number): readonly (Message & { readonly content: string })[] {
  return Array.from({ length: count }, (_, index) => {
    const subject = `${SUBJECTS[index % 9]} of ${PEOPLE[index % 10]}`;
    const deed = DEEDS[index % 8];
    const filler = 'Visitors came from many places, and the weather was mild for the season. '.repeat(2 + (index % 4));
    return {
      role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
      content: `The ${subject} was ${deed} in ${1700 + index}. ${filler}`,
    };
  });
}

describe('compressing by relevance', () => {
  it.each([0.5, 0.25, 0.1])('keeps what a question is about in %f of the room', (part) => {
    const history = reports(80);
    const room = Math.floor(tokensOf(history, mostTokens) * part);
    const lost = history.filter(({ content }) => {
      const [fact = ''] = content.split('. ');
      const question = fact.replace(/^The (.*) was (\w+) in \d+$/, 'In which year did they $2 the $1?');
      const messages: readonly Message[] = [...history, { role: 'user', content: question }];
      return compress(messages, room)?.messages.every((message) => message.content !== content) ?? true;
    });
    expect(lost).toEqual([]);
  });

  it.each([
    ['Wann wurde die Brücke gebaut?', 'Die Brücken der Stadt: gebaut 1904.', 'Der Markt findet samstags statt.'],
    ['¿Quién escribió la novela?', 'Las novelas fueron escritas por Rulfo, novelista.', 'El puerto es muy grande.'],
    ['Кто построил мост?', 'Мосты города строил инженер Белелюбский, мост стоит.', 'Рынок открыт по субботам.'],
    ['長崎の橋はいつ建てられましたか', '長崎の橋は1634年に建てられた。', '市場は土曜日に開く。'],
    ['สะพานสร้างเมื่อไร', 'สะพานนี้สร้างในปี 1904', 'ตลาดเปิดวันเสาร์'],
    ['पुल कब बना था?', 'यह पुल 1904 में बना।', 'बाज़ार शनिवार को खुलता है।'],
  ])('finds what belongs to the question "%s"', (question, right, wrong) => {
    const [one = 0, other = 0] = relevance(question, [right, wrong]);
    expect(one).toBeGreaterThan(other);
  });

  it('prefers neighbouring words of the question that are neighbours in the text', () => {
    const [together = 0, apart = 0] = relevance('the red door', ['a red door, old wood', 'a door of old red wood']);
    expect(together).toBeCloseTo(apart + 1, 5);
  });

  it('keeps instructions, the question, what comes last, and calls with their results, in order and within the room', () => {
    const word = fc.constantFrom(...SUBJECTS, ...PEOPLE, 'the', 'a');
    const text = fc.array(word, { minLength: 1, maxLength: 120 }).map((words) => words.join(' '));
    const turn = fc.oneof(
      text.map((content): readonly Message[] => [{ role: 'user', content }]),
      text.map((content): readonly Message[] => [{ role: 'assistant', content }]),
      text.map((content): readonly Message[] => [
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: content, type: 'function', function: { name: 'look', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: content, content },
      ]),
    );
    fc.assert(
      fc.property(
        fc.array(turn, { maxLength: 20 }),
        text,
        fc.double({ min: 0.1, max: 1, noNaN: true }),
        (turns, asked, part) => {
          const messages: readonly Message[] = [
            { role: 'system', content: 'Be brief.' },
            ...turns.flat(),
            { role: 'user', content: asked },
          ];
          const room = Math.max(200, Math.floor(tokensOf(messages, mostTokens) * part));
          const result = compress(messages, room)?.messages;
          if (result === undefined) return;
          expect(tokensOf(result, mostTokens)).toBeLessThanOrEqual(room);
          expect(result[0]).toEqual(messages[0]);
          expect(result.at(-1)?.role).toBe('user');
          const called = result.flatMap((one) =>
            (one.role === 'assistant' ? (one.tool_calls ?? []) : []).map(({ id }) => id),
          );
          expect(result.flatMap((one) => (one.role === 'tool' ? [one.tool_call_id] : []))).toEqual(called);
          const places = result.map((one) => messages.indexOf(one)).filter((place) => place >= 0);
          expect(places).toEqual(places.toSorted((left, right) => left - right));
          expect(compress(messages, room)?.messages).toEqual(result);
        },
      ),
      runs(200),
    );
  });

  it.each(PLACES)('keeps facts in documents in %s at a quarter of the length', (place) => {
    const seeds = Array.from({ length: 40 }, (_, index) => 5_000 + index);
    const { kept, refused, used } = needlesKept(place, 0.25, seeds);
    expect(refused).toBe(0);
    expect(kept).toBeGreaterThanOrEqual(place === 'many messages' ? 0.99 : 0.9);
    expect(used).toBeGreaterThanOrEqual(0.97);
  });

  it.each<[string, (text: string) => readonly Message[]]>([
    ['a question behind it', (text) => [{ role: 'user', content: `${text}\n\nWhen was the quarry of Osman flooded?` }]],
    ['a question before it', (text) => [{ role: 'user', content: `When was the quarry of Osman flooded?\n\n${text}` }]],
    [
      'a question in a part of its own',
      (text) => [
        {
          role: 'user',
          content: [
            { type: 'text', text },
            { type: 'text', text: 'When was the quarry of Osman flooded?' },
          ],
        },
      ],
    ],
    [
      'instructions behind the question',
      (text) => [
        {
          role: 'user',
          content: `${text}\n\nQuestion: When was the quarry of Osman flooded?\n\nAnswer with a year and nothing else.`,
        },
      ],
    ],
  ])('finds %s', (_, messagesOf) => {
    const other = reports(120).map(({ content }) => content);
    const fact = 'The quarry of Osman was flooded in 1888, after a week of rain.';
    const messages = messagesOf([...other.slice(0, 70), fact, ...other.slice(70)].join('\n\n'));
    const room = Math.floor(tokensOf(messages, mostTokens) / 4);
    const result = compress(messages, room);
    const [only] = result?.messages ?? [];
    const text = typeof only?.content === 'string' ? only.content : JSON.stringify(only?.content);
    expect(text).toContain(fact);
    expect(text).toContain('When was the quarry of Osman flooded?');
    expect(text).toContain('[…]');
    expect(result).toMatchObject({ removed: 0, shortened: 1 });
    expect(tokensOf(result?.messages ?? [], mostTokens)).toBeLessThanOrEqual(room);
  });

  it('keeps the beginning of a system prompt of documents, which middle-out gives up on', () => {
    const messages: readonly Message[] = [
      {
        role: 'system',
        content: `Answer from these documents.\n\n${reports(120)
          .map(({ content }) => content)
          .join('\n\n')}`,
      },
      { role: 'user', content: 'Which harbour was painted?' },
    ];
    const result = compress(messages, 1_500)?.messages;
    expect(result?.[0]?.content).toMatch(/^Answer from these documents\.\n/);
    expect(result?.[1]).toEqual(messages[1]);
    const sizes = messages.map((message) => countMessage(message, mostTokens, 1_600));
    expect(middleOut(messages, sizes, { tokens: 1_500, messages: Infinity }, mostTokens)).toBeUndefined();
  });

  it('uses 97 of 100 tokens of the room', () => {
    const messages: readonly Message[] = [...reports(120), { role: 'user', content: 'Which harbour was painted?' }];
    for (const count of [mostTokens, (text: string) => countTokens(text)]) {
      for (const tokens of [1_000, 2_500, 4_000]) {
        const used = tokensOf(compress(messages, tokens, { count })?.messages ?? [], count) / tokens;
        expect(used).toBeLessThanOrEqual(1);
        expect([tokens, used >= 0.97]).toEqual([tokens, true]);
      }
    }
  });

  it('keeps to a number of messages', () => {
    const messages: readonly Message[] = [...reports(60), { role: 'user', content: 'Which harbour was painted?' }];
    expect(compress(messages, 100_000, { most: 10 })?.messages).toHaveLength(10);
  });

  it('reads no more than a million characters, however long a prompt is', () => {
    const text = 'The committee discussed the budget for another hour. '.repeat(20_000);
    const before = process.cpuUsage();
    relevance(
      'Which budget?',
      Array.from({ length: 20 }, () => text),
    );
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(1_000);
  });
});
