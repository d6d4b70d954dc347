import { describe, expect, it } from 'vitest';
import { RESPONSES } from '../../../src/formats/responses/responses.ts';
import type { JsonObject } from '../../../src/protocol/json.ts';
import {
  type Event,
  TAIL,
  chunk,
  contextOf,
  eventsIn,
  streamed,
  usageChunk,
  writeTo,
} from '../../support/responses.ts';

const ROLE = chunk({ role: 'assistant', content: '' });
const STOP = chunk({ content: '' }, { finish_reason: 'stop' });
const typesOf = (events: readonly Event[]): readonly string[] =>
  events.map(({ type }) => type.replace('response.', ''));
const last = (events: readonly Event[]): JsonObject => events.at(-1)?.['response'] as JsonObject;
const begin = (index: number, id?: string, text?: string) =>
  chunk({
    tool_calls: [
      {
        index,
        ...(id === undefined ? {} : { id, type: 'function' }),
        function: { ...(id === undefined ? {} : { name: 'f' }), ...(text === undefined ? {} : { arguments: text }) },
      },
    ],
  });

describe('the events of a stream', () => {
  it('tell of a text from its beginning to its end, numbered from 0', () => {
    const events = streamed([ROLE, 'Hel', 'lo \\u00e9\\n', STOP, usageChunk()]);
    expect(typesOf(events)).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'completed',
    ]);
    expect(events.map((event) => event['sequence_number'])).toEqual(events.map((_, index) => index));
    const place = { item_id: `msg_${TAIL}_0`, output_index: 0, content_index: 0 };
    expect(events[4]).toMatchObject({ ...place, delta: 'Hel', logprobs: [] });
    expect(events[6]).toMatchObject({ ...place, text: 'Hello é\n' });
    expect(last(events)).toMatchObject({
      id: `resp_${TAIL}`,
      status: 'completed',
      provider: 'Up',
      output: [{ content: [{ text: 'Hello é\n' }] }],
      usage: { input_tokens: 1, output_tokens: 2 },
    });
    expect(events[0]).toMatchObject({
      response: { status: 'in_progress', output: [], usage: null, model: 'acme/one' },
    });
  });

  it('are the same for escaped text as for chunks', () => {
    const text = 'a "quoted"\n\u{1f600} line';
    const short = streamed([ROLE, JSON.stringify(text).slice(1, -1), STOP, usageChunk()]);
    expect(short).toEqual(streamed([ROLE, chunk({ content: text }), STOP, usageChunk()]));
  });

  it('keep calls apart whose fragments come mixed', () => {
    const events = streamed([
      begin(0, 'call_a', ''),
      begin(1, 'call_b', '{"b'),
      begin(0, undefined, '{"a":'),
      begin(1, undefined, '":2}'),
      begin(0, undefined, '1}'),
      chunk({}, { finish_reason: 'tool_calls' }),
      usageChunk(),
    ]);
    const deltas = events.filter(({ type }) => type === 'response.function_call_arguments.delta');
    expect(deltas.map((event) => [event['output_index'], event['delta']])).toEqual([
      [1, '{"b'],
      [0, '{"a":'],
      [1, '":2}'],
      [0, '1}'],
    ]);
    expect(last(events)).toMatchObject({
      status: 'completed',
      output: [
        { id: `fc_${TAIL}_0`, call_id: 'call_a', arguments: '{"a":1}' },
        { id: `fc_${TAIL}_1`, call_id: 'call_b', arguments: '{"b":2}' },
      ],
    });
  });

  it('keep text in one message when calls come between its pieces', () => {
    const events = streamed(['One', begin(0, 'call_a', '{}'), ' two', STOP, usageChunk()]);
    expect(last(events)['output']).toMatchObject([{ content: [{ text: 'One two' }] }, { arguments: '{}' }]);
  });

  it('tell of summaries, reasoning text and what is encrypted', () => {
    const id = 'rs_1';
    const events = streamed([
      chunk({ reasoning: 'A', reasoning_details: [{ type: 'reasoning.summary', summary: 'A', id, index: 0 }] }),
      chunk({ reasoning: 'B', reasoning_details: [{ type: 'reasoning.summary', summary: 'B', id, index: 0 }] }),
      chunk({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'x', id, index: 0 }] }),
      'Hi',
      STOP,
      usageChunk(),
    ]);
    expect(typesOf(events).slice(2, 10)).toEqual([
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
      'output_item.added',
    ]);
    expect(events[8]).toMatchObject({
      item: { id, summary: [{ text: 'AB' }], encrypted_content: 'x', status: 'completed' },
    });
    const plain = streamed([chunk({ reasoning: 'A' }), chunk({ reasoning: 'B' }), 'Hi', STOP, usageChunk()]);
    expect(typesOf(plain).slice(2, 9)).toEqual([
      'output_item.added',
      'content_part.added',
      'reasoning_text.delta',
      'reasoning_text.delta',
      'reasoning_text.done',
      'content_part.done',
      'output_item.done',
    ]);
  });

  it('give what is encrypted after the text an item of its own', () => {
    const details = [{ type: 'reasoning.encrypted', data: 'x', id: 'rs_1' }] as const;
    const events = streamed([
      chunk({ reasoning_details: [{ type: 'reasoning.summary', summary: 'A', id: 'rs_1' }] }),
      'Hi',
      chunk({ reasoning_details: details }),
      STOP,
      usageChunk(),
    ]);
    expect(last(events)['output']).toMatchObject([
      { id: 'rs_1', summary: [{ text: 'A' }] },
      { type: 'message' },
      { id: `rs_${TAIL}_2`, encrypted_content: 'x' },
    ]);
  });

  it('tell of refusals, citations, images and likelihoods', () => {
    const annotation = { type: 'url_citation', url_citation: { url: 'https://a.org' } } as const;
    const logprobs = { content: [{ token: 'Hi', logprob: -1, bytes: [72, 105], top_logprobs: [] }] };
    const events = streamed([
      chunk({ content: 'Hi' }, { logprobs }),
      chunk({ annotations: [annotation] }),
      chunk({ refusal: 'No' }),
      chunk({ images: [{ type: 'image_url', image_url: { url: 'https://a.org/a.png' } }] }),
      STOP,
      usageChunk(),
    ]);
    expect(typesOf(events)).toEqual(
      expect.arrayContaining([
        'output_text.annotation.added',
        'refusal.delta',
        'refusal.done',
        'image_generation_call.completed',
      ]),
    );
    expect(events.find(({ type }) => type === 'response.output_text.delta')).toMatchObject({
      logprobs: [{ token: 'Hi' }],
    });
    expect(last(events)['output']).toMatchObject([
      { content: [{ annotations: [{ url: 'https://a.org' }], logprobs: [{ token: 'Hi' }] }, { refusal: 'No' }] },
      { type: 'image_generation_call', result: 'https://a.org/a.png' },
    ]);
  });

  it('tell the text of a custom tool once it is whole', () => {
    const fields = { tools: [{ type: 'custom', name: 'f' }] };
    const events = streamed(
      [begin(0, 'call_a', '{"inp'), begin(0, undefined, 'ut":"echo"}'), STOP, usageChunk()],
      fields,
    );
    expect(typesOf(events).slice(2, 6)).toEqual([
      'output_item.added',
      'custom_tool_call_input.delta',
      'custom_tool_call_input.done',
      'output_item.done',
    ]);
    expect(events[4]).toMatchObject({ input: 'echo' });
  });

  it('end as incomplete when the answer was cut off or filtered', () => {
    const events = streamed(['Hi', chunk({}, { finish_reason: 'length' }), usageChunk()]);
    expect(events.at(-1)).toMatchObject({
      type: 'response.incomplete',
      response: { incomplete_details: { reason: 'max_output_tokens' }, output: [{ status: 'incomplete' }] },
    });
  });

  it('are followed by the end mark, and by comments while nothing comes', () => {
    const writer = RESPONSES.streamWriter(contextOf());
    expect(writer.keepAlive()).toBe(': ROUTER PROCESSING\n\n');
    writer.text?.('Hi');
    expect(writer.end().endsWith('\n\ndata: [DONE]\n\n')).toBe(true);
  });

  it('carry the routing metadata under the name that was asked for', () => {
    const metadata = { requested: 'acme/one' } as never;
    for (const name of ['router_metadata', 'openrouter_metadata'] as const) {
      const writer = RESPONSES.streamWriter({ ...contextOf(), spelling: { metadataField: name, processing: 'WAIT' } });
      const frames = writeTo(writer, 'Hi') + writeTo(writer, usageChunk({ router_metadata: metadata })) + writer.end();
      expect(last(eventsIn(frames))[name]).toEqual({ requested: 'acme/one' });
      expect(writer.keepAlive()).toBe(': WAIT\n\n');
    }
  });

  it('show what went to a provider to those who ask for it', () => {
    const debug = { ...chunk({}), choices: [], debug: { echo_upstream_body: { model: 'x' } } };
    const events = streamed([debug, 'Hi', STOP, usageChunk()]);
    expect(typesOf(events).slice(0, 4)).toEqual(['created', 'in_progress', 'debug', 'output_item.added']);
    expect(events[2]).toMatchObject({ debug: { echo_upstream_body: { model: 'x' } } });
  });
});

