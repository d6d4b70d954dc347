import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ChatStreamDecoder } from '../../src/providers/openai-compatible/codec.ts';
import { ResponsePieceStream } from '../../src/providers/piece-stream.ts';
import { TransportError, type TransportResponse } from '../../src/net/transport.ts';
import { contextOf, cutAt, decodeStream, fixture, piecesOf, responseOf } from '../support/wire.ts';
import { cpuClock } from '../support/cpu-clock.ts';
import { failure } from '../../src/contracts/failure.ts';
import type { StreamPiece } from '../../src/contracts/stream-piece.ts';

const encoder = new TextEncoder();
const bytes = (text: string): Uint8Array => encoder.encode(text);
const text = (said: string): string => `data: {"choices":[{"index":0,"delta":{"content":"${said}"}}]}\n\n`;
const FINISH = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n';
const FINISHED: StreamPiece = { type: 'finish', index: 0, reason: 'stop', native: 'stop' };
const DONE = 'data: [DONE]\n\n';
const END: StreamPiece = { type: 'end' };
const bad = (message: string): StreamPiece => ({ type: 'failure', failure: failure('bad_response', message) });

function streamOf(response: TransportResponse): ResponsePieceStream {
  return new ResponsePieceStream(response, new ChatStreamDecoder(contextOf()));
}

describe('the end of a stream', () => {
  it.each([
    ['with spaces around it', 'data:   [DONE]  \n\n'],
    ['without a space before it', 'data:[DONE]\n\n'],
    ['without a blank line behind it', 'data: [DONE]'],
    ['as an event of its own', 'event: done\ndata: [DONE]\n\n'],
  ])('is known %s', async (_name, done) => {
    expect(await decodeStream([text('a') + FINISH + done])).toEqual(['a', FINISHED, END]);
  });

  it('makes everything behind it meaningless, in the same read and in later ones', async () => {
    const rest = text('again') + FINISH + DONE + 'data: not JSON\n\n';
    expect(await decodeStream([text('a') + text('b') + FINISH + DONE + rest, rest])).toEqual(['a', 'b', FINISHED, END]);
    expect(await decodeStream([text('a') + text('b') + DONE, text('b'), rest])).toEqual(['a', 'b', END]);
  });

  it('may be missing', async () => {
    expect(await decodeStream([text('a') + FINISH])).toEqual(['a', FINISHED]);
  });

  it('leaves no call behind of which the name never came', async () => {
    const call = '{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{"}}]}}]}';
    const failed = { type: 'failure', failure: { kind: 'bad_response' } };
    expect(await decodeStream([`data: ${call}\n\n${FINISH}${DONE}`])).toMatchObject([failed, END]);
    expect(await decodeStream([`data: ${call}\n\n${FINISH}`])).toMatchObject([failed]);
  });

  it('may cut off an event that says nothing any more', async () => {
    for (const tail of ['data: {"choices":[],"usage":{"prompt', 'data: [DON', 'data: ', 'dat', ': keep']) {
      expect(await decodeStream([text('a') + FINISH + tail])).toEqual(['a', FINISHED]);
    }
  });

  it('does not turn half an event into text', async () => {
    const whole = text('a') + text('bcd');
    for (let length = text('a').length; length < whole.length - 3; length += 1) {
      expect(await decodeStream([whole.slice(0, length)])).toEqual(['a']);
    }
  });
});

describe('what arrived together', () => {
  it('stays what it was while others are read, also where it was cut inside a character and an event', async () => {
    const said = ['Grüße 🚦', 'ほかの', 'x'.repeat(100_000)];
    const streams = said.map((word) => {
      const all = bytes(text(word).repeat(3) + FINISH);
      const cuts = [0, 71, 90, Math.floor(all.length / 2), all.length - 9, all.length];
      const parts = cuts.slice(1).map((cut, index) => all.subarray(cuts[index], cut));
      return streamOf(responseOf([parts.slice(0, 3), parts.slice(3)]));
    });
    const read: StreamPiece[][] = streams.map(() => []);
    for (let round = 0; round < 3; round += 1) {
      for (const [index, stream] of streams.entries()) read[index]?.push(...((await stream.read()) ?? []));
    }
    expect(read).toEqual(said.map((word) => [word, word, word, FINISHED]));
  });
});

