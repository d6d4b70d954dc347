import {
  apiKeys,
  createRouter,
  handle,
  memoryStore,
  openaiCompatible,
  type Provider,
  type Router,
  type RouterConfig,
  type StateStore,
} from 'signalbox';
import { fetchRouter } from 'signalbox/fetch';
import { type FakeEnvironment, fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it, vi } from 'vitest';
import { fedProvider, type FedProvider, GOOD_END } from '../support/fed-provider.ts';
import { chatBody, httpCall, send } from '../support/http-call.ts';

const KEYS = { 'sk-one-0123456789': 'one', 'sk-two-0123456789': 'two' } as const;

/** Some routers that share a store, as instances of one program do. */
class House {
  readonly environment: FakeEnvironment = fakeEnvironment();
  readonly store = memoryStore({ now: this.environment.now });
  readonly provider: FedProvider = fedProvider();
  readonly settled: string[] = [];
  readonly warnings: string[] = [];

  instance(streams: RouterConfig['streams'] = {}, provider: Provider = this.provider): Router {
    return createRouter({
      providers: [provider],
      environment: this.environment,
      streams: { store: this.store, ...streams },
      authenticate: apiKeys(Object.entries(KEYS).map(([key, id]) => ({ key, id }))),
      on: {
        result: ({ usage }) => this.settled.push(`result ${usage?.total_tokens}`),
        error: ({ status }) => this.settled.push(`error ${status}`),
        warning: ({ code }) => this.warnings.push(code),
      },
    });
  }

  /** Begins a stream; what its client was sent is in `sent`. */
  async begin(router: Router, path = '/chat/completions', body: object = chatBody({ stream: true })) {
    const client = new AbortController();
    const call = httpCall({
      path,
      body,
      headers: { authorization: 'Bearer sk-one-0123456789' },
      signal: client.signal,
    });
    const { calls } = this.provider;
    const before = calls.length;
    const answer = handle(router, call);
    // What a router loads on use comes from the disk.
    const fed = await vi.waitUntil(() => calls[before], { interval: 1, timeout: 20_000 });
    fed.push('Grüße 👋 ');
    const reply = await answer;
    if (reply?.type !== 'stream') return expect.unreachable('the answer is no stream');
    const stream = { id: reply.headers['x-generation-id'] ?? '', sent: '', isOver: false, client, fed };
    void (async () => {
      for await (const frame of reply.frames) stream.sent += frame;
      stream.isOver = true;
    })();
    await this.environment.settle();
    return stream;
  }

  /** Reads the rest of a stream; what came is in `read`. */
  async resume(router: Router, id: string, query = 'from=0', key: keyof typeof KEYS = 'sk-one-0123456789') {
    const client = new AbortController();
    const reply = await handle(
      router,
      httpCall({
        method: 'GET',
        path: `/streams/${id}`,
        query,
        headers: { authorization: `Bearer ${key}` },
        signal: client.signal,
      }),
    );
    if (reply?.type !== 'stream') return expect.unreachable(`no stream: ${reply?.status} ${reply?.body}`);
    const reading = { read: '', isOver: false, client };
    void (async () => {
      for await (const frame of reply.frames) reading.read += frame;
      reading.isOver = true;
    })();
    await this.environment.settle();
    return reading;
  }

  async finish(stream: Awaited<ReturnType<House['begin']>>, ...texts: readonly string[]): Promise<void> {
    stream.fed.push(...texts, ...GOOD_END);
    stream.fed.end();
    await this.environment.settle();
  }
}

const bytesOf = (text: string): number => Buffer.byteLength(text);
const after = (text: string, bytes: number): string => Buffer.from(text).subarray(bytes).toString();
const get = (id: string, query = '', key = 'sk-one-0123456789') => ({
  method: 'GET',
  path: `/streams/${id}`,
  query,
  headers: { authorization: `Bearer ${key}` },
});

const FORMATS = [
  ['/chat/completions', chatBody({ stream: true })],
  ['/messages', { model: 'acme/one', max_tokens: 99, stream: true, messages: [{ role: 'user', content: 'Hi' }] }],
  ['/responses', { model: 'acme/one', stream: true, input: 'Hi' }],
] as const;

