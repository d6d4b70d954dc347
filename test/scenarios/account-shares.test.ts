/** One account fills whatever it can over real sockets; another one is answered all the same. */
import * as fc from 'fast-check';
import { connect, type Socket } from 'node:net';
import { createServer } from 'node:http';
import { apiKeys, createRouter, openaiCompatible, type Router, type RouterConfig } from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { afterEach, describe, expect, it } from 'vitest';
import { listen, type Mounted } from '../support/mounts.ts';
import { stormOfRuns } from '../support/properties.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

const PLACES = 100;
const NAMES = ['a', 'b', 'c', 'd', 'e'] as const;
type Name = (typeof NAMES)[number];
const keyOf = (name: Name): string => `key-of-${name}-0123456789`;

/** A provider that answers `quick` prompts at once, and others with a stream that never ends or with nothing. */
const handler: Upstream['handler'] = ({ body }, response) => {
  const [{ content }] = body['messages'] as [{ content: string }];
  if (content === 'silence') return;
  if (body['stream'] === true) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x'.repeat(2_000) } }] })}\n\n`);
    return;
  }
  const message = { role: 'assistant', content: 'Hi' };
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }));
};

interface House extends AsyncDisposable {
  readonly mount: Mounted;
  readonly router: Router;
  readonly sockets: Set<Socket>;
}

async function houseOf(more: Partial<RouterConfig> = {}): Promise<House> {
  const upstream = await startUpstream(handler);
  const router = createRouter({
    providers: [openaiCompatible({ slug: 'one', baseURL: upstream.baseURL, apiKey: 'x', models: { 'acme/one': {} } })],
    authenticate: apiKeys(NAMES.map((name) => ({ key: keyOf(name), id: name }))),
    limits: { concurrentRequests: PLACES, bodyBytes: 100_000, bytesInHand: 4_000_000 },
    hedge: false,
    streams: {},
    ...more,
  });
  const mount = await listen(createServer(nodeRouter(router, { basePath: '/v1' })));
  const sockets = new Set<Socket>();
  return {
    mount,
    router,
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await mount[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
      await router.close();
    },
  };
}

/** What was answered, and the socket that is held. */
interface Held {
  /** 0 where nothing came in time. */
  readonly status: number;
  readonly text: string;
  readonly socket: Socket;
}

/** Milliseconds for an answer that comes, and for one that does not unless it is a refusal. */
const ANSWERED_MS = 10_000;
const SILENT_MS = 400;

/** Sends something by hand and goes on holding its socket. */
async function hold({ mount, sockets }: House, [head, body]: Sent, patienceMs = ANSWERED_MS): Promise<Held> {
  const { port } = new URL(mount.baseURL);
  const socket = connect(Number(port), '127.0.0.1');
  sockets.add(socket);
  let text = '';
  const seen = new Promise<void>((resolve) => {
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (text.includes('\r\n\r\n')) resolve();
    });
    socket.on('error', () => resolve());
    socket.on('close', () => resolve());
    setTimeout(resolve, patienceMs).unref();
  });
  socket.write(`${head}\r\nhost: localhost\r\n\r\n${body}`);
  await seen;
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0), text, socket };
}

/** The head of a request, and its body. */
type Sent = readonly [head: string, body: string];

function post(name: Name, body: string, length = body.length): Sent {
  const head = `POST /v1/chat/completions HTTP/1.1\r\nauthorization: Bearer ${keyOf(name)}\r\ncontent-type: application/json\r\ncontent-length: ${length}`;
  return [head, body];
}

const streamed = (name: Name): Sent => post(name, bodyOf('go', { stream: true }));

function resumed(name: Name, { text }: Held): Sent | undefined {
  const id = /x-generation-id: (\S+)/i.exec(text)?.[1];
  return id === undefined
    ? undefined
    : [`GET /v1/streams/${id}?from=0 HTTP/1.1\r\nauthorization: Bearer ${keyOf(name)}`, ''];
}

const bodyOf = (content: string, more: object = {}): string =>
  JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content }], ...more });

