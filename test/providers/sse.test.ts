import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SseReader } from '../../src/providers/sse.ts';
import { runs } from '../support/properties.ts';
import type { SseEvent } from '../../src/providers/codec.ts';

const encoder = new TextEncoder();

function read(...parts: readonly (string | Uint8Array)[]): readonly SseEvent[] {
  const events: SseEvent[] = [];
  const reader = new SseReader({
    event: ({ event, data }) => events.push({ ...(event === undefined ? {} : { event }), data }),
  });
  for (const part of parts) reader.push(typeof part === 'string' ? encoder.encode(part) : part, []);
  reader.end([]);
  return events;
}

describe('an event stream', () => {
  it.each<readonly [name: string, text: string, expected: readonly SseEvent[]]>([
    ['a space after the colon', 'data: x\n\n', [{ data: 'x' }]],
    ['no space after the colon', 'data:x\n\n', [{ data: 'x' }]],
    ['two spaces after the colon, of which one belongs to the data', 'data:  x\n\n', [{ data: ' x' }]],
    ['CRLF', 'data: x\r\n\r\n', [{ data: 'x' }]],
    ['CR', 'data: x\r\rdata: y\r\r', [{ data: 'x' }, { data: 'y' }]],
    [
      'mixed line ends between events',
      'data: a\r\n\ndata: b\n\r\ndata: c\r\rdata: d\n\n',
      [{ data: 'a' }, { data: 'b' }, { data: 'c' }, { data: 'd' }],
    ],
    ['several lines of data', 'data: {"a":\ndata: 1}\n\n', [{ data: '{"a":\n1}' }]],
    ['a bare data line', 'data\ndata: x\n\n', [{ data: '\nx' }]],
    ['a byte order mark', '\uFEFFdata: x\n\n', [{ data: 'x' }]],
    ['comments', ': keep-alive\n\n:\n\ndata: x\n\n: PROCESSING\n\n', [{ data: 'x' }]],
    ['ids and retry times', 'id: 7\nretry: 10\ndata: x\n\n', [{ data: 'x' }]],
    ['an invalid retry time', 'retry: soon\ndata: x\n\n', [{ data: 'x' }]],
    ['unknown fields', 'foo: bar\nbaz\ndata: x\n\n', [{ data: 'x' }]],
    ['an event name', 'event: error\ndata: x\n\ndata: y\n\n', [{ event: 'error', data: 'x' }, { data: 'y' }]],
    ['an event name without a space', 'event:error\ndata:x\n\n', [{ event: 'error', data: 'x' }]],
    ['an event without data', 'event: ping\n\ndata: x\n\n', [{ data: 'x' }]],
    ['no blank line at the end', 'data: x\n\ndata: y', [{ data: 'x' }, { data: 'y' }]],
    ['a line end but no blank line at the end', 'data: x\r', [{ data: 'x' }]],
    ['blank lines before everything', '\n\n\r\n\ndata: x\n\n', [{ data: 'x' }]],
  ])('may have %s', (_name, text, expected) => {
    expect(read(text)).toEqual(expected);
    expect(read(...Array.from(encoder.encode(text), (byte) => Uint8Array.of(byte)))).toEqual(expected);
  });

  it('means the same wherever it is cut, also inside a character or a line end', () => {
    const line = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 8 }).map((text) => `data: ${text.replaceAll(/[\r\n]/g, '')}`),
      fc.constantFrom('data', 'data:', ': comment', 'event: error', 'id: 1', 'data: 🚦 日本', 'retry: 5', 'nonsense'),
      fc.constant(''),
    );
    const lines = fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n', '\r', '\n\n', '\r\n\r\n')), { maxLength: 12 });
    fc.assert(
      fc.property(lines, fc.array(fc.nat(300), { maxLength: 6 }), (pairs, cuts) => {
        const bytes = encoder.encode(pairs.flat().join(''));
        const places = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
        const parts = places.slice(1).map((place, index) => bytes.subarray(places[index], place));
        expect(read(...parts)).toEqual(read(bytes));
      }),
      runs(1_000),
    );
  });

  it('refuses an event that does not end, early and for good', () => {
    const reader = new SseReader({ event: () => expect.fail('no event is complete') });
    const chunk = encoder.encode('x'.repeat(64 * 1024));
    reader.push(encoder.encode('data: '), []);
    let accepted = 0;
    while (accepted < 50_000_000 && reader.push(chunk, [])) accepted += chunk.length;
    expect(accepted).toBeGreaterThan(15 * 1024 * 1024);
    expect(accepted).toBeLessThanOrEqual(16 * 1024 * 1024);
    expect(reader.push(encoder.encode('\n\ndata: y\n\n'), [])).toBe(false);
    reader.end([]);
  });

  it('refuses an event of endless lines as well', () => {
    const reader = new SseReader({ event: () => expect.fail('no event is complete') });
    const chunk = encoder.encode(`data: ${'x'.repeat(1_000)}\n`.repeat(64));
    let accepted = 0;
    while (accepted < 50_000_000 && reader.push(chunk, [])) accepted += chunk.length;
    expect(accepted).toBeLessThan(17 * 1024 * 1024);
  });

  it.each(['data:\n', 'data: x\r\n', 'data\r', 'nonsense\n', 'id: 1\n'])(
    'refuses an event of endless short lines before they cost memory: %j',
    (line) => {
      const reader = new SseReader({ event: () => expect.fail('no event is complete') });
      const chunk = encoder.encode(line.repeat(1_000));
      let lines = 0;
      while (lines < 10_000_000 && reader.push(chunk, [])) lines += 1_000;
      expect(lines).toBeGreaterThanOrEqual(49_000);
      expect(lines).toBeLessThanOrEqual(101_000);
    },
  );

  it('takes events of many lines, as many as there are', () => {
    let events = 0;
    const reader = new SseReader({ event: () => (events += 1) });
    const chunk = encoder.encode(`${'data: x\n'.repeat(90_000)}\n`);
    for (let round = 0; round < 3; round += 1) expect(reader.push(chunk, [])).toBe(true);
    expect(events).toBe(3);
  });

  it.each([': still here\n\n', ':\n', ': x\r\n\r\n'])('may have any number of comments: %j', (comment) => {
    const reader = new SseReader({ event: () => undefined });
    const chunk = encoder.encode(comment.repeat(1_000));
    for (let round = 0; round < 500; round += 1) expect(reader.push(chunk, [])).toBe(true);
  });

  it('may have comments without end', () => {
    let events = 0;
    const reader = new SseReader({ event: () => (events += 1) });
    const chunk = encoder.encode(`: ${'x'.repeat(64 * 1024)}`);
    for (let round = 0; round < 1_000; round += 1) expect(reader.push(chunk, [])).toBe(true);
    reader.push(encoder.encode('\n\ndata: x\n\n'), []);
    expect(events).toBe(1);
  });
});