describe('a connection behind an end mark', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it('is left to end by itself, so that the next call can use it', async () => {
    const response = responseOf([[bytes(text('a') + FINISH + DONE)], [bytes(': bye\n\n')]]);
    const stream = streamOf(response);
    expect(await stream.read()).toEqual(['a', FINISHED, END]);
    stream.cancel();
    expect(await stream.read()).toBeUndefined();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(response).toMatchObject({ cancelled: false, unread: 0 });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is closed when it does not end soon', async () => {
    let cancelled = false;
    const pending: TransportResponse = {
      status: 200,
      header: () => undefined,
      read: vi
        .fn<TransportResponse['read']>()
        .mockResolvedValueOnce([bytes(DONE)])
        .mockImplementation(() => new Promise(() => {})),
      cancel: () => (cancelled = true),
    };
    const stream = streamOf(pending);
    expect(await stream.read()).toEqual([END]);
    await vi.advanceTimersByTimeAsync(400);
    expect(cancelled).toBe(false);
    await vi.advanceTimersByTimeAsync(200);
    expect(cancelled).toBe(true);
  });

  it('is closed when it goes on and on', async () => {
    const response = responseOf([[bytes(DONE)], ...Array.from({ length: 100 }, () => [new Uint8Array(4_096)])]);
    expect(await streamOf(response).read()).toEqual([END]);
    await vi.advanceTimersByTimeAsync(0);
    expect(response.cancelled).toBe(true);
    expect(response.unread).toBeGreaterThan(50);
  });
});

describe('a body that is no event stream', () => {
  const answer = '{"id":"1","choices":[{"index":0,"message":{"content":"Łódź 🚦"},"finish_reason":"stop"}]}';
  const pieces: readonly StreamPiece[] = [
    { type: 'facts', systemFingerprint: undefined, serviceTier: undefined, upstreamId: '1' },
    { type: 'delta', index: 0, delta: { content: 'Łódź 🚦' }, logprobs: undefined },
    FINISHED,
    END,
  ];

  it.each([
    ['plain', answer],
    ['behind blank lines', `\n\n  \r\n${answer}\n`],
    ['behind a byte order mark', `\uFEFF${answer}`],
  ])('is read as a whole answer: %s', async (_name, body) => {
    expect(await decodeStream([body])).toEqual(pieces);
  });

  it('is read as a whole answer wherever its bytes are cut', async () => {
    const body = bytes(`\n\uFEFF${answer}`);
    for (let position = 0; position <= body.length; position += 1) {
      expect(await decodeStream(cutAt(body, position))).toEqual(pieces);
    }
  });

  it.each([
    ['an error', fixture('openrouter/error-200.json'), 'Provider returned error', 'rate_limited'],
    ['an array of errors', fixture('google/quota.json'), 'You exceeded your current quota', 'rate_limited'],
    [
      'a web page',
      bytes('<!DOCTYPE html><title>Sign in</title>'),
      'The provider sent a web page instead of an answer',
      'bad_response',
    ],
    [
      'lines of JSON',
      bytes('{"choices":[]}\n{"choices":[]}\n'),
      'The provider sent an answer that is not valid JSON',
      'bad_response',
    ],
    [
      'half of an answer',
      bytes(answer.slice(0, 40)),
      'The provider sent an answer that is not valid JSON',
      'bad_response',
    ],
  ])('is understood when it is %s', async (_name, body, message, kind) => {
    expect(await decodeStream([body])).toEqual([
      { type: 'failure', failure: expect.objectContaining({ kind, message: expect.stringContaining(message) }) },
    ]);
  });

  it('is broken off at the size of a whole answer', async () => {
    const chunk = new Uint8Array(1_000_000).fill(0x5b);
    const response = responseOf(Array.from({ length: 100 }, () => [chunk]));
    const stream = streamOf(response);
    const seen: StreamPiece[] = [];
    for (let read = await stream.read(); read !== undefined; read = await stream.read()) seen.push(...read);
    expect(seen).toEqual([bad('The provider sent more than is accepted')]);
    expect(response).toMatchObject({ cancelled: true, unread: 35 });
  });
});

