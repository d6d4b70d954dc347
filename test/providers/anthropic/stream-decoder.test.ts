import * as fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { unescapeText } from '../../../src/core/stream/pieces.ts';
import { ResultCollector } from '../../../src/core/stream/collect.ts';
import { anthropicFixture, decodeEvents, messageEvent, messageResult } from '../../support/anthropic.ts';
import { eventsIn, messageIn } from '../../support/messages-stream.ts';
import { runs } from '../../support/properties.ts';
import type { StreamPiece } from '../../../src/contracts/stream-piece.ts';

const START = messageEvent({ type: 'message_start', message: { id: 'msg_1', content: [] } });
const OPEN = messageEvent({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } });
const STOP = messageEvent({ type: 'message_stop' });

function textEvent(text: string, padding = 0): string {
  const data = JSON.stringify({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } });
  return `event: content_block_delta\ndata: ${data.slice(0, -1)}${' '.repeat(padding)}}\n\n`;
}

function textOf(pieces: readonly StreamPiece[]): string {
  return pieces.map((piece) => (typeof piece === 'string' ? unescapeText(piece) : '')).join('');
}

afterEach(() => vi.restoreAllMocks());

describe('text deltas', () => {
  it('are not parsed once one of their kind was, whatever their padding', async () => {
    const stream = [START, OPEN, ...Array.from({ length: 200 }, (_, index) => textEvent(`word ${index} `, index % 40))];
    const parse = vi.spyOn(JSON, 'parse');
    const pieces = await decodeEvents([stream.join('')]);
    expect(parse.mock.calls.length).toBeLessThan(10);
    parse.mockRestore();
    expect(textOf(pieces)).toBe(Array.from({ length: 200 }, (_, index) => `word ${index} `).join(''));
  });

  it('mean the same whether they are recognised or parsed', async () => {
    const texts = fc.array(
      fc.record({
        text: fc.oneof(
          fc.string({ minLength: 1 }),
          fc.constantFrom('"}}', '\\"}  }', '"} }', '\u2028', '}', ' ', '\\', '{"type":"error"}'),
        ),
        padding: fc.nat(20),
      }),
      { minLength: 2, maxLength: 20 },
    );
    await fc.assert(
      fc.asyncProperty(texts, async (deltas) => {
        const stream = START + OPEN + deltas.map(({ text, padding }) => textEvent(text, padding)).join('');
        expect(textOf(await decodeEvents([stream]))).toBe(deltas.map(({ text }) => text).join(''));
      }),
      runs(200),
    );
  });

  it.each([
    ['of another type', textEvent('no').replace('text_delta', 'other_delta')],
    ['that is no JSON', textEvent('no').replace('}}', '}  '), 'bad_response'],
    ['behind the end', `${STOP}${textEvent('no')}`],
  ])('are not taken for one %s', async (_what, event, failure?: string) => {
    const pieces = await decodeEvents([START + OPEN + textEvent('a') + textEvent('b') + event]);
    expect(textOf(pieces)).toBe('ab');
    const failures = pieces.flatMap((piece) =>
      typeof piece !== 'string' && piece.type === 'failure' ? [piece.failure.kind] : [],
    );
    expect(failures).toEqual(failure === undefined ? [] : [failure]);
  });
});

describe('events', () => {
  it('of unknown kinds mean nothing, even if they cannot be read', async () => {
    const pieces = await decodeEvents([`${START}event: vertex_event\ndata: {nonsense\n\n${OPEN}${textEvent('ok')}`]);
    expect(pieces.slice(1)).toEqual(['ok']);
  });

  it('that are cut off by the end of the body are no second failure', async () => {
    const pieces = await decodeEvents([START + OPEN + textEvent('ok') + textEvent('half').slice(0, -20)]);
    expect(pieces.slice(1)).toEqual(['ok']);
  });

  it('are passed on in the words of the provider, before what they mean, but for pings and errors', async () => {
    const stream = new TextDecoder().decode(anthropicFixture('text.sse'));
    const pieces = await decodeEvents([stream], { native: true });
    const native = pieces.filter((piece) => typeof piece !== 'string' && piece.type === 'native');
    const sent = [...stream.matchAll(/event: (\w+)\ndata: (.*)\n/g)]
      .filter(([, event]) => event !== 'ping')
      .map(([, event, data]) => ({ event, data: JSON.parse(String(data)) as unknown }));
    expect(native.map(({ event, data }) => ({ event, data: JSON.parse(data) as unknown }))).toEqual(sent);
    const ordinary = pieces.filter((piece) => !native.includes(piece as (typeof native)[number]));
    expect(ordinary).toEqual(await decodeEvents([stream]));
    expect(pieces.indexOf('Signal')).toBe(pieces.findIndex((piece) => JSON.stringify(piece).includes('Signal')) + 1);
    const failing = await decodeEvents([anthropicFixture('error-midway.sse')], { native: true });
    expect(failing.filter((piece) => JSON.stringify(piece).includes('rate_limit_error'))).toHaveLength(1);
  });
});

