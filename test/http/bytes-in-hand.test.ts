import { type HttpCall, type RouterConfig, type Router, ConfigError, apiKeys, createRouter, handle } from 'signalbox';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { fedProvider } from '../support/fed-provider.ts';
import { type Answered, chatBody, httpCall, read, send } from '../support/http-call.ts';
import { HOSTS } from '../support/hosts.ts';
import type { Mounted } from '../support/mounts.ts';
import { type RawClient, chatHead, connectRaw } from '../support/raw-http.ts';
import { STORMS_ARE_FULL } from '../support/storms.ts';
import { withConstants } from '../support/constants.ts';

const ADA = 'key-of-ada-0123456789';
const BOB = 'key-of-bob-0123456789';
const authenticate = apiKeys([
  { key: ADA, id: 'ada' },
  { key: BOB, id: 'bob' },
]);

function routerWith(limits: RouterConfig['limits'], hold = false): Router {
  const provider = fedProvider({ script: (fed) => (hold ? undefined : fed.answer('Hi')) });
  return createRouter({ providers: [provider], authenticate, limits });
}

/** A chat body of about this many bytes. */
function ofLength(bytes: number): string {
  return JSON.stringify(chatBody({ metadata: {}, x: 'a'.repeat(bytes) }));
}

async function held(router: Router): Promise<number> {
  // What is given back is given back in a turn of its own at the latest.
  await new Promise(setImmediate);
  return router.internals.bytesInHand.held;
}

const bearer = (key: string): Record<string, string> => ({
  authorization: `Bearer ${key}`,
  'content-type': 'application/json',
});

describe('bytes in hand', () => {
  const LIMITS = { bodyBytes: 100_000, bytesInHand: 400_000 };
  const UNPARSED = Object.keys(HOSTS).filter((name) => !name.includes('behind'));

  it.each(UNPARSED)('are bounded for bodies that come slowly, for one account and for all: %s', async (name) => {
    const router = routerWith(LIMITS);
    await using mount = (await HOSTS[name]?.(router)) as Mounted;
    await using stack = new AsyncDisposableStack();
    const body = ofLength(90_000);
    const begin = async (key: string): Promise<RawClient> => {
      const client = stack.use(await connectRaw(mount));
      // Without a length nobody can refuse it before it comes.
      client.write(chatHead('chunked', { authorization: `Bearer ${key}` }));
      client.write(`${body.length.toString(16)}\r\n${body.slice(0, -2)}`);
      return client;
    };
    const first = await begin(ADA);
    await expect.poll(() => router.internals.bytesInHand.held).toBeGreaterThan(90_000);
    const second = await begin(ADA);
    await expect.poll(() => router.internals.bytesInHand.held).toBeGreaterThan(180_000);
    const third = await begin(ADA);
    expect(await third.until('200,000 bytes of request bodies')).toBe(true);
    expect(third.text()).toMatch(/^HTTP\/1\.1 429 /);
    expect(third.text()).toMatch(/retry-after: 1/i);
    const other = await begin(BOB);
    for (const client of [first, second, other]) client.write(`${body.slice(-2)}\r\n0\r\n\r\n`);
    for (const client of [first, second, other]) expect(await client.until('"content":"Hi"')).toBe(true);
    expect(await held(router)).toBe(0);
  });

  it('are counted for what compressed bodies become', async () => {
    // Two bodies of a hundred thousand bytes fit into what one account may have; how small they came says nothing.
    const router = withConstants(routerWith(LIMITS, true), { limits: { compressionRatio: 10_000 } });
    const body = gzipSync(ofLength(95_000));
    expect(body.byteLength).toBeLessThan(1_000);
    const headers = { ...bearer(ADA), 'content-encoding': 'gzip' };
    const controller = new AbortController();
    const answers = Array.from({ length: 20 }, () => send(router, { body, headers, signal: controller.signal }));
    await expectRefused(answers, 18);
    controller.abort();
    expect((await Promise.all(answers)).filter(isRefusal)).toHaveLength(18);
    expect(await held(router)).toBe(0);
  });

  it('are counted for bodies that the host has parsed', async () => {
    const router = routerWith(LIMITS, true);
    const controller = new AbortController();
    const call = (): HttpCall => ({
      ...httpCall({ headers: bearer(ADA), signal: controller.signal }),
      body: { type: 'parsed', value: JSON.parse(ofLength(95_000)) as unknown },
    });
    const answers = Array.from({ length: 3 }, async () => {
      const reply = await handle(router, call());
      if (reply === undefined) throw new Error('not for the router');
      return read(reply);
    });
    await expectRefused(answers, 1);
    controller.abort();
    expect((await Promise.all(answers)).filter(isRefusal)).toHaveLength(1);
    expect(await held(router)).toBe(0);
  });

  it('are given back after whatever was wrong with a body', async () => {
    const router = routerWith(LIMITS);
    const headers = bearer(ADA);
    const gzip = { ...headers, 'content-encoding': 'gzip' };
    const statuses = [];
    for (const [body, more] of [
      ['{', headers],
      ['[', headers],
      [ofLength(100_001), headers],
      [Buffer.from([0xff]), headers],
      ['not gzip', gzip],
      [gzipSync(' '.repeat(90_000)), gzip],
      [ofLength(10), { ...headers, 'content-type': 'text/plain' }],
      [JSON.stringify({ messages: 1 }), headers],
      [ofLength(90_000), headers],
    ] as const) {
      statuses.push((await send(router, { body, headers: more })).status);
      expect(await held(router)).toBe(0);
    }
    expect(statuses).toEqual([400, 400, 413, 400, 400, 413, 415, 400, 200]);
  });

  it('are asked for before a body is sent that would not find room', async () => {
    const router = routerWith({ ...LIMITS, bytesInHand: 200_000 });
    const hold = router.internals.bytesInHand.open('bob');
    hold.set(90_000);
    let bodyRead = false;
    const headers = { ...bearer(BOB), 'content-length': '90000' };
    const { status } = await send(router, { body: ofLength(9), headers, onRead: () => (bodyRead = true) });
    expect([status, bodyRead]).toEqual([429, false]);
    hold.release();
    expect((await send(router, { body: ofLength(9), headers })).status).toBe(200);
  });

  it('are enough for two of the largest bodies, or the configuration is refused', () => {
    expect(() => routerWith({ bodyBytes: 100, bytesInHand: 199 })).toThrow(ConfigError);
    expect(() => routerWith({ bodyBytes: 100, bytesInHand: 200 })).not.toThrow();
  });
});

