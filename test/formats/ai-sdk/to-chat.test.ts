import { describe, expect, it } from 'vitest';
import type { PromptMessage } from '../../../src/formats/ai-sdk/spec.ts';
import { chatRequestOf, UnsupportedCall } from '../../../src/formats/ai-sdk/to-chat.ts';

const messagesOf = (...prompt: PromptMessage[]): unknown => chatRequestOf('m', { prompt }, 'v4').request.messages;

describe('calls of the AI SDK as chat requests', () => {
  it('say settings in the words of the contract, and leave out what was not set', () => {
    const { request, warnings } = chatRequestOf(
      'm',
      {
        prompt: [],
        maxOutputTokens: 5,
        topP: 0.5,
        topK: 3,
        seed: 1,
        stopSequences: ['END'],
        presencePenalty: 0.1,
        frequencyPenalty: 0.2,
        reasoning: 'high',
        toolChoice: { type: 'required' },
        responseFormat: { type: 'json' },
        providerOptions: { signalbox: { provider: { order: ['groq'] }, temperature: 0.3 } },
      },
      'v4',
    );
    expect(request).toEqual({
      model: 'm',
      messages: [],
      max_tokens: 5,
      top_p: 0.5,
      top_k: 3,
      seed: 1,
      stop: ['END'],
      presence_penalty: 0.1,
      frequency_penalty: 0.2,
      reasoning: { effort: 'high' },
      response_format: { type: 'json_object' },
      provider: { order: ['groq'] },
      temperature: 0.3,
    });
    expect(warnings).toEqual([]);
  });

  it.each([
    [new Uint8Array([1, 2]), 'image/png', { type: 'image_url', image_url: { url: 'data:image/png;base64,AQI=' } }],
    [
      new URL('https://a.example/x.png'),
      'image/*',
      { type: 'image_url', image_url: { url: 'https://a.example/x.png' } },
    ],
    ['/9j/4AAQ', 'image/*', { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,/9j/4AAQ' } }],
    ['AQI=', 'audio/mpeg', { type: 'input_audio', input_audio: { data: 'AQI=', format: 'mp3' } }],
    [
      'AQI=',
      'application/pdf',
      { type: 'file', file: { filename: 'a', file_data: 'data:application/pdf;base64,AQI=' } },
    ],
    [
      { type: 'url', url: new URL('https://a.example/v') },
      'video/mp4',
      { type: 'video_url', video_url: { url: 'https://a.example/v' } },
    ],
    [{ type: 'text', text: 'words' }, 'text/plain', { type: 'text', text: 'words' }],
  ] as const)('writes a file %o of type %s', (data, mediaType, expected) => {
    const part = { type: 'file', data, mediaType, filename: 'a' } as const;
    expect(messagesOf({ role: 'user', content: [part] })).toEqual([{ role: 'user', content: [expected] }]);
  });

  it('refuses a reference to the files of another provider', () => {
    const data = { type: 'reference', reference: { openai: 'file-1' } } as const;
    const prompt = [{ role: 'user', content: [{ type: 'file', data, mediaType: 'image/png' }] }] as const;
    expect(() => chatRequestOf('m', { prompt }, 'v4')).toThrow(UnsupportedCall);
  });

  it.each([
    [{ type: 'text', value: 'ok' }, { content: 'ok' }],
    [{ type: 'json', value: { a: 1 } }, { content: '{"a":1}' }],
    [
      { type: 'error-text', value: 'no' },
      { content: 'no', is_error: true },
    ],
    [
      { type: 'error-json', value: [1] },
      { content: '[1]', is_error: true },
    ],
    [{ type: 'execution-denied', reason: 'private' }, { content: 'The call was not allowed: private' }],
    [
      {
        type: 'content',
        value: [
          { type: 'text', text: 'a' },
          { type: 'image-data', data: 'AQI=', mediaType: 'image/png' },
        ],
      },
      {
        content: [
          { type: 'text', text: 'a' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AQI=' } },
        ],
      },
    ],
  ] as const)('writes what a tool gave back: %o', (output, expected) => {
    const result = { type: 'tool-result', toolCallId: 'c', toolName: 't', output } as const;
    expect(messagesOf({ role: 'tool', content: [result] })).toEqual([{ role: 'tool', tool_call_id: 'c', ...expected }]);
  });

  it('takes marks of the prompt cache in our words and in those of Anthropic', () => {
    const mark = { cacheControl: { type: 'ephemeral' } };
    const text = { type: 'text', text: 'long', providerOptions: { anthropic: mark } } as const;
    expect(
      messagesOf(
        { role: 'system', content: 'S', providerOptions: { signalbox: mark } },
        { role: 'user', content: [text] },
      ),
    ).toEqual([
      { role: 'system', content: 'S', cache_control: { type: 'ephemeral' } },
      { role: 'user', content: [{ type: 'text', text: 'long', cache_control: { type: 'ephemeral' } }] },
    ]);
  });

  it('runs its own tools by their ids, and warns of those of other providers', () => {
    const { request, warnings } = chatRequestOf(
      'm',
      {
        prompt: [],
        tools: [
          { type: 'provider', id: 'signalbox.web_search', name: 'search', args: { max_results: 2 } },
          { type: 'provider', id: 'openai.code_interpreter', name: 'code', args: {} },
        ],
      },
      'v4',
    );
    expect(request.tools).toEqual([{ type: 'router:web_search', parameters: { max_results: 2 } }]);
    expect(warnings).toMatchObject([{ type: 'unsupported', feature: 'tool openai.code_interpreter' }]);
  });

  it('chooses a tool of ours by its type, and one of the program by its name', () => {
    const tools = [
      { type: 'provider', id: 'signalbox.web_search', name: 'search', args: {} },
      { type: 'function', name: 'look', inputSchema: {} },
    ] as const;
    const chosen = (toolName: string): unknown =>
      chatRequestOf('m', { prompt: [], tools, toolChoice: { type: 'tool', toolName } }, 'v4').request.tool_choice;
    expect(chosen('search')).toEqual({ type: 'router:web_search' });
    expect(chosen('look')).toEqual({ type: 'function', function: { name: 'look' } });
  });

  it.each([
    ['JVBERi0x', 'application', { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0x' } }],
    ['R0lGODdh', 'image', { type: 'image_url', image_url: { url: 'data:image/gif;base64,R0lGODdh' } }],
    ['UklGRgAA', 'audio/*', { type: 'input_audio', input_audio: { data: 'UklGRgAA', format: 'wav' } }],
    ['UklGRgAA', 'image/*', { type: 'image_url', image_url: { url: 'data:image/webp;base64,UklGRgAA' } }],
    ['AAAA', 'audio', { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } }],
  ] as const)('finds the type of %s, of which only the kind is said (%s)', (data, mediaType, expected) => {
    const part = { type: 'file', data, mediaType } as const;
    expect(messagesOf({ role: 'user', content: [part] })).toEqual([{ role: 'user', content: [expected] }]);
  });

  it('warns of parts that only another provider can read, once for each type', () => {
    const value = [{ type: 'file-id' }, { type: 'text', text: 'a' }] as const;
    const result = { type: 'tool-result', toolCallId: 'c', toolName: 't', output: { type: 'content', value } } as const;
    const prompt = [
      { role: 'assistant', content: [{ type: 'custom' }, { type: 'custom' }] },
      { role: 'tool', content: [result] },
    ] as const;
    expect(chatRequestOf('m', { prompt }, 'v3').warnings).toMatchObject([
      { type: 'unsupported', feature: 'part custom' },
      { type: 'unsupported', feature: 'part file-id' },
    ]);
  });
});
