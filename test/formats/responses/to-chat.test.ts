import { describe, expect, it } from 'vitest';
import { DEFAULT_REQUEST_LIMITS } from '../../../src/protocol/limits.ts';
import { parseChatRequest } from '../../../src/protocol/parse-chat-request.ts';
import { chatOf, messagesOf, sentenceOf, responsesBody, understood } from '../../support/responses.ts';

const HELLO = { role: 'user', content: 'Hello' };
const TOOL = { type: 'function', name: 'f', description: 'Does it', parameters: { type: 'object' }, strict: true };
const CHAT_TOOL = {
  type: 'function',
  function: { name: 'f', description: 'Does it', parameters: { type: 'object' }, strict: true },
};

type Row = readonly [name: string, fields: Readonly<Record<string, unknown>>, chat: Readonly<Record<string, unknown>>];

const FIELDS: readonly Row[] = [
  ['null members', { instructions: null, tools: null, text: null, reasoning: null, include: null, user: null }, {}],
  ['limits of tokens', { max_output_tokens: 50 }, { max_completion_tokens: 50 }],
  [
    'sampling',
    { temperature: 0.5, top_p: 0.9, top_k: 4, presence_penalty: 1 },
    { temperature: 0.5, top_p: 0.9, top_k: 4, presence_penalty: 1 },
  ],
  ['likelihoods', { top_logprobs: 3 }, { logprobs: true, top_logprobs: 3 }],
  ['likelihoods that are only included', { include: ['message.output_text.logprobs'] }, { logprobs: true }],
  ['no likelihoods', { top_logprobs: 0 }, {}],
  ['the form of plain text', { text: { format: { type: 'text' }, verbosity: 'low' } }, { verbosity: 'low' }],
  ['the form of JSON', { text: { format: { type: 'json_object' } } }, { response_format: { type: 'json_object' } }],
  [
    'a schema',
    {
      text: { format: { type: 'json_schema', name: 'p', schema: { type: 'object' }, strict: true, description: 'P' } },
    },
    {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'p', schema: { type: 'object' }, strict: true, description: 'P' },
      },
    },
  ],
  ['reasoning', { reasoning: { effort: 'low', summary: 'auto' } }, { reasoning: { effort: 'low', summary: 'auto' } }],
  ['the old name of summaries', { reasoning: { generate_summary: 'concise' } }, { reasoning: { summary: 'concise' } }],
  ['truncation', { truncation: 'auto' }, { transforms: ['middle-out'] }],
  ['no truncation', { truncation: 'disabled' }, { transforms: [] }],
  [
    'truncation beside transforms',
    { truncation: 'disabled', transforms: ['middle-out'] },
    { transforms: ['middle-out'] },
  ],
  ['the end user', { user: 'ada' }, { user: 'ada' }],
  ['the end user by the newer name', { user: 'ada', safety_identifier: 'ada-1' }, { user: 'ada-1' }],
  [
    'explicit caching',
    { prompt_cache_options: { mode: 'explicit' }, prompt_cache_key: 'k' },
    { prompt_cache_options: { mode: 'explicit' }, prompt_cache_key: 'k' },
  ],
  ['implicit caching', { prompt_cache_options: { mode: 'implicit' } }, {}],
  [
    'routing',
    {
      models: ['acme/two'],
      provider: { only: ['up'] },
      plugins: [{ id: 'web' }],
      session_id: 's',
      metadata: { a: 'b' },
      trace: { trace_id: 't' },
    },
    {
      models: ['acme/two'],
      provider: { only: ['up'] },
      plugins: [{ id: 'web' }],
      session_id: 's',
      metadata: { a: 'b' },
      trace: { trace_id: 't' },
    },
  ],
  [
    'shared fields',
    { parallel_tool_calls: false, max_tool_calls: 3, service_tier: 'flex', stream: true },
    { parallel_tool_calls: false, max_tool_calls: 3, service_tier: 'flex', stream: true },
  ],
  ['fields that nobody here knows', { vendor_option: 7 }, { vendor_option: 7 }],
  ['what says nothing', { store: false, background: false, stream_options: { include_obfuscation: true } }, {}],
  ['functions', { tools: [TOOL], tool_choice: 'required' }, { tools: [CHAT_TOOL], tool_choice: 'required' }],
  [
    'a forced function',
    { tools: [TOOL], tool_choice: { type: 'function', name: 'f' } },
    { tools: [CHAT_TOOL], tool_choice: { type: 'function', function: { name: 'f' } } },
  ],
  [
    'allowed tools',
    {
      tools: [TOOL, { ...TOOL, name: 'g' }],
      tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'f' }] },
    },
    { tools: [CHAT_TOOL], tool_choice: 'required' },
  ],
  [
    'a custom tool',
    {
      tools: [{ type: 'custom', name: 'sh', description: 'Runs', format: { type: 'text' } }],
      tool_choice: { type: 'custom', name: 'sh' },
    },
    {
      tools: [
        {
          type: 'function',
          function: {
            name: 'sh',
            description: 'Runs',
            parameters: {
              type: 'object',
              properties: { input: { type: 'string' } },
              required: ['input'],
              additionalProperties: false,
            },
          },
        },
      ],
      tool_choice: { type: 'function', function: { name: 'sh' } },
    },
  ],
  [
    'the hosted search',
    {
      tools: [
        {
          type: 'web_search',
          filters: { allowed_domains: ['a.org'] },
          search_context_size: 'low',
          user_location: null,
          external_web_access: true,
        },
      ],
      tool_choice: { type: 'web_search' },
    },
    {
      tools: [{ type: 'router:web_search', parameters: { search_context_size: 'low', allowed_domains: ['a.org'] } }],
      tool_choice: { type: 'web_search' },
    },
  ],
  [
    'the hosted painter',
    { tools: [{ type: 'image_generation', quality: 'low' }], tool_choice: { type: 'image_generation' } },
    {
      tools: [{ type: 'router:image_generation', parameters: { quality: 'low' } }],
      tool_choice: { type: 'router:image_generation' },
    },
  ],
  [
    'server tools of the router',
    { tools: [{ type: 'router:datetime', parameters: { timezone: 'UTC' } }] },
    { tools: [{ type: 'router:datetime', parameters: { timezone: 'UTC' } }] },
  ],
];

