import { describe, expect, it } from 'vitest';
import { messagesToChat } from '../../../src/formats/messages/to-chat.ts';
import { chatToolName, originalNames } from '../../../src/formats/messages/chat-tools.ts';
import { DEFAULT_REQUEST_LIMITS } from '../../../src/protocol/limits.ts';
import { parseChatRequest } from '../../../src/protocol/parse-chat-request.ts';

type Body = Readonly<Record<string, unknown>>;

/** The chat body of a request, which the chat schema must accept. */
function chatOf(fields: Body): Body {
  const body = { max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }], ...fields };
  const translated = messagesToChat(body, DEFAULT_REQUEST_LIMITS, new Set(['moderation']));
  if (!translated.ok) throw new Error(translated.fault.message);
  const parsed = parseChatRequest(translated.value.chat);
  if (!parsed.ok) throw new Error(`refused as a chat body: ${parsed.fault.message}`);
  return translated.value.chat;
}

function userParts(...content: readonly unknown[]): unknown {
  return (chatOf({ messages: [{ role: 'user', content }] })['messages'] as readonly Body[])[0]?.['content'];
}

const MARK = { type: 'ephemeral', ttl: '1h' };
const CALL = { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: ['it'] } };

describe('instructions', () => {
  it('are the first message', () => {
    expect(chatOf({ system: 'Be brief.' })['messages']).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hello' },
    ]);
  });

  it('in blocks keep their cache marks', () => {
    const system = [
      { type: 'text', text: 'One.' },
      { type: 'text', text: 'Two.', cache_control: MARK },
    ];
    expect(chatOf({ system })['messages']).toMatchObject([{ role: 'system', content: system }, {}]);
  });

  it('between turns stay where they are', () => {
    const messages = [
      { role: 'user', content: 'Hello' },
      { role: 'system', content: 'Whisper.' },
    ];
    expect(chatOf({ messages })['messages']).toEqual(messages);
  });
});

describe('what a user says', () => {
  it('is a plain text where that is all', () => {
    expect(userParts({ type: 'text', text: 'Hi' })).toBe('Hi');
  });

  it('has images as URLs', () => {
    expect(
      userParts(
        { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' }, cache_control: MARK },
      ),
    ).toEqual([
      { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' }, cache_control: MARK },
    ]);
  });

  it('has PDFs as files, with what is said about them before', () => {
    expect(
      userParts({
        type: 'document',
        title: 'Plan',
        context: 'Of the station',
        source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' },
      }),
    ).toEqual([
      { type: 'text', text: 'Of the station' },
      { type: 'file', file: { filename: 'Plan', file_data: 'data:application/pdf;base64,JVBE' } },
    ]);
    expect(userParts({ type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } })).toEqual([
      { type: 'file', file: { file_data: 'https://example.com/a.pdf' } },
    ]);
  });

  it('has documents of text as text', () => {
    const source = { type: 'text', media_type: 'text/plain', data: 'All aboard.' };
    expect(userParts({ type: 'document', title: 'Sign', source, cache_control: MARK })).toEqual([
      { type: 'text', text: 'Sign\n\nAll aboard.', cache_control: MARK },
    ]);
    const content = [
      { type: 'text', text: 'See:' },
      { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
    ];
    expect(userParts({ type: 'document', source: { type: 'content', content } })).toEqual([
      { type: 'text', text: 'See:' },
      { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
    ]);
  });

  it('has search results as text', () => {
    const content = [{ type: 'text', text: 'It is red.' }];
    expect(userParts({ type: 'search_result', title: 'Signals', source: 'https://example.com', content })).toEqual([
      { type: 'text', text: 'Signals\nhttps://example.com\nIt is red.' },
    ]);
  });
});

describe('tool calls and their results', () => {
  function afterCall(...content: readonly unknown[]): readonly Body[] {
    const messages = [
      { role: 'assistant', content: [{ type: 'text', text: 'I look.' }, CALL] },
      { role: 'user', content },
    ];
    return chatOf({ messages })['messages'] as readonly Body[];
  }

  it('are a call and a message of its own, before what is said with it', () => {
    expect(
      afterCall({ type: 'text', text: 'And?' }, { type: 'tool_result', tool_use_id: 'toolu_1', content: 'red' }),
    ).toEqual([
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [{ id: 'toolu_1', type: 'function', function: { name: 'look', arguments: '{"at":["it"]}' } }],
      },
      { role: 'tool', tool_call_id: 'toolu_1', content: 'red' },
      { role: 'user', content: 'And?' },
    ]);
  });

  it('carry images and cache marks', () => {
    const source = { type: 'base64', media_type: 'image/png', data: 'iVBO' };
    const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'image', source }] };
    expect(afterCall({ ...result, cache_control: MARK })[1]).toEqual({
      role: 'tool',
      tool_call_id: 'toolu_1',
      content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } }],
      cache_control: MARK,
    });
  });

  it('say that the tool failed, once', () => {
    const failed = { type: 'tool_result', tool_use_id: 'toolu_1', is_error: true };
    expect(afterCall({ ...failed, content: 'no such box' })[1]?.['content']).toBe('Error: no such box');
    expect(afterCall({ ...failed, content: 'TypeError: x is no box' })[1]?.['content']).toBe('TypeError: x is no box');
    expect(afterCall({ ...failed })[1]?.['content']).toBe('Error: ');
    const source = { type: 'url', url: 'https://example.com/a.png' };
    expect(afterCall({ ...failed, content: [{ type: 'image', source }] })[1]?.['content']).toEqual([
      { type: 'text', text: 'Error:' },
      { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
    ]);
  });

  it('without a word beside them have no content', () => {
    const [message] = chatOf({ messages: [{ role: 'assistant', content: [CALL] }] })['messages'] as readonly Body[];
    expect(message).toMatchObject({ role: 'assistant', content: null });
  });
});