describe.each(FORMATS)('a stream of %s', (path, body) => {
  it('is read again byte for byte at any instance, from any event on', async () => {
    const house = new House();
    const [one, two] = [house.instance(), house.instance()];
    const stream = await house.begin(one, path, body);
    await house.finish(stream, 'Wörld', '!');
    expect(stream.isOver).toBe(true);
    for (const router of [one, two]) {
      expect((await send(router, get(stream.id))).text).toBe(stream.sent);
      for (const frame of stream.sent.matchAll(/\n\n(?=.)/g)) {
        const from = bytesOf(stream.sent.slice(0, frame.index + 2));
        expect((await send(router, get(stream.id, `from=${from}`))).text).toBe(after(stream.sent, from));
      }
    }
    expect(house.settled).toEqual(['result 10']);
  });

  it('goes on for those who resume it while it is sent, here and elsewhere', async () => {
    const house = new House();
    const [one, two] = [house.instance(), house.instance()];
    const stream = await house.begin(one, path, body);
    await house.environment.advance(600);
    const here = await house.resume(one, stream.id);
    const elsewhere = await house.resume(two, stream.id);
    expect([here.read, elsewhere.read]).toEqual([stream.sent, stream.sent]);
    stream.fed.push('more');
    await house.environment.advance(800);
    expect([here.read, elsewhere.read]).toEqual([stream.sent, stream.sent]);
    await house.finish(stream, 'x'.repeat(50_000));
    await house.environment.advance(1_000);
    expect([here, elsewhere]).toMatchObject([
      { read: stream.sent, isOver: true },
      { read: stream.sent, isOver: true },
    ]);
  });

  it('goes on when its client leaves, and whoever comes back gets all of it', async () => {
    const house = new House();
    const [one, two] = [house.instance({ leaveAfterMs: 30_000 }), house.instance()];
    const stream = await house.begin(one, path, body);
    stream.client.abort();
    await house.environment.settle();
    expect([stream.isOver, stream.fed.cancelled]).toEqual([true, false]);
    await house.environment.advance(10_000);
    await house.finish(stream, 'the end');
    await house.environment.advance(1_000);
    const { text } = await send(two, get(stream.id, `from=${bytesOf(stream.sent)}`));
    expect(text).toContain('the end');
    expect((await send(two, get(stream.id))).text).toBe(stream.sent + text);
    expect(house.settled).toEqual(['result 10']);
    expect(house.environment.pendingTimers).toBe(0);
  });

  it('is cancelled when its client leaves, unless the option says otherwise', async () => {
    const house = new House();
    const one = house.instance();
    const stream = await house.begin(one, path, body);
    stream.client.abort();
    await house.environment.settle();
    expect(stream.fed.cancelled).toBe(true);
    const { text } = await send(one, get(stream.id));
    expect(text.startsWith(stream.sent)).toBe(true);
    expect(text.slice(stream.sent.length)).toContain('The client disconnected');
    expect(house.settled).toEqual(['error 499']);
    expect(house.environment.pendingTimers).toBe(0);
  });

  it('ends with one clear error when its instance is gone', async () => {
    const house = new House();
    // An instance that dies writes nothing more; the fake one is only cut off from the store.
    const dying = { ...house.store };
    const one = house.instance({ store: dying });
    const two = house.instance();
    const stream = await house.begin(one, path, body);
    stream.fed.push('kept');
    await house.environment.advance(800);
    dying.set = () => {};
    dying.append = () => false;
    const reading = await house.resume(two, stream.id);
    expect(reading.read).toBe(stream.sent);
    await house.environment.advance(8_000);
    expect(reading.isOver).toBe(true);
    const rest = reading.read.slice(stream.sent.length);
    expect(rest.match(/is gone/g)?.length).toBeGreaterThan(0);
    expect(rest.endsWith('\n\n')).toBe(true);
    for (const line of rest.split('\n').filter((text) => text.startsWith('data: {'))) JSON.parse(line.slice(6));
    const again = await house.resume(two, stream.id);
    await house.environment.advance(1_000);
    expect(again).toMatchObject({ read: reading.read, isOver: true });
  });
});