describe('a request in the chat form', () => {
  it.each(FIELDS)('says %s', (_name, fields, chat) => {
    expect(chatOf(fields)).toEqual({ messages: [HELLO], ...chat });
  });

  it.each(FIELDS)('is accepted with %s', (_name, fields) => {
    const checked = parseChatRequest(understood(fields).chat, DEFAULT_REQUEST_LIMITS);
    expect(checked.ok ? 'accepted' : checked.fault.message).toBe('accepted');
  });

  it('tells the grammar of a custom tool to the model, which nobody can force', () => {
    const format = { type: 'grammar', syntax: 'lark', definition: 'start: "a"' };
    const chat = chatOf({ tools: [{ type: 'custom', name: 'sh', format }] });
    expect(JSON.stringify(chat['tools'])).toContain('start: \\"a\\"');
  });
});

const call = (id: string): object => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: id,
  name: 'f',
  arguments: `{"${id}":1}`,
});
const output = (id: string): object => ({ type: 'function_call_output', call_id: id, output: `result ${id}` });
const chatCall = (id: string): object => ({ id, type: 'function', function: { name: 'f', arguments: `{"${id}":1}` } });
const result = (id: string): object => ({ role: 'tool', tool_call_id: id, content: `result ${id}` });
const thought = (id: string): object => ({ type: 'reasoning', id, summary: [], encrypted_content: `secret ${id}` });
const detail = (id: string, index: number): object => ({
  type: 'reasoning.encrypted',
  data: `secret ${id}`,
  id,
  format: 'openai-responses-v1',
  index,
});
const said = (text: string): object => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text }],
});