/** Bodies of 30 MB that come at once: all of them together would be more than is allowed by far. */
const AT_ONCE = STORMS_ARE_FULL ? 100 : 40;

describe('a body that is much larger than it looks', () => {
  const gzip = { ...bearer(ADA), 'content-encoding': 'gzip' };

  it('is refused before it is unpacked', async () => {
    const router = routerWith({});
    const body = gzipSync(`[${'{},'.repeat(10_000_000)}{}]`);
    expect(body.byteLength).toBeLessThan(60_000);
    const before = process.memoryUsage().arrayBuffers;
    const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => send(router, { body, headers: gzip })));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(500_000_000);
    for (const { status, error } of answers) {
      if (status === 429) continue;
      expect(status).toBe(413);
      expect(error.message).toBe('The request body must not be more than 100 times as large as its compressed form');
    }
    expect(answers.some(({ status }) => status === 413)).toBe(true);
    expect(await held(router)).toBe(0);
  });

  it('is read when it is small all the same', async () => {
    const body = gzipSync(ofLength(60_000));
    expect(body.byteLength * 100).toBeLessThan(60_000);
    expect((await send(routerWith({}), { body, headers: gzip })).status).toBe(200);
  });

  it('is refused among batches too', async () => {
    const item = JSON.stringify({ custom_id: 'a', body: chatBody() });
    const body = gzipSync(`{"endpoint":"/v1/chat/completions","requests":[${' '.repeat(30_000_000)}${item}]}`);
    const { status } = await send(routerWith({}), { path: '/batches', body, headers: gzip });
    expect(status).toBe(413);
  });
});

/** Waits until so many were refused, while the others still wait for the provider. */
async function expectRefused(answers: readonly Promise<Answered>[], count: number): Promise<void> {
  const refused: Answered[] = [];
  for (const answer of answers) void answer.then((one) => refused.push(one));
  await expect.poll(() => refused.length).toBe(count);
  expect(refused.every(isRefusal)).toBe(true);
}

function isRefusal({ status }: Answered): boolean {
  return status === 429;
}
