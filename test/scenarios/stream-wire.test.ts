import type { Fault } from 'signalbox/testing';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { BACKED, ask, startFaultCell } from '../support/fault-cell.ts';
import { checkBrokenStream, checkError, checkFallback } from '../support/fault-checks.ts';
import { DONE, event, finish, raw, read, text } from '../support/raw-stream.ts';

describe('a stream on the wire', () => {
  const events = [text('Zürich '), text('🚋'), finish(), DONE].join('');
  const spoken = { content: 'Zürich 🚋', finishReasons: ['stop'] };

  /** A response whose chunks are written by hand. */
  function chunked(encode: (bytes: Buffer) => string | Buffer, ending = '0\r\n\r\n', headers = ''): Fault {
    return {
      does: 'writes its chunks by hand',
      async play(exchange) {
        const head = `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n${headers}transfer-encoding: chunked\r\n\r\n`;
        await exchange.raw(head);
        await exchange.raw(encode(Buffer.from(events)));
        await exchange.raw(ending);
      },
    };
  }

  const whole = (bytes: Buffer): Buffer =>
    Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
  const single = (bytes: Buffer): Buffer =>
    Buffer.concat([...bytes].map((byte) => Buffer.from([0x31, 0x0d, 0x0a, byte, 0x0d, 0x0a])));
  const extended = (bytes: Buffer): Buffer =>
    Buffer.concat([Buffer.from(`${bytes.length.toString(16)};name=value;other="x y"\r\n`), bytes, Buffer.from('\r\n')]);

  it.each([
    ['trailers (STR-13)', chunked(whole, '0\r\nx-checksum: abc\r\nset-cookie: a=b\r\n\r\n', 'trailer: x-checksum\r\n')],
    ['chunks of one byte (STR-14)', chunked(single)],
    ['chunk extensions (STR-14)', chunked(extended)],
  ])('may have %s', async (_name, fault) => {
    expect(await read(fault)).toMatchObject(spoken);
  });

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ] as const)('may be compressed with %s, and cut anywhere (STR-15)', async (coding, compress) => {
    const bytes = compress(events);
    for (const cut of [1, bytes.length >> 1, bytes.length - 1]) {
      expect(await read(encoded(coding, [bytes.subarray(0, cut), bytes.subarray(cut)]))).toMatchObject(spoken);
    }
  });

  it('is passed on as it comes, also when it is compressed (STR-15)', async () => {
    const first = gzipSync(text('One '), { finishFlush: constants.Z_SYNC_FLUSH });
    const fault: Fault = {
      does: 'sends the first word and nothing more',
      async play(exchange) {
        exchange.response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
        await exchange.write(first);
        await exchange.silence();
      },
    };
    await using cell = await startFaultCell({ upstream: { fault } });
    const response = await ask(cell.mounted, { stream: true });
    const reader = response.body?.getReader();
    const { value } = (await reader?.read()) ?? {};
    expect(new TextDecoder().decode(value)).toContain('One ');
    await reader?.cancel();
  });

  it('breaks off when compressed bytes end too early (STR-15)', async () => {
    const bytes = gzipSync([text('One '), text('two '), text('three')].join(''), {
      finishFlush: constants.Z_SYNC_FLUSH,
    });
    await using cell = await startFaultCell({ upstream: { fault: encoded('gzip', [bytes]) } });
    await checkBrokenStream(await ask(cell.mounted, { stream: true }), 502, 'One two three');
  });

  it('in a coding that is not read is a fault of the provider (STR-15)', async () => {
    await using cell = await startFaultCell({ upstream: { fault: encoded('zstd', [Buffer.from(events)]) } });
    await checkError(await ask(cell.mounted, { stream: true }), 502, null);
    await checkFallback(await ask(cell.mounted, { model: BACKED, stream: true }));
  });

  it.each([
    ['no space behind the colon', events.replaceAll('data: ', 'data:')],
    ['CRLF', events.replaceAll('\n', '\r\n')],
    ['CR', events.replaceAll('\n', '\r')],
    ['comments and other fields', events.replaceAll('data:', ': hello\nid: 1\nretry: 5\ndata:')],
    ['event names', events.replaceAll('data:', 'event: message\ndata:')],
    ['data in several lines', events.replaceAll('{"choices":', '{\ndata: "choices":')],
    ['a byte order mark', `\uFEFF${events}`],
    ['spaces around the end mark', events.replace('[DONE]', ' [DONE]  ')],
    ['no blank line at the end', events.trimEnd()],
    ['no end mark', events.replace(DONE, '')],
    ['more behind the end mark', `${events}${text('more')}${event({ error: { message: 'late' } })}`],
  ])('may have %s', async (_name, body) => {
    expect(await read(raw(body))).toMatchObject(spoken);
  });

  it('may cut the bytes of a character in two', async () => {
    const bytes = Buffer.from(events);
    const cuts = [bytes.indexOf('ü') + 1, bytes.indexOf('🚋') + 2];
    expect(
      await read(raw(...cuts.map((cut, index) => bytes.subarray(cuts[index - 1] ?? 0, cut)), bytes.subarray(cuts[1]))),
    ).toMatchObject(spoken);
  });

  it('is never connected to again, whatever it says about that (STR-18)', async () => {
    const body = `retry: 1\nid: 7\n${text('One ')}id: 8\n${text('two')}`;
    await using cell = await startFaultCell({ upstream: { fault: raw(body) } });
    await checkBrokenStream(await ask(cell.mounted, { stream: true }), 502, 'One two');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(cell.faulty.requests).toHaveLength(1);
    expect(cell.faulty.requests[0]?.headers['last-event-id']).toBeUndefined();
  });
});

function encoded(coding: string, pieces: readonly Uint8Array[]): Fault {
  return {
    does: 'sends a compressed stream',
    async play(exchange) {
      exchange.response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': coding });
      for (const piece of pieces) {
        await exchange.write(piece);
        await exchange.wait(300);
      }
      exchange.response.end();
    },
  };
}
