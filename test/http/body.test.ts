/** Runs in a process of its own: it measures memory. */
import { BodyError, type HttpCall, type Router, createRouter, handle } from 'signalbox';
import { deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { fedProvider } from '../support/fed-provider.ts';
import { chatBody, httpCall, read, send } from '../support/http-call.ts';

function routerWith(bodyBytes?: number): Router {
  return createRouter({
    providers: [fedProvider({ script: (call) => call.answer('Hi') })],
    limits: { bodyBytes },
  });
}

const router = routerWith();
const JSON_TYPE = { 'content-type': 'application/json' };
const VALID = JSON.stringify(chatBody());

/** A body of exactly this many bytes. */
function ofLength(bytes: number): string {
  return `${VALID}${' '.repeat(bytes - VALID.length)}`;
}

async function messageOf(body: unknown, headers: Record<string, string> = JSON_TYPE): Promise<string> {
  const { status, text } = await send(router, { body, headers });
  return status === 200 ? '200' : `${status} ${(JSON.parse(text) as { error: { message: string } }).error.message}`;
}

describe('the content type', () => {
  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'APPLICATION/JSON',
    ' application/json ;charset=UTF-8',
    'application/vnd.api+json',
  ])('may be JSON in any spelling: %s', async (type) => {
    expect(await messageOf(VALID, { 'content-type': type })).toBe('200');
  });

  it('may be left out by programs, and not by pages: those can send cookies with it unasked', async () => {
    expect(await messageOf(VALID, {})).toBe('200');
    expect(await messageOf(VALID, { origin: 'http://localhost:3000' })).toBe(
      '415 The content type must be application/json',
    );
    expect(await messageOf(VALID, { ...JSON_TYPE, origin: 'http://localhost:3000' })).toBe('200');
  });

  it.each(['utf-16', 'UTF-16LE', 'iso-8859-1', '"utf-32"', 'utf-7'])(
    'may name no charset but UTF-8: %s',
    async (name) => {
      expect(await messageOf(VALID, { 'content-type': `application/json; charset=${name}` })).toBe(
        `415 The charset of the request body must be utf-8, not "${name.replaceAll('"', '')}"`,
      );
    },
  );

  it.each(['utf8', '"utf-8"', 'US-ASCII', 'utf-8; version=1'])('may name UTF-8: %s', async (name) => {
    expect(await messageOf(VALID, { 'content-type': `application/json; version="1"; charset=${name}` })).toBe('200');
  });

  it.each([
    'text/plain',
    'application/jsonx',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded',
    '',
  ])('may be nothing else: %s', async (type) => {
    expect(await messageOf(VALID, { 'content-type': type })).toBe(
      `415 The content type must be application/json, not "${type}"`,
    );
  });
});

describe('a compressed body', () => {
  it.each([
    ['gzip', gzipSync],
    ['GZIP', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
  ])('is read: %s', async (coding, compress) => {
    expect(await messageOf(compress(VALID), { ...JSON_TYPE, 'content-encoding': coding })).toBe('200');
  });

  it('may say that it is not compressed', async () => {
    expect(await messageOf(VALID, { ...JSON_TYPE, 'content-encoding': 'identity' })).toBe('200');
  });

  it.each(['br', 'zstd', 'gzip, gzip'])('in a coding that is not read is a 415: %s', async (coding) => {
    expect(await messageOf(VALID, { ...JSON_TYPE, 'content-encoding': coding })).toBe(
      `415 The content encoding must be gzip, deflate or identity, not "${coding}"`,
    );
  });

  it.each([
    ['is not', Buffer.from(VALID)],
    ['is cut off', gzipSync(VALID).subarray(0, 30)],
    ['is followed by rubbish', Buffer.concat([gzipSync(VALID), Buffer.from('rubbish')])],
  ])('that %s is a 400', async (_name, bytes) => {
    expect(await messageOf(bytes, { ...JSON_TYPE, 'content-encoding': 'gzip' })).toBe(
      '400 The request body is not valid gzip',
    );
  });

  it('is held to the limit for what comes out of it, and is not unpacked any further', async () => {
    const bomb = gzipSync(Buffer.alloc(64_000_000, ' '), { level: 1 });
    expect(bomb.byteLength).toBeLessThan(300_000);
    const before = process.memoryUsage().arrayBuffers;
    const { status, error } = await send(routerWith(1_000_000), {
      body: bomb,
      headers: { ...JSON_TYPE, 'content-encoding': 'gzip' },
    });
    expect(status).toBe(413);
    expect(error.message).toBe('The request body must not be larger than 1,000,000 bytes');
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32_000_000);
  });

  it('may have exactly as many bytes as the limit', async () => {
    const limited = routerWith(1_000);
    const statusOf = async (bytes: number): Promise<number> =>
      (await send(limited, { body: gzipSync(ofLength(bytes)), headers: { 'content-encoding': 'gzip' } })).status;
    expect([await statusOf(999), await statusOf(1_000), await statusOf(1_001)]).toEqual([200, 200, 413]);
  });
});

