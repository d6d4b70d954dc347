import {
  apiKeys,
  createRouter,
  handle,
  memoryStore,
  type Router,
  type RouterConfig,
  type StateStore,
  type StreamPiece,
} from 'signalbox';
import type { MaybePromise } from '../../src/platform/wait.ts';
import { type FakeEnvironment, fakeEnvironment } from 'signalbox/testing';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { type FedCall, fedProvider, type FedProvider, GOOD_END } from '../support/fed-provider.ts';
import { chatBody, httpCall, send } from '../support/http-call.ts';

// What is loaded on demand takes time that no fake clock has: meanwhile an instance would seem to be gone.
beforeAll(async () => {
  await Promise.all([
    import('../../src/http/keeping.ts'),
    import('../../src/http/stream-operations.ts'),
    import('../../src/router/streams.ts'),
    import('../../src/runtime/chat/continuing.ts'),
    import('../../src/runtime/chat/stopped-request.ts'),
    import('../../src/formats/messages/messages.ts'),
    import('../../src/formats/responses/responses.ts'),
  ]);
});

const KEY = 'sk-one-0123456789';
const headers = { authorization: `Bearer ${KEY}` };
const price = { prompt: 1, completion: 2 };

/** A store that an instance can be cut off from: what it asks meanwhile is answered afterwards. */
interface Cord {
  readonly store: StateStore;
  cut(): void;
  mend(): void;
}

/** Instances that share a store, and one provider. */
class House {
  readonly environment: FakeEnvironment = fakeEnvironment();
  readonly store = memoryStore({ now: this.environment.now });
  readonly provider: FedProvider;
  /** Ids of requests that were accounted for, by instance. */
  readonly metered: string[] = [];
  readonly usages: unknown[] = [];

  constructor(prefill = false) {
    this.provider = fedProvider({ models: { 'acme/one': { price, prefill } } });
  }

  cord(): Cord {
    const { store } = this;
    let cut: Promise<void> | undefined;
    let mend = (): void => {};
    const later = async <Value>(ask: () => MaybePromise<Value>): Promise<Value> => {
      await cut;
      return ask();
    };
    return {
      store: {
        ...store,
        get: (key) => later(() => store.get(key)),
        set: (...change) => later(() => store.set(...change)),
        append: (...change) => later(() => store.append?.(...change) ?? false),
        slice: (...place) => later(() => store.slice?.(...place) ?? ''),
      },
      cut: () => void (cut = new Promise((resolve) => (mend = resolve))),
      mend: () => {
        mend();
        cut = undefined;
      },
    };
  }

  instance(name: string, store: StateStore = this.store, more: Partial<RouterConfig> = {}): Router {
    return createRouter({
      providers: [this.provider],
      environment: this.environment,
      streams: { store },
      fallback: { afterFirstToken: 'continue' },
      authenticate: apiKeys([{ key: KEY, id: 'one' }]),
      on: {
        result: ({ request, usage }) => {
          this.metered.push(`${name} ${request.id}`);
          this.usages.push(usage);
        },
        error: ({ request }) => this.metered.push(`${name} ${request.id}`),
      },
      ...more,
    });
  }

  /** The next call that the provider gets. */
  async called(calls: number): Promise<FedCall> {
    return vi.waitUntil(
      async () => {
        await this.environment.advance(50);
        return this.provider.calls[calls];
      },
      { interval: 1, timeout: 20_000 },
    );
  }

  read(router: Router, method: string, path: string, options: { body?: object; query?: string } = {}) {
    const client = new AbortController();
    const reading = { id: '', text: '', isOver: false, client };
    void (async () => {
      const reply = await handle(router, httpCall({ method, path, headers, signal: client.signal, ...options }));
      if (reply?.type !== 'stream') {
        reading.text = `${reply?.status} ${reply?.body}`;
        return;
      }
      reading.id = reply.headers['x-generation-id'] ?? '';
      for await (const frames of reply.frames) reading.text += frames;
      reading.isOver = true;
    })();
    return reading;
  }

  async begin(router: Router, path: string, body: object, ...pieces: readonly StreamPiece[]) {
    const stream = this.read(router, 'POST', path, { body });
    const fed = await this.called(this.provider.calls.length);
    fed.push(...pieces);
    await vi.waitUntil(
      async () => {
        await this.environment.advance(50);
        return stream.text.includes('–');
      },
      { interval: 1, timeout: 20_000 },
    );
    return { stream, fed };
  }

