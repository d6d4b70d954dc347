import { describe, expect, it } from 'vitest';
import { parseChatRequest } from '../../src/protocol/parse-chat-request.ts';
import { read } from '../../src/protocol/issues.ts';
import { modelPatternsSchema } from '../../src/protocol/plugins.ts';
import { DEFAULT_REQUEST_LIMITS } from '../../src/protocol/limits.ts';
import { type Body, bodyOfContent, smallBody } from '../support/chat-bodies.ts';

const text = (length: number): string => 'x'.repeat(length);
const list = <Item>(length: number, item: (index: number) => Item): Item[] =>
  Array.from({ length }, (_, index) => item(index));
const functionNamed = (name: string): Body => ({ type: 'function', function: { name } });
const choice = (fields: Body): Body => smallBody({ logprobs: true, ...fields });

/** For each limit: bodies that stand on it or one step inside, and one that is a step outside. */
const LIMITS: readonly (readonly [string, readonly Body[], Body, string])[] = [
  ['temperature', [0, 2].map((n) => smallBody({ temperature: n })), smallBody({ temperature: 2.001 }), 'at most 2'],
  ['temperature', [smallBody({ temperature: 0.001 })], smallBody({ temperature: -0.001 }), 'at least 0'],
  ['top_p', [0, 0.5, 1].map((n) => smallBody({ top_p: n })), smallBody({ top_p: 1.001 }), 'at most 1'],
  ['top_p', [smallBody({ top_p: 0 })], smallBody({ top_p: -0.001 }), 'at least 0'],
  ['top_k', [0, 1, 1e9].map((n) => smallBody({ top_k: n })), smallBody({ top_k: -1 }), 'at least 0'],
  ['min_p', [0, 1].map((n) => smallBody({ min_p: n })), smallBody({ min_p: 1.1 }), 'at most 1'],
  ['top_a', [0, 1].map((n) => smallBody({ top_a: n })), smallBody({ top_a: -0.1 }), 'at least 0'],
  ...['frequency_penalty', 'presence_penalty'].flatMap((name) => [
    [name, [-2, 0, 2].map((n) => smallBody({ [name]: n })), smallBody({ [name]: 2.1 }), 'at most 2'] as const,
    [name, [smallBody({ [name]: -1.9 })], smallBody({ [name]: -2.1 }), 'at least -2'] as const,
  ]),
  [
    'repetition_penalty',
    [0.01, 2].map((n) => smallBody({ repetition_penalty: n })),
    smallBody({ repetition_penalty: 0 }),
    'more than 0',
  ],
  ['repetition_penalty', [smallBody({ repetition_penalty: 2 })], smallBody({ repetition_penalty: 2.01 }), 'at most 2'],
  [
    'logit_bias["1"]',
    [-100, 100].map((n) => smallBody({ logit_bias: { 1: n } })),
    smallBody({ logit_bias: { 1: 100.5 } }),
    'at most 100',
  ],
  ['logit_bias["1"]', [smallBody({ logit_bias: { 1: -99 } })], smallBody({ logit_bias: { 1: -101 } }), 'at least -100'],
  ['top_logprobs', [0, 19, 20].map((n) => choice({ top_logprobs: n })), choice({ top_logprobs: 21 }), 'at most 20'],
  ['top_logprobs', [choice({ top_logprobs: 1 })], choice({ top_logprobs: -1 }), 'at least 0'],
  [
    'max_completion_tokens',
    [1, 2].map((n) => smallBody({ max_completion_tokens: n })),
    smallBody({ max_completion_tokens: 0 }),
    'at least 1',
  ],
  ['max_tokens', [1, 2].map((n) => smallBody({ max_tokens: n })), smallBody({ max_tokens: 0 }), 'at least 1'],
  [
    'max_tool_calls',
    [1, 29, 30].map((n) => smallBody({ max_tool_calls: n })),
    smallBody({ max_tool_calls: 31 }),
    'at most 30',
  ],
  [
    'reasoning.max_tokens',
    [1, 2].map((n) => smallBody({ reasoning: { max_tokens: n } })),
    smallBody({ reasoning: { max_tokens: 0 } }),
    'at least 1',
  ],
  [
    'seed',
    [-1, 0, Number.MAX_SAFE_INTEGER].map((n) => smallBody({ seed: n })),
    smallBody({ seed: 2 ** 53 }),
    'at most 9,007,199,254,740,991',
  ],
  [
    'stop',
    [3, 4].map((n) => smallBody({ stop: list(n, String) })),
    smallBody({ stop: list(5, String) }),
    'at most 4 items',
  ],
  ['stop', [smallBody({ stop: 'a' })], smallBody({ stop: '' }), 'at least 1 character'],
  [
    'model',
    [255, 256].map((n) => smallBody({ model: text(n) })),
    smallBody({ model: text(257) }),
    'at most 256 characters',
  ],
  ['model', [smallBody({ model: 'a' })], smallBody({ model: '' }), 'at least 1 character'],
  [
    'models',
    [0, 2, 3].map((n) => smallBody({ models: list(n, (at) => `a/${at}`) })),
    smallBody({ models: list(4, (at) => `a/${at}`) }),
    '3 items or fewer',
  ],
  [
    'user',
    [0, 511, 512].map((n) => smallBody({ user: text(n) })),
    smallBody({ user: text(513) }),
    'at most 512 characters',
  ],
  [
    'session_id',
    [0, 255, 256].map((n) => smallBody({ session_id: text(n) })),
    smallBody({ session_id: text(257) }),
    'at most 256 characters',
  ],
  [
    'prompt_cache_key',
    [256].map((n) => smallBody({ prompt_cache_key: text(n) })),
    smallBody({ prompt_cache_key: text(257) }),
    'at most 256 characters',
  ],
  [
    'metadata',
    [0, 15, 16].map((n) => smallBody({ metadata: Object.fromEntries(list(n, (at) => [`k${at}`, 'v'])) })),
    smallBody({ metadata: Object.fromEntries(list(17, (at) => [`k${at}`, 'v'])) }),
    'at most 16 pairs',
  ],
  [
    'metadata',
    [63, 64].map((n) => smallBody({ metadata: { [text(n)]: 'v' } })),
    smallBody({ metadata: { [text(65)]: 'v' } }),
    'more than 64 characters',
  ],
  [
    'metadata.k',
    [0, 511, 512].map((n) => smallBody({ metadata: { k: text(n) } })),
    smallBody({ metadata: { k: text(513) } }),
    'at most 512 characters',
  ],
  ['messages', [smallBody()], { messages: [] }, 'at least 1 item'],
  [
    'modalities',
    [smallBody({ modalities: ['text', 'image', 'audio'] })],
    smallBody({ modalities: list(4, () => 'text') }),
    'at most 3 items',
  ],
  [
    'tools[0].function.name',
    [1, 63, 64].map((n) => smallBody({ tools: [functionNamed(text(n))] })),
    smallBody({ tools: [functionNamed(text(65))] }),
    'at most 64 characters',
  ],
  [
    'tools[0].function.name',
    [smallBody({ tools: [functionNamed('a')] })],
    smallBody({ tools: [functionNamed('')] }),
    'at least 1 character',
  ],
  [
    'response_format.json_schema.name',
    [64].map((n) => smallBody({ response_format: { type: 'json_schema', json_schema: { name: text(n) } } })),
    smallBody({ response_format: { type: 'json_schema', json_schema: { name: text(65) } } }),
    'at most 64 characters',
  ],
  [
    'response_format.grammar',
    [1, 1_000_000].map((n) => smallBody({ response_format: { type: 'grammar', grammar: text(n) } })),
    smallBody({ response_format: { type: 'grammar', grammar: text(1_000_001) } }),
    'at most 1,000,000 characters',
  ],
  [
    'plugins',
    [63, 64].map((n) => smallBody({ plugins: list(n, (at) => ({ id: `p${at}` })) })),
    smallBody({ plugins: list(65, (at) => ({ id: `p${at}` })) }),
    'at most 64 items',
  ],
  [
    'provider.order',
    [255, 256].map((n) => smallBody({ provider: { order: list(n, String) } })),
    smallBody({ provider: { order: list(257, String) } }),
    'at most 256 items',
  ],
  [
    'provider.only[0]',
    [1, 128].map((n) => smallBody({ provider: { only: [text(n)] } })),
    smallBody({ provider: { only: [text(129)] } }),
    'at most 128 characters',
  ],
  [
    'provider.max_price.prompt',
    [0, 1].map((n) => smallBody({ provider: { max_price: { prompt: n } } })),
    smallBody({ provider: { max_price: { prompt: -1 } } }),
    'at least 0',
  ],
  [
    'provider.max_price.prompt',
    [smallBody({ provider: { max_price: { prompt: '0' } } })],
    smallBody({ provider: { max_price: { prompt: '-1' } } }),
    'a number of US dollars',
  ],
  [
    'provider.preferred_max_latency',
    [smallBody({ provider: { preferred_max_latency: 0 } })],
    smallBody({ provider: { preferred_max_latency: -0.1 } }),
    'at least 0',
  ],
  [
    'messages[0].name',
    [256].map((n) => ({ messages: [{ role: 'user', content: 'a', name: text(n) }] })),
    { messages: [{ role: 'user', content: 'a', name: text(257) }] },
    'at most 256 characters',
  ],
  [
    'messages[0].content[0].file.filename',
    [bodyOfContent([{ type: 'file', file: { file_id: 'a', filename: text(512) } }])],
    bodyOfContent([{ type: 'file', file: { file_id: 'a', filename: text(513) } }]),
    'at most 512 characters',
  ],
  [
    'messages[0].content[0].input_audio.format',
    [bodyOfContent([{ type: 'input_audio', input_audio: { data: 'AAAA', format: text(32) } }])],
    bodyOfContent([{ type: 'input_audio', input_audio: { data: 'AAAA', format: text(33) } }]),
    'at most 32 characters',
  ],
];