describe('the size of a body', () => {
  const limited = routerWith(1_000);

  it('may be the limit and no more', async () => {
    const statusOf = async (bytes: number): Promise<number> => (await send(limited, { body: ofLength(bytes) })).status;
    expect([await statusOf(999), await statusOf(1_000), await statusOf(1_001)]).toEqual([200, 200, 413]);
  });

  it('is refused by its header before anything is read', async () => {
    let bodyRead = false;
    const { status } = await send(limited, {
      body: VALID,
      headers: { 'content-length': '1001' },
      onRead: () => (bodyRead = true),
    });
    expect(status).toBe(413);
    expect(bodyRead).toBe(false);
  });

  it('is measured, whatever its header says', async () => {
    const lying = async (length: string): Promise<number> =>
      (await send(limited, { body: ofLength(1_001), headers: { 'content-length': length } })).status;
    expect([await lying('10'), await lying('-1'), await lying('many'), await lying('')]).toEqual([413, 413, 413, 413]);
  });
});

describe('the text of a body', () => {
  it('may begin with a byte order mark', async () => {
    expect(await messageOf(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(VALID)]))).toBe('200');
  });

  it.each([
    ['a cut character', Buffer.from([0x22, 0xc3, 0x22])],
    ['half a character', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ['UTF-16', Buffer.from('{"a":1}', 'utf16le')],
    ['an overlong slash', Buffer.from([0x22, 0xc0, 0xaf, 0x22])],
  ])('must be UTF-8, not %s', async (name, bytes) => {
    // UTF-16 of plain letters is valid UTF-8 with NUL characters in it; then the JSON is wrong.
    const expected = name === 'UTF-16' ? /^400 .*not valid JSON/ : /^400 The request body is not valid UTF-8$/;
    expect(await messageOf(bytes)).toMatch(expected);
  });

  it.each(['', '   ', '\n\t'])('must be there', async (body) => {
    expect(await messageOf(Buffer.from(body))).toBe('400 The request body is empty; it must be a JSON object');
  });

  it.each([
    ['{"model": secret-word}', 'mistake at line 1, column 11'],
    ['{\n  "a": 1,\n}', 'mistake at line 3, column 1'],
    ['{"a": 1', 'it ends too early'],
    ['{"a": 1}{"b": 2}', 'mistake at line 1, column 9'],
  ])('must be JSON, and the place of the mistake is told without repeating anything: %s', async (body, mistake) => {
    expect(await messageOf(body)).toBe(`400 The request body is not valid JSON: ${mistake}`);
  });

  it('must be an object', async () => {
    expect(await messageOf('[]')).toBe(
      '400 The request body must be a JSON object with a "messages" array, not an array.',
    );
  });
});

describe('a body that does not come', () => {
  const withBody = (collect: () => Promise<Uint8Array>): HttpCall => ({
    ...httpCall(),
    body: { type: 'unread', collect },
  });

  it.each([
    ['timeout', 408, 'timeout', 'The request body arrived too slowly; send it again, or raise limits.bodyTimeoutMs'],
    ['incomplete', 400, 'invalid_request', 'The request body ended before it was complete'],
    [
      'taken',
      500,
      'server',
      'The host has read the request body before the router: mount the router before whatever reads bodies',
    ],
    ['too_large', 413, 'payload_too_large', 'The request body must not be larger than 32,000,000 bytes'],
  ] as const)('is told why: %s', async (reason, code, errorType, message) => {
    const reply = await handle(
      router,
      withBody(() => Promise.reject(new BodyError(reason))),
    );
    if (reply === undefined) throw new Error('expected an answer');
    expect((await read(reply)).error).toMatchObject({ code, message, metadata: { error_type: errorType } });
  });

  it('for a reason of the host is a masked 500, of which the operator hears', async () => {
    const warnings: unknown[] = [];
    const stop = router.on('warning', (warning) => warnings.push(warning));
    const reply = await handle(
      router,
      withBody(() => Promise.reject(new Error('disk /dev/secret is full'))),
    );
    stop();
    if (reply === undefined) throw new Error('expected an answer');
    expect(await read(reply)).toMatchObject({ status: 500 });
    expect((await read(reply)).text).not.toContain('secret');
    // The operator hears of it, but not in words that may repeat what was sent.
    expect(warnings).toEqual([
      {
        code: 'internal',
        message: expect.stringMatching(/^A request failed inside the router: Error at .+:\d+:\d+\)?$/),
      },
    ]);
    expect(JSON.stringify(warnings)).not.toContain('secret');
  });
});

describe('a body that the host has parsed', () => {
  it('is taken as it is', async () => {
    const reply = await handle(router, { ...httpCall(), body: { type: 'parsed', value: chatBody() } });
    expect(reply?.status).toBe(200);
  });

  it('is checked like any other', async () => {
    for (const value of [undefined, null, 'text', {}, { messages: [] }]) {
      const reply = await handle(router, { ...httpCall(), body: { type: 'parsed', value } });
      expect(reply?.status).toBe(400);
    }
  });
});
