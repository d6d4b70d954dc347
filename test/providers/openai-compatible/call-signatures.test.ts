import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  API_FORMATS,
  type ApiFormat,
  type UnusualUpstream,
  startUnusualUpstream,
} from '../../support/unusual-streams.ts';

let upstream: UnusualUpstream;
beforeAll(async () => {
  upstream = await startUnusualUpstream();
});
afterAll(() => upstream[Symbol.asyncDispose]());

const EXTRA = { google: { thought_signature: 'c2lnbmF0dXJl' } };
const DONE = 'data: [DONE]\n\n';

function calling(id: string, signed: boolean): readonly string[] {
  const call = { index: 0, id, type: 'function', function: { name: 'look', arguments: '{}' } };
  const delta = { tool_calls: [signed ? { ...call, extra_content: EXTRA } : call] };
  const events = [
    {
      id: 'c',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'one',
      choices: [{ index: 0, delta, finish_reason: null }],
    },
    {
      id: 'c',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'one',
      choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }],
    },
  ];
  return [...events.map((event) => `data: ${JSON.stringify(event)}\n\n`), DONE];
}

const answered = (id: string): object => ({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'one',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: null,
        tool_calls: [{ id, type: 'function', function: { name: 'look', arguments: '{}' }, extra_content: EXTRA }],
      },
      finish_reason: 'tool_calls',
    },
  ],
});

/** The second turn of a client that keeps nothing but what its format has a member for. */
function secondTurn(format: ApiFormat, id: string, extra?: object): object {
  const call = {
    id,
    type: 'function',
    function: { name: 'look', arguments: '{}' },
    ...(extra === undefined ? {} : { extra_content: extra }),
  };
  if (format === 'chat') {
    return {
      messages: [
        { role: 'user', content: 'Go' },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: id, content: 'seen' },
      ],
    };
  }
  if (format === 'messages') {
    return {
      messages: [
        { role: 'user', content: 'Go' },
        { role: 'assistant', content: [{ type: 'tool_use', id, name: 'look', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'seen' }] },
      ],
    };
  }
  return {
    input: [
      { role: 'user', content: 'Go' },
      { type: 'function_call', call_id: id, name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: id, output: 'seen' },
    ],
  };
}

const PLAIN = {
  pieces: [
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'one', choices: [{ index: 0, delta: { content: 'Done.' }, finish_reason: 'stop' }] })}\n\n`,
    DONE,
  ],
};

/** What the upstream got of the calls in the last request. */
function extrasSent(): readonly unknown[] {
  const { messages } = upstream.requests.at(-1) as unknown as {
    messages: readonly { tool_calls?: readonly { extra_content?: unknown }[] }[];
  };
  return messages.flatMap(({ tool_calls: calls = [] }) => calls.map(({ extra_content: extra }) => extra));
}

const CELLS = (['chat', 'sdk'] as const).flatMap((wire) =>
  API_FORMATS.flatMap((format) => [true, false].map((stream) => [wire, format, stream] as const)),
);

describe('the signature of a call from a server of chat completions', () => {
  it.each(CELLS)('goes back over %s for a caller of /%s (streaming: %s)', async (wire, format, stream) => {
    const id = `call_${wire}_${format}_${stream}`;
    const first = stream
      ? { pieces: calling(id, true) }
      : { pieces: [JSON.stringify(answered(id))], type: 'application/json' as const };
    const seen = await upstream.ask(wire, format, stream, first);
    expect(seen).toMatchObject({
      calls: [['look', '{}']],
      finish: 'tool_calls',
      extras: format === 'chat' ? [EXTRA] : [],
    });
    await upstream.ask(wire, format, true, PLAIN, secondTurn(format, id));
    expect(extrasSent()).toEqual([EXTRA]);
  });

  it('never goes to a server that did not send it', async () => {
    await upstream.ask('chat', 'chat', true, PLAIN, secondTurn('chat', 'call_of_others', EXTRA));
    expect(extrasSent()).toEqual([undefined]);
  });

  it('is not put on another call that has its id', async () => {
    await upstream.ask('chat', 'chat', true, { pieces: calling('call_0', true) });
    const { messages } = secondTurn('chat', 'call_0') as {
      messages: { tool_calls?: { function: { name: string } }[] }[];
    };
    for (const { tool_calls: calls = [] } of messages) for (const call of calls) call.function.name = 'now';
    await upstream.ask('chat', 'chat', true, PLAIN, { messages });
    expect(extrasSent()).toEqual([undefined]);
  });
});