describe('input in the chat form', () => {
  it('is a message of the user, after the instructions', () => {
    expect(messagesOf('Hello', { instructions: 'Be brief' })).toEqual([{ role: 'system', content: 'Be brief' }, HELLO]);
  });

  it('keeps every role and every kind of content', () => {
    const marks = { prompt_cache_breakpoint: { mode: 'explicit' } };
    const content = [
      { type: 'input_text', text: 'Look', ...marks },
      { type: 'input_image', image_url: 'https://a.org/a.png', detail: 'low', ...marks },
      { type: 'input_image', image_url: 'https://a.org/b.png', detail: null, file_id: null },
      { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' },
      { type: 'input_file', file_url: 'https://a.org/b.pdf' },
      { type: 'input_file', file_id: 'file_1' },
      { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
      { type: 'input_video', video_url: 'https://a.org/a.mp4' },
    ];
    const messages = messagesOf([
      { type: 'message', role: 'system', content: [{ type: 'input_text', text: 'Be brief' }] },
      { role: 'developer', content: 'Be kind' },
      { role: 'user', content },
    ]);
    expect(messages).toEqual([
      { role: 'system', content: [{ type: 'text', text: 'Be brief' }] },
      { role: 'developer', content: 'Be kind' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look', ...marks },
          { type: 'image_url', image_url: { url: 'https://a.org/a.png', detail: 'low' }, ...marks },
          { type: 'image_url', image_url: { url: 'https://a.org/b.png' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' } },
          { type: 'file', file: { file_data: 'https://a.org/b.pdf' } },
          { type: 'file', file: { file_id: 'file_1' } },
          { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
          { type: 'video_url', video_url: { url: 'https://a.org/a.mp4' } },
        ],
      },
    ]);
  });

  it('keeps what the assistant said: text, several texts, a refusal, nothing', () => {
    const of = (content: unknown): unknown => messagesOf([{ role: 'assistant', content }])[0];
    expect(of('Hi')).toEqual({ role: 'assistant', content: 'Hi' });
    expect(of([{ type: 'output_text', text: 'Hi', annotations: [] }])).toEqual({ role: 'assistant', content: 'Hi' });
    expect(of([{ type: 'input_text', text: 'Hi' }])).toEqual({ role: 'assistant', content: 'Hi' });
    expect(of([{ type: 'refusal', refusal: 'No' }])).toEqual({ role: 'assistant', content: null, refusal: 'No' });
    expect(of(null)).toEqual({ role: 'assistant', content: '' });
    expect(
      of([
        { type: 'output_text', text: 'Hi' },
        { type: 'refusal', refusal: 'No' },
      ]),
    ).toEqual({
      role: 'assistant',
      content: [
        { type: 'text', text: 'Hi' },
        { type: 'refusal', refusal: 'No' },
      ],
    });
  });

  it('puts reasoning, text and calls between two others into one message, which the results follow', () => {
    const messages = messagesOf([
      HELLO,
      thought('rs_a'),
      said('Wait'),
      call('a'),
      thought('rs_b'),
      call('b'),
      output('b'),
      output('a'),
    ]);
    expect(messages).toEqual([
      HELLO,
      {
        role: 'assistant',
        content: 'Wait',
        reasoning_details: [detail('rs_a', 0), detail('rs_b', 1)],
        tool_calls: [chatCall('a'), chatCall('b')],
      },
      result('b'),
      result('a'),
    ]);
  });

  it('keeps calls apart that were made one after the other', () => {
    expect(messagesOf([HELLO, call('a'), output('a'), call('b'), output('b')])).toEqual([
      HELLO,
      { role: 'assistant', content: null, tool_calls: [chatCall('a')] },
      result('a'),
      { role: 'assistant', content: null, tool_calls: [chatCall('b')] },
      result('b'),
    ]);
  });

  it('keeps messages without calls apart, each with the reasoning before it', () => {
    expect(messagesOf([thought('rs_a'), said('One'), thought('rs_b'), said('Two'), thought('rs_c')])).toEqual([
      { role: 'assistant', content: 'One', reasoning_details: [detail('rs_a', 0)] },
      { role: 'assistant', content: 'Two', reasoning_details: [detail('rs_b', 0), detail('rs_c', 1)] },
    ]);
  });

  it('gives readable reasoning to providers that only take text', () => {
    const item = { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Because' }] };
    expect(messagesOf([item, said('Hi')])[0]).toEqual({
      role: 'assistant',
      content: 'Hi',
      reasoning: 'Because',
      reasoning_details: [{ type: 'reasoning.summary', summary: 'Because', id: 'rs_1', index: 0 }],
    });
  });

  it('says calls of custom tools and their results as those of functions', () => {
    expect(
      messagesOf([
        { type: 'custom_tool_call', call_id: 'a', name: 'sh', input: 'echo "hi"' },
        { type: 'custom_tool_call_output', call_id: 'a', output: [{ type: 'input_text', text: 'hi' }] },
      ]),
    ).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'sh', arguments: '{"input":"echo \\"hi\\""}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'hi' }] },
    ]);
  });

  it('replays server tools that this router ran, and leaves out those that a provider ran', () => {
    const own = {
      type: 'web_search_call',
      id: 'st_1',
      tool_name: 'web_search',
      tool_call_id: 'x',
      arguments: '{}',
      result: '[]',
    };
    const foreign = {
      type: 'web_search_call',
      id: 'ws_1',
      status: 'completed',
      action: { type: 'search', query: 'q' },
    };
    expect(messagesOf([own, foreign, said('Hi')])).toEqual([
      {
        role: 'assistant',
        content: 'Hi',
        reasoning_details: [
          {
            type: 'reasoning.server_tool_call',
            tool_name: 'web_search',
            arguments: '{}',
            result: '[]',
            tool_call_id: 'x',
            index: 0,
          },
        ],
      },
    ]);
  });

  it('gives images of earlier answers back', () => {
    const image = { type: 'image_generation_call', id: 'ig_1', result: 'AA==', output_format: 'webp' };
    expect(messagesOf([image])[0]).toMatchObject({ images: [{ image_url: { url: 'data:image/webp;base64,AA==' } }] });
  });

  it('changes the effort where the caller does', () => {
    expect(messagesOf([{ type: 'configuration_update', reasoning: { effort: 'low' } }, HELLO])).toEqual([
      { role: 'developer', content: '', configuration_update: { reasoning: { effort: 'low' } } },
      HELLO,
    ]);
  });
});

describe('what only a provider of this API understands', () => {
  it.each([
    [{ tools: [{ type: 'file_search', vector_store_ids: ['v'] }] }, 'tools[0].type'],
    [{ tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] }, 'tools[0].type'],
    [{ tools: [TOOL, { type: 'mcp', server_label: 'm' }] }, 'tools[1].type'],
    [{ tools: [{ ...TOOL, defer_loading: true }] }, 'tools[0].defer_loading'],
    [{ tools: [TOOL], tool_choice: { type: 'mcp', server_label: 'm' } }, 'tool_choice.type'],
    [{ input: [HELLO, { type: 'compaction', encrypted_content: 'x' }] }, 'input[1].type'],
    [{ input: [{ type: 'computer_call', call_id: 'c' }] }, 'input[0].type'],
    [{ input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] }, 'input[0].content[0].file_id'],
    [{ context_management: [{ type: 'compaction' }] }, 'context_management'],
    [{ moderation: { model: 'm' } }, 'moderation'],
  ])('%j goes to nobody else', (fields, path) => {
    const { native, chat } = understood(fields);
    expect(native?.requiredBy).toBe(path);
    expect(parseChatRequest(chat, DEFAULT_REQUEST_LIMITS).ok).toBe(true);
  });

  it('cannot be asked for beside what only this router does', () => {
    const body = responsesBody({ tools: [{ type: 'file_search' }], plugins: [{ id: 'web' }] });
    expect(sentenceOf(body)).toBe(
      'tools[0].type can only be sent to a provider that supports this API natively, which plugins[0] rules out.',
    );
  });
});

describe('the body for a provider of this API', () => {
  it('is the caller’s own, without what is for this router', () => {
    const fields = {
      instructions: 'Be brief',
      truncation: 'auto',
      max_output_tokens: 50,
      prompt_cache_options: { mode: 'implicit' },
      temperature: null,
      models: ['acme/two'],
      provider: { only: ['up'] },
      plugins: [{ id: 'auto-router' }, { id: 'web', enabled: false }],
      session_id: 's',
      metadata: { a: 'b' },
      trace: {},
      debug: { echo_upstream_body: true },
      user: 'ada',
      safety_identifier: 'ada',
      store: false,
    };
    expect(understood(fields).native).toEqual({
      body: {
        model: 'acme/one',
        input: 'Hello',
        instructions: 'Be brief',
        truncation: 'auto',
        max_output_tokens: 50,
        prompt_cache_options: { mode: 'implicit' },
      },
      requiredBy: undefined,
    });
  });

  it.each([
    { tools: [{ type: 'router:datetime' }] },
    { plugins: [{ id: 'web' }] },
    { preset: 'mine' },
    { model: 'acme/one@preset/mine' },
    { model: 'acme/one:online' },
    { models: ['acme/two:online'] },
    { transforms: ['middle-out'] },
    { stop_server_tools_when: [{ type: 'step_count_is', step_count: 1 }] },
    { reasoning: { exclude: true } },
    { reasoning: { max_tokens: 2_000 } },
    { input: [{ role: 'user', content: [{ type: 'input_video', video_url: 'https://a.org/a.mp4' }] }] },
  ])('does not exist where the router has to do something: %j', (fields) => {
    expect(understood(fields).native).toBeUndefined();
  });
});
