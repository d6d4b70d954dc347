import { describe, expect, it } from 'vitest';
import { SUPPORTED_PARAMETERS } from '../../../src/catalog/model.ts';
import type { ChatRequest } from '../../../src/protocol/chat-request.ts';
import type { VendorQuirks } from '../../../src/providers/openai-compatible/vendor-quirks.ts';
import { AZURE_QUIRKS, VENDOR_PRESETS } from '../../../src/providers/openai-compatible/presets.ts';
import { acceptsOfVendor, encoded, encodedWhole } from '../../support/encoded.ts';

const tool = (name: string, rest: object = {}): NonNullable<ChatRequest['tools']>[number] => ({
  type: 'function',
  function: { name, ...rest },
});

describe('the plainest request', () => {
  it('says the model by its name upstream, the messages, and who asks', () => {
    expect(encodedWhole({ messages: [{ role: 'user', content: 'Hello' }] })).toEqual({
      model: 'one-instruct',
      messages: [{ role: 'user', content: 'Hello' }],
      user: 'user_test',
    });
  });

  it('says nothing that the caller did not say', () => {
    const silent = Object.fromEntries(
      [
        'temperature',
        'top_p',
        'seed',
        'stop',
        'tools',
        'tool_choice',
        'reasoning',
        'response_format',
        'max_tokens',
      ].map((name) => [name, null]),
    );
    expect(encoded(silent)).toEqual({});
  });

  it('hides what is the business of the router alone', () => {
    expect(
      encoded({
        models: ['acme/one'],
        provider: { order: ['up'] },
        plugins: [],
        metadata: { a: 'b' },
        session_id: 's',
        trace: { trace_id: 't' },
        route: 'fallback',
        transforms: [],
        usage: { include: true },
        stream_options: { include_usage: false },
        debug: { echo_upstream_body: true },
        n: 2,
      }),
    ).toEqual({});
  });

  it('passes on what this contract does not know', () => {
    expect(encoded({ safe_prompt: true, chat_template_kwargs: { a: [1] } })).toEqual({
      safe_prompt: true,
      chat_template_kwargs: { a: [1] },
    });
  });

  it('does not let an unknown field take the place of a known one', () => {
    const quirks: VendorQuirks = { userField: 'safety_identifier', seedField: 'random_seed' };
    expect(encodedWhole({ safety_identifier: 'raw', random_seed: 1, seed: 2 }, quirks)).toMatchObject({
      safety_identifier: 'user_test',
      random_seed: 2,
    });
  });
});

