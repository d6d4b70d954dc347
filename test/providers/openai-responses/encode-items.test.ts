import { describe, expect, it } from 'vitest';
import type { Message } from '../../../src/protocol/message.ts';
import { FORTY_CHARACTERS } from '../../../src/providers/openai-compatible/vendor-quirks.ts';
import { inputItemsOf, reasoningItemsOf } from '../../../src/providers/openai-responses/encode-items.ts';
import { ToolIds } from '../../../src/providers/tool-ids.ts';

const items = (...messages: readonly Message[]): readonly object[] => {
  const ids = new ToolIds(FORTY_CHARACTERS);
  return messages.flatMap((message, index) => inputItemsOf(message, `messages[${index}]`, ids));
};
const call = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } }) as const;

describe('a conversation as items', () => {
  it('has calls and results as items of their own', () => {
    expect(
      items(
        { role: 'assistant', content: 'Look.', tool_calls: [call('a'), call('b')] },
        { role: 'tool', tool_call_id: 'a', content: '1' },
      ),
    ).toEqual([
      { role: 'assistant', content: [{ type: 'output_text', text: 'Look.' }] },
      { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
      { type: 'function_call', call_id: 'b', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'a', output: '1' },
    ]);
  });

  it('has ids of calls that are not too long, and the same in results', () => {
    const long = 'x'.repeat(80);
    const [made, result] = items(
      { role: 'assistant', content: null, tool_calls: [call(long)] },
      { role: 'tool', tool_call_id: long, content: '1' },
    ) as readonly { readonly call_id: string }[];
    expect(made?.call_id.length).toBeLessThanOrEqual(40);
    expect(result?.call_id).toBe(made?.call_id);
  });

  it.each<readonly [string, Message, object]>([
    [
      'pictures',
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://a.example/a.png', detail: 'low' } }] },
      { type: 'input_image', image_url: 'https://a.example/a.png', detail: 'low' },
    ],
    [
      'files by address',
      { role: 'user', content: [{ type: 'file', file: { file_data: 'https://a.example/a.pdf' } }] },
      { type: 'input_file', file_url: 'https://a.example/a.pdf' },
    ],
    [
      'files by their bytes',
      { role: 'user', content: [{ type: 'file', file: { file_data: 'data:text/plain;base64,YQ==' } }] },
      { type: 'input_file', file_data: 'data:text/plain;base64,YQ==', filename: 'file' },
    ],
    [
      'files of the provider',
      { role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] },
      { type: 'input_file', file_id: 'file-1' },
    ],
  ])('has %s', (_what, message, part) => {
    expect(items(message)).toEqual([{ role: 'user', content: [part] }]);
  });

  it('has no sound', () => {
    const sound: Message = {
      role: 'user',
      content: [{ type: 'input_audio', input_audio: { data: '', format: 'wav' } }],
    };
    expect(() => items(sound)).toThrow('messages[0].content[0] is input_audio');
  });

  it('says nothing for turns of nothing', () => {
    expect(items({ role: 'assistant', content: '' }, { role: 'assistant', content: null })).toEqual([]);
  });
});

describe('earlier reasoning', () => {
  it('goes back where this API has encrypted it, with its summary', () => {
    const details = [
      { type: 'reasoning.summary', id: 'rs_1', summary: 'hm', format: 'openai-responses-v1' },
      { type: 'reasoning.encrypted', id: 'rs_1', data: 'c2VjcmV0', format: 'openai-responses-v1' },
      { type: 'reasoning.encrypted', id: 'x', data: 'b3RoZXI=', format: 'google-gemini-v1' },
    ] as const;
    expect(reasoningItemsOf({ role: 'assistant', content: 'a', reasoning_details: [...details] })).toEqual([
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'c2VjcmV0' },
    ]);
    expect(reasoningItemsOf({ role: 'assistant', content: 'a' })).toEqual([]);
  });
});
