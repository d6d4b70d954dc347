import * as fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type StreamPiece, unescapeText } from '../../../src/core/stream/pieces.ts';
import { anthropicFixture, decodeEvents, messageEvent } from '../../support/anthropic.ts';
import { runs } from '../../support/properties.ts';

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
