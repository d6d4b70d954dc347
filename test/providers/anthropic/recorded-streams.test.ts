import { describe, expect, it } from 'vitest';
import type { FinishReason } from '../../../src/protocol/chat-result.ts';
import type { Delta, ToolCallDelta } from '../../../src/protocol/chunk.ts';
import { anthropicFixture, decodeEvents } from '../../support/anthropic.ts';
import { cutAt } from '../../support/wire.ts';
import type { FinishPiece, StreamPiece } from '../../../src/contracts/stream-piece.ts';

const END: StreamPiece = { type: 'end' };
const FACTS: StreamPiece = { type: 'facts', upstreamId: 'msg_01Wire', serviceTier: 'default' };
const NO_WRITES = {
  prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
};
const WRITES = {
  prompt_tokens_details: { cached_tokens: 1_000, cache_write_tokens: 300 },
  cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
};
const THINKING = { type: 'reasoning.text', format: 'anthropic-claude-v1' } as const;

/** What must come out of each stream. Plain text stands as it stood between the quotes of its JSON. */
const STREAMS: Readonly<Record<string, readonly StreamPiece[]>> = {
  'text.sse': [
    FACTS,
    usage(25, 1, NO_WRITES),
    'Signal',
    ' box 🚦',
    String.raw` “ready”.\nOver`,
    ' and out',
    usage(25, 15, NO_WRITES),
    finish('stop', 'end_turn'),
    END,
  ],
  'cached.sse': [
    { type: 'facts', upstreamId: 'msg_01Wire', serviceTier: 'priority' },
    usage(1_304, 3, WRITES),
    'Yes',
    usage(1_304, 9, { ...WRITES, completion_tokens_details: { reasoning_tokens: 2 } }),
    finish('stop', 'stop_sequence'),
    END,
  ],
  'tools.sse': [
    FACTS,
    usage(25, 1, NO_WRITES),
    'Looking.',
    tool({ index: 0, id: 'toolu_01A', name: 'get_weather', arguments: '' }),
    tool({ index: 0, arguments: '{"ci' }),
    tool({ index: 0, arguments: 'ty": "Łódź"}' }),
    tool({ index: 1, id: 'toolu_01B', name: 'ring_bell', arguments: '' }),
    tool({ index: 1, arguments: '{}' }),
    tool({ index: 2, id: 'toolu_01C', name: 'get_time', arguments: '' }),
    tool({ index: 2, arguments: '{"zone":"CET"}' }),
    usage(25, 89, NO_WRITES),
    finish('tool_calls', 'tool_use'),
    END,
  ],
  'thinking.sse': [
    FACTS,
    usage(25, 1, NO_WRITES),
    said({ reasoning: 'Which line', reasoning_details: [{ ...THINKING, text: 'Which line', index: 0 }] }),
    said({ reasoning: ' is free?', reasoning_details: [{ ...THINKING, text: ' is free?', index: 0 }] }),
    said({ reasoning_details: [{ ...THINKING, signature: 'EqQBCkYIBxgC+/==', index: 0 }] }),
    said({
      reasoning_details: [{ ...THINKING, type: 'reasoning.encrypted', data: 'EmwKAhgBEgy3va3pzix/LafPsn4a', index: 1 }],
    }),
    'Line',
    ' two',
    said({ reasoning_details: [{ ...THINKING, signature: 'c2Vjb25k', index: 3 }] }),
    tool({ index: 0, id: 'toolu_01D', name: 'set_points', arguments: '' }),
    tool({ index: 0, arguments: '{"line":2}' }),
    usage(25, 60, { ...NO_WRITES, completion_tokens_details: { reasoning_tokens: 31 } }),
    finish('tool_calls', 'tool_use'),
    END,
  ],
  'search.sse': [
    FACTS,
    usage(25, 1, NO_WRITES),
    'Two ',
    'lines 🚦 run',
    said({
      annotations: [
        {
          type: 'url_citation',
          url_citation: {
            url: 'https://example.org/a',
            title: 'Trains',
            content: 'lines run',
            start_index: 4,
            end_index: 16,
          },
        },
      ],
    }),
    usage(25, 20, { ...NO_WRITES, server_tool_use: { web_search_requests: 1, web_fetch_requests: 0 } }),
    finish('stop', 'pause_turn'),
    END,
  ],
  'refusal.sse': [
    FACTS,
    usage(25, 1, NO_WRITES),
    usage(25, 0, NO_WRITES),
    { type: 'facts', refusal: { category: 'bio' } },
    said({ refusal: 'This request touches a protected area.' }),
    finish('content_filter', 'refusal'),
    END,
  ],
  'refusal-midway.sse': [
    FACTS,
    usage(25, 1, NO_WRITES),
    'First',
    usage(25, 5, NO_WRITES),
    finish('content_filter', 'refusal'),
    END,
  ],
  'error-first.sse': [
    {
      type: 'failure',
      failure: {
        kind: 'overloaded',
        status: 529,
        message: 'Overloaded',
        raw: 'Overloaded',
        providerCode: 'overloaded_error',
      },
    },
  ],
  'error-midway.sse': [
    FACTS,
    usage(25, 1, NO_WRITES),
    'Half an',
    {
      type: 'failure',
      failure: {
        kind: 'rate_limited',
        status: 429,
        message: 'This request would exceed your rate limit.',
        raw: 'This request would exceed your rate limit.',
        providerCode: 'rate_limit_error',
      },
    },
  ],
  'cut.sse': [FACTS, usage(25, 1, NO_WRITES), 'Half', usage(25, 5, NO_WRITES)],
  'no-reason.sse': [
    FACTS,
    usage(25, 1, NO_WRITES),
    'Half',
    usage(25, 5, NO_WRITES),
    { type: 'finish', index: 0, reason: 'error', native: null },
    END,
  ],
  'started-twice.sse': [
    FACTS,
    usage(25, 1, NO_WRITES),
    FACTS,
    usage(25, 1, NO_WRITES),
    'Al',
    'l clear',
    usage(25, 2, NO_WRITES),
    usage(25, 4, NO_WRITES),
    finish('length', 'max_tokens'),
    END,
  ],
};

