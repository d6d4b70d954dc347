import { describe, expect, it } from 'vitest';
import { MessagesStreamWriter } from '../../../src/formats/messages/messages.ts';
import { ChunkEnvelope } from '../../../src/core/stream/envelope.ts';
import type { ChatChunk, Delta } from '../../../src/protocol/chunk.ts';
import { CONTEXT } from '../../support/dialect-context.ts';
import { type MessagesEvent, eventsIn, messageIn } from '../../support/messages-stream.ts';
import type { NativePiece } from '../../../src/contracts/stream-piece.ts';

const ENVELOPE = new ChunkEnvelope({ id: 'gen-1', created: 1, model: 'acme/one', provider: 'Acme' });
const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, cost: 0.5 };

const ROLE = ENVELOPE.delta(0, { role: 'assistant', content: '' });

function ending(reason: 'stop' | 'tool_calls' = 'stop'): readonly ChatChunk[] {
  return [ENVELOPE.finish(0, reason, reason), ENVELOPE.usage(USAGE, 'default', undefined)];
}

function written(items: readonly (ChatChunk | NativePiece)[], body: object = {}): readonly MessagesEvent[] {
  const writer = new MessagesStreamWriter({ ...CONTEXT, body: { ...body } });
  return eventsIn(items.map((item) => writer.write(item)).join('') + writer.end());
}

function deltas(...list: readonly Delta[]): readonly ChatChunk[] {
  return [ROLE, ...list.map((delta) => ENVELOPE.delta(0, delta)), ...ending()];
}

function call(index: number, text: string, name?: string): Delta {
  const begin = name === undefined ? {} : { id: `call_${index}`, type: 'function' as const };
  return { tool_calls: [{ index, ...begin, function: { ...(name === undefined ? {} : { name }), arguments: text } }] };
}

/** The parts of events that show their order. */
function outline(events: readonly MessagesEvent[]): readonly string[] {
  return events
    .filter(({ type }) => type.startsWith('content_block'))
    .map((event) => {
      const { partial_json: json, text } = (event['delta'] ?? {}) as { partial_json?: string; text?: string };
      return `${event.index} ${event.type.slice('content_block_'.length)} ${json ?? text ?? ''}`.trim();
    });
}

