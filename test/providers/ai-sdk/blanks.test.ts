import { describe, expect, it } from 'vitest';
import type { Message } from '../../../src/protocol/message.ts';
import { isBlank, withoutBlanks } from '../../../src/providers/ai-sdk/blanks.ts';

const CALLS = [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }] as const;

describe('texts of nothing but space', () => {
  it.each<readonly [string, Message, readonly unknown[]]>([
    ['of a user become the usual filler', { role: 'user', content: ' \n' }, [{ role: 'user', content: 'Continue.' }]],
    ['of a model are left out', { role: 'assistant', content: '  ' }, []],
    [
      'of a model that calls become nothing beside the calls',
      { role: 'assistant', content: ' ', tool_calls: [...CALLS] },
      [{ role: 'assistant', content: null, tool_calls: CALLS }],
    ],
    ['of instructions are left out', { role: 'system', content: '\t' }, []],
    [
      'of a result become none',
      { role: 'tool', tool_call_id: 'a', content: ' ' },
      [{ role: 'tool', tool_call_id: 'a', content: '' }],
    ],
    [
      'in a part are left out, and the others stay',
      {
        role: 'user',
        content: [
          { type: 'text', text: ' ' },
          { type: 'text', text: 'Hi' },
        ],
      },
      [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
    ],
  ])('%s', (_name, message, expected) => {
    expect(withoutBlanks([message])).toEqual(expected);
  });

  it('are nowhere in a usual conversation, whose messages stay the same', () => {
    const messages: readonly Message[] = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: null, tool_calls: [...CALLS] },
      { role: 'tool', tool_call_id: 'a', content: '' },
    ];
    for (const [index, message] of withoutBlanks(messages).entries()) expect(message).toBe(messages[index]);
    expect([isBlank('\u00a0\n'), isBlank('.')]).toEqual([true, false]);
  });
});
