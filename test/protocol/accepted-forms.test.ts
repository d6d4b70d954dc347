import { describe, expect, it } from 'vitest';
import { parseChatRequest } from '../../src/protocol/parse-chat-request.ts';
import { type Body, bodyOfContent, smallBody } from '../support/chat-bodies.ts';

const CALLING = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
};
const FUNCTION = { type: 'function', function: { name: 'f' } };
const IMAGE = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };

const FORMS: Readonly<Record<string, readonly Body[]>> = {
  'content as text or as parts': [
    bodyOfContent('Hello'),
    bodyOfContent(''),
    bodyOfContent([{ type: 'text', text: '' }]),
    { messages: [{ role: 'system', content: [{ type: 'text', text: 'a' }] }] },
    { messages: [CALLING, { role: 'tool', tool_call_id: 'c1', content: [IMAGE] }] },
  ],
  'an assistant message without content': [
    { messages: [CALLING] },
    { messages: [{ role: 'assistant' }] },
    {
      messages: [
        { role: 'user', content: 'Go on:' },
        { role: 'assistant', content: 'Once upon' },
      ],
    },
  ],
  'web and data addresses of media, in any case': [
    bodyOfContent([IMAGE]),
    bodyOfContent([{ type: 'image_url', image_url: { url: 'DATA:image/png;base64,AA==' } }]),
    bodyOfContent([{ type: 'image_url', image_url: { url: 'HTTP://example.com/a', detail: 'low' } }]),
    bodyOfContent([{ type: 'file', file: { file_data: 'https://example.com/a.pdf' } }]),
    bodyOfContent([{ type: 'file', file: { file_id: 'f' } }]),
  ],
  'cache marks on messages, parts, tools and the request': [
    { messages: [{ role: 'user', content: 'a', cache_control: { type: 'ephemeral' } }] },
    bodyOfContent([{ ...IMAGE, cache_control: { type: 'ephemeral', ttl: '5m' } }]),
    bodyOfContent([{ type: 'text', text: 'a', cache_control: null, prompt_cache_breakpoint: null }]),
    smallBody({ tools: [{ ...FUNCTION, cache_control: { type: 'ephemeral' } }] }),
    smallBody({ cache_control: { type: 'ephemeral' } }),
    smallBody({ prompt_cache_options: { mode: 'explicit' } }),
  ],
  'all kinds of tools': [
    smallBody({ tools: [] }),
    smallBody({ tools: [{ type: 'function', function: { name: 'a-B_9', parameters: null, strict: null } }] }),
    smallBody({ tools: [{ type: 'router:web_search' }] }),
    smallBody({ tools: [{ type: 'openrouter:datetime', parameters: { timezone: 'UTC' } }] }),
    smallBody({ tools: [{ type: 'web_search', search_context_size: 'low' }] }),
    smallBody({ tools: [{ type: 'web_search_preview' }, { type: 'web_search_preview_2025_03_11' }] }),
    smallBody({ tools: [{ type: 'web_search_2025_08_26' }, FUNCTION] }),
  ],
  'all kinds of tool_choice': [
    smallBody({ tool_choice: 'none' }),
    smallBody({ tool_choice: 'auto' }),
    smallBody({ tools: [FUNCTION], tool_choice: 'required' }),
    smallBody({ tools: [FUNCTION], tool_choice: FUNCTION }),
    smallBody({ tools: [{ type: 'router:web_search' }], tool_choice: { type: 'router:web_search' } }),
    smallBody({ tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search_preview' } }),
  ],
  'all response formats': [
    smallBody({ response_format: { type: 'text' } }),
    smallBody({ response_format: { type: 'json_object' } }),
    smallBody({ response_format: { type: 'json_schema', json_schema: { name: 'n' } } }),
    smallBody({ response_format: { type: 'grammar', grammar: 'root ::= "a"' } }),
    smallBody({ response_format: { type: 'python' } }),
  ],
  'reasoning in both spellings': [
    ...['max', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none'].flatMap((effort) => [
      smallBody({ reasoning: { effort } }),
      smallBody({ reasoning_effort: effort }),
      smallBody({ reasoning: { effort }, reasoning_effort: effort }),
    ]),
    smallBody({ reasoning: { max_tokens: 1_024 } }),
    smallBody({ reasoning: { enabled: true, exclude: true, summary: 'detailed' } }),
    smallBody({ reasoning: { context: 'all_turns', mode: 'pro' } }),
    smallBody({ reasoning: {} }),
    smallBody({ include_reasoning: false }),
  ],
  'predictions as text or as parts': [
    smallBody({ prediction: { type: 'content', content: 'a' } }),
    smallBody({ prediction: { type: 'content', content: [{ type: 'text', text: 'a' }] } }),
  ],
  'all service tiers': ['auto', 'default', 'fast', 'flex', 'priority', 'scale'].map((service_tier) =>
    smallBody({ service_tier }),
  ),
  'route as a word or as an object': [
    smallBody({ route: 'fallback' }),
    smallBody({ route: 'sort' }),
    smallBody({ route: { anything: 1 } }),
  ],
  'every stop condition, alone and in a list': [
    { type: 'step_count_is', step_count: 0 },
    { type: 'has_tool_call', tool_name: 'f' },
    { type: 'max_tokens_used', max_tokens: 10 },
    { type: 'max_cost', max_cost_in_dollars: 0.5 },
    { type: 'finish_reason_is', reason: 'stop' },
  ].flatMap((condition) => [
    smallBody({ stop_server_tools_when: condition }),
    smallBody({ stop_server_tools_when: [condition] }),
  ]),
  'deprecated fields and fields without effect': [
    smallBody({ stream_options: {} }),
    smallBody({ stream_options: { include_usage: false } }),
    smallBody({ max_tokens: 5, max_completion_tokens: 6 }),
    smallBody({ transforms: ['middle-out'] }),
    smallBody({ transforms: [] }),
    smallBody({ usage: { include: true }, n: 2, structured_outputs: true, prompt: 'old' }),
    smallBody({ n: 'any', usage: 'any' }),
  ],
  'stop as one text, several, or none': [
    smallBody({ stop: 'END' }),
    smallBody({ stop: ['a', 'b', 'c', 'd'] }),
    smallBody({ stop: [] }),
  ],
  'provider preferences in all their forms': [
    smallBody({ provider: {} }),
    smallBody({ provider: { sort: 'exacto' } }),
    smallBody({ provider: { sort: {} } }),
    smallBody({ provider: { preferred_min_throughput: 20, preferred_max_latency: { p99: 3 } } }),
    smallBody({ provider: { max_price: { prompt: '0.5', completion: 2 } } }),
    smallBody({ provider: { order: ['Amazon Bedrock', 'deepinfra/turbo'], only: [] } }),
  ],
  'what providers know and the contract does not': [
    smallBody({ vendor_setting: { deep: [1, null] }, safety_settings: 'x', top_n_sigma: 1 }),
    { messages: [{ role: 'user', content: 'a', vendor_mark: 1 }] },
    bodyOfContent([{ ...IMAGE, vendor_mark: 1 }]),
  ],
  observability: [
    smallBody({ trace: { trace_id: 't', anything: [1] } }),
    smallBody({ metadata: {} }),
    smallBody({ debug: {} }),
    smallBody({ debug: { echo_upstream_body: true } }),
    smallBody({ plugins: [] }),
    smallBody({ plugins: [{ id: 'web', max_results: 2 }, { id: 'moderation' }] }),
  ],
};

describe.each(Object.entries(FORMS))('%s', (_name, bodies) => {
  it.each(bodies.map((body) => [JSON.stringify(body).slice(0, 120), body] as const))(
    'is accepted: %s',
    (_text, body) => {
      const parsed = parseChatRequest(body);
      expect(parsed.ok ? '' : parsed.fault.message).toBe('');
    },
  );
});

describe('an accepted body', () => {
  it('keeps what the contract does not know', () => {
    const extra = { vendor_setting: { deep: [1, null] }, off: null };
    expect(parseChatRequest(smallBody(extra))).toMatchObject({ ok: true, value: extra });
  });

  it('keeps reasoning details byte for byte', () => {
    const details = [{ type: 'reasoning.encrypted', data: 'x'.repeat(10), odd: { a: [1] }, format: null }];
    const body = { messages: [{ role: 'assistant', reasoning_details: details }] };
    expect(parseChatRequest(body)).toMatchObject({ ok: true, value: body });
  });

  it('is not the object that came in, so that nobody outside can change it later', () => {
    const body = smallBody({ temperature: 1 });
    const parsed = parseChatRequest(body);
    body['temperature'] = 2;
    expect(parsed).toMatchObject({ ok: true, value: { temperature: 1 } });
  });
});
