import { describe, expect, it } from 'vitest';
import type { EndpointDeclaration } from '../../../src/catalog/endpoint.ts';
import type { JsonObject } from '../../../src/protocol/json.ts';
import type { VendorQuirks } from '../../../src/providers/openai-compatible/vendor-quirks.ts';
import {
  responseContext as responseContextOf,
  decodeResponse,
} from '../../../src/providers/openai-responses/decode-response.ts';
import { encodeResponses, ResponsesStreamDecoder } from '../../../src/providers/openai-responses/codec.ts';
import { serving } from '../../support/requests.ts';
import { responsesBody, understood } from '../../support/responses.ts';
import { OWN_KEY, contextOf, piecesOf } from '../../support/wire.ts';
import type { StreamPiece } from '../../../src/contracts/stream-piece.ts';

/** What goes to an endpoint that speaks Responses. */
function sent(
  fields: Readonly<Record<string, unknown>>,
  quirks: VendorQuirks = {},
  declared: EndpointDeclaration = {},
): Readonly<Record<string, unknown>> {
  const { chat, native } = understood(fields);
  if (native === undefined) throw new Error('not native');
  const request = serving({ up: { upstreamModel: 'one-instruct', ...declared } }).request(chat);
  const [endpoint] = request.targets[0]?.endpoints ?? [];
  if (endpoint === undefined) throw new Error('no endpoint');
  const whole = { ...request, endUser: 'hashed', native: { ...native, apiFormat: 'responses' as const } };
  return JSON.parse(JSON.stringify(encodeResponses(whole, endpoint, quirks))) as Record<string, unknown>;
}

const BASE = { model: 'one-instruct', input: 'Hello', store: false, user: 'hashed', stream: false };

describe('a native request', () => {
  it('is the caller’s body with the endpoint’s model, a stand-in for the end user, and nothing stored', () => {
    const fields = {
      instructions: 'Be brief',
      user: 'ada',
      safety_identifier: 'ada',
      metadata: { a: 'b' },
      session_id: 's',
    };
    expect(sent(fields)).toEqual({ ...BASE, instructions: 'Be brief' });
    const { user: _, ...others } = BASE;
    expect(sent(fields, { userField: 'safety_identifier' })).toEqual({
      ...others,
      safety_identifier: 'hashed',
      instructions: 'Be brief',
    });
    expect(sent({}, { userField: 'none' })).toEqual(others);
  });

  it('asks for a stream without padding where the server pads, unless the caller says otherwise', () => {
    expect(sent({ stream: true })).toEqual({ ...BASE, stream: true });
    const padded = { padsChunks: true };
    expect(sent({ stream: true }, padded)['stream_options']).toEqual({ include_obfuscation: false });
    const wanted = { include_obfuscation: true };
    expect(sent({ stream: true, stream_options: wanted }, padded)['stream_options']).toEqual(wanted);
  });

  it('leaves out what the vendor or the endpoint does not take', () => {
    const fields = {
      temperature: 1,
      top_k: 4,
      reasoning: { effort: 'low' },
      max_output_tokens: 9,
      cache_control: { type: 'ephemeral' },
    };
    const { cache_control: _, top_k: __, ...openai } = fields;
    expect(sent(fields)).toEqual({ ...BASE, ...openai });
    expect(sent(fields, { responsesExtensions: true })).toEqual({ ...BASE, ...fields });
    expect(sent(fields, { unsupported: ['temperature'] })).toEqual({
      ...BASE,
      reasoning: fields.reasoning,
      max_output_tokens: 9,
    });
    expect(sent(fields, {}, { parameters: ['max_tokens'] })).toEqual({ ...BASE, max_output_tokens: 9 });
  });

  it('asks for the tier of the endpoint', () => {
    const quirks = { serviceTiers: ['flex'] };
    expect(sent({ service_tier: 'flex' }, quirks)['service_tier']).toBe('flex');
    expect(sent({ service_tier: 'fast' }, quirks)['service_tier']).toBeUndefined();
  });

  it('takes out of earlier answers what others put in', () => {
    const message = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] };
    const own = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' };
    const call = { type: 'web_search_call', id: 'ws_1', status: 'completed' };
    const input = [
      { ...own, format: 'openai-responses-v1', signature: 's' },
      own,
      { type: 'reasoning', id: 'rs_2', summary: [] },
      { ...own, format: 'anthropic-claude-v1' },
      { type: 'router:datetime', id: 'st_1', tool_name: 'datetime', arguments: '{}', result: '{}' },
      { ...call, tool_name: 'web_search', arguments: '{}', result: '[]' },
      call,
      { ...message, annotations: [{ type: 'file' }] },
    ];
    expect(sent({ input })['input']).toEqual([own, own, call, message]);
    expect(sent({ input }, { responsesExtensions: true })['input']).toEqual([...input.slice(0, 4), call, message]);
  });
});

