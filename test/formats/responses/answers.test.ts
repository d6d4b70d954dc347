import { describe, expect, it } from 'vitest';
import { RESPONSES } from '../../../src/formats/responses/responses.ts';
import type { ErrorType } from '../../../src/protocol/error.ts';
import { TAIL, chatResult, contextOf, itemsFor, respond } from '../../support/responses.ts';

const call = (id: string, name = 'f', text = '{"a":1}') =>
  ({ id, index: 0, type: 'function', function: { name, arguments: text } }) as const;

describe('a whole answer', () => {
  it('has every member that clients read, with what the request left out as null', () => {
    expect(respond({ content: 'Hi' })).toEqual({
      id: `resp_${TAIL}`,
      object: 'response',
      created_at: 1_790_000_000,
      status: 'completed',
      error: null,
      incomplete_details: null,
      model: 'acme/one',
      provider: 'Up',
      output: [
        {
          id: `msg_${TAIL}_0`,
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Hi', annotations: [], logprobs: [] }],
        },
      ],
      instructions: null,
      max_output_tokens: null,
      max_tool_calls: null,
      temperature: null,
      top_p: null,
      presence_penalty: null,
      frequency_penalty: null,
      prompt_cache_key: null,
      safety_identifier: null,
      user: null,
      background: false,
      store: false,
      previous_response_id: null,
      metadata: {},
      parallel_tool_calls: true,
      reasoning: { effort: null, summary: null },
      text: { format: { type: 'text' } },
      tool_choice: 'auto',
      tools: [],
      top_logprobs: 0,
      truncation: 'disabled',
      service_tier: null,
      usage: null,
    });
  });

  it('repeats what the request said', () => {
    const fields = {
      instructions: 'Be brief',
      max_output_tokens: 5,
      temperature: 0.1,
      metadata: { a: 'b' },
      parallel_tool_calls: false,
      reasoning: { effort: 'low', generate_summary: 'auto' },
      text: { verbosity: 'low', format: { type: 'json_object' } },
      tools: [{ type: 'function', name: 'f', parameters: null, strict: null }],
      tool_choice: 'required',
      truncation: 'auto',
      safety_identifier: 'ada',
    };
    const { reasoning: _, ...same } = fields;
    expect(respond({ content: 'Hi' }, {}, fields)).toMatchObject({
      ...same,
      reasoning: { effort: 'low', summary: 'auto' },
    });
  });

  it('tells usage and what it cost under this shape’s names', () => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 20,
      total_tokens: 30,
      cost: 0.5,
      is_byok: false,
      prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 7 },
      cost_details: {
        upstream_inference_cost: 0.5,
        upstream_inference_prompt_cost: 0.2,
        upstream_inference_completions_cost: 0.3,
      },
    };
    expect(respond({ content: 'Hi' }, { usage, service_tier: 'flex' })).toMatchObject({
      service_tier: 'flex',
      usage: {
        input_tokens: 10,
        input_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
        output_tokens: 20,
        output_tokens_details: { reasoning_tokens: 7 },
        total_tokens: 30,
        cost: 0.5,
        is_byok: false,
        cost_details: {
          upstream_inference_cost: 0.5,
          upstream_inference_input_cost: 0.2,
          upstream_inference_output_cost: 0.3,
        },
      },
    });
  });

  it.each([
    ['stop', 'completed', null, 'completed'],
    ['tool_calls', 'completed', null, 'completed'],
    ['length', 'incomplete', { reason: 'max_output_tokens' }, 'incomplete'],
    ['content_filter', 'incomplete', { reason: 'content_filter' }, 'incomplete'],
  ] as const)('that ended with %s is %s', (reason, status, details, ofItem) => {
    const response = respond({ content: 'Hi' }, { finish_reason: reason });
    expect(response).toMatchObject({ status, incomplete_details: details, output: [{ status: ofItem }] });
  });

  it('has an item for everything that was said, in the order in which models say it', () => {
    const items = itemsFor({
      reasoning: 'Hm',
      content: 'Hi',
      refusal: 'No',
      images: [{ type: 'image_url', image_url: { url: 'data:image/webp;base64,AA==' } }],
      tool_calls: [call('call_1'), { ...call('call_2', 'g', ''), index: 1 }],
    });
    expect(items).toEqual([
      {
        id: `rs_${TAIL}_0`,
        type: 'reasoning',
        summary: [],
        content: [{ type: 'reasoning_text', text: 'Hm' }],
        status: 'completed',
      },
      expect.objectContaining({
        id: `msg_${TAIL}_1`,
        content: [
          { type: 'output_text', text: 'Hi', annotations: [], logprobs: [] },
          { type: 'refusal', refusal: 'No' },
        ],
      }),
      { id: `ig_${TAIL}_2`, type: 'image_generation_call', status: 'completed', result: 'AA==', output_format: 'webp' },
      {
        id: `fc_${TAIL}_3`,
        type: 'function_call',
        call_id: 'call_1',
        name: 'f',
        arguments: '{"a":1}',
        status: 'completed',
      },
      { id: `fc_${TAIL}_4`, type: 'function_call', call_id: 'call_2', name: 'g', arguments: '{}', status: 'completed' },
    ]);
  });

  it('is an empty message when nothing was said, and reasoning alone when that used up the tokens', () => {
    expect(itemsFor({ content: '' })).toMatchObject([{ type: 'message', content: [{ text: '' }] }]);
    expect(itemsFor({ reasoning: 'Hm' })).toMatchObject([{ type: 'reasoning' }, { type: 'message' }]);
    expect(itemsFor({ reasoning: 'Hm' }, { finish_reason: 'length' })).toMatchObject([{ type: 'reasoning' }]);
  });

  it('keeps the id, the encrypted content and the format of reasoning', () => {
    const common = { id: 'rs_1', format: 'openai-responses-v1', index: 0 };
    const items = itemsFor({
      content: 'Hi',
      reasoning: 'Because',
      reasoning_details: [
        { type: 'reasoning.summary', summary: 'Because', ...common },
        { type: 'reasoning.encrypted', data: 'x"\\y', ...common },
        { type: 'reasoning.encrypted', data: 'z', ...common, id: 'rs_2', index: 1 },
      ],
    });
    expect(items.slice(0, 2)).toEqual([
      {
        id: 'rs_1',
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: 'Because' }],
        encrypted_content: 'x"\\y',
        format: 'openai-responses-v1',
        status: 'completed',
      },
      {
        id: 'rs_2',
        type: 'reasoning',
        summary: [],
        encrypted_content: 'z',
        format: 'openai-responses-v1',
        status: 'completed',
      },
    ]);
  });

  it('never gives two items the same id', () => {
    const detail = { type: 'reasoning.encrypted', data: 'x', id: 'rs_1' } as const;
    const items = itemsFor({ content: 'Hi', reasoning_details: [detail, detail] });
    expect(new Set(items.map(({ id }) => id)).size).toBe(items.length);
  });

  it('shows citations, likelihoods and parsed files', () => {
    const file = { type: 'file', file: { hash: 'h', name: 'a.pdf', content: [{ type: 'text', text: 'x' }] } } as const;
    const [item] = itemsFor(
      {
        content: 'Hi',
        annotations: [
          { type: 'url_citation', url_citation: { url: 'https://a.org', title: 'A', start_index: 0, end_index: 2 } },
          { type: 'url_citation', url_citation: { url: 'https://b.org' } },
          file,
        ],
      },
      {
        logprobs: {
          content: [
            { token: 'Hi', logprob: -0.1, bytes: null, top_logprobs: [{ token: 'Ho', logprob: -2, bytes: [72] }] },
          ],
        },
      },
    );
    expect(item).toMatchObject({
      annotations: [file],
      content: [
        {
          annotations: [
            { type: 'url_citation', url: 'https://a.org', title: 'A', start_index: 0, end_index: 2 },
            { type: 'url_citation', url: 'https://b.org', title: '', start_index: 0, end_index: 0 },
          ],
          logprobs: [
            { token: 'Hi', logprob: -0.1, bytes: [], top_logprobs: [{ token: 'Ho', logprob: -2, bytes: [72] }] },
          ],
        },
      ],
    });
  });

  it('tells calls of custom tools with the text inside, and as it is when it is no such JSON', () => {
    const fields = { tools: [{ type: 'custom', name: 'sh' }] };
    const [first, second] = itemsFor(
      {
        tool_calls: [call('call_1', 'sh', '{"input":"echo \\"hi\\""}'), { ...call('call_2', 'sh', 'echo'), index: 1 }],
      },
      {},
      fields,
    );
    expect(first).toEqual({
      id: `ctc_${TAIL}_0`,
      type: 'custom_tool_call',
      call_id: 'call_1',
      name: 'sh',
      input: 'echo "hi"',
      status: 'completed',
    });
    expect(second).toMatchObject({ input: 'echo' });
  });

  it('shows searches of this router as searches, and its other tools under their own names', () => {
    const detail = {
      type: 'reasoning.server_tool_call',
      arguments: '{"query":"q"}',
      result: '{"results":[{"url":"https://a.org"}]}',
    } as const;
    const items = itemsFor({
      content: 'Hi',
      reasoning_details: [
        { ...detail, tool_name: 'router:web_search', tool_call_id: 'x' },
        { ...detail, tool_name: 'web_fetch', arguments: '{"url":"https://b.org"}', result: 'page' },
        { ...detail, tool_name: 'datetime', arguments: 'no JSON', result: '{}' },
      ],
    });
    expect(items).toMatchObject([
      {
        type: 'web_search_call',
        status: 'completed',
        action: { type: 'search', query: 'q', sources: [{ type: 'url', url: 'https://a.org' }] },
        tool_call_id: 'x',
      },
      { type: 'web_search_call', action: { type: 'open_page', url: 'https://b.org' } },
      { type: 'router:datetime', arguments: 'no JSON', result: '{}' },
      { type: 'message' },
    ]);
  });
});

