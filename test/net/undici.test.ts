/** Runs in a process of its own: it measures memory. */
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Transport, TransportError, type TransportRequest, readText } from '../../src/net/transport.ts';
import { createTransport } from '../../src/net/undici.ts';
import { CHUNKED_HEAD, type RawRequest, chunk, rawServer, respond } from '../support/raw-server.ts';

let transport: Transport;
beforeEach(() => (transport = createTransport()));
afterEach(() => transport.close());

function send(origin: string, rest: Partial<TransportRequest> = {}): ReturnType<Transport['send']> {
  return transport.send({
    method: 'POST',
    url: new URL(`${origin}/x`),
    headers: ['content-type', 'application/json'],
    body: '{}',
    signal: new AbortController().signal,
    maxBytes: 10_000_000,
    ...rest,
  });
}

const ask = async (origin: string): Promise<string> => readText(await send(origin));

async function kindOf(promise: unknown): Promise<string> {
  const error: unknown = await Promise.resolve(promise).then(
    () => expect.fail('should have failed'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof TransportError)) throw error;
  return error.failure.kind;
}

function later(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

/** A thousand bytes that pack by about thirty. */
function blockOf(index: number): Buffer {
  return Buffer.alloc(1_000, `block ${index} `);
}

/** Answers the first request of a connection, and does something else with the next. */
function onSecondTurn(
  then: (request: RawRequest) => void,
  first: (request: RawRequest) => void = ({ socket }) => socket.write(respond('ok')),
): (request: RawRequest) => void {
  return (request) => (request.turn === 0 ? first(request) : then(request));
}

it('takes a response behind any number of words to go on, on one connection time and again', async () => {
  const goOn = 'HTTP/1.1 100 Continue\r\n\r\n';
  await using server = await rawServer(({ socket }) => {
    socket.write(goOn);
    setTimeout(() => socket.write(`${goOn}HTTP/1.1 100 Continue\r\nx-a: 1\r\n\r\n${respond('ok').toString()}`), 5);
  });
  expect(await ask(server.origin)).toBe('ok');
  expect(await ask(server.origin)).toBe('ok');
  expect(server.requests).toHaveLength(2);
});

it('leaves a body alone that only looks like one', async () => {
  await using server = await rawServer(({ socket }) => {
    socket.write(CHUNKED_HEAD);
    setTimeout(() => socket.write(`${chunk('HTTP/1.1 200 OK\r\n\r\n')}${chunk('HTTP/1.1 100 no')}0\r\n\r\n`), 5);
  });
  expect(await ask(server.origin)).toBe('HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 100 no');
});

it('sends a body in parts as the same bytes, whatever characters its long parts have', async () => {
  await using server = await rawServer(({ socket }) => socket.write(respond('ok')));
  const long = ['QUJD'.repeat(1_000), 'QUJD'.repeat(10_000), 'ö'.repeat(1_000), 'ö'.repeat(40_000), 'Ł'.repeat(40_000)];
  for (const text of long) {
    const bodyParts = ['{"text":"ü€😀","url":"', 'QUJD'.repeat(10_000), '","more":"', text, '"}'];
    const body = bodyParts.join('');
    await readText(await send(server.origin, { body }));
    await readText(await send(server.origin, { body, bodyParts }));
    const [whole, parts] = server.requests.slice(-2);
    expect(parts?.text).toBe(whole?.text);
    expect(Buffer.from(parts?.text ?? '', 'latin1').toString()).toContain(body);
  }
});

describe('a connection that the other side closed while it lay idle (U-11)', () => {
  it('is replaced once, without a word', async () => {
    await using server = await rawServer(onSecondTurn(({ socket }) => socket.resetAndDestroy()));
    expect(await ask(server.origin)).toBe('ok');
    await later(5);
    expect(await ask(server.origin)).toBe('ok');
    expect(server.requests.map(({ connection, turn }) => [connection, turn])).toEqual([
      [0, 0],
      [0, 1],
      [1, 0],
    ]);
  });

  it('is replaced also when it was closed in good order', async () => {
    await using server = await rawServer(onSecondTurn(({ socket }) => socket.destroy()));
    await ask(server.origin);
    await later(5);
    expect(await ask(server.origin)).toBe('ok');
    expect(server.connections).toBe(2);
  });

  it('is not replaced twice', async () => {
    let calls = 0;
    await using server = await rawServer(({ socket }) => {
      calls += 1;
      if (calls === 1) socket.write(respond('ok'));
      else socket.resetAndDestroy();
    });
    await ask(server.origin);
    await later(5);
    expect(await kindOf(ask(server.origin))).toBe('connection');
    expect(calls).toBe(3);
  });

  it('is not replaced when it was new', async () => {
    await using server = await rawServer(({ socket }) => socket.resetAndDestroy());
    expect(await kindOf(ask(server.origin))).toBe('connection');
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ['a status line', 'HTTP/1.1 200 OK\r\n'],
    ['a single letter', 'H'],
    ['an early hint', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
    ['all headers', CHUNKED_HEAD],
    ['half a body', CHUNKED_HEAD + chunk('half')],
  ])('is not replaced once it answered with %s', async (_name, text) => {
    await using server = await rawServer(
      onSecondTurn(({ socket }) => {
        socket.write(text);
        setTimeout(() => socket.resetAndDestroy(), 20);
      }),
    );
    await ask(server.origin);
    await later(5);
    expect(await kindOf(ask(server.origin))).toMatch(/connection|bad_response/);
    expect(server.requests).toHaveLength(2);
  });

  it('is not replaced for a call that was given up', async () => {
    const controller = new AbortController();
    await using server = await rawServer(
      onSecondTurn(({ socket }) => {
        controller.abort();
        socket.resetAndDestroy();
      }),
    );
    await ask(server.origin);
    await later(5);
    expect(await kindOf(send(server.origin, { signal: controller.signal }))).toBe('aborted');
    await later(20);
    expect(server.requests).toHaveLength(2);
  });

  it('is replaced for each of many calls at once', async () => {
    await using server = await rawServer(onSecondTurn(({ socket }) => socket.resetAndDestroy()));
    const many = (): Promise<string[]> => Promise.all(Array.from({ length: 20 }, () => ask(server.origin)));
    expect(await many()).toEqual(Array.from({ length: 20 }, () => 'ok'));
    await later(20);
    expect(await many()).toEqual(Array.from({ length: 20 }, () => 'ok'));
  });
});

describe('a server that resets its connections a moment after each response (U-11)', () => {
  /** Sends call after call on several lines, each as long after the one before as the reset takes, or nearly so. */
  async function failuresOf(origin: string, resetMs: number): Promise<readonly string[]> {
    const failures: string[] = [];
    const line = async (number: number): Promise<void> => {
      for (let round = 0; round < 60; round += 1) {
        await ask(origin).catch((error: unknown) => failures.push(String(error)));
        // The reset comes while the next call is being sent, or while undici looks at the connection before.
        const until = performance.now() + resetMs - 0.4 + ((round + number) % 9) / 10;
        await later(resetMs - 2);
        while (performance.now() < until);
      }
    };
    await Promise.all([0, 1, 2, 3].map(line));
    return failures;
  }

  it('fails no call', async () => {
    await using server = await rawServer(({ socket }) => {
      socket.write(respond('ok'));
      setTimeout(() => socket.resetAndDestroy(), 3);
    });
    expect(await failuresOf(server.origin, 3)).toEqual([]);
  });

  it('fails no call either while connections elsewhere are being opened', async () => {
    await using elsewhere = await rawServer(({ socket }) => socket.end(respond('ok', ['connection: close'])));
    await using server = await rawServer(onSecondTurn(({ socket }) => socket.resetAndDestroy()));
    await ask(server.origin);
    await later(5);
    const [, text] = await Promise.all([ask(elsewhere.origin), ask(server.origin)]);
    expect(text).toBe('ok');
  });
});

describe('a connection on which more came than was asked for (U-57)', () => {
  it.each([
    ['a second response', respond('evil').toString()],
    ['bytes that mean nothing', '\r\nxyz\r\n'],
  ])('is closed, and nobody gets to see it: %s', async (_name, surplus) => {
    await using server = await rawServer(({ socket, connection }) => {
      socket.write(respond(`own ${connection}`).toString() + surplus);
    });
    expect(await ask(server.origin)).toBe('own 0');
    await later(20);
    expect(await ask(server.origin)).toBe('own 1');
    expect(await Promise.all([ask(server.origin), ask(server.origin)])).toEqual(
      expect.arrayContaining([expect.stringMatching(/^own \d$/), expect.stringMatching(/^own \d$/)]),
    );
    expect(server.requests.every(({ turn }) => turn === 0)).toBe(true);
  });

  it('is closed also when the rest comes later', async () => {
    await using server = await rawServer(({ socket, connection }) => {
      socket.write(respond(`own ${connection}`));
      if (connection === 0) setTimeout(() => socket.write(respond('evil')), 20);
    });
    expect(await ask(server.origin)).toBe('own 0');
    await later(60);
    expect(await ask(server.origin)).toBe('own 1');
  });
});

describe('a response that could be read in two ways (U-58)', () => {
  it.each([
    [
      'a length and chunks',
      `HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n${chunk('abc')}0\r\n\r\n`,
    ],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd'],
    ['a length that is no number', 'HTTP/1.1 200 OK\r\ncontent-length: 3, 4\r\n\r\nabcd'],
    ['a negative length', 'HTTP/1.1 200 OK\r\ncontent-length: -3\r\n\r\nabc'],
    ['a chunk that is longer than it says', `${CHUNKED_HEAD}2\r\nabcdef\r\n0\r\n\r\n`],
    ['headers that are no headers', 'HTTP/1.1 200 OK\r\nno header\r\n\r\n'],
    ['headers without end', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`],
  ])('is refused: %s', async (_name, text) => {
    await using server = await rawServer(({ socket }) => socket.write(text));
    expect(await kindOf(ask(server.origin))).toBe('bad_response');
  });

  it('is refused when it wants to speak another protocol', async () => {
    await using server = await rawServer(({ socket }) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
    );
    expect(await kindOf(ask(server.origin))).toMatch(/connection|bad_response/);
    await server.allClosed();
  });
});

describe('a body in an encoding', () => {
  it.each([
    ['that nobody knows', 'snappy'],
    ['that every object has', 'constructor'],
    ['of which one part is unknown', 'gzip, snappy'],
    ['six times over', 'gzip, gzip, gzip, gzip, gzip, gzip'],
    ['a thousand times over', Array.from({ length: 1_000 }, () => 'gzip').join(',')],
  ])('%s fails the reading and leaves the status', async (_name, encoding) => {
    await using server = await rawServer(({ socket }) =>
      socket.write(respond('text', [`content-encoding: ${encoding}`, 'retry-after: 7'], '429 Slow down')),
    );
    const response = await send(server.origin);
    expect(response.status).toBe(429);
    expect(response.header('retry-after')).toBe('7');
    expect(await kindOf(response.read())).toBe('bad_response');
  });

  it.each([
    ['is cut', gzipSync(Buffer.from('text '.repeat(1_000))).subarray(0, 40)],
    ['ends in nonsense', Buffer.concat([gzipSync(Buffer.alloc(100_000, 'a')).subarray(0, 60), Buffer.alloc(60, 0xff)])],
  ])('that %s fails the reading', async (_name, body) => {
    await using server = await rawServer(({ socket }) => socket.write(respond(body, ['content-encoding: gzip'])));
    expect(await kindOf(ask(server.origin))).toBe('bad_response');
  });

  it('that nobody reads is not unpacked into memory', async () => {
    const body = gzipSync(Buffer.concat(Array.from({ length: 80_000 }, (_, index) => blockOf(index))), { level: 1 });
    await using server = await rawServer(({ socket }) => socket.write(respond(body, ['content-encoding: gzip'])));
    const response = await send(server.origin, { maxBytes: 500_000_000 });
    const before = process.memoryUsage().rss;
    await later(300);
    expect(process.memoryUsage().rss - before).toBeLessThan(40 * 1024 * 1024);
    let length = ((await response.read()) ?? []).reduce((sum, bytes) => sum + bytes.byteLength, 0);
    expect(length).toBeLessThan(400_000);
    for (let read = await response.read(); read !== undefined; read = await response.read()) {
      for (const bytes of read) length += bytes.byteLength;
    }
    expect(length).toBe(80_000_000);
  });
});

describe('the progress of a call', () => {
  it('is told in order', async () => {
    const told: string[] = [];
    await using server = await rawServer(({ socket }) => {
      told.push('asked');
      socket.write(respond('ok'));
    });
    await readText(
      await send(server.origin, {
        connecting: () => told.push('connecting'),
        connected: () => told.push('connected'),
      }),
    );
    expect(told).toEqual(['connecting', 'connected', 'asked']);
  });
});

describe('what arrived together', () => {
  it('is read together', async () => {
    await using server = await rawServer(({ socket }) => {
      socket.write(CHUNKED_HEAD + chunk('a') + chunk('b'));
      setTimeout(() => socket.write(`${chunk('c')}0\r\n\r\n`), 30);
    });
    const response = await send(server.origin);
    const texts = async (): Promise<unknown> =>
      (await response.read())?.map((bytes) => new TextDecoder().decode(bytes));
    expect(await texts()).toEqual(['a', 'b']);
    expect(await texts()).toEqual(['c']);
    expect(await texts()).toBeUndefined();
  });
});