const USAGE = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 4 },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 7 },
  total_tokens: 30,
};
const COUNTED = {
  prompt_tokens: 10,
  completion_tokens: 20,
  total_tokens: 30,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 7 },
};
const whole = (fields: object = {}): object => ({
  id: 'resp_up',
  object: 'response',
  status: 'completed',
  service_tier: 'flex',
  output: [],
  usage: USAGE,
  ...fields,
});
const CONTEXT = { ...contextOf(), isCustomTool: () => true, newId: (index: number) => `made_${index}` };
const decoded = (body: unknown) => decodeResponse(typeof body === 'string' ? body : JSON.stringify(body), CONTEXT);

describe('a whole native answer', () => {
  it('says in the chat form what it says, and is kept as it is', () => {
    const output = [
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm' }], encrypted_content: 'x' },
      {
        type: 'message',
        content: [
          {
            type: 'output_text',
            text: 'Hi',
            annotations: [{ type: 'url_citation', url: 'https://a.org' }],
            logprobs: [{ token: 'Hi', logprob: -1, bytes: [72], top_logprobs: [] }],
          },
          { type: 'refusal', refusal: 'No' },
        ],
      },
      { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' },
      { type: 'custom_tool_call', call_id: 'call_2', name: 'sh', input: 'ls' },
      { type: 'image_generation_call', result: 'AA==' },
      { type: 'code_interpreter_call', id: 'ci_1' },
    ];
    const body = whole({ output });
    expect(decoded(body)).toEqual({
      ok: true,
      result: {
        upstreamId: 'resp_up',
        serviceTier: 'flex',
        systemFingerprint: undefined,
        usage: COUNTED,
        native: body,
        choices: [
          {
            index: 0,
            finish_reason: 'tool_calls',
            native_finish_reason: 'completed',
            logprobs: { content: [{ token: 'Hi', logprob: -1, bytes: [72], top_logprobs: [] }] },
            message: {
              role: 'assistant',
              content: 'Hi',
              refusal: 'No',
              reasoning: 'Hm',
              reasoning_details: [
                { type: 'reasoning.summary', summary: 'Hm', id: 'rs_1', format: 'openai-responses-v1', index: 0 },
                { type: 'reasoning.encrypted', data: 'x', id: 'rs_1', format: 'openai-responses-v1', index: 0 },
                {
                  type: 'reasoning.server_tool_call',
                  tool_name: 'code_interpreter',
                  arguments: '',
                  result: '',
                  tool_call_id: 'ci_1',
                },
              ],
              annotations: [{ type: 'url_citation', url_citation: { url: 'https://a.org' } }],
              images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }],
              tool_calls: [
                { id: 'call_1', index: 0, type: 'function', function: { name: 'f', arguments: '{}' } },
                { id: 'call_2', index: 1, type: 'function', function: { name: 'sh', arguments: '{"input":"ls"}' } },
              ],
            },
          },
        ],
      },
    });
  });

  it('counts what a router says it charges', () => {
    const usage = {
      ...USAGE,
      cost: 0.5,
      cost_details: { upstream_inference_input_cost: 0.2, upstream_inference_cost: null },
    };
    const answer = decoded(whole({ usage }));
    expect(answer.ok && answer.result.usage).toEqual({
      ...COUNTED,
      reportedCost: 0.5,
      reportedCostDetails: { upstream_inference_prompt_cost: 0.2, upstream_inference_cost: null },
    });
  });

  it.each([
    ['incomplete', { reason: 'max_output_tokens' }, 'length', 'max_output_tokens'],
    ['incomplete', { reason: 'content_filter' }, 'content_filter', 'content_filter'],
    ['incomplete', null, 'length', 'incomplete'],
    ['completed', null, 'stop', 'completed'],
  ])('that is %s because of %j ended with %s', (status, details, reason, native) => {
    const answer = decoded(whole({ status, incomplete_details: details }));
    expect(answer.ok && answer.result.choices[0]).toMatchObject({
      finish_reason: reason,
      native_finish_reason: native,
    });
  });

  it.each([
    ['', 'bad_response'],
    ['<html>', 'bad_response'],
    ['{', 'bad_response'],
    ['[]', 'bad_response'],
    [{}, 'bad_response'],
    [whole({ output: undefined }), 'bad_response'],
    [whole({ status: 'in_progress' }), 'bad_response'],
    [whole({ status: 'failed' }), 'server'],
    [whole({ status: 'failed', error: { code: 'server_error', message: 'x' } }), 'server'],
    [whole({ status: 'failed', error: { code: 'rate_limit_exceeded', message: 'x' } }), 'rate_limited'],
    [whole({ status: 'failed', error: { code: 'invalid_prompt', message: 'x' } }), 'content_policy'],
    [{ error: { message: 'x', code: 'context_length_exceeded' } }, 'context_length'],
  ])('%j is a failure: %s', (body, kind) => {
    expect(decoded(body)).toMatchObject({ ok: false, failure: { kind } });
  });

  it('never repeats a key', () => {
    const answer = decoded(whole({ status: 'failed', error: { code: 'x', message: `bad key ${OWN_KEY}` } }));
    expect(JSON.stringify(answer)).not.toContain('canary');
  });
});