describe('a stream that breaks', () => {
  it('tells so after everything that came before', async () => {
    const broken = failure('connection', 'The connection to the provider failed (ECONNRESET)');
    const response: TransportResponse = {
      ...responseOf([]),
      read: vi
        .fn<TransportResponse['read']>()
        .mockResolvedValueOnce([bytes(text('a'))])
        .mockRejectedValueOnce(new TransportError(broken)),
    };
    const stream = streamOf(response);
    expect(await stream.read()).toEqual(['a']);
    expect(await stream.read()).toEqual([{ type: 'failure', failure: broken }]);
    expect(await stream.read()).toBeUndefined();
  });

  it('tells nothing of what an unknown error says, but keeps it for the operator', async () => {
    const thrown = new Error('secret');
    const response: TransportResponse = { ...responseOf([]), read: () => Promise.reject(thrown) };
    expect(await streamOf(response).read()).toEqual([
      { type: 'failure', failure: failure('adapter', 'The stream could not be read', { thrown }) },
    ]);
  });

  it('is closed over an event without end', async () => {
    const chunk = bytes('x'.repeat(1_000_000));
    const response = responseOf([[bytes('data: ')], ...Array.from({ length: 50 }, () => [chunk])]);
    const stream = streamOf(response);
    const seen: StreamPiece[] = [];
    for (let read = await stream.read(); read !== undefined; read = await stream.read()) seen.push(...read);
    expect(seen).toEqual([bad('The provider sent an endless event')]);
    expect(response.cancelled).toBe(true);
    expect(response.unread).toBe(33);
  });

  it.each([
    ['text that is no JSON', 'data: oops\n\n'],
    ['a number', 'data: 7\n\n'],
    ['null', 'data: null\n\n'],
    ['an array of numbers', 'data: [1]\n\n'],
    ['half of an object', 'data: {"choices":[\n\n'],
  ])('is one with %s in it', async (_name, event) => {
    const seen = await decodeStream([text('a') + event + text('b')]);
    expect(seen.slice(0, 2)).toEqual(['a', bad('The provider sent a malformed event')]);
  });

  it.each([
    ['a ping', 'event: ping\ndata: now\n\n'],
    ['a ping in JSON', 'event: ping\ndata: {"type":"ping"}\n\n'],
    ['an event of another wire', 'event: vertex_event\ndata: robot\n\n'],
    ['empty data', 'data:\n\n'],
  ])('is not one with %s in it', async (_name, event) => {
    expect(await decodeStream([text('a') + event + text('b')])).toEqual(['a', 'b']);
  });
});

describe('reading', () => {
  it('gives an empty list for bytes that mean nothing by themselves', async () => {
    const stream = streamOf(responseOf([[bytes(': keep-alive\n\n')], [bytes(text('a').slice(0, 9))]]));
    expect(await stream.read()).toEqual([]);
    expect(await stream.read()).toEqual([]);
  });

  it('gives what arrived together, together', async () => {
    const stream = streamOf(responseOf([[bytes(text('a')), bytes(text('b'))], [bytes(text('c'))]]));
    expect(await stream.read()).toEqual(['a', 'b']);
    expect(await stream.read()).toEqual(['c']);
  });

  it('is over after a cancellation, which frees the connection once', async () => {
    const response = responseOf([[bytes(text('a'))], [bytes(text('b'))]]);
    const stream = streamOf(response);
    await stream.read();
    stream.cancel();
    stream.cancel();
    expect(response.cancelled).toBe(true);
    expect(await stream.read()).toBeUndefined();
  });

  it('is linear in the length of the stream', async () => {
    const part = text('word ').repeat(1_000);
    const time = async (parts: number): Promise<number> => {
      const reads = Array.from({ length: parts }, () => [bytes(part)]);
      const cpuMs = cpuClock();
      expect(await piecesOf(reads, new ChatStreamDecoder(contextOf()))).toHaveLength(parts * 1_000);
      return cpuMs();
    };
    await time(20);
    const short = await time(20);
    expect(await time(200)).toBeLessThan(10 * short * 5 + 200);
  });
});
