import { describe, expect, it } from 'vitest';
import { DEFAULT_REQUEST_LIMITS } from '../../../../src/protocol/limits.ts';
import { parseMessagesRequest } from '../../../../src/formats/messages/protocol/messages-request.ts';

type Body = Readonly<Record<string, unknown>>;

function small(fields: Body = {}): Body {
  return { max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }], ...fields };
}

function user(...content: readonly unknown[]): Body {
  return small({ messages: [{ role: 'user', content }] });
}

function assistant(...content: readonly unknown[]): Body {
  return small({ messages: [{ role: 'assistant', content }] });
}

function sentenceOf(body: unknown): string {
  const parsed = parseMessagesRequest(body);
  return parsed.ok ? 'accepted' : parsed.fault.message;
}

const CALL = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} };
const TOOL = { name: 'f', input_schema: { type: 'object' } };

const SENTENCES: readonly (readonly [unknown, string])[] = [
  ['Hello', 'The request body must be a JSON object with "messages" and "max_tokens", not "Hello".'],
  [{ max_tokens: 1 }, 'messages is required and must be an array.'],
  [{ messages: [{ role: 'user', content: 'Hello' }] }, 'max_tokens is required and must be a number.'],
  [small({ max_tokens: -1 }), 'max_tokens must be at least 0, not -1.'],
  [small({ max_tokens: 1.5 }), 'max_tokens must be an integer, not 1.5.'],
  [small({ messages: [] }), 'messages must have at least 1 item, not 0.'],
  [
    small({ messages: [{ role: 'tool', content: 'x' }] }),
    'messages[0].role must be one of "user", "assistant", "system", not "tool".',
  ],
  [small({ messages: [{ role: 'user' }] }), 'messages[0].content is required and must be a string or an array.'],
  [user(), 'messages[0].content must have at least 1 item, not 0.'],
  [user('text'), 'messages[0].content[0] must be an object, not "text".'],
  [user({ text: 'x' }), 'messages[0].content[0].type is required and must be a string.'],
  [user({ type: 'text' }), 'messages[0].content[0].text is required and must be a string.'],
  [user(CALL), 'messages[0].content[0] may only be in an assistant message.'],
  [
    assistant({ type: 'tool_result', tool_use_id: 'a', content: 'x' }),
    'messages[0].content[0] may only be in the content of a user message.',
  ],
  [assistant({ ...CALL, input: '{}' }), 'messages[0].content[0].input must be an object, not "{}".'],
  [
    assistant({ type: 'thinking', thinking: 'x' }),
    'messages[0].content[0].signature is required and must be a string.',
  ],
  [
    user({ type: 'image', source: { type: 'base64', data: 'x' } }),
    'messages[0].content[0].source.media_type is required and must be a string.',
  ],
  [
    user({ type: 'image', source: { type: 'base64', media_type: 'text/html', data: 'x' } }),
    'messages[0].content[0].source.media_type must be a media type such as "image/png", not "text/html".',
  ],
  [
    user({ type: 'image', source: { type: 'url', url: 'file:///etc/passwd' } }),
    'messages[0].content[0].source.url must be an http(s) URL, not "file:///etc/passwd".',
  ],
  [
    user({ type: 'document', source: { type: 'base64', media_type: 'text/html', data: 'x' } }),
    'messages[0].content[0].source.media_type must be "application/pdf", not "text/html".',
  ],
  [
    user({ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '2h' } }),
    'messages[0].content[0].cache_control.ttl must be "5m" or "1h", not "2h".',
  ],
  [
    small({
      messages: [
        { role: 'assistant', content: [CALL] },
        ...turns({ tool_use_id: 'toolu_1', content: [{ type: 'text' }] }),
      ],
    }),
    'messages[1].content[0].content[0].text is required and must be a string.',
  ],
  [
    small({ messages: [{ role: 'assistant', content: [CALL] }, ...turns({ tool_use_id: 'toolu_2', content: 'x' })] }),
    'messages[1].content[0].tool_use_id answers a tool call that no earlier assistant message made.',
  ],
  [
    small({
      messages: [
        { role: 'assistant', content: [CALL] },
        ...turns({ tool_use_id: 'toolu_1', content: [{ type: 'tool_result', content: 5 }] }),
      ],
    }),
    'messages[1].content[0].content[0] may only be in the content of a user message.',
  ],
  [
    user({ type: 'web_search_tool_result', tool_use_id: 'a', content: [] }),
    'messages[0].content[0] may only be in an assistant message.',
  ],
  [small({ system: 5 }), 'system must be a string or an array, not 5.'],
  [small({ system: [{ type: 'image' }] }), 'system[0].type must be "text", not "image".'],
  [small({ temperature: 1.5 }), 'temperature must be at most 1, not 1.5.'],
  [small({ stop_sequences: 'x' }), 'stop_sequences must be an array, not "x".'],
  [small({ tools: [{ name: 'f' }] }), 'tools[0].input_schema is required and must be an object.'],
  [
    small({ tools: [{ type: 'function', function: { name: 'f' } }] }),
    'tools[0].type must be "custom" or left out: tools of this wire have name, description and input_schema, not "function".',
  ],
  [
    small({ tools: [{ name: 'get weather', input_schema: { type: 'object' } }] }),
    'tools[0].name may hold only letters, digits, "_" and "-"; it is "get weather".',
  ],
  [
    small({ tools: [TOOL], tool_choice: { type: 'required' } }),
    'tool_choice.type must be one of "auto", "any", "none", "tool", not "required".',
  ],
  [small({ tool_choice: { type: 'any' } }), 'tool_choice asks for a tool call, but the request has no tools.'],
  [
    small({ tools: [TOOL], tool_choice: { type: 'tool', name: 'g' } }),
    'tool_choice.name must be the name of one of the tools, not "g".',
  ],
  [small({ thinking: { type: 'enabled' } }), 'thinking.budget_tokens is required and must be a number.'],
  [
    small({ thinking: { type: 'enabled', budget_tokens: 100 } }),
    'thinking.budget_tokens must be at least 1,024, not 100.',
  ],
  [
    small({ output_config: { effort: 'none' } }),
    'output_config.effort must be one of "low", "medium", "high", "xhigh", "max", not "none".',
  ],
  [
    small({ output_config: { format: { type: 'json_object' } } }),
    'output_config.format.type must be "json_schema", not "json_object".',
  ],
  [small({ metadata: { user_id: 5 } }), 'metadata.user_id must be a string, not 5.'],
  [small({ models: ['a/b'], fallbacks: [{ model: 'c/d' }] }), 'fallbacks and models mean the same: send one of them.'],
  [
    small({ thread: { type: 'create' } }),
    'thread is not supported here: the next request may go to another provider, so send the whole conversation each time.',
  ],
  [small({ modalities: ['audio'] }), 'modalities[0] must be "text" or "image", not "audio".'],
];