describe('a store that was away for a moment', () => {
  it('leaves no reader waiting for the end of a stream that it missed', async () => {
    const house = new House();
    const leaky = { ...house.store };
    const [one, two] = [house.instance({ store: leaky }), house.instance()];
    const [stream, other] = [await house.begin(one), await house.begin(one)];
    await house.environment.advance(800);
    const reading = await house.resume(two, stream.id);
    leaky.append = (key, ...change) => !key.includes(stream.id) && (house.store.append?.(key, ...change) ?? false);
    await house.finish(stream, 'the end');
    await house.environment.advance(12_000);
    leaky.append = (...change) => house.store.append?.(...change) ?? false;
    await house.environment.advance(3_000);
    expect(reading.isOver).toBe(true);
    expect(reading.read).toContain('is gone');
    expect(house.warnings).toContain('streams_not_kept');
    // Its instance lives, and so does the other one.
    const second = await house.resume(two, other.id);
    await house.finish(other, 'the end');
    await house.environment.advance(1_000);
    expect(second).toMatchObject({ isOver: true, read: other.sent });
    expect(house.environment.pendingTimers).toBe(0);
  });

  it('gets what it missed when it is back, once', async () => {
    const house = new House();
    const leaky = { ...house.store };
    const [one, two] = [house.instance({ store: leaky }), house.instance()];
    const stream = await house.begin(one);
    await house.environment.advance(800);
    const reading = await house.resume(two, stream.id);
    // It does what it was sent, and its answer is lost.
    leaky.append = (...change) => {
      void house.store.append?.(...change);
      throw new Error('no answer');
    };
    stream.fed.push('more');
    await house.environment.advance(3_000);
    leaky.append = () => false;
    await house.finish(stream, 'the end');
    await house.environment.advance(3_000);
    leaky.append = (...change) => house.store.append?.(...change) ?? false;
    await house.environment.advance(1_000);
    expect(reading).toMatchObject({ isOver: true, read: stream.sent });
    expect(house.environment.pendingTimers).toBe(0);
  });

  it('keeps no stream that it missed the beginning of, and the stream goes on', async () => {
    const house = new House();
    const leaky = { ...house.store };
    const one = house.instance({ store: leaky });
    leaky.append = () => false;
    const stream = await house.begin(one);
    leaky.append = (...change) => house.store.append?.(...change) ?? false;
    await house.finish(stream, 'the end');
    expect(stream).toMatchObject({ isOver: true, sent: expect.stringContaining('the end') });
    expect((await send(one, get(stream.id))).status).toBe(404);
    expect(house.warnings).toContain('streams_not_kept');
  });
});