const event = (type: string, members: object = {}): JsonObject => ({ type: `response.${type}`, ...members });

/** Everything that a stream of events means, and how many native pieces came. */
async function streamPieces(
  events: readonly (JsonObject | string)[],
): Promise<{ said: readonly StreamPiece[]; natives: readonly StreamPiece[] }> {
  const frames = events.map((one) =>
    typeof one === 'string' ? one : `event: ${one['type'] as string}\ndata: ${JSON.stringify(one)}\n\n`,
  );
  const pieces = await piecesOf([[new TextEncoder().encode(frames.join(''))]], new ResponsesStreamDecoder(CONTEXT));
  const isNative = (piece: StreamPiece): boolean => typeof piece === 'object' && piece.type === 'native';
  return { said: pieces.filter((piece) => !isNative(piece)), natives: pieces.filter(isNative) };
}

const delta = (said: object, logprobs?: object): StreamPiece =>
  ({ type: 'delta', index: 0, delta: said, ...(logprobs === undefined ? {} : { logprobs }) }) as StreamPiece;
const END = event('completed', { response: { id: 'resp_up', status: 'completed', usage: USAGE } });
const ended = (reason: string): readonly StreamPiece[] =>
  [
    { type: 'facts', upstreamId: 'resp_up', serviceTier: undefined },
    { type: 'usage', usage: COUNTED },
    { type: 'finish', index: 0, reason, native: 'completed' },
    { type: 'end' },
  ] as StreamPiece[];

