/** Runs in a process of its own: it measures memory. */
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { createTransport as createFetchTransport } from '../../src/net/fetch.ts';
import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
  readStart,
  readText,
} from '../../src/net/transport.ts';
import { createTransport as createUndiciTransport } from '../../src/net/undici.ts';
import { blackHole } from '../../src/testing/fault-upstream/connection-faults.ts';
import { CHUNKED_HEAD, chunk, rawServer, respond } from '../support/raw-server.ts';

const TRANSPORTS: readonly (readonly [name: string, create: () => Transport])[] = [
  ['undici', createUndiciTransport],
  ['fetch', () => createFetchTransport()],
];

const SECRET = 'sk-secret-canary';

const ZEROS = Buffer.alloc(100_000_000);
const BOMB = gzipSync(ZEROS, { level: 1 });

function requestTo(origin: string, rest: Partial<TransportRequest> = {}): TransportRequest {
  return {
    method: 'POST',
    url: new URL(`${origin}/v1/chat/completions?api-version=1`),
    headers: ['content-type', 'application/json', 'authorization', `Bearer ${SECRET}`],
    body: '{"text":"Łódź"}',
    signal: new AbortController().signal,
    maxBytes: 1_000_000,
    ...rest,
  };
}

/** The kind of failure with which something rejects. */
async function kindOf(promise: unknown): Promise<string> {
  const error: unknown = await Promise.resolve(promise).then(
    () => expect.fail('should have failed'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof TransportError)) throw error;
  expect(JSON.stringify(error.failure)).not.toContain('canary');
  return error.failure.kind;
}

async function lengthOf(response: TransportResponse): Promise<number> {
  let length = 0;
  for (let read = await response.read(); read !== undefined; read = await response.read()) {
    for (const bytes of read) length += bytes.byteLength;
  }
  return length;
}