describe('a whole message in place of a stream', () => {
  const content = [
    { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'a' } },
    {
      type: 'web_search_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: [{ type: 'web_search_result', url: 'https://a.example' }],
    },
    {
      type: 'text',
      text: 'one',
      citations: [{ type: 'web_search_result_location', url: 'https://a.example', title: 'A' }],
    },
    { type: 'tool_use', id: 'toolu_1', name: 'look', input: { a: 1 } },
  ];
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content,
    stop_reason: 'tool_use',
    usage: { input_tokens: 3, output_tokens: 2 },
  };

  it('is passed on as the events that it would have been, to who speaks this wire', async () => {
    const pieces = await decodeEvents([JSON.stringify(message)], { native: true });
    const events = pieces.flatMap((piece) => (typeof piece === 'object' && piece.type === 'native' ? [piece] : []));
    const text = events.map(({ event, data }) => `event: ${event}\ndata: ${data}\n\n`).join('');
    expect(messageIn(eventsIn(text))).toMatchObject({ content, stop_reason: 'tool_use', usage: message.usage });
  });

  it('means the same as one that is read whole', async () => {
    const collector = new ResultCollector();
    for (const piece of await decodeEvents([JSON.stringify(message)], { native: true })) collector.add(piece);
    expect(collector.result().choices).toEqual(messageResult(message).choices);
  });
});

describe('a message that is there when it begins', () => {
  const content = [
    { type: 'text', text: 'one' },
    { type: 'tool_use', id: 'toolu_1', name: 'look', input: { a: 1 } },
  ];
  const start = messageEvent({ type: 'message_start', message: { id: 'msg_1', content, stop_reason: 'tool_use' } });
  const toolBlock = messageEvent({ type: 'content_block_start', index: 1, content_block: content[1] });

  it.each([
    ['ends at once', [start, STOP]],
    ['has a block told once more', [start, toolBlock, messageEvent({ type: 'content_block_stop', index: 1 }), STOP]],
    ['stops once more', [start, messageEvent({ type: 'message_delta', delta: { stop_reason: 'tool_use' } }), STOP]],
  ])('is read once: %s', async (_name, events) => {
    const collector = new ResultCollector();
    for (const piece of await decodeEvents([events.join('')])) collector.add(piece);
    const [choice] = collector.result().choices;
    expect(choice).toMatchObject({ finish_reason: 'tool_calls', message: { content: 'one' } });
    expect(choice?.message.tool_calls).toMatchObject([
      { id: 'toolu_1', function: { name: 'look', arguments: '{"a":1}' } },
    ]);
  });

  it('gives a call an id that came without one', async () => {
    const one = { type: 'tool_use', name: 'look', input: {} };
    const { choices } = messageResult({ content: [one], stop_reason: 'tool_use' });
    expect(choices[0]?.message.tool_calls).toMatchObject([{ id: 'made_0' }]);
  });
});

describe('a call of the format tool', () => {
  it('is the text of the answer', async () => {
    const block = { type: 'tool_use', id: 'toolu_1', name: 'answer_in_json', input: {} };
    const input = (text: string): string =>
      messageEvent({
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'input_json_delta', partial_json: text },
      });
    const stream = [
      START,
      messageEvent({ type: 'content_block_start', index: 0, content_block: block }),
      input(''),
      input('{"name":'),
      input('"Ada"}'),
      messageEvent({ type: 'content_block_stop', index: 0 }),
      messageEvent({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 3 } }),
      STOP,
    ];
    const pieces = await decodeEvents([stream.join('')], { formatTool: true });
    expect(textOf(pieces)).toBe('{"name":"Ada"}');
    expect(pieces.at(-2)).toEqual({ type: 'finish', index: 0, reason: 'stop', native: 'tool_use' });
  });
});