/** A burst: all of the answer comes with one read. */
function burstProvider(text: string): Provider {
  const chunk = (delta: object, rest: object = {}): string =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, ...rest }] })}\n\n`;
  const usage = { prompt_tokens: 4, completion_tokens: 6, total_tokens: 10 };
  const end = `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage })}`;
  const body = `${chunk({ content: text })}${chunk({}, { finish_reason: 'stop' })}${end}\n\ndata: [DONE]\n\n`;
  return openaiCompatible({
    slug: 'burst',
    baseURL: 'http://stub',
    models: { 'acme/one': {} },
    transport: {
      send() {
        const reads: Uint8Array[][] = [[new TextEncoder().encode(body)]];
        return Promise.resolve({
          status: 200,
          header: (name) => (name === 'content-type' ? 'text/event-stream' : undefined),
          read: () => Promise.resolve(reads.shift()),
          cancel() {},
        });
      },
      close: () => Promise.resolve(),
    },
  });
}

/** A store that notes the commands which change it. */
function notingStore(house: House, changes: string[]): StateStore {
  const { store } = house;
  return {
    ...store,
    set: (key, ...rest) => {
      changes.push(`set ${key}`);
      return store.set(key, ...rest);
    },
    append: (key, text, at, ttlMs) => {
      changes.push(`append at ${at}`);
      return store.append?.(key, text, at, ttlMs) ?? false;
    },
  };
}

describe.each(FORMATS)('a burst of %s', (path, body) => {
  const headers = { authorization: 'Bearer sk-one-0123456789' };
  const burst = (house: House, streams: RouterConfig['streams'] = {}) =>
    house.instance(streams, burstProvider('Grüße 👋'));

  it('is kept with one write, and is the same anywhere', async () => {
    const house = new House();
    const changes: string[] = [];
    const sent = await send(burst(house, { store: notingStore(house, changes) }), { path, body, headers });
    expect(sent.text).toContain('Grüße 👋');
    expect(changes).toEqual(['append at 0']);
    const id = sent.headers['x-generation-id'] ?? '';
    const other = burst(house);
    expect((await send(other, get(id))).text).toBe(sent.text);
    const from = bytesOf(sent.text.slice(0, sent.text.indexOf('\n\n') + 2));
    expect((await send(other, get(id, `from=${from}`))).text).toBe(after(sent.text, from));
    expect(house.settled).toEqual(['result 10']);
  });

  it('is sent without being kept where it is larger than the limit, or its store fails', async () => {
    const house = new House();
    const append = (): never => {
      throw new Error('away');
    };
    for (const streams of [{ maxTotalBytes: 20 }, { store: { ...house.store, append } }]) {
      const router = burst(house, streams);
      const sent = await send(router, { path, body, headers });
      expect(sent.text).toContain('Grüße 👋');
      expect((await send(router, get(sent.headers['x-generation-id'] ?? ''))).status).toBe(404);
    }
  });
});

describe('a runtime that ends with its requests', () => {
  const mounted = async (house: House) => {
    const lived: { readonly work: Promise<unknown>; isOver: boolean }[] = [];
    const waitUntil = (work: Promise<unknown>): void => {
      const one = { work, isOver: false };
      lived.push(one);
      void work.then(() => (one.isOver = true));
    };
    const mount = fetchRouter(house.instance({ leaveAfterMs: 30_000 }), { waitUntil });
    const client = new AbortController();
    const request = new Request('http://localhost/v1/chat/completions', {
      method: 'POST',
      body: JSON.stringify(chatBody({ stream: true })),
      headers: { 'content-type': 'application/json', authorization: 'Bearer sk-one-0123456789' },
      signal: client.signal,
    });
    const answer = mount(request);
    const fed = await vi.waitUntil(() => house.provider.calls[0], { interval: 1, timeout: 20_000 });
    fed.push('Hello ');
    const response = await answer;
    await house.environment.settle();
    return { lived, client, fed, response };
  };

  it('lives on until a stream whose client has left is over and written', async () => {
    const house = new House();
    const { lived, client, fed, response } = await mounted(house);
    const id = response.headers.get('x-generation-id') ?? '';
    client.abort();
    await response.body?.cancel();
    await house.environment.advance(5_000);
    expect(lived.map(({ isOver }) => isOver)).toEqual([false]);
    fed.push('world', ...GOOD_END);
    fed.end();
    await house.environment.settle();
    expect(lived.map(({ isOver }) => isOver)).toEqual([true]);
    // Nothing is left to do once the work is over: another instance has all of it.
    expect((await send(house.instance(), get(id))).text).toContain('[DONE]');
    expect(house.settled).toEqual(['result 10']);
  });

  it('lives on no longer than for a stream that nobody comes back to', async () => {
    const house = new House();
    const { lived, client, fed, response } = await mounted(house);
    client.abort();
    await response.body?.cancel();
    await house.environment.advance(29_000);
    expect([lived.map(({ isOver }) => isOver), fed.cancelled]).toEqual([[false], false]);
    await house.environment.advance(2_000);
    expect([lived.map(({ isOver }) => isOver), fed.cancelled]).toEqual([[true], true]);
  });
});

describe('a stream that is kept', () => {
  it('is there for its own account only', async () => {
    const house = new House();
    const one = house.instance();
    const stream = await house.begin(one);
    for (const method of ['GET', 'DELETE']) {
      const answer = await send(one, { ...get(stream.id, '', 'sk-two-0123456789'), method });
      expect([answer.status, answer.error.message]).toEqual([
        404,
        'There is no such stream: it was never kept, or its time is over, or it is of another account',
      ]);
      expect((await send(one, { ...get('gen-1-nobody'), method })).status).toBe(404);
    }
    expect(stream.fed.cancelled).toBe(false);
    await house.finish(stream);
  });

  it('is gone after its time, and leaves no key behind', async () => {
    const house = new House();
    const keys = new Set<string>();
    const set: typeof house.store.set = (key, value, ttlMs) => {
      keys.add(key);
      return house.store.set(key, value, ttlMs);
    };
    const append: typeof house.store.append = (key, ...text) => {
      keys.add(key);
      return house.store.append?.(key, ...text) ?? false;
    };
    const one = house.instance({ store: { ...house.store, set, append }, keepMs: 60_000 });
    const stream = await house.begin(one);
    await house.finish(stream, 'x'.repeat(40_000));
    await house.environment.advance(59_000);
    expect((await send(one, get(stream.id))).text).toBe(stream.sent);
    await house.environment.advance(2_000);
    expect((await send(one, get(stream.id))).status).toBe(404);
    await house.environment.advance(120_000);
    expect([...keys].filter((key) => house.store.get(key) !== undefined)).toEqual([]);
    expect([...keys].map((key) => house.store.slice?.(key, 0))).toEqual(['', '']);
    expect(keys.size).toBe(2);
  });

  it('outlives its own time while it goes on', async () => {
    const house = new House();
    const [one, two] = [house.instance({ keepMs: 10_000 }), house.instance()];
    const stream = await house.begin(one);
    stream.fed.push('x'.repeat(40_000));
    // Not the router's limit of silence.
    for (let minute = 0; minute < 4; minute += 1) {
      await house.environment.advance(30_000);
      stream.fed.push('.');
    }
    await house.finish(stream);
    expect((await send(two, get(stream.id))).text).toBe(stream.sent);
  });

  it.each(['here', 'elsewhere'])('is stopped by a DELETE %s, and says so to all who read', async (where) => {
    const house = new House();
    const [one, two] = [house.instance(), house.instance()];
    const stream = await house.begin(one);
    await house.environment.advance(600);
    const reading = await house.resume(two, stream.id);
    const answer = await send(where === 'here' ? one : two, { ...get(stream.id), method: 'DELETE' });
    expect(answer.json).toEqual({ id: stream.id, object: 'stream', status: 'stopping' });
    await house.environment.advance(3_000);
    expect(stream).toMatchObject({ isOver: true, fed: { cancelled: true } });
    expect(stream.sent).toContain('stopped by a request to delete it');
    expect(reading).toMatchObject({ read: stream.sent, isOver: true });
    expect(house.settled).toEqual(['error 499']);
    const second = await send(two, { ...get(stream.id), method: 'DELETE' });
    expect(second.json).toMatchObject({ status: 'deleted' });
    expect((await send(one, get(stream.id))).status).toBe(404);
  });

  it('stops when nobody has read it for as long as the option says', async () => {
    const house = new House();
    const [one, two] = [house.instance({ leaveAfterMs: 20_000 }), house.instance()];
    const stream = await house.begin(one);
    stream.client.abort();
    await house.environment.advance(10_000);
    const reading = await house.resume(two, stream.id);
    await house.environment.advance(40_000);
    expect(stream.fed.cancelled).toBe(false);
    stream.fed.push('more');
    reading.client.abort();
    await house.environment.advance(40_000);
    expect(stream.fed.cancelled).toBe(true);
    const { text } = await send(two, get(stream.id));
    expect(text).toContain('nobody resumed the stream');
    expect(house.environment.pendingTimers).toBe(0);
  });

  it('answers Last-Event-ID like from, and gives ids to those who want them', async () => {
    const house = new House();
    const one = house.instance();
    const stream = await house.begin(one);
    await house.finish(stream, 'more');
    const { text } = await send(one, get(stream.id, 'ids=true'));
    expect(text.replaceAll(/^id: \d+\n/gm, '')).toBe(stream.sent);
    const [, id = ''] = /^id: (\d+)$/m.exec(text) ?? [];
    const rest = await send(one, {
      ...get(stream.id),
      headers: { authorization: 'Bearer sk-one-0123456789', 'last-event-id': id },
    });
    expect(rest.text).toBe(after(stream.sent, Number(id)));
    const [last = ''] = [...text.matchAll(/^id: (\d+)$/gm)].map(([, place]) => place).slice(-1);
    expect(last).toBe(String(bytesOf(stream.sent)));
    expect((await send(one, get(stream.id, `from=${last}`))).status).toBe(204);
  });

  it('answers HEAD without reading it', async () => {
    const house = new House();
    const one = house.instance();
    const stream = await house.begin(one);
    const reply = await handle(one, httpCall({ ...get(stream.id), method: 'HEAD' }));
    expect(reply).toMatchObject({ type: 'whole', status: 200, body: '' });
    expect(one.internals.admission.inside).toBe(1);
    await house.finish(stream);
    expect(one.internals.admission.inside).toBe(0);
  });

  it.each([
    ['from=-1', 'from must be a whole number of bytes, 0 or more'],
    ['from=x', 'from must be a whole number of bytes, 0 or more'],
    ['ids=yes', 'ids must be true or false'],
    ['from=999999', /from is 999999, but this stream has only \d+ bytes/],
  ])('refuses %s', async (query, message) => {
    const house = new House();
    const one = house.instance();
    const stream = await house.begin(one);
    await house.finish(stream);
    const answer = await send(one, get(stream.id, query));
    expect(answer.status).toBe(400);
    expect(answer.error.message).toMatch(message);
  });

  it('refuses a place inside a character', async () => {
    const house = new House();
    const one = house.instance();
    const stream = await house.begin(one);
    await house.finish(stream);
    const inside = bytesOf(stream.sent.slice(0, stream.sent.indexOf('ü'))) + 1;
    const answer = await send(one, get(stream.id, `from=${inside}`));
    expect([answer.status, answer.error.message]).toEqual([
      400,
      `from is ${inside}, which is inside a character: give the bytes up to the last whole event`,
    ]);
  });

  it('goes on without being kept when it is larger than its limit', async () => {
    const house = new House();
    const one = house.instance({ maxTotalBytes: 80_000 });
    const stream = await house.begin(one);
    await house.finish(stream, 'x'.repeat(6_000), 'end');
    expect(stream.sent).toContain('end');
    expect(house.settled).toEqual(['result 10']);
    const answer = await send(one, get(stream.id));
    expect([answer.status, answer.error.message]).toEqual([
      404,
      'This stream is not kept: it has more bytes than a sixteenth of streams.maxTotalBytes, or others took its place',
    ]);
  });

  it('takes the place of the oldest when all together are too large', async () => {
    const house = new House();
    const one = house.instance({ maxTotalBytes: 64_000 });
    const streams = [];
    for (let index = 0; index < 24; index += 1) {
      const stream = await house.begin(one);
      await house.finish(stream, 'x'.repeat(2_000));
      streams.push(stream);
    }
    const statuses = [];
    for (const { id } of streams) statuses.push((await send(one, get(id))).status);
    const lost = statuses.lastIndexOf(404) + 1;
    expect(lost).toBeGreaterThan(0);
    // One of two accounts has half.
    expect(lost).toBeLessThan(17);
    expect(statuses).toEqual(statuses.map((_, index) => (index < lost ? 404 : 200)));
  });

  it('is not there where a store fails, and its request does not notice', async () => {
    const house = new House();
    const fails = () => Promise.reject(new Error('the store is away'));
    const one = house.instance({ store: { ...house.store, append: fails } });
    const stream = await house.begin(one);
    await house.finish(stream, 'end');
    expect(stream.sent).toContain('[DONE]');
    expect(house.warnings).toContain('streams_not_kept');
    expect((await send(one, get(stream.id))).status).toBe(404);
  });

  it('ends with a clear error when its router is closed', async () => {
    const house = new House();
    const [one, two] = [house.instance(), house.instance()];
    const stream = await house.begin(one);
    await one.close();
    await house.environment.settle();
    expect((await send(two, get(stream.id))).text).toContain('The router was closed');
  });

  it('is not there without the option, and the error says which', async () => {
    const router = createRouter({ providers: [fedProvider()] });
    const answer = await send(router, { method: 'GET', path: '/streams/gen-1-x' });
    expect([answer.status, answer.error.message]).toEqual([
      404,
      'This router keeps no streams. Pass streams: {} to createRouter.',
    ]);
  });
});