describe('a stream of text', () => {
  it('has every event of the wire in its place', () => {
    expect(written(deltas({ content: 'Hel' }, { content: 'lo' }))).toEqual([
      {
        type: 'message_start',
        message: {
          id: 'gen-1',
          type: 'message',
          role: 'assistant',
          model: 'acme/one',
          provider: 'Acme',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          stop_details: null,
          container: null,
          usage: expect.objectContaining({ input_tokens: 0, output_tokens: 0 }) as object,
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hel' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'lo' } },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null, stop_details: null, container: null },
        usage: expect.objectContaining({
          input_tokens: 10,
          output_tokens: 5,
          service_tier: 'standard',
          cost: 0.5,
        }) as object,
      },
      { type: 'message_stop' },
    ]);
  });

  it('without any content is a message all the same', () => {
    expect(messageIn(written([ROLE, ...ending()]))).toMatchObject({ content: [], stop_reason: 'end_turn' });
  });

  it('that is a refusal ends as one', () => {
    expect(messageIn(written(deltas({ refusal: 'N' }, { refusal: 'o.' })))).toMatchObject({
      content: [{ type: 'text', text: 'No.' }],
      stop_reason: 'refusal',
      stop_details: { explanation: 'No.' },
    });
  });

  it('takes the first of several answers', () => {
    const other = ENVELOPE.delta(1, { content: 'other' });
    expect(messageIn(written([ROLE, other, ENVELOPE.delta(0, { content: 'own' }), ...ending()]))).toMatchObject({
      content: [{ type: 'text', text: 'own' }],
    });
  });

  it('carries the metadata under the name that was asked for', () => {
    const metadata = { requested: 'acme/one' } as unknown as NonNullable<ChatChunk['router_metadata']>;
    const writer = new MessagesStreamWriter({
      ...CONTEXT,
      spelling: { metadataField: 'openrouter_metadata', processing: '' },
    });
    writer.write(ROLE);
    writer.write(ENVELOPE.usage(USAGE, null, metadata));
    expect(eventsIn(writer.end())).toContainEqual(expect.objectContaining({ openrouter_metadata: metadata }));
  });

  it('shows the upstream body as an event that clients pass over', () => {
    const failed = new ChunkEnvelope({ id: 'gen-1', created: 1, model: 'acme/failed', provider: 'Acme' });
    const [debug, start] = written([failed.debug({ model: 'm' }), ...deltas({ content: 'x' })]);
    expect(debug).toEqual({ type: 'debug', debug: { echo_upstream_body: { model: 'm' } } });
    expect(start).toMatchObject({ type: 'message_start', message: { model: 'acme/one' } });
  });
});

describe('a stream with thinking', () => {
  it('signs each block once, at its end', () => {
    const detail = { type: 'reasoning.text' as const, index: 0, format: 'anthropic-claude-v1' };
    const events = written(
      deltas(
        { reasoning: 'H', reasoning_details: [{ ...detail, text: 'H' }] },
        { reasoning: 'm.', reasoning_details: [{ ...detail, text: 'm.' }] },
        { reasoning_details: [{ ...detail, signature: 'EqQB' }] },
        { reasoning_details: [{ type: 'reasoning.encrypted', data: 'Emw=', index: 1 }] },
        { content: 'Red.' },
      ),
    );
    expect(messageIn(events)['content']).toEqual([
      { type: 'thinking', thinking: 'Hm.', signature: 'EqQB' },
      { type: 'redacted_thinking', data: 'Emw=' },
      { type: 'text', text: 'Red.' },
    ]);
  });

  it('that nobody signed has an empty signature', () => {
    expect(messageIn(written(deltas({ reasoning: 'H' }, { reasoning: 'm.' }, { content: 'Red.' })))['content']).toEqual(
      [
        { type: 'thinking', thinking: 'Hm.', signature: '' },
        { type: 'text', text: 'Red.' },
      ],
    );
  });

  it('keeps its text out where that was asked for', () => {
    const body = { thinking: { type: 'adaptive', display: 'omitted' } };
    const signed = { type: 'reasoning.text' as const, index: 0 };
    const events = written(
      deltas(
        { reasoning_details: [{ ...signed, text: 'Hm.' }] },
        { reasoning_details: [{ ...signed, signature: 'EqQB' }] },
        { reasoning: 'and so on' },
        { content: 'Red.' },
      ),
      body,
    );
    expect(messageIn(events)['content']).toEqual([
      { type: 'thinking', thinking: '', signature: 'EqQB' },
      { type: 'text', text: 'Red.' },
    ]);
  });
});

describe('a stream with calls', () => {
  it('passes calls on as they come, one block after the other', () => {
    const events = written(deltas(call(0, '', 'look'), call(0, '{"a"'), call(0, ':1}'), call(1, '{}', 'hear')));
    expect(outline(events)).toEqual([
      '0 start',
      '0 delta {"a"',
      '0 delta :1}',
      '0 stop',
      '1 start',
      '1 delta {}',
      '1 stop',
    ]);
    expect(messageIn(events)['content']).toEqual([
      { type: 'tool_use', id: 'call_0', name: 'look', input: { a: 1 } },
      { type: 'tool_use', id: 'call_1', name: 'hear', input: {} },
    ]);
  });

  it('holds interleaved calls back until the one before is complete', () => {
    const events = written(
      deltas(call(0, '{"a"', 'look'), call(1, '{"b":', 'hear'), call(0, ':"}{"}'), call(1, '2}'), { content: 'So.' }),
    );
    expect(outline(events)).toEqual([
      '0 start',
      '0 delta {"a"',
      '0 delta :"}{"}',
      '0 stop',
      '1 start',
      '1 delta {"b":',
      '1 delta 2}',
      '1 stop',
      '2 start',
      '2 delta So.',
      '2 stop',
    ]);
  });

  it('lets text wait for a call whose arguments are not complete', () => {
    const events = written(deltas(call(0, '{"a":', 'look'), { content: 'I ' }, { content: 'look.' }, call(0, '1}')));
    expect(messageIn(events)['content']).toEqual([
      { type: 'tool_use', id: 'call_0', name: 'look', input: { a: 1 } },
      { type: 'text', text: 'I look.' },
    ]);
  });

  it('says what still waits at the end', () => {
    const events = written(deltas(call(0, '{"a":', 'look'), call(1, '{"b":2}', 'hear'), call(2, '', 'smell')));
    expect(messageIn(events)['content']).toEqual([
      { type: 'tool_use', id: 'call_0', name: 'look', input: { INVALID_JSON: '{"a":' } },
      { type: 'tool_use', id: 'call_1', name: 'hear', input: { b: 2 } },
      { type: 'tool_use', id: 'call_2', name: 'smell', input: {} },
    ]);
  });

  it('takes no more for a call that has ended', () => {
    const events = written(deltas(call(0, '{}', 'look'), call(1, '{}', 'hear'), call(0, ' \n')));
    expect(messageIn(events)['content']).toHaveLength(2);
  });

  it('gives long names back as the caller wrote them', () => {
    const name = `mcp__${'connector_'.repeat(10)}look`;
    const shortened = messageIn(written(deltas(call(0, '{}', name)), { tools: [{ name }] }));
    expect(shortened['content']).toMatchObject([{ name }]);
  });
});

describe('a stream that goes on', () => {
  it('is kept open by pings', () => {
    const writer = new MessagesStreamWriter(CONTEXT);
    expect(eventsIn(writer.keepAlive())).toEqual([{ type: 'ping' }]);
  });

  it('and breaks ends with an error event', () => {
    const writer = new MessagesStreamWriter(CONTEXT);
    writer.write(ROLE);
    const detail = { code: 529, message: 'Too busy', metadata: { error_type: 'provider_overloaded' as const } };
    expect(eventsIn(writer.fail({ status: 529, detail, requestId: 'req_1' }))).toEqual([
      {
        type: 'error',
        error: { type: 'overloaded_error', message: 'Too busy', error_type: 'provider_overloaded' },
        request_id: 'req_1',
      },
    ]);
  });
});

describe('a stream in the words of a provider', () => {
  const native = (event: Readonly<Record<string, unknown>> & { readonly type: string }): NativePiece => ({
    type: 'native',
    event: event.type,
    data: JSON.stringify(event),
  });
  const START = {
    type: 'message_start',
    message: { id: 'msg_1', model: 'one-20260101', content: [], usage: { input_tokens: 3 } },
  };
  const BLOCK = { type: 'content_block_start', index: 4, content_block: { type: 'hologram' } };
  const DELTA = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } };

  it('is passed on, with the name of the model and the cost', () => {
    const events = written([
      ROLE,
      native(START),
      native(BLOCK),
      ENVELOPE.delta(0, { content: 'x' }),
      native({ type: 'content_block_stop', index: 4 }),
      native(DELTA),
      native({ type: 'message_stop' }),
      ...ending(),
    ]);
    expect(events).toEqual([
      { ...START, message: { ...START.message, model: 'acme/one', provider: 'Acme' } },
      BLOCK,
      { type: 'content_block_stop', index: 4 },
      { ...DELTA, usage: { output_tokens: 2, cost: 0.5 } },
      { type: 'message_stop' },
    ]);
  });

  it('may say several times how far it is', () => {
    const first = { ...DELTA, usage: { output_tokens: 1 } };
    const events = written([ROLE, native(START), native(first), native(DELTA), ...ending()]);
    expect(events.map(({ type }) => type)).toEqual(['message_start', 'message_delta', 'message_delta', 'message_stop']);
    expect(events[1]).toEqual(first);
  });

  it('cannot end its event early with line breaks in its JSON', () => {
    const piece: NativePiece = { type: 'native', event: 'ping', data: '{\n"type":\r\n"ping"}' };
    expect(new MessagesStreamWriter(CONTEXT).write(piece)).toBe('event: ping\ndata: { "type": "ping"}\n\n');
  });

  it('that is no JSON is passed on as it is', () => {
    const piece: NativePiece = { type: 'native', event: 'message_start', data: 'oops' };
    expect(new MessagesStreamWriter(CONTEXT).write(piece)).toBe('event: message_start\ndata: oops\n\n');
  });
});