describe.each(Object.entries(STREAMS))('the stream %s', (path, expected) => {
  it('is decoded to exactly these pieces', async () => {
    expect(await decodeEvents([anthropicFixture(path)])).toEqual(expected);
  });

  it('means the same wherever its bytes are cut', async () => {
    const bytes = anthropicFixture(path);
    const whole = JSON.stringify(await decodeEvents([bytes]));
    for (let position = 0; position <= bytes.length; position += 1) {
      const pieces = await decodeEvents(cutAt(bytes, position));
      if (JSON.stringify(pieces) !== whole) expect.fail(`cut at byte ${position} it means something else`);
    }
  });

  it('means the same byte by byte, with other line ends, and without names of events', async () => {
    const bytes = anthropicFixture(path);
    expect(await decodeEvents(Array.from(bytes, (_, index) => bytes.subarray(index, index + 1)))).toEqual(expected);
    const text = new TextDecoder().decode(bytes);
    expect(await decodeEvents([text.replaceAll('\n', '\r\n')])).toEqual(expected);
    expect(await decodeEvents([text.replaceAll(/^event: .*\n/gm, '')])).toEqual(expected);
  });
});

describe('a stream with two different messages in it', () => {
  it('is broken', async () => {
    const pieces = await decodeEvents([anthropicFixture('two-messages.sse')]);
    expect(pieces.find((piece) => typeof piece !== 'string' && piece.type === 'failure')).toMatchObject({
      failure: { kind: 'bad_response' },
    });
  });
});

function finish(reason: FinishReason, native: string): FinishPiece {
  return { type: 'finish', index: 0, reason, native };
}

function usage(prompt: number, completion: number, rest: Readonly<Record<string, unknown>>): StreamPiece {
  const counts = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  return { type: 'usage', usage: { ...counts, ...rest } };
}

function said(delta: Delta): StreamPiece {
  return { type: 'delta', index: 0, delta };
}

function tool(call: { index: number; id?: string; name?: string; arguments: string }): StreamPiece {
  const { index, id, name, arguments: text } = call;
  const delta: ToolCallDelta =
    id === undefined || name === undefined
      ? { index, function: { arguments: text } }
      : { index, id, type: 'function', function: { name, arguments: text } };
  return said({ tool_calls: [delta] });
}
