import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { needsRepair } from '../../../src/core/conversation/needs-repair.ts';
import { FILLER, NO_RESULT, repairConversation } from '../../../src/core/conversation/repair.ts';
import type { Message } from '../../../src/protocol/message.ts';
import { runs } from '../../support/properties.ts';

const user = (content: string): Message => ({ role: 'user', content });
const call = (...ids: readonly string[]): Message => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } })),
});
const result = (id: string, content = 'Clear.'): Message => ({ role: 'tool', tool_call_id: id, content });
const missing = (id: string): Message => ({ ...result(id, NO_RESULT), is_error: true }) as unknown as Message;

describe('a conversation', () => {
  it.each<readonly [string, readonly Message[], readonly Message[]]>([
    [
      'without a result',
      [user('a'), call('1', '2'), result('1'), user('b')],
      [user('a'), call('1', '2'), result('1'), missing('2'), user('b')],
    ],
    ['that ends with a call', [user('a'), call('1')], [user('a'), call('1'), missing('1')]],
    [
      'with a late result',
      [user('a'), call('1'), user('b'), result('1')],
      [user('a'), call('1'), result('1'), user('b')],
    ],
    ['with a result twice', [user('a'), call('1'), result('1'), result('1')], [user('a'), call('1'), result('1')]],
    [
      'with another second result',
      [user('a'), call('1'), result('1'), result('1', 'Red.')],
      [user('a'), call('1'), result('1'), user('Red.')],
    ],
    ['with a result of nothing', [user('a'), result('1')], [user('a'), user('Clear.')]],
    [
      'in which an id is used again',
      [user('a'), call('1'), user('b'), call('1'), result('1', 'x'), result('1', 'y')],
      [user('a'), call('1'), result('1', 'x'), user('b'), call('1'), result('1', 'y')],
    ],
    ['that begins with a call', [call('1'), result('1')], [user(FILLER), call('1'), result('1')]],
    ['with an empty turn', [user('a'), { role: 'assistant', content: '' }, user('b')], [user('a'), user('b')]],
    [
      'that ends with an empty turn of the user',
      [user('a'), { role: 'assistant', content: 'b' }, user('')],
      [user('a'), { role: 'assistant', content: 'b' }, user(FILLER)],
    ],
    [
      'with an empty part',
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: '' },
            { type: 'text', text: 'a' },
          ],
        },
      ],
      [{ role: 'user', content: [{ type: 'text', text: 'a' }] }],
    ],
  ])('%s is repaired', (_name, messages, repaired) => {
    expect(needsRepair(messages)).toBe(true);
    const { messages: actual, adjustments } = repairConversation(messages);
    expect(actual).toEqual(repaired);
    expect(adjustments).not.toEqual([]);
  });

  it('that needs nothing is the same list', () => {
    const plain = [
      { role: 'system', content: 'x' } as const,
      user('a'),
      call('1', '2'),
      result('1'),
      result('2', ''),
      { role: 'assistant', content: 'b' } as const,
    ];
    expect(needsRepair(plain)).toBe(false);
    expect(repairConversation(plain)).toEqual({ messages: plain, adjustments: [] });
    expect(repairConversation(plain).messages).toBe(plain);
  });

  it('of nothing but an empty turn says the least, because most providers refuse a turn without content', () => {
    expect(repairConversation([user('')]).messages).toEqual([user('Continue.')]);
  });

  const id = fc.constantFrom('1', '2', '3');
  const text = fc.constantFrom('', 'x', 'y');
  const message = fc.oneof(
    fc.record({ role: fc.constantFrom('user', 'assistant', 'system'), content: text }),
    fc.record({
      role: fc.constant('user'),
      content: fc.array(fc.record({ type: fc.constant('text'), text }), { minLength: 1 }),
    }),
    fc.array(id, { minLength: 1, maxLength: 3 }).map((ids) => call(...ids)),
    fc.tuple(id, text).map(([one, content]) => result(one, content)),
  ) as fc.Arbitrary<Message>;

  it('has one result for each call, right behind it, and nothing empty, whatever it was', () => {
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 12 }), (messages) => {
        const { messages: repaired } = repairConversation(messages);
        let open: readonly string[] = [];
        for (const one of repaired) {
          if (one.role === 'tool') {
            expect(one.tool_call_id).toBe(open[0]);
            open = open.slice(1);
          } else {
            expect(open).toEqual([]);
            open = one.role === 'assistant' ? (one.tool_calls ?? []).map((made) => made.id) : [];
            if (one.role === 'assistant') expect(one.content?.length === 0 && open.length === 0).toBe(false);
          }
        }
        expect(open).toEqual([]);
        const first = repaired.find(({ role }) => role !== 'system');
        expect(first?.role === 'assistant' && first.tool_calls !== undefined).toBe(false);
        // What was said is still there, and a repaired conversation needs no other repair.
        const said = (list: readonly Message[]): Set<string> =>
          new Set(list.flatMap(({ content }) => JSON.stringify(content).match(/"[xy]"/g) ?? []));
        expect([...said(messages)].filter((word) => !said(repaired).has(word))).toEqual([]);
        expect(repairConversation(repaired).messages).toBe(repaired);
        if (!needsRepair(messages)) expect(repaired).toBe(messages);
      }),
      runs(500),
    );
  });
});
