import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../src/protocol/json.ts';
import { repairItems } from '../../../src/providers/openai-responses/repair-items.ts';

const USER: JsonValue = { role: 'user', content: 'Hi' };
const call = (id: string, type = 'function_call'): JsonValue => ({ type, call_id: id, name: 'f', arguments: '{}' });
const output = (id: string, text: string, type = 'function_call_output'): JsonValue => ({
  type,
  call_id: id,
  output: text,
});

describe('items of a client', () => {
  it('that need nothing are the same list', () => {
    const items = [USER, call('a'), output('a', '1'), { type: 'item_reference', id: 'x' }];
    expect(repairItems(items)).toBe(items);
  });

  it('get an output for each call', () => {
    expect(repairItems([USER, call('a'), call('b', 'custom_tool_call'), output('a', '1')])).toEqual([
      USER,
      call('a'),
      call('b', 'custom_tool_call'),
      output('b', 'This call gave no result.', 'custom_tool_call_output'),
      output('a', '1'),
    ]);
  });

  it('have one output for each call: another one is the words of the user, unless it says the same', () => {
    expect(repairItems([call('a'), output('a', '1'), output('a', '1'), output('a', '2')])).toEqual([
      call('a'),
      output('a', '1'),
      { role: 'user', content: '2' },
    ]);
  });

  it('get names for files', () => {
    const file = { type: 'input_file', file_data: 'data:text/csv;base64,YQ==' };
    expect(repairItems([{ role: 'user', content: [file, { type: 'input_file', file_id: 'f' }] }])).toEqual([
      {
        role: 'user',
        content: [
          { ...file, filename: 'document.csv' },
          { type: 'input_file', file_id: 'f' },
        ],
      },
    ]);
  });

  it('of tools that the provider runs stay without outputs', () => {
    const items = [
      { type: 'web_search_call', id: 'w' },
      { type: 'mcp_call', id: 'm' },
    ];
    expect(repairItems(items)).toBe(items);
  });
});