  /** Waits for the end of a reading. What it needs may be loaded first, which no clock of ours moves. */
  async over(reading: { readonly isOver: boolean }): Promise<void> {
    await vi.waitUntil(
      async () => {
        await this.pass(100);
        return reading.isOver;
      },
      { interval: 1, timeout: 20_000 },
    );
  }

  async pass(ms: number): Promise<void> {
    await this.environment.advance(ms);
    await new Promise(setImmediate);
    await this.environment.settle();
  }
}

const FORMATS = [
  ['/chat/completions', chatBody({ stream: true })],
  ['/messages', { model: 'acme/one', max_tokens: 99, stream: true, messages: [{ role: 'user', content: 'Hi' }] }],
  ['/responses', { model: 'acme/one', stream: true, input: 'Hi' }],
] as const;

/** The text that a stream has, whatever its format. */
function wordsOf(text: string): string {
  let words = '';
  for (const [, json = ''] of text.matchAll(/^data: (\{.*\})$/gm)) {
    const { type, delta, choices } = JSON.parse(json);
    if (choices !== undefined) words += choices[0]?.delta?.content ?? '';
    else if (type === 'content_block_delta') words += delta.text ?? '';
    else if (type === 'response.output_text.delta') words += delta;
  }
  return words;
}

describe.each(FORMATS)('a stream of %s whose instance is gone', (path, body) => {
  it.each(['repetition', 'prefill'])('goes on at the instance of a reader, by %s', async (way) => {
    const house = new House(way === 'prefill');
    const cord = house.cord();
    const [one, two, three] = [house.instance('one', cord.store), house.instance('two'), house.instance('three')];
    const { stream, fed } = await house.begin(one, path, body, 'Grüße 👋 ', 'und\\n–');
    // The provider says more, which nobody is sent that it is not stored for.
    cord.cut();
    fed.push(' never seen');
    await house.pass(1_000);
    expect(stream.text).not.toContain('never');
    const readers = [
      house.read(two, 'GET', `/streams/${stream.id}`),
      house.read(three, 'GET', `/streams/${stream.id}`),
    ];
    const next = await house.called(1);
    if (way === 'repetition') next.push('Grüße 👋 und\\n– m', 'ore');
    else {
      expect(next.call.request.messages.at(-1)).toEqual({ role: 'assistant', content: 'Grüße 👋 und\n–' });
      next.push(' m', 'ore');
    }
    next.push(...GOOD_END);
    next.end();
    for (const reader of readers) await house.over(reader);
    await house.pass(3_000);
    expect(house.provider.calls).toHaveLength(2);
    for (const { text } of readers) {
      expect(text).toBe(readers[0]?.text);
      expect(text.startsWith(stream.text)).toBe(true);
      expect(wordsOf(text)).toBe('Grüße 👋 und\n– more');
      expect(text).not.toContain('is gone');
      expect(text.match(/"sequence_number":\d+/g)).toEqual(
        text.match(/"sequence_number":\d+/g)?.map((_, index) => `"sequence_number":${index}`) ?? null,
      );
    }
    expect(house.metered).toHaveLength(1);
    expect(house.usages).toMatchObject([{ completion_tokens: expect.any(Number) }]);
    // Whoever was cut off goes on from where it was.
    const rest = await send(three, {
      method: 'GET',
      path: `/streams/${stream.id}`,
      query: `from=${Buffer.byteLength(stream.text)}`,
      headers,
    });
    expect(stream.text + rest.text).toBe(readers[0]?.text);
    // The first instance was only paused: it sends its client what the other one does, and accounts for nothing.
    cord.mend();
    await house.over(stream);
    expect(stream.text).toBe(readers[0]?.text);
    expect(fed.cancelled).toBe(true);
    expect(house.metered).toHaveLength(1);
    await house.pass(20_000);
    expect(house.environment.pendingTimers).toBe(0);
  });

  it('ends with the one clear error where the answer is another one, or there is none', async () => {
    for (const says of ['Other words', undefined]) {
      const house = new House();
      const cord = house.cord();
      const [one, two] = [house.instance('one', cord.store), house.instance('two')];
      const { stream } = await house.begin(one, path, body, 'Grüße –');
      cord.cut();
      const reader = house.read(two, 'GET', `/streams/${stream.id}`);
      const next = await house.called(1);
      if (says === undefined) next.fail({ kind: 'invalid_request', message: 'no' });
      else next.push(says, ...GOOD_END);
      await house.over(reader);
      expect(reader.text.startsWith(stream.text)).toBe(true);
      expect(reader.text.match(/The response ends here/g)?.length).toBe(1);
      expect((await send(two, { method: 'GET', path: `/streams/${stream.id}`, headers })).text).toBe(reader.text);
      expect(house.metered).toHaveLength(1);
    }
  });
});