function turns(result: Body): readonly Body[] {
  return [{ role: 'user', content: [{ type: 'tool_result', ...result }] }];
}

describe('what is wrong with a messages body', () => {
  it.each(SENTENCES.map(([body, sentence]) => ({ body, sentence })))('is told: $sentence', ({ body, sentence }) => {
    expect(sentenceOf(body)).toBe(sentence);
  });

  it('is a 400 with the path in the body that was sent', () => {
    const parsed = parseMessagesRequest(user({ type: 'text' }));
    expect(parsed).toMatchObject({
      ok: false,
      fault: { status: 400, errorType: 'invalid_prompt', path: 'messages[0].content[0].text' },
    });
  });

  it('is told before the body is walked too deep', () => {
    let nested: unknown = {};
    for (let depth = 0; depth < DEFAULT_REQUEST_LIMITS.depth + 10; depth += 1) nested = { nested };
    expect(sentenceOf(assistant({ ...CALL, input: nested }))).toContain('must not be nested more than 64 levels deep');
  });

  it('repeats little of what was sent', () => {
    expect(sentenceOf(user('x'.repeat(10_000))).length).toBeLessThan(200);
  });
});

const ACCEPTED: readonly (readonly [string, Body])[] = [
  ['blocks that are newer than this router', user({ type: 'hologram', beam: 3 })],
  ['tools that Anthropic defines', small({ tools: [{ type: 'bash_20250124', name: 'bash' }] })],
  ['tools of the router', small({ tools: [{ type: 'router:datetime' }] })],
  ['nulls in place of what is left out', small({ system: null, tools: null, tool_choice: null, thinking: null })],
  ['no cache before a warm-up', small({ max_tokens: 0 })],
  ['an empty answer that comes back', assistant()],
  ['a system message between turns', small({ messages: [{ role: 'system', content: 'Be brief.' }] })],
  ['fields of the chat request', small({ provider: { order: ['a'] }, session_id: 's', seed: 1 })],
];

describe('a messages body', () => {
  it.each(ACCEPTED)('may have %s', (_what, body) => {
    expect(sentenceOf(body)).toBe('accepted');
  });

  it('is given back as it came', () => {
    const body = user({ type: 'text', text: 'x', unheard_of: { of: 1 } });
    const parsed = parseMessagesRequest(body);
    expect(parsed.ok && parsed.value).toBe(body);
  });
});