/** A quirk, a request, and what it becomes with and without the quirk. */
const QUIRKS: readonly (readonly [
  name: string,
  quirks: VendorQuirks,
  body: Partial<ChatRequest>,
  as: object,
  otherwise: object,
])[] = [
  [
    'the name of the token limit',
    { maxTokensField: 'max_completion_tokens' },
    { max_completion_tokens: 9 },
    { max_completion_tokens: 9 },
    { max_tokens: 9 },
  ],
  [
    'the name of the token limit, from its old name',
    { maxTokensField: 'max_completion_tokens' },
    { max_tokens: 9 },
    { max_completion_tokens: 9 },
    { max_tokens: 9 },
  ],
  ['the name of the seed', { seedField: 'random_seed' }, { seed: 7 }, { random_seed: 7 }, { seed: 7 }],
  ['the highest temperature', { maxTemperature: 1.5 }, { temperature: 2 }, { temperature: 1.5 }, { temperature: 2 }],
  [
    'a temperature below the highest',
    { maxTemperature: 1.5 },
    { temperature: 0 },
    { temperature: 0 },
    { temperature: 0 },
  ],
  [
    'the word for a forced tool',
    { forcedTool: 'any' },
    { tools: [tool('f')], tool_choice: 'required' },
    { tools: [tool('f')], tool_choice: 'any' },
    { tools: [tool('f')], tool_choice: 'required' },
  ],
  [
    'no options of a stream',
    { streamOptions: false },
    { stream: true },
    { stream: true },
    { stream: true, stream_options: { include_usage: true } },
  ],
  [
    'chunks that are padded',
    { padsChunks: true },
    { stream: true },
    { stream: true, stream_options: { include_usage: true, include_obfuscation: false } },
    { stream: true, stream_options: { include_usage: true } },
  ],
  [
    'keys of the prompt cache',
    { promptCacheFields: true },
    { prompt_cache_key: 'k', prompt_cache_options: { mode: 'explicit' } },
    { prompt_cache_key: 'k', prompt_cache_options: { mode: 'explicit' } },
    {},
  ],
  [
    'cache marks on tools',
    { cacheMarks: 'cache_control' },
    { tools: [{ ...tool('f'), cache_control: { type: 'ephemeral' } } as never] },
    { tools: [{ ...tool('f'), cache_control: { type: 'ephemeral' } }] },
    { tools: [tool('f')] },
  ],
  ['service tiers', { serviceTiers: ['flex'] }, { service_tier: 'flex' }, { service_tier: 'flex' }, {}],
  ['service tiers without this one', { serviceTiers: ['flex'] }, { service_tier: 'priority' }, {}, {}],
  [
    'service tiers by another name',
    { serviceTiers: ['priority'] },
    { service_tier: 'fast' },
    { service_tier: 'priority' },
    {},
  ],
  ['service tiers that nobody chose', { serviceTiers: ['flex'] }, { service_tier: 'auto' }, {}, {}],
  [
    'parameters it never takes',
    { unsupported: ['top_k', 'seed'] },
    { top_k: 4, seed: 1, top_p: 0.5 },
    { top_p: 0.5 },
    { top_k: 4, seed: 1, top_p: 0.5 },
  ],
];

describe('a dialect with', () => {
  it.each(QUIRKS)('%s', (_name, quirks, body, as, otherwise) => {
    expect(encoded(body, quirks)).toEqual(as);
    expect(encoded(body)).toEqual(otherwise);
  });

  it.each([
    ['user', { user: 'user_test' }],
    ['safety_identifier', { safety_identifier: 'user_test' }],
    ['user_id', { user_id: 'user_test' }],
    ['none', {}],
    [undefined, { user: 'user_test' }],
  ] as const)('%s for the end user never says who it is', (userField, expected) => {
    const { model: _, messages: __, ...rest } = encodedWhole({ user: 'jane@example.org' }, { userField });
    expect(rest).toEqual(expected);
  });
});

describe('parameters', () => {
  const all: Partial<ChatRequest> = {
    temperature: 0.5,
    top_p: 0.9,
    top_k: 40,
    min_p: 0.1,
    top_a: 0.2,
    frequency_penalty: -1,
    presence_penalty: 1,
    repetition_penalty: 1.1,
    logit_bias: { '50256': -100 },
    logprobs: true,
    top_logprobs: 3,
    seed: 7,
    prediction: { type: 'content', content: 'x' },
    web_search_options: { search_context_size: 'low' },
    verbosity: 'low',
  };

  it('go out under their own names', () => {
    expect(encoded(all)).toEqual(all);
  });

  it('go out one by one, as far as the endpoint takes them', () => {
    for (const name of Object.keys(all)) {
      const rest = SUPPORTED_PARAMETERS.filter((one) => one !== name);
      const { [name as keyof ChatRequest]: _, ...others } = all;
      expect(encoded(all, {}, { parameters: rest })).toEqual(others);
      expect(encoded(all, {}, { parameters: [name as never] })).toEqual({ [name]: all[name as keyof ChatRequest] });
    }
  });

  it('give the token limit under either name of it', () => {
    for (const name of ['max_tokens', 'max_completion_tokens'] as const) {
      expect(encoded({ max_tokens: 9 }, {}, { parameters: [name] })).toEqual({ max_tokens: 9 });
    }
    expect(encoded({ max_tokens: 9 }, {}, { parameters: ['temperature'] })).toEqual({});
  });

  it('give one stop sequence as a list', () => {
    expect(encoded({ stop: 'END' })).toEqual({ stop: ['END'] });
    expect(encoded({ stop: ['a', 'b'] })).toEqual({ stop: ['a', 'b'] });
    expect(encoded({ stop: [] })).toEqual({});
  });
});

