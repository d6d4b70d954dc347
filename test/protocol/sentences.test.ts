import { describe, expect, it } from 'vitest';
import { parseChatRequest } from '../../src/protocol/parse-chat-request.ts';
import { type Body, bodyOfContent, smallBody } from '../support/chat-bodies.ts';

function sentenceOf(body: unknown): string {
  const parsed = parseChatRequest(body);
  return parsed.ok ? 'accepted' : parsed.fault.message;
}

const SENTENCES: readonly (readonly [unknown, string])[] = [
  [[], 'The request body must be a JSON object with a "messages" array, not an array.'],
  ['Hello', 'The request body must be a JSON object with a "messages" array, not "Hello".'],
  [null, 'The request body must be a JSON object with a "messages" array, not null.'],
  [{}, 'messages is required and must be an array.'],
  [{ messages: [] }, 'messages must have at least 1 item, not 0.'],
  [{ messages: ['Hello'] }, 'messages[0] must be an object, not "Hello".'],
  [
    { messages: [{ role: 'human', content: 'Hello' }] },
    'messages[0].role must be one of "system", "developer", "user", "assistant", "tool", not "human".',
  ],
  [bodyOfContent(5), 'messages[0].content must be a string or an array, not 5.'],
  [
    bodyOfContent([{ type: 'image', url: 'x' }]),
    'messages[0].content[0].type must be one of "text", "image_url", "input_audio", "video_url", "input_video", "file", not "image".',
  ],
  [
    bodyOfContent([{ type: 'image_url', image_url: 'https://example.com/a.png' }]),
    'messages[0].content[0].image_url must be an object, not "https://example.com/a.png".',
  ],
  [
    bodyOfContent([{ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }]),
    'messages[0].content[0].image_url.url must be an http(s) URL or a data URL, not "file:///etc/passwd".',
  ],
  [bodyOfContent([{ type: 'file', file: {} }]), 'messages[0].content[0].file needs file_data or file_id.'],
  [
    { messages: [{ role: 'system', content: [{ type: 'image_url', image_url: { url: 'https://example.com' } }] }] },
    'messages[0].content[0].type must be "text", not "image_url".',
  ],
  [
    {
      messages: [
        {
          role: 'assistant',
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: { at: 'it' } } }],
        },
      ],
    },
    'messages[0].tool_calls[0].function.arguments must be a string, not an object.',
  ],
  [smallBody({ temperature: 3 }), 'temperature must be at most 2, not 3.'],
  [smallBody({ temperature: '1' }), 'temperature must be a number, not "1".'],
  [smallBody({ temperature: Infinity }), 'temperature must be a finite number, not Infinity.'],
  [smallBody({ top_k: 1.5 }), 'top_k must be an integer, not 1.5.'],
  [smallBody({ repetition_penalty: 0 }), 'repetition_penalty must be more than 0, not 0.'],
  [smallBody({ stream: 'true' }), 'stream must be true or false, not "true".'],
  [smallBody({ stop: ['a', 'b', 'c', 'd', 'e'] }), 'stop must have at most 4 items, not 5.'],
  [smallBody({ stop: 5 }), 'stop must be a string or an array, not 5.'],
  [smallBody({ stop: ['a', 5] }), 'stop[1] must be a string, not 5.'],
  [smallBody({ models: ['a', 'b', 'c', 'd'] }), "'models' array must have 3 items or fewer."],
  [smallBody({ model: 'acme/one\0' }), 'model must not contain a NUL character.'],
  [smallBody({ logit_bias: { 50256: 101 } }), 'logit_bias["50256"] must be at most 100, not 101.'],
  [smallBody({ metadata: { team: 5 } }), 'metadata.team must be a string, not 5.'],
  [
    smallBody({ metadata: { ['k'.repeat(65)]: 'v' } }),
    `metadata has a key of more than 64 characters: "${'k'.repeat(31)}…".`,
  ],
  [
    smallBody({ tools: [{ type: 'func' }] }),
    'tools[0].type must be "function" or a server tool such as "router:web_search", not "func".',
  ],
  [smallBody({ tools: [{ type: 'function' }] }), 'tools[0].function is required and must be an object.'],
  [
    smallBody({ tools: [{ type: 'function', function: { name: 'get weather' } }] }),
    'tools[0].function.name may hold only letters, digits, "_" and "-"; it is "get weather".',
  ],
  [smallBody({ tool_choice: 'always' }), 'tool_choice must be "none", "auto", "required" or an object, not "always".'],
  [
    smallBody({ tool_choice: { type: 'function' } }),
    'tool_choice.function is required and must be an object with a name.',
  ],
  [
    smallBody({ response_format: { type: 'xml' } }),
    'response_format.type must be one of "text", "json_object", "json_schema", "grammar", "python", not "xml".',
  ],
  [
    smallBody({ reasoning: { effort: 'extreme' } }),
    'reasoning.effort must be one of "max", "xhigh", "high", "medium", "low", "minimal", "none", not "extreme".',
  ],
  [
    smallBody({ reasoning: { effort: 'high' }, reasoning_effort: 'low' }),
    'reasoning_effort must not differ from reasoning.effort ("low" and "high").',
  ],
  [
    smallBody({ reasoning: { effort: 'high', max_tokens: 100 } }),
    'reasoning must have either an effort or max_tokens, not both.',
  ],
  [
    smallBody({ provider: { ordr: ['openai'] } }),
    'provider has a member that is not known here: "ordr"; did you mean "order"?',
  ],
  [
    smallBody({ provider: { alow_fallbacks: true } }),
    'provider has a member that is not known here: "alow_fallbacks"; did you mean "allow_fallbacks"?',
  ],
  [
    smallBody({ provider: { sort: { direction: 'up' } } }),
    'provider.sort has a member that is not known here: "direction"; known are by, partition.',
  ],
  [
    smallBody({ provider: { max_price: { promt: 1 } } }),
    'provider.max_price has a member that is not known here: "promt"; did you mean "prompt"?',
  ],
  [
    smallBody({ provider: { max_price: { prompt: 'cheap' } } }),
    'provider.max_price.prompt must be a number of US dollars, such as 0.5 or "0.5", not "cheap".',
  ],
  [
    smallBody({ provider: { sort: 'cheapest' } }),
    'provider.sort must be "price", "throughput", "latency", "exacto" or an object, not "cheapest".',
  ],
  [
    smallBody({ provider: { data_collection: 'never' } }),
    'provider.data_collection must be "allow" or "deny", not "never".',
  ],
  [
    smallBody({ stop_server_tools_when: [{ type: 'step_count_is', steps: 3 }] }),
    'stop_server_tools_when[0].step_count is required and must be a number.',
  ],
  [smallBody({ image_config: { size: true } }), 'image_config.size must be a string, a number or an array, not true.'],
  [smallBody({ route: 'fastest' }), 'route must be "fallback", "sort" or an object, not "fastest".'],
];