describe('a native stream', () => {
  it('passes every event on before what it means', async () => {
    const events = [
      event('created', { response: { id: 'resp_up', service_tier: 'flex' } }),
      event('output_text.delta', { delta: 'a"b', logprobs: [] }),
      event('something.new', { delta: 'x' }),
      END,
      event('late'),
    ];
    const { said, natives } = await streamPieces([...events, 'data: [DONE]\n\n']);
    expect(natives).toEqual(
      events.slice(0, 4).map((one) => ({ type: 'native', event: one['type'], data: JSON.stringify(one) })),
    );
    expect(said).toEqual([{ type: 'facts', upstreamId: 'resp_up', serviceTier: 'flex' }, 'a\\"b', ...ended('stop')]);
  });

  it('says text with likelihoods, refusals and reasoning', async () => {
    const { said } = await streamPieces([
      event('output_text.delta', { delta: 'Hi', logprobs: [{ token: 'Hi', logprob: -1 }] }),
      event('refusal.delta', { delta: 'No' }),
      event('reasoning_summary_text.delta', { delta: 'A' }),
      event('reasoning_text.delta', { delta: 'B' }),
      event('output_item.done', {
        output_index: 0,
        item: { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' },
      }),
      END,
    ]);
    expect(said).toEqual([
      delta({ content: 'Hi' }, { content: [{ token: 'Hi', logprob: -1, bytes: null, top_logprobs: [] }] }),
      delta({ refusal: 'No' }),
      delta({ reasoning: 'A' }),
      delta({ reasoning: 'B' }),
      delta({
        reasoning_details: [
          { type: 'reasoning.encrypted', data: 'x', id: 'rs_1', format: 'openai-responses-v1', index: 0 },
        ],
      }),
      ...ended('stop'),
    ]);
  });

  it('tells calls apart by the place of their item, also when they come mixed, whole or without deltas', async () => {
    const call = (id: string, text: string): object => ({
      type: 'function_call',
      call_id: id,
      name: 'f',
      arguments: text,
    });
    const { said } = await streamPieces([
      event('output_item.added', { output_index: 1, item: call('a', '') }),
      event('output_item.added', { output_index: 2, item: call('b', '') }),
      event('function_call_arguments.delta', { output_index: 2, delta: '{"b"' }),
      event('function_call_arguments.delta', { output_index: 1, delta: '{}' }),
      event('function_call_arguments.delta', { output_index: 2, delta: ':1}' }),
      event('output_item.done', { output_index: 1, item: call('a', '{}') }),
      event('output_item.done', { output_index: 2, item: call('b', '{"b":1}') }),
      event('output_item.added', { output_index: 3, item: call('c', '') }),
      event('output_item.done', { output_index: 3, item: call('c', '{"c":1}') }),
      event('output_item.done', {
        output_index: 4,
        item: { type: 'custom_tool_call', call_id: 'd', name: 'sh', input: 'ls' },
      }),
      END,
    ]);
    const begun = (id: string, index: number): StreamPiece =>
      delta({ tool_calls: [{ id, index, type: 'function', function: { name: 'f', arguments: '' } }] });
    const added = (index: number, text: string): StreamPiece =>
      delta({ tool_calls: [{ index, function: { arguments: text } }] });
    expect(said).toEqual([
      begun('a', 0),
      begun('b', 1),
      added(1, '{"b"'),
      added(0, '{}'),
      added(1, ':1}'),
      begun('c', 2),
      added(2, '{"c":1}'),
      delta({
        tool_calls: [{ id: 'd', index: 3, type: 'function', function: { name: 'sh', arguments: '{"input":"ls"}' } }],
      }),
      ...ended('tool_calls'),
    ]);
  });

  it('counts what a provider does by itself as part of the answer', async () => {
    const { said } = await streamPieces([
      event('output_item.done', { output_index: 0, item: { type: 'mcp_call', id: 'mcp_1' } }),
      END,
    ]);
    expect(said[0]).toMatchObject({ delta: { reasoning_details: [{ tool_name: 'mcp' }] } });
  });

  it.each([
    ['an error event', { type: 'error', code: 'rate_limit_exceeded', message: 'slow down' }, 'rate_limited'],
    ['a nested error event', { type: 'error', error: { code: 'server_error', message: 'x' } }, 'server'],
    ['an error without a type', { error: { message: 'x' } }, 'server'],
    [
      'a failed answer',
      event('failed', { response: { status: 'failed', error: { code: 'server_error', message: 'x' } } }),
      'server',
    ],
    ['a failed answer without words', event('failed'), 'server'],
  ])('%s is a failure, whose words are not passed on', async (_name, one, kind) => {
    const { said, natives } = await streamPieces([`data: ${JSON.stringify(one)}\n\n`, END]);
    expect(said).toMatchObject([{ type: 'failure', failure: { kind } }]);
    expect(natives).toEqual([]);
  });

  it('is broken by an event that is no JSON, but not by one that the end cut off', async () => {
    expect((await streamPieces(['data: {"type"\n\n'])).said).toMatchObject([
      { type: 'failure', failure: { kind: 'bad_response' } },
    ]);
    expect((await streamPieces([event('output_text.delta', { delta: 'a' }), 'data: {"type"'])).said).toEqual(['a']);
  });

  it('may turn out to be a whole answer', async () => {
    const output = [{ type: 'message', content: [{ type: 'output_text', text: 'Hi' }] }];
    const { said } = await streamPieces([JSON.stringify(whole({ output }))]);
    expect(said).toContain('Hi');
    expect(said.at(-1)).toEqual({ type: 'end' });
  });

  it('that turns out to be a whole answer has every item in its events, also those that are the client’s work', async () => {
    const output = [
      { id: 'ap_1', type: 'apply_patch_call', call_id: 'call_1', operation: { type: 'delete_file', path: 'a' } },
      { id: 'sh_1', type: 'local_shell_call', call_id: 'call_2', action: { type: 'exec', command: ['ls'] } },
      { id: 'ar_1', type: 'mcp_approval_request', name: 'look', arguments: '{}' },
      { id: 'ctc_1', type: 'custom_tool_call', call_id: 'call_3', name: 'sql', input: 'SELECT 1' },
      { id: 'msg_1', type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] },
    ];
    const { natives, said } = await streamPieces([JSON.stringify(whole({ output }))]);
    const events = natives.map((piece) => JSON.parse((piece as { data: string }).data) as JsonObject);
    expect(events.flatMap(({ type, item }) => (type === 'response.output_item.done' ? [item] : []))).toEqual(output);
    expect(events.map(({ sequence_number: place }) => place)).toEqual(events.map((_, index) => index));
    expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { output } });
    expect(said).toContainEqual(delta({ refusal: 'No.' }));
    expect(said).toContainEqual(expect.objectContaining({ reason: 'tool_calls' }));
  });

  it('tells the provider’s own calls of custom tools from the caller’s', async () => {
    const item = { id: 'ctc_1', type: 'custom_tool_call', call_id: 'xs_1', name: 'x_keyword_search', input: '{}' };
    const xai = { ...CONTEXT, isCustomTool: (name: string) => name === 'sql' };
    const frames = [event('output_item.done', { output_index: 0, item }), END].map(
      (one) => `data: ${JSON.stringify(one)}\n\n`,
    );
    const pieces = await piecesOf([[new TextEncoder().encode(frames.join(''))]], new ResponsesStreamDecoder(xai));
    expect(pieces).toContainEqual(expect.objectContaining({ type: 'finish', reason: 'stop' }));
    const result = decodeResponse(JSON.stringify(whole({ output: [item] })), xai);
    expect(result).toMatchObject({ ok: true, result: { choices: [{ finish_reason: 'stop' }] } });
    const [detail] = (result.ok && result.result.choices[0]?.message.reasoning_details) || [];
    expect(detail).toMatchObject({ type: 'reasoning.server_tool_call', tool_name: 'x_keyword_search' });
  });

  it('knows the caller’s custom tools from the request, unless others are kept at the provider', () => {
    const known = (fields: object): boolean => {
      const { chat, native } = understood({ input: 'Hi', ...fields });
      const request = serving({ up: {} }).request(chat);
      return responseContextOf(
        { ...request, ...(native && { native: { ...native, apiFormat: 'responses' as const } }) },
        contextOf(),
      ).isCustomTool('x');
    };
    expect(known({})).toBe(false);
    expect(known({ tools: [{ type: 'custom', name: 'x' }] })).toBe(true);
    expect(known({ tools: [{ type: 'custom', name: 'y' }] })).toBe(false);
  });

  it('has text that comes with the item alone, and never twice', async () => {
    const item = { id: 'msg_1', type: 'message', content: [{ type: 'output_text', text: 'one' }] };
    const text = event('output_text.delta', { output_index: 0, item_id: 'msg_1', delta: 'one' });
    const done = event('output_item.done', { output_index: 0, item });
    const full = event('completed', { response: { status: 'completed', output: [item] } });
    for (const events of [[done, full], [full], [text, done, full], [text, full]]) {
      const { said } = await streamPieces(events);
      expect(said.filter((piece) => typeof piece === 'string')).toEqual(['one']);
    }
  });

  it('is none where something is called that has no name', async () => {
    const item = { type: 'function_call', call_id: 'a', arguments: '{}' };
    const { said } = await streamPieces([event('output_item.done', { output_index: 0, item }), END]);
    expect(said[0]).toMatchObject({ type: 'failure', failure: { kind: 'bad_response' } });
    expect(decoded(whole({ output: [item] }))).toMatchObject({ ok: false });
  });

  it('gives a call an id that came without one', async () => {
    const item = { type: 'function_call', name: 'look', arguments: '{}' };
    const { said } = await streamPieces([event('output_item.done', { output_index: 0, item }), END]);
    expect(said[0]).toMatchObject({ delta: { tool_calls: [{ id: 'made_0' }] } });
  });
});

describe('a body of /responses', () => {
  it('never reaches the native wire by way of its prototype', () => {
    const fields = JSON.parse('{"__proto__":{"store":true}}') as Record<string, unknown>;
    expect(sent({ ...responsesBody(), ...fields })).toEqual(BASE);
  });
});