function later(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

describe.each(TRANSPORTS)('%s', (name, create) => {
  /** Runs something with a transport that is closed afterwards. */
  async function using<Value>(run: (transport: Transport) => Promise<Value>): Promise<Value> {
    const transport = create();
    try {
      return await run(transport);
    } finally {
      await transport.close();
    }
  }

  describe('a request', () => {
    it('goes out as it is, and its answer comes back as it is', async () => {
      await using server = await rawServer(({ socket }) =>
        socket.write(respond('Łódź', ['x-one: 1', 'x-two: a', 'x-two: b'], '418 Teapot')),
      );
      await using(async (transport) => {
        const response = await transport.send(requestTo(server.origin));
        expect(response.status).toBe(418);
        expect(response.header('x-one')).toBe('1');
        expect(response.header('x-two')).toBe('a, b');
        expect(response.header('x-three')).toBeUndefined();
        expect(await readText(response)).toBe('Łódź');
      });
      const [request] = server.requests;
      expect(request?.text).toMatch(/^POST \/v1\/chat\/completions\?api-version=1 HTTP\/1\.1\r\n/);
      expect(request?.text).toContain(`authorization: Bearer ${SECRET}\r\n`);
      expect(Buffer.from(request?.text.split('\r\n\r\n')[1] ?? '', 'latin1').toString()).toBe('{"text":"Łódź"}');
    });

    it.each(['204 No Content', '304 Not Modified'])('may be answered with %s and nothing else', async (status) => {
      await using server = await rawServer(({ socket }) => socket.write(`HTTP/1.1 ${status}\r\n\r\n`));
      await using(async (transport) => {
        expect(await readText(await transport.send(requestTo(server.origin)))).toBe('');
      });
    });

    it('may be answered behind early hints', async () => {
      const hint = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n';
      await using server = await rawServer(({ socket }) => socket.write(hint.repeat(20) + respond('ok').toString()));
      await using(async (transport) => {
        expect(await readText(await transport.send(requestTo(server.origin)))).toBe('ok');
      });
    });

    it('with a header that cannot be sent is a fault of ours, and nothing goes out', async () => {
      await using server = await rawServer(({ socket }) => socket.write(respond('ok')));
      await using(async (transport) => {
        const headers = ['authorization', `Bearer ${SECRET}\nx: y`];
        expect(await kindOf(transport.send(requestTo(server.origin, { headers })))).toBe('adapter');
      });
      expect(server.requests).toHaveLength(0);
    });

    it.each([301, 302, 303, 307, 308])('is never sent on with status %i', async (status) => {
      await using elsewhere = await rawServer(({ socket }) => socket.write(respond('stolen')));
      await using server = await rawServer(({ socket }) =>
        socket.write(respond('', [`location: ${elsewhere.origin}/`], `${status} Moved`)),
      );
      await using(async (transport) => {
        const response = await transport.send(requestTo(server.origin));
        expect(response.status).toBe(status);
        response.cancel();
      });
      expect(elsewhere.connections).toBe(0);
    });
  });

  describe('a connection', () => {
    it('that is refused is a failure of the connection', async () => {
      const server = await rawServer(() => {});
      await server[Symbol.asyncDispose]();
      await using(async (transport) => {
        expect(await kindOf(transport.send(requestTo(server.origin)))).toBe('connection');
      });
    });

    it('to a host that does not exist is pointless', async () => {
      await using(async (transport) => {
        expect(await kindOf(transport.send(requestTo('http://no-such-host.invalid')))).toMatch(
          /unreachable|connection/,
        );
      });
    });

    it.each([
      ['before any byte', ''],
      ['within the headers', 'HTTP/1.1 200 OK\r\ncontent-'],
    ])('that breaks %s fails the request', async (_name, head) => {
      await using server = await rawServer(({ socket }) => socket.write(head, () => socket.destroy()));
      await using(async (transport) => {
        expect(await kindOf(transport.send(requestTo(server.origin)))).toBe('connection');
      });
    });

    it.each([
      ['cut', `${CHUNKED_HEAD}${chunk('half')}`],
      ['shorter than it says', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf'],
    ])('that breaks within a body fails the reading, after what came: %s', async (_name, text) => {
      await using server = await rawServer(({ socket }) => {
        socket.write(text);
        setTimeout(() => socket.destroy(), 20);
      });
      await using(async (transport) => {
        const response = await transport.send(requestTo(server.origin));
        const [bytes] = (await response.read()) ?? [];
        expect(new TextDecoder().decode(bytes)).toBe('half');
        expect(await kindOf(response.read())).toMatch(/connection|bad_response/);
        expect(await kindOf(response.read())).toMatch(/connection|bad_response/);
      });
    });

    it.each([
      ['no HTTP at all', 'SSH-2.0-OpenSSH_9.6\r\n'],
      ['a broken status line', 'HTTP/1.1 abc\r\n\r\n'],
    ])('to %s fails the request', async (_name, text) => {
      await using server = await rawServer(({ socket }) => socket.write(text));
      await using(async (transport) => {
        expect(await kindOf(transport.send(requestTo(server.origin)))).toMatch(/connection|bad_response/);
      });
    });

    it.each([
      ['a chunk of a size that is no number', `${CHUNKED_HEAD}xyz\r\nabc\r\n0\r\n\r\n`],
      ['a chunk of a size beyond all numbers', `${CHUNKED_HEAD}10000000000000000\r\nabc\r\n`],
    ])('with %s fails the reading', async (_name, text) => {
      await using server = await rawServer(({ socket }) => socket.write(text));
      await using(async (transport) => {
        const reading = transport.send(requestTo(server.origin)).then(readText);
        expect(await kindOf(reading)).toMatch(/connection|bad_response/);
      });
    });

    it('is used again after a whole answer, and frees itself after a cancelled one', async () => {
      await using server = await rawServer(({ socket, turn }) => {
        if (turn < 3) socket.write(respond('ok'));
        else socket.write(CHUNKED_HEAD + chunk('and so on'));
      });
      await using(async (transport) => {
        for (let turn = 0; turn < 3; turn += 1) {
          expect(await readText(await transport.send(requestTo(server.origin)))).toBe('ok');
          await later(5);
        }
        expect(server.connections).toBe(1);
        const response = await transport.send(requestTo(server.origin));
        await response.read();
        response.cancel();
        response.cancel();
        await server.allClosed();
      });
    });

    it('frees itself when only the beginning of a body is wanted', async () => {
      await using server = await rawServer(({ socket }) => {
        socket.write(`HTTP/1.1 500 Oh\r\ncontent-length: 900000\r\n\r\n${'x'.repeat(400_000)}`);
      });
      await using(async (transport) => {
        const response = await transport.send(requestTo(server.origin));
        expect(await readStart(response, 1_000)).toBe('x'.repeat(1_000));
        await server.allClosed();
      });
    });
  });

  describe('a call that is given up', () => {
    it('before it began connects to nobody', async () => {
      await using server = await rawServer(({ socket }) => socket.write(respond('ok')));
      await using(async (transport) => {
        const signal = AbortSignal.abort();
        expect(await kindOf(transport.send(requestTo(server.origin, { signal })))).toBe('aborted');
        await later(20);
      });
      expect(server.connections).toBe(0);
    });

    it('while it connects ends at once', async () => {
      await using hole = await blackHole();
      await using(async (transport) => {
        const controller = new AbortController();
        const { origin } = new URL(hole.baseURL);
        const sent = kindOf(transport.send(requestTo(origin, { signal: controller.signal })));
        setTimeout(() => controller.abort(), 30);
        expect(await sent).toBe('aborted');
      });
    });

    it('while it waits for an answer closes the connection', async () => {
      await using server = await rawServer(() => {});
      await using(async (transport) => {
        const controller = new AbortController();
        const sent = kindOf(transport.send(requestTo(server.origin, { signal: controller.signal })));
        setTimeout(() => controller.abort(), 30);
        expect(await sent).toBe('aborted');
        await server.allClosed();
      });
      expect(server.requests).toHaveLength(1);
    });

    it('within its answer closes the connection', async () => {
      await using server = await rawServer(({ socket }) => socket.write(CHUNKED_HEAD + chunk('one')));
      await using(async (transport) => {
        const controller = new AbortController();
        const response = await transport.send(requestTo(server.origin, { signal: controller.signal }));
        await response.read();
        const reading = kindOf(response.read());
        controller.abort();
        expect(await reading).toBe('aborted');
        await server.allClosed();
      });
    });

    it('leaves no listener behind, however many there were', async () => {
      let asked = 0;
      await using server = await rawServer(({ socket }) => {
        asked += 1;
        if (asked % 3 === 0) socket.write(CHUNKED_HEAD + chunk('x'));
        else socket.write(respond('ok'));
      });
      await using(async (transport) => {
        const { signal } = new AbortController();
        for (let turn = 0; turn < 60; turn += 1) {
          const response = await transport.send(requestTo(server.origin, { signal }));
          if (turn % 3 === 2) response.cancel();
          else await readText(response);
        }
        await later(50);
        // A runtime's own fetch lets go of its listeners when it collects its garbage.
        if (name === 'undici') expect(getEventListeners(signal, 'abort')).toHaveLength(0);
      });
    });
  });

  describe('a body', () => {
    it('that nobody reads holds its sender back', async () => {
      const total = 50_000_000;
      let sent = 0;
      await using server = await rawServer(({ socket }) => {
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${total}\r\n\r\n`);
        const block = Buffer.alloc(100_000, 'x');
        const more = (): void => {
          while (sent < total) {
            sent += block.length;
            if (!socket.write(block)) return void socket.once('drain', more);
          }
        };
        more();
      });
      await using(async (transport) => {
        const response = await transport.send(requestTo(server.origin, { maxBytes: 2 * total }));
        let before = -1;
        while (before !== sent) {
          before = sent;
          await later(200);
        }
        expect(sent).toBeLessThan(25_000_000);
        expect(await lengthOf(response)).toBe(total);
        expect(sent).toBe(total);
      });
    });

    it('larger than is accepted is broken off', async () => {
      await using server = await rawServer(({ socket }) => {
        socket.write(CHUNKED_HEAD);
        const timer = setInterval(() => socket.write(chunk('x'.repeat(50_000))), 1);
        socket.on('close', () => clearInterval(timer));
      });
      await using(async (transport) => {
        const response = await transport.send(requestTo(server.origin, { maxBytes: 200_000 }));
        expect(await kindOf(lengthOf(response))).toBe('bad_response');
        await server.allClosed();
      });
    });

    it.each([
      ['gzip', gzipSync],
      ['x-gzip', gzipSync],
      ['deflate', deflateSync],
      ['br', brotliCompressSync],
      ['gzip, gzip', (text: Buffer) => gzipSync(gzipSync(text))],
      ['gzip, br', (text: Buffer) => brotliCompressSync(gzipSync(text))],
      ['identity', (text: Buffer) => text],
      ['GZIP', gzipSync],
    ])('in %s is read, although nobody asked for it', async (encoding, encode) => {
      await using server = await rawServer(({ socket }) =>
        socket.write(respond(encode(Buffer.from('Łódź '.repeat(5_000))), [`content-encoding: ${encoding}`])),
      );
      await using(async (transport) => {
        expect(await readText(await transport.send(requestTo(server.origin)))).toBe('Łódź '.repeat(5_000));
      });
    });

    it.each([
      ['gzip', BOMB],
      ['br', brotliCompressSync(ZEROS, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
      ['gzip, gzip', gzipSync(BOMB)],
    ])('in %s that unpacks to more than is accepted is broken off early', async (encoding, bomb) => {
      await using server = await rawServer(({ socket }) =>
        socket.write(respond(bomb, [`content-encoding: ${encoding}`])),
      );
      await using(async (transport) => {
        const response = await transport.send(requestTo(server.origin, { maxBytes: 4_000_000 }));
        const before = process.memoryUsage().rss;
        expect(await kindOf(lengthOf(response))).toBe('bad_response');
        expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
      });
    });

    it('in gzip that is none fails the reading', async () => {
      await using server = await rawServer(({ socket }) =>
        socket.write(respond('{"plain":"JSON"}', ['content-encoding: gzip'])),
      );
      await using(async (transport) => {
        const response = await transport.send(requestTo(server.origin));
        expect(response.status).toBe(200);
        expect(await kindOf(readText(response))).toMatch(/connection|bad_response/);
      });
    });
  });
});