describe('tools', () => {
  it('go out with what is known of them and nothing else', () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } } };
    const rich = {
      type: 'function',
      extra: 1,
      function: { name: 'f', description: 'd', parameters, strict: true, note: 2 },
    };
    const poor = { type: 'function', function: { name: 'g', description: null, parameters: null, strict: null } };
    expect(encoded({ tools: [rich, poor] as never })).toEqual({
      tools: [tool('f', { description: 'd', parameters, strict: true }), tool('g')],
    });
  });

  it('are only the functions of the caller: tools of the router stay here', () => {
    expect(encoded({ tools: [tool('f'), { type: 'router:datetime' }] })).toEqual({ tools: [tool('f')] });
    expect(encoded({ tools: [{ type: 'router:datetime' }] })).toEqual({});
  });

  it.each<readonly [choice: ChatRequest['tool_choice'], expected: unknown]>([
    ['auto', 'auto'],
    ['none', 'none'],
    ['required', 'required'],
    [
      { type: 'function', function: { name: 'f' } },
      { type: 'function', function: { name: 'f' } },
    ],
    [{ type: 'function', function: { name: 'f', note: 1 } } as never, { type: 'function', function: { name: 'f' } }],
    [{ type: 'router:web_search' }, undefined],
  ])('are chosen with %j', (choice, expected) => {
    expect(encoded({ tools: [tool('f')], tool_choice: choice })['tool_choice']).toEqual(expected);
    expect(encoded({ tool_choice: choice })).toEqual({});
    expect(encoded({ tools: [tool('f')], tool_choice: choice }, {}, { parameters: ['tools'] })).toEqual({
      tools: [tool('f')],
    });
  });

  it('may be called in parallel, which nobody is told who has none', () => {
    expect(encoded({ tools: [tool('f')], parallel_tool_calls: false })).toMatchObject({ parallel_tool_calls: false });
    expect(encoded({ parallel_tool_calls: false })).toEqual({});
    expect(encoded({ tools: [tool('f')], parallel_tool_calls: true }, { unsupported: ['tools'] })).toEqual({});
  });
});

describe('the form of the answer', () => {
  const schema = { type: 'json_schema' as const, json_schema: { name: 'n', schema: { type: 'object' }, strict: true } };

  it.each<
    readonly [
      name: string,
      format: ChatRequest['response_format'],
      parameters: readonly string[] | undefined,
      expected: object,
    ]
  >([
    ['text says nothing', { type: 'text' }, undefined, {}],
    ['JSON', { type: 'json_object' }, undefined, { response_format: { type: 'json_object' } }],
    ['JSON where nobody takes it', { type: 'json_object' }, ['structured_outputs'], {}],
    ['a schema', schema, undefined, { response_format: schema }],
    ['a schema where it is taken', schema, ['structured_outputs', 'response_format'], { response_format: schema }],
    ['a schema where only JSON is taken', schema, ['response_format'], { response_format: { type: 'json_object' } }],
    ['a schema where neither is', schema, ['temperature'], {}],
    [
      'a grammar',
      { type: 'grammar', grammar: 'root ::= "a"' },
      undefined,
      { response_format: { type: 'grammar', grammar: 'root ::= "a"' } },
    ],
  ])('%s', (_name, format, parameters, expected) => {
    expect(
      encoded({ response_format: format }, {}, parameters === undefined ? {} : { parameters: parameters as never }),
    ).toEqual(expected);
  });

  it('names its modalities only when there is more than text', () => {
    expect(encoded({ modalities: ['text'] })).toEqual({});
    const audio = {
      modalities: ['text', 'audio'] as const,
      audio: { voice: 'a', format: 'wav' },
      image_config: { size: '1K' },
    };
    expect(encoded(audio as never)).toEqual(audio);
  });
});