describe('the sentence about a wrong body', () => {
  it.each(SENTENCES.map(([body, sentence]) => [sentence, body] as const))('reads: %s', (sentence, body) => {
    expect(sentenceOf(body)).toBe(sentence);
  });

  it('ends in one full stop and begins with the place', () => {
    for (const [, sentence] of SENTENCES) {
      expect(sentence).toMatch(/^(?:The request body|'models'|[a-z_]+(?:\[|\.| )).*[^.][.?]$/);
    }
  });
});

const CONTRADICTIONS: readonly (readonly [Body, string])[] = [
  [
    { messages: [{ role: 'tool', tool_call_id: 'c9', content: 'a' }] },
    'messages[0].tool_call_id answers a tool call that no earlier assistant message made.',
  ],
  [
    {
      messages: [
        { role: 'tool', tool_call_id: 'c1', content: 'a' },
        { role: 'assistant', tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '' } }] },
      ],
    },
    'messages[0].tool_call_id answers a tool call that no earlier assistant message made.',
  ],
  [
    {
      messages: [
        { role: 'system', content: '', configuration_update: { reasoning: { effort: 'low' } } },
        { role: 'developer', content: '', configuration_update: { reasoning: { effort: 'high' } } },
        { role: 'user', content: 'a' },
      ],
    },
    'messages[1].configuration_update must not follow another one directly.',
  ],
  [smallBody({ tool_choice: 'required' }), 'tool_choice asks for a tool call, but the request has no tools.'],
  [
    smallBody({ tools: [], tool_choice: 'required' }),
    'tool_choice asks for a tool call, but the request has no tools.',
  ],
  [
    smallBody({
      tools: [{ type: 'function', function: { name: 'look' } }],
      tool_choice: { type: 'function', function: { name: 'see' } },
    }),
    'tool_choice.function.name must be the name of a function in tools, not "see".',
  ],
  [smallBody({ top_logprobs: 5 }), 'top_logprobs needs logprobs: true.'],
  [smallBody({ top_logprobs: 5, logprobs: false }), 'top_logprobs needs logprobs: true.'],
];

describe('a body that contradicts itself', () => {
  it.each(CONTRADICTIONS.map(([body, sentence]) => [sentence, body] as const))('is a 422: %s', (sentence, body) => {
    expect(parseChatRequest(body)).toMatchObject({
      ok: false,
      fault: { status: 422, errorType: 'unprocessable', message: sentence },
    });
  });

  it('is fine where the statements can all be true', () => {
    expect(sentenceOf(smallBody({ top_logprobs: 0 }))).toBe('accepted');
    expect(sentenceOf(smallBody({ tools: [], tool_choice: 'auto' }))).toBe('accepted');
    const update = { role: 'system', content: '', configuration_update: { reasoning: { effort: 'low' } } };
    const user = { role: 'user', content: 'a' };
    expect(sentenceOf({ messages: [update, user, update, user] })).toBe('accepted');
  });
});