/** Ways to hold what all accounts share. */
const MEANS = {
  'running streams': (house: House, name: Name) => hold(house, streamed(name)),
  'streams that nobody reads': async (house: House, name: Name) => {
    const held = await hold(house, streamed(name));
    held.socket.pause();
    return held;
  },
  'answers that do not come': (house: House, name: Name) => hold(house, post(name, bodyOf('silence')), SILENT_MS),
  'readers of streams': async (house: House, name: Name) => {
    const held = await hold(house, streamed(name));
    const resume = resumed(name, held);
    if (resume === undefined) return held;
    const readers = await Promise.all(Array.from({ length: 10 }, () => hold(house, resume)));
    return readers.find(({ status }) => status >= 400) ?? held;
  },
  uploads: (house: House, name: Name) =>
    hold(house, post(name, `{"messages":"${'x'.repeat(90_000)}`, 95_000), SILENT_MS),
} as const;
type Means = keyof typeof MEANS;

async function asksTimes(house: House, name: Name, times: number): Promise<readonly number[]> {
  const ask = async (): Promise<number> => {
    const headers = { authorization: `Bearer ${keyOf(name)}`, 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: bodyOf('quick') };
    const response = await fetch(`${house.mount.baseURL}/chat/completions`, init);
    await response.arrayBuffer();
    return response.status;
  };
  return Promise.all(Array.from({ length: times }, ask));
}

const houses: House[] = [];
afterEach(async () => {
  for (const house of houses.splice(0)) await house[Symbol.asyncDispose]();
});

describe('one account that takes whatever it gets', () => {
  it.each(Object.keys(MEANS) as Means[])('leaves room for twenty at once of another: %s', async (means) => {
    const house = await houseOf();
    houses.push(house);
    const answers = await Promise.all(Array.from({ length: PLACES + 20 }, () => MEANS[means](house, 'a')));
    const refused = answers.filter(({ status }) => status >= 400);
    for (const { status, text } of refused) {
      expect(status).toBe(429);
      expect(text).toContain('account_share');
    }
    expect(refused.length).toBeGreaterThan(0);
    expect(await asksTimes(house, 'b', 20)).toEqual(Array.from({ length: 20 }, () => 200));
  });

  it('cannot do it with the readers of one stream, whatever its rate limit is', async () => {
    for (const rateLimits of [undefined, { requestsPerMinute: 1 }]) {
      const authenticate = apiKeys(
        NAMES.map((name) => ({ key: keyOf(name), id: name, ...(name === 'a' && { rateLimits }) })),
      );
      const house = await houseOf({ authenticate });
      houses.push(house);
      const resume = resumed('a', await hold(house, streamed('a'))) ?? expect.unreachable('it is not kept');
      const statuses = [];
      for (let each = 0; each < 30; each += 1) statuses.push((await hold(house, resume)).status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(8);
      expect(statuses.filter((status) => status === 429)).toHaveLength(22);
      expect(await asksTimes(house, 'b', 20)).toEqual(Array.from({ length: 20 }, () => 200));
    }
  });

  it('may have everything where it is the only one', { timeout: 20_000 }, async () => {
    const house = await houseOf({ authenticate: apiKeys([{ key: keyOf('a'), id: 'a' }]) });
    houses.push(house);
    const held = Array.from({ length: PLACES }, () => MEANS['running streams'](house, 'a'));
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual(Array.from({ length: PLACES }, () => 200));
    expect(await asksTimes(house, 'a', 1)).toEqual([503]);
  });
});

describe('accounts that take what they get, in any order', () => {
  const step = fc.record({
    means: fc.constantFrom(...(Object.keys(MEANS) as Means[])),
    name: fc.nat({ max: 3 }),
    number: fc.integer({ min: 1, max: 40 }),
  });

  it('never cost another one an answer', { timeout: 300_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 2, max: 5 }),
        fc.array(step, { minLength: 1, maxLength: 6 }),
        async (accounts, steps) => {
          await using house = await houseOf();
          for (const { means, name, number } of steps) {
            const taker = NAMES[1 + (name % (accounts - 1))] ?? 'b';
            await Promise.all(Array.from({ length: number }, () => MEANS[means](house, taker)));
            for (let each = 0; each < 3; each += 1) expect(await asksTimes(house, 'a', 1)).toEqual([200]);
          }
        },
      ),
      stormOfRuns(80),
    );
  });
});