describe('the tier', () => {
  const quirks: VendorQuirks = { serviceTiers: ['default', 'flex', 'priority'] };

  it('is that of the endpoint, if it has one', () => {
    expect(encoded({}, quirks, { tier: 'flex' })).toEqual({ service_tier: 'flex' });
    expect(encoded({ service_tier: 'priority' }, quirks, { tier: 'flex' })).toEqual({ service_tier: 'flex' });
    expect(encoded({}, {}, { tier: 'flex' })).toEqual({});
  });

  it('is the wanted one only where nothing was declared', () => {
    expect(encoded({ service_tier: 'flex' }, quirks)).toEqual({ service_tier: 'flex' });
    expect(encoded({ service_tier: 'flex' }, quirks, { parameters: [] })).toEqual({});
  });

  it('is also what was asked for where a source knows single abilities only', () => {
    const known = { abilities: { tools: true } };
    expect(encoded({ service_tier: 'flex' }, quirks, known)).toEqual({ service_tier: 'flex' });
  });
});

describe('reasoning', () => {
  const EFFORTS = ['max', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none'] as const;

  /** What each effort, from max to none, becomes. */
  it.each<readonly [name: string, quirks: VendorQuirks, as: readonly (string | undefined)[]]>([
    ['an unknown server', {}, ['xhigh', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none']],
    ['openai', VENDOR_PRESETS.openai.quirks, ['xhigh', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none']],
    ['azure', AZURE_QUIRKS, ['xhigh', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none']],
    ['groq', VENDOR_PRESETS.groq.quirks, [undefined, undefined, undefined, undefined, undefined, undefined, undefined]],
    ['mistral', VENDOR_PRESETS.mistral.quirks, ['max', 'max', 'high', 'medium', 'low', 'low', 'none']],
    ['xai', VENDOR_PRESETS.xai.quirks, ['high', 'high', 'high', 'medium', 'low', 'low', 'low']],
    ['ollama', VENDOR_PRESETS.ollama.quirks, ['high', 'high', 'high', 'medium', 'low', 'low', 'none']],
  ])('of %s knows these efforts', async (name, quirks, as) => {
    const vendor = name === 'an unknown server' ? undefined : await acceptsOfVendor(name);
    for (const [index, effort] of EFFORTS.entries()) {
      const written = as[index] === undefined ? {} : { reasoning_effort: as[index] };
      expect(encoded({ reasoning: { effort } }, quirks, {}, vendor)).toEqual(written);
      expect(encoded({ reasoning_effort: effort }, quirks, {}, vendor)).toEqual(written);
    }
  });

  /** What each effort, from max to none, becomes for a model; `-` where nothing is said. */
  it.each([
    ['openai', 'gpt-4.1-mini', '- - - - - - -'],
    ['openai', 'ft:gpt-4o:acme', '- - - - - - -'],
    ['openai', 'gpt-5-chat-latest', '- - - - - - -'],
    ['openai', 'o3-mini', 'high high high medium low low low'],
    ['openai', 'gpt-5-mini-2025-08-07', 'high high high medium low minimal minimal'],
    ['openai', 'gpt-5-codex', 'high high high medium low low low'],
    ['openai', 'gpt-5-pro', 'high high high high high high high'],
    ['openai', 'gpt-5.1', 'high high high medium low low none'],
    ['openai', 'gpt-5.2-pro', 'xhigh xhigh high medium medium medium medium'],
    ['openai', 'gpt-5.3-codex', 'xhigh xhigh high medium low low low'],
    ['openai', 'gpt-5.6-terra', 'xhigh xhigh high medium low low none'],
    ['azure', 'gpt-5-nano', 'high high high medium low minimal minimal'],
    ['xai', 'grok-4-fast-reasoning', '- - - - - - -'],
    ['xai', 'grok-3-mini', 'high high high high low low low'],
    ['xai', 'grok-4.6', 'xhigh xhigh high medium low low low'],
    ['groq', 'openai/gpt-oss-120b', 'high high high medium low low low'],
    ['groq', 'qwen/qwen3-32b', '- - - - - - none'],
    ['groq', 'llama-3.3-70b-versatile', '- - - - - - -'],
  ])('of %s for %s is what the model takes', async (slug, upstreamModel, expected) => {
    const vendor = await acceptsOfVendor(slug);
    for (const [index, effort] of EFFORTS.entries()) {
      const { reasoning_effort: written = '-' } = encoded({ reasoning: { effort } }, {}, { upstreamModel }, vendor);
      expect(written).toBe(expected.split(' ')[index]);
    }
  });

  it('of a budget is what the model takes', async () => {
    const vendor = await acceptsOfVendor('openai');
    const body = { reasoning: { max_tokens: 31_999 }, max_tokens: 32_000 };
    const written = encoded(body, {}, { upstreamModel: 'gpt-5-mini' }, vendor);
    expect(written).toMatchObject({ reasoning_effort: 'high' });
  });

  it('takes with it what a model that reasons refuses', async () => {
    const vendor = await acceptsOfVendor('openai');
    const body = { temperature: 1, top_p: 1, stop: 'x', seed: 1 };
    const whole = { ...body, stop: ['x'] };
    expect(encoded(body, {}, { upstreamModel: 'gpt-5-mini' }, vendor)).toEqual({ seed: 1 });
    expect(encoded(body, {}, { upstreamModel: 'gpt-4.1' }, vendor)).toEqual(whole);
    const { stop: _, ...sampled } = whole;
    expect(encoded(body, {}, { upstreamModel: 'gpt-5.1' }, vendor)).toEqual(sampled);
    expect(encoded({ ...body, reasoning_effort: 'low' }, {}, { upstreamModel: 'gpt-5.1' }, vendor)).toEqual({
      seed: 1,
      reasoning_effort: 'low',
    });
    const declared = { upstreamModel: 'gpt-5-mini', parameters: ['temperature', 'seed'] as const };
    expect(encoded(body, {}, declared, vendor)).toEqual({ temperature: 1, seed: 1 });
    const strict = { ...body, provider: { require_parameters: true } };
    expect(() => encoded(strict, {}, { upstreamModel: 'gpt-5-mini' }, vendor)).toThrow(/parameter temperature/);
  });

  it('of deepseek is thinking, in three efforts', async () => {
    const { quirks } = VENDOR_PRESETS.deepseek;
    const vendor = await acceptsOfVendor('deepseek');
    for (const [index, effort] of ['max', 'max', 'high', 'high', 'low', 'low'].entries()) {
      expect(encoded({ reasoning: { effort: EFFORTS[index] } }, quirks, {}, vendor)).toEqual({
        thinking: { type: 'enabled' },
        reasoning_effort: effort,
      });
    }
    expect(encoded({ reasoning: { effort: 'none' } }, quirks)).toEqual({ thinking: { type: 'disabled' } });
    expect(encoded({ reasoning: { exclude: true } }, quirks)).toEqual({});
  });

  it('of openrouter is an object of its own', async () => {
    const { quirks } = VENDOR_PRESETS.openrouter;
    const vendor = await acceptsOfVendor('openrouter');
    for (const effort of EFFORTS)
      expect(encoded({ reasoning: { effort } }, quirks, {}, vendor)).toEqual({ reasoning: { effort } });
    const rich = { max_tokens: 2_000, exclude: true, summary: 'auto', context: 'all_turns', mode: 'standard' } as const;
    expect(encoded({ reasoning: rich }, quirks)).toEqual({ reasoning: rich });
    expect(encoded({ include_reasoning: false }, quirks)).toEqual({ reasoning: { exclude: true } });
  });

  it('of an endpoint goes before that of its dialect', () => {
    const declared = { reasoning: { efforts: ['high', 'low'] as const } };
    expect(encoded({ reasoning: { effort: 'medium' } }, {}, declared)).toEqual({ reasoning_effort: 'high' });
    expect(encoded({ reasoning: { effort: 'minimal' } }, {}, declared)).toEqual({ reasoning_effort: 'low' });
    expect(encoded({ reasoning: { effort: 'none' } }, {}, declared)).toEqual({ reasoning_effort: 'low' });
    const backwards = { reasoning: { efforts: ['low', 'high'] as const } };
    expect(encoded({ reasoning: { effort: 'medium' } }, {}, backwards)).toEqual({ reasoning_effort: 'high' });
  });

  it('is never switched off where it cannot be', () => {
    const declared = { reasoning: { efforts: ['none', 'minimal', 'high'] as const, mandatory: true } };
    expect(encoded({ reasoning: { effort: 'none' } }, {}, declared)).toEqual({ reasoning_effort: 'minimal' });
    expect(encoded({ reasoning: { effort: 'low' } }, {}, { reasoning: { efforts: ['none', 'high'] } })).toEqual({
      reasoning_effort: 'high',
    });
  });

  it.each([
    [950, 'xhigh'],
    [900, 'xhigh'],
    [800, 'high'],
    [500, 'medium'],
    [200, 'low'],
    [100, 'minimal'],
  ])('by a budget of %i in a thousand tokens is %s', (budget, effort) => {
    expect(encoded({ reasoning: { max_tokens: budget }, max_tokens: 1_000 })).toEqual({
      max_tokens: 1_000,
      reasoning_effort: effort,
    });
  });

  it('by a budget without a limit is medium', () => {
    expect(encoded({ reasoning: { max_tokens: 5_000 } })).toEqual({ reasoning_effort: 'medium' });
  });

  it('is left out where it is not taken, and where nothing is said about how much', () => {
    expect(encoded({ reasoning: { effort: 'high' } }, {}, { parameters: ['temperature'] })).toEqual({});
    expect(encoded({ reasoning: { effort: 'high' } }, { unsupported: ['reasoning', 'reasoning_effort'] })).toEqual({});
    expect(encoded({ reasoning: { effort: 'high' } }, {}, { parameters: ['reasoning_effort'] })).toEqual({
      reasoning_effort: 'high',
    });
    expect(encoded({ reasoning: { exclude: true, summary: 'auto' } })).toEqual({});
  });
});

describe('a cache mark for the whole request', () => {
  const HOUR = { type: 'ephemeral', ttl: '1h' } as const;
  const IMAGE = { type: 'image_url', image_url: { url: 'https://a.example/b.png' } } as const;

  it.each([
    ['cache_control', { cache_control: HOUR }],
    ['prompt_cache_breakpoint', { prompt_cache_breakpoint: { mode: 'explicit' } }],
  ] as const)('is put on its last block that can be cached (%s)', (cacheMarks, mark) => {
    const messages = [
      { role: 'user', content: 'First' },
      { role: 'user', content: [{ type: 'text', text: 'Last' }, IMAGE] },
      { role: 'assistant', content: null, tool_calls: [] },
    ] as const;
    const body = encodedWhole({ cache_control: HOUR, messages }, { cacheMarks });
    expect(body['cache_control']).toBeUndefined();
    expect(body['messages']).toMatchObject([
      { content: 'First' },
      { content: [{ type: 'text', text: 'Last', ...mark }, IMAGE] },
      { role: 'assistant', content: '' },
    ]);
    expect(encodedWhole({ cache_control: HOUR }, { cacheMarks })['messages']).toMatchObject([
      { content: [{ type: 'text', ...mark }] },
    ]);
  });

  it('is left out where nobody knows marks', () => {
    expect(JSON.stringify(encodedWhole({ cache_control: HOUR }, {}))).not.toMatch(/cache_control|breakpoint/);
  });
});