describe('reasoning in the history', () => {
  it('keeps text and signatures, in order, beside the answer', () => {
    const content = [
      { type: 'thinking', thinking: 'Hm.', signature: 'EqQB+/=' },
      { type: 'redacted_thinking', data: 'Emw=' },
      { type: 'text', text: 'Red.' },
    ];
    expect(chatOf({ messages: [{ role: 'assistant', content }] })['messages']).toEqual([
      {
        role: 'assistant',
        content: 'Red.',
        reasoning: 'Hm.',
        reasoning_details: [
          { type: 'reasoning.text', text: 'Hm.', signature: 'EqQB+/=', format: 'anthropic-claude-v1', index: 0 },
          { type: 'reasoning.encrypted', data: 'Emw=', format: 'anthropic-claude-v1', index: 1 },
        ],
      },
    ]);
  });

  it('holds the calls of tools that the provider ran itself', () => {
    const content = [
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'signals' } },
      { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [{ type: 'web_search_result', url: 'u' }] },
      { type: 'text', text: 'Found.' },
    ];
    expect(chatOf({ messages: [{ role: 'assistant', content }] })['messages']).toEqual([
      {
        role: 'assistant',
        content: 'Found.',
        reasoning_details: [
          {
            type: 'reasoning.server_tool_call',
            tool_name: 'web_search',
            arguments: '{"query":"signals"}',
            result: '[{"type":"web_search_result","url":"u"}]',
            tool_call_id: 'srvtoolu_1',
            format: 'anthropic-claude-v1',
            index: 0,
          },
        ],
      },
    ]);
  });
});

describe('tools', () => {
  const TOOL = { name: 'look', description: 'Looks', input_schema: { type: 'object', properties: {} } };

  it('are functions', () => {
    expect(chatOf({ tools: [{ ...TOOL, type: 'custom', strict: true, cache_control: MARK }] })['tools']).toEqual([
      {
        type: 'function',
        function: { name: 'look', description: 'Looks', parameters: TOOL.input_schema, strict: true },
        cache_control: MARK,
      },
    ]);
  });

  it('that search and fetch are those of the router', () => {
    const tools = [
      {
        type: 'web_search_20250305',
        name: 'web_search',
        max_uses: 3,
        blocked_domains: ['example.com'],
        user_location: { type: 'approximate', city: 'York' },
      },
      { type: 'web_fetch_20260318', name: 'web_fetch', blocked_domains: ['example.com'], max_content_tokens: 9 },
      { type: 'router:datetime' },
    ];
    expect(chatOf({ tools })['tools']).toEqual([
      {
        type: 'router:web_search',
        parameters: {
          max_uses: 3,
          excluded_domains: ['example.com'],
          user_location: { type: 'approximate', city: 'York' },
        },
      },
      { type: 'router:web_fetch', parameters: { blocked_domains: ['example.com'], max_content_tokens: 9 } },
      { type: 'router:datetime' },
    ]);
  });

  it.each([
    [{ type: 'auto' }, 'auto'],
    [{ type: 'none' }, 'none'],
    [{ type: 'any' }, 'required'],
    [
      { type: 'tool', name: 'look' },
      { type: 'function', function: { name: 'look' } },
    ],
    [{ type: 'tool', name: 'web_search' }, { type: 'router:web_search' }],
  ])('are chosen by %j', (choice, expected) => {
    const tools = [TOOL, { type: 'web_search_20250305', name: 'web_search' }];
    expect(chatOf({ tools, tool_choice: choice })['tool_choice']).toEqual(expected);
  });

  it('are called one at a time where that is asked for', () => {
    const one = { type: 'auto', disable_parallel_tool_use: true };
    expect(chatOf({ tools: [TOOL], tool_choice: one })).toMatchObject({ parallel_tool_calls: false });
    expect(chatOf({ tools: [TOOL], tool_choice: { type: 'auto' } })).not.toHaveProperty('parallel_tool_calls');
  });

  it('with names that are too long for the chat form get short ones, and their own again', () => {
    const name = `mcp__${'connector_'.repeat(10)}look`;
    const other = `mcp__${'connector_'.repeat(10)}hear`;
    const tools = [
      { ...TOOL, name },
      { ...TOOL, name: other },
    ];
    const chat = chatOf({ tools, tool_choice: { type: 'tool', name } });
    const [first, second] = chat['tools'] as readonly { function: { name: string } }[];
    expect(first?.function.name).toHaveLength(64);
    expect(first?.function.name).not.toBe(second?.function.name);
    expect(chat['tool_choice']).toEqual({ type: 'function', function: { name: chatToolName(name) } });
    expect(originalNames(tools)(first?.function.name ?? '')).toBe(name);
    expect(originalNames(tools)('look')).toBe('look');
  });
});