describe('a stream that could go on elsewhere', () => {
  it.each([
    [
      'a tool call',
      {
        type: 'delta',
        index: 0,
        delta: { tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '{' } }] },
      },
    ],
    ['nothing but text, without the option', undefined],
  ] as const)('does not after %s', async (_what, piece) => {
    const house = new House();
    const cord = house.cord();
    const options = piece === undefined ? { fallback: {} } : {};
    const [one, two] = [house.instance('one', cord.store, options), house.instance('two', house.store, options)];
    const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }];
    const body = chatBody({ stream: true, ...(piece === undefined ? {} : { tools }) });
    const { stream } = await house.begin(one, '/chat/completions', body, ...(piece ? [piece] : []), 'text –');
    await house.pass(600);
    cord.cut();
    const reader = house.read(two, 'GET', `/streams/${stream.id}`);
    await house.pass(12_000);
    expect(reader.isOver).toBe(true);
    expect(reader.text).toContain('The response ends here');
    expect(house.provider.calls).toHaveLength(1);
  });

  it('keeps its request only where the option is on, and no longer than it goes on', async () => {
    for (const [more, isKept] of [
      [{}, true],
      [{ fallback: {} }, false],
    ] as const) {
      const house = new House();
      const texts = new Set<string>();
      const set: StateStore['set'] = (key, value, ttlMs) => {
        if (JSON.stringify(value).includes('Hello there')) texts.add(key);
        return house.store.set(key, value, ttlMs);
      };
      const provider = fedProvider({ models: { 'acme/one': { price } } });
      const one = house.instance('one', { ...house.store, set }, { providers: [provider], ...more });
      const body = chatBody({ stream: true, messages: [{ role: 'user', content: 'Hello there' }] });
      const stream = house.read(one, 'POST', '/chat/completions', { body });
      const fed = await vi.waitUntil(async () => {
        await house.environment.advance(50);
        return provider.calls[0];
      }, 20_000);
      fed.push('text –');
      await house.pass(1_000);
      expect(texts.size).toBe(isKept ? 1 : 0);
      fed.push(...GOOD_END);
      fed.end();
      await house.pass(1_000);
      expect(stream.isOver).toBe(true);
      expect([...texts].filter((key) => house.store.get(key) !== undefined)).toEqual([]);
    }
  });

  it('is stopped by a DELETE, and its instance accounts for it once', async () => {
    const house = new House();
    const [one, two] = [house.instance('one'), house.instance('two')];
    const { stream, fed } = await house.begin(one, '/chat/completions', chatBody({ stream: true }), 'text –');
    await send(two, { method: 'DELETE', path: `/streams/${stream.id}`, headers });
    await house.pass(3_000);
    expect(stream).toMatchObject({ isOver: true, text: expect.stringContaining('stopped by a request') });
    expect(fed.cancelled).toBe(true);
    expect(house.metered).toHaveLength(1);
    expect((await send(two, { method: 'GET', path: `/streams/${stream.id}`, headers })).text).toBe(stream.text);
    expect(house.environment.pendingTimers).toBe(0);
  });

  it('is sent without being kept where its store goes away for long', async () => {
    const house = new House();
    const leaky = { ...house.store };
    const one = house.instance('one', leaky);
    const { stream, fed } = await house.begin(one, '/chat/completions', chatBody({ stream: true }), 'text –');
    // Something else answers in its place.
    leaky.append = () => false;
    leaky.slice = () => '';
    fed.push(' more');
    await house.pass(12_000);
    expect(wordsOf(stream.text)).toBe('text – more');
    fed.push(' again', ...GOOD_END);
    fed.end();
    await house.pass(1_000);
    expect(stream.isOver).toBe(true);
    expect(wordsOf(stream.text)).toBe('text – more again');
    expect(house.metered).toHaveLength(1);
    expect(house.environment.pendingTimers).toBe(0);
  });
});