describe('an answer of a provider of this API', () => {
  const native = {
    id: 'resp_upstream',
    object: 'response',
    model: 'one-2026-01-01',
    status: 'completed',
    output: [{ type: 'computer_call', id: 'cu_1' }],
    store: true,
    metadata: {},
    safety_identifier: 'hash',
    usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3, input_tokens_details: { cached_tokens: 1 } },
    news: 'unknown here',
  };

  it('stays as it is but for id, model, price and what the caller said otherwise', () => {
    const result = chatResult({}, { usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3, cost: 0.25 } });
    const fields = { metadata: { a: 'b' }, safety_identifier: 'ada' };
    expect(RESPONSES.complete({ result, native }, contextOf(fields))).toEqual({
      ...native,
      id: `resp_${TAIL}`,
      model: 'acme/one',
      provider: 'Up',
      store: false,
      metadata: { a: 'b' },
      safety_identifier: 'ada',
      usage: { ...native.usage, cost: 0.25 },
    });
  });
});

describe('an error', () => {
  const errorOf = (status: number, errorType: ErrorType, path?: string) => ({
    status,
    detail: {
      code: status,
      message: 'No',
      metadata: { error_type: errorType, ...(path === undefined ? {} : { path }) },
    },
  });

  it.each([
    [400, 'invalid_request', 'invalid_request_error', 'tools[0].name'],
    [401, 'authentication', 'authentication_error', undefined],
    [403, 'permission_denied', 'permission_error', undefined],
    [429, 'rate_limit_exceeded', 'rate_limit_error', undefined],
    [503, 'provider_overloaded', 'server_error', undefined],
  ] as const)('with status %i has the members of both worlds', (status, errorType, type, path) => {
    expect(RESPONSES.error(errorOf(status, errorType, path))).toEqual({
      error: { ...errorOf(status, errorType, path).detail, type, param: path ?? null },
      error_type: errorType,
    });
  });

  it.each(['context_length_exceeded', 'max_tokens_exceeded', 'token_limit_exceeded', 'string_too_long'] as const)(
    'of type %s is an answer that ended early',
    (errorType) => {
      expect(RESPONSES.absorb?.(errorOf(400, errorType), contextOf())).toMatchObject({
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
        error: null,
        error_type: errorType,
        output: [],
      });
    },
  );

  it('of any other type stays one', () => {
    expect(RESPONSES.absorb?.(errorOf(400, 'invalid_request'), contextOf())).toBeUndefined();
  });
});