describe('options', () => {
  it.each([
    [{ thinking: { type: 'enabled', budget_tokens: 2_048 } }, { max_tokens: 2_048 }],
    [{ thinking: { type: 'enabled', budget_tokens: 2_048 }, output_config: { effort: 'low' } }, { max_tokens: 2_048 }],
    [{ thinking: { type: 'adaptive' } }, { effort: 'high' }],
    [{ thinking: { type: 'adaptive' }, output_config: { effort: 'max' } }, { effort: 'max' }],
    [{ thinking: { type: 'disabled' }, output_config: { effort: 'max' } }, { effort: 'none' }],
    [{ thinking: { type: 'between_tools' } }, { effort: 'minimal' }],
    [{ output_config: { effort: 'low' } }, { effort: 'low' }],
    [{}, undefined],
  ])('about thinking: %j', (fields, reasoning) => {
    expect(chatOf(fields)['reasoning']).toEqual(reasoning);
  });

  it('ask for an answer that follows a schema', () => {
    const schema = { type: 'object', properties: {} };
    expect(chatOf({ output_config: { format: { type: 'json_schema', schema } } })['response_format']).toEqual({
      type: 'json_schema',
      json_schema: { name: 'output', schema, strict: true },
    });
  });

  it('name the end user as the metadata do, and keep other pairs', () => {
    expect(chatOf({ metadata: { user_id: 'ada', team: 'ops' } })).toMatchObject({
      user: 'ada',
      metadata: { team: 'ops' },
    });
    expect(chatOf({ metadata: { user_id: 'ada' } })).not.toHaveProperty('metadata');
    expect(chatOf({ metadata: { user_id: 'ada' }, user: 'eve' })).toMatchObject({ user: 'eve' });
  });

  it.each([
    [{ service_tier: 'standard_only' }, 'default'],
    [{ service_tier: 'auto' }, undefined],
    [{ service_tier: 'flex' }, 'flex'],
    [{ speed: 'fast' }, 'priority'],
    [{ speed: 'standard' }, undefined],
  ])('choose a tier: %j', (fields, tier) => {
    expect(chatOf(fields)['service_tier']).toBe(tier);
  });

  it('of sampling and length keep their names', () => {
    const fields = { max_tokens: 7, temperature: 0.5, top_p: 0.9, top_k: 4, stream: true, cache_control: MARK };
    expect(chatOf({ ...fields, stop_sequences: ['END'] })).toMatchObject({ ...fields, stop: ['END'] });
  });

  it('that route mean what they mean on chat', () => {
    const routing = {
      models: ['b/two'],
      provider: { order: ['up'] },
      plugins: [{ id: 'moderation' }],
      session_id: 's',
      trace: { trace_id: 't' },
    };
    expect(chatOf(routing)).toMatchObject(routing);
    expect(chatOf({ fallbacks: [{ model: 'b/two' }] })).toMatchObject({ models: ['b/two'] });
    expect(chatOf({ fallbacks: 'default' })).not.toHaveProperty('models');
  });

  it('of Anthropic alone go nowhere else', () => {
    const own = {
      context_management: { edits: [] },
      diagnostics: {},
      betas: ['x'],
      anthropic_version: 'v',
      new_one: 1,
    };
    expect(Object.keys(chatOf(own))).toEqual(['max_tokens', 'messages']);
  });
});