describe.each(LIMITS)('the limit of %s', (path, inside, outside, words) => {
  it('holds bodies up to it', () => {
    for (const body of inside) {
      const parsed = parseChatRequest(body);
      expect(parsed.ok ? '' : parsed.fault.message).toBe('');
    }
  });

  it(`is named one step outside: ${words}`, () => {
    const parsed = parseChatRequest(outside);
    if (parsed.ok) throw new Error('was accepted');
    expect(parsed.fault).toMatchObject({ status: 400, path });
    expect(parsed.fault.message).toContain(words);
  });
});

describe('limits of the embedding program', () => {
  const limits = { ...DEFAULT_REQUEST_LIMITS, messages: 2, tools: 2, toolSchemaLength: 20, depth: 6, nodes: 30 };
  const messageOf = (body: Body): string => {
    const parsed = parseChatRequest(body, limits);
    return parsed.ok ? '' : parsed.fault.message;
  };

  it('bounds the messages', () => {
    const messages = (count: number): Body => ({ messages: list(count, () => ({ role: 'user', content: 'a' })) });
    expect(messageOf(messages(2))).toBe('');
    expect(messageOf(messages(3))).toBe('messages must have at most 2 items, not 3.');
  });

  it('bounds the tools', () => {
    const tools = (count: number): Body => smallBody({ tools: list(count, (at) => functionNamed(`f${at}`)) });
    expect(messageOf(tools(2))).toBe('');
    expect(messageOf(tools(3))).toBe('tools must have at most 2 items, not 3.');
  });

  it('bounds the schemas of all tools together', () => {
    const schemas = (length: number): Body =>
      smallBody({
        tools: list(2, (at) => ({ type: 'function', function: { name: `f${at}`, parameters: { a: text(length) } } })),
      });
    expect(messageOf(schemas(4))).toBe('');
    expect(messageOf(schemas(40))).toBe('tools must not hold schemas of more than 20 characters in total.');
  });
});

describe('lists of model patterns', () => {
  const accepts = (patterns: readonly string[]): boolean => read(modelPatternsSchema, patterns).ok;

  it('hold 1,024 patterns and no more', () => {
    expect(accepts(list(1_024, () => 'a/*'))).toBe(true);
    expect(accepts(list(1_025, () => 'a/*'))).toBe(false);
  });

  it('hold patterns of 1,024 characters and no longer ones', () => {
    expect(accepts([text(1_024)])).toBe(true);
    expect(accepts([text(1_025)])).toBe(false);
  });

  it('hold 65,536 characters in total and no more', () => {
    expect(accepts(list(64, () => text(1_024)))).toBe(true);
    expect(accepts([...list(64, () => text(1_024)), 'a'])).toBe(false);
  });
});