describe('a stream that breaks', () => {
  const error = (errorType: 'provider_unavailable' | 'context_length_exceeded') => ({
    status: 502,
    detail: { code: 502, message: 'Broke off', metadata: { error_type: errorType } },
  });

  it('tells the error, and then the answer as far as it came', () => {
    const writer = RESPONSES.streamWriter(contextOf());
    const before = eventsIn(writeTo(writer, chunk({ reasoning: 'Hm' })) + writeTo(writer, 'Hal'));
    const frames = writer.fail(error('provider_unavailable'));
    const events = eventsIn(frames);
    expect(events).toMatchObject([
      { type: 'error', code: 'server_error', message: 'Broke off', param: null, error_type: 'provider_unavailable' },
      {
        type: 'response.failed',
        response: {
          status: 'failed',
          error: { code: 'server_error', message: 'Broke off' },
          error_type: 'provider_unavailable',
          output: [
            { type: 'reasoning', status: 'completed' },
            { content: [{ text: 'Hal' }], status: 'incomplete' },
          ],
        },
      },
    ]);
    expect(events[0]?.['sequence_number']).toBe(before.length);
    expect(frames.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('ends as incomplete where it was too long', () => {
    const writer = RESPONSES.streamWriter(contextOf());
    writeTo(writer, 'Hal');
    expect(eventsIn(writer.fail(error('context_length_exceeded')))).toMatchObject([
      { type: 'response.incomplete', response: { status: 'incomplete', error_type: 'context_length_exceeded' } },
    ]);
  });
});

describe('the stream of a provider of this API', () => {
  const native = (type: string, members: object) =>
    ({
      type: 'native',
      event: `response.${type}`,
      data: JSON.stringify({ type: `response.${type}`, ...members }),
    }) as const;
  const response = { id: 'resp_up', model: 'one-2026', status: 'in_progress', output: [], store: true, usage: null };
  const item = { type: 'mcp_call', id: 'mcp_1' };
  const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
  const pieces = [
    native('created', { sequence_number: 0, response }),
    native('mcp_call.in_progress', { sequence_number: 1, item_id: 'mcp_1' }),
    native('output_item.done', { sequence_number: 2, output_index: 0, item }),
  ];

  it('passes through, with this router’s id, model and price in what carries the answer', () => {
    const writer = RESPONSES.streamWriter(contextOf({ metadata: { a: 'b' } }));
    let frames = writer.write(ROLE);
    for (const piece of pieces)
      frames += writer.write(piece) + writer.write(chunk({ content: 'seen already' })) + (writer.text?.('so') ?? '');
    frames += writer.write(
      native('completed', { sequence_number: 3, response: { ...response, output: [item], usage } }),
    );
    expect(frames).not.toContain('response.completed');
    const counted = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3, cost: 0.5 };
    frames += writer.write(usageChunk({ usage: counted })) + writer.end();
    const events = eventsIn(frames);
    const own = { id: `resp_${TAIL}`, model: 'acme/one', provider: 'Up', store: false, metadata: { a: 'b' } };
    expect(events).toEqual([
      { type: 'response.created', sequence_number: 0, response: { ...response, ...own } },
      { type: 'response.mcp_call.in_progress', sequence_number: 1, item_id: 'mcp_1' },
      { type: 'response.output_item.done', sequence_number: 2, output_index: 0, item },
      {
        type: 'response.completed',
        sequence_number: 3,
        response: { ...response, ...own, output: [item], usage: { ...usage, cost: 0.5 } },
      },
    ]);
  });

  it('goes on counting when it breaks, and keeps the items that were finished', () => {
    const writer = RESPONSES.streamWriter(contextOf());
    for (const piece of pieces) writer.write(piece);
    const detail = { code: 502, message: 'Broke off', metadata: { error_type: 'provider_unavailable' as const } };
    expect(eventsIn(writer.fail({ status: 502, detail }))).toMatchObject([
      { type: 'error', sequence_number: 3 },
      { type: 'response.failed', sequence_number: 4, response: { status: 'failed', output: [item] } },
    ]);
  });

  it('has one line of data per event, however the provider wrote it', () => {
    const writer = RESPONSES.streamWriter(contextOf());
    const data = JSON.stringify({ type: 'response.queued_tool', sequence_number: 0 }, null, 2);
    expect(eventsIn(writer.write({ type: 'native', event: 'response.queued_tool', data }))).toHaveLength(1);
  });
});
