import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../../../src/config/resolve-config.ts';
import type { RouterConfig } from '../../../src/config/router.ts';
import { memoryResponseCache } from '../../../src/storage/response-caches.ts';
import { loadApiFormat } from '../../../src/router/incoming.ts';
import { simulated } from '../../../src/providers/simulated/provider.ts';
import type { Provider } from '../../../src/contracts/provider.ts';
import { fakeEnvironment } from '../../../src/testing/fake-environment.ts';
import { createRouter } from '../../../src/index.ts';
import { type Bench, ask, askAndWait, benchOf, statusOf, textOf } from '../../support/driving.ts';
import { type Answered, type CallInit, chatBody, send } from '../../support/http-call.ts';
import type { Behaviour, StubOptions } from '../../support/stub-provider.ts';
import { withConstants } from '../../support/constants.ts';

const USAGE = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
const ANSWER: Behaviour = { does: 'answer', usage: USAGE, pieces: 3 };
const ON = { cache: { enabled: true } };

function bench(behaves: StubOptions['behaves'] = ANSWER, config: Partial<RouterConfig> = {}): Bench {
  return benchOf({ p0: { behaves, models: { 'acme/one': { price: { prompt: 1, completion: 2 } } } } }, config);
}

async function call(own: Pick<Bench, 'router' | 'environment'>, init: CallInit): Promise<Answered> {
  const sent = send(own.router, init);
  await own.environment.advance(100);
  return sent;
}

/** The headers of the cache in an answer. */
function cacheOf({ headers }: Answered, brand = 'router'): (string | undefined)[] {
  return ['status', 'age', 'ttl', 'source-id'].map((name) => headers[`x-${brand}-cache-${name}`]);
}

const CACHED = { 'x-router-cache': 'true' };

describe('an answer from the cache', () => {
  it('is the same with a new id, a new time and no usage, and says where it comes from', async () => {
    const own = bench();
    const init = { headers: { ...CACHED, 'x-router-metadata': 'enabled' }, body: chatBody() };
    const first = await call(own, init);
    await own.environment.advance(59_900);
    const second = await call(own, init);
    const [miss, hit] = [first.json, second.json] as { choices: unknown; id: string; created: number; usage: object }[];
    expect(own.stubs.calls).toHaveLength(1);
    expect(cacheOf(first)).toEqual(['MISS', undefined, '300', undefined]);
    expect(cacheOf(second)).toEqual(['HIT', '59', '241', miss?.id]);
    expect(hit?.choices).toEqual(miss?.choices);
    expect(hit?.id).not.toBe(miss?.id);
    expect(hit?.created).toBe((miss?.created ?? 0) + 60);
    expect(hit?.usage).toMatchObject({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, cost: 0 });
    expect([first.json['router_metadata'] !== undefined, second.json['router_metadata']]).toEqual([true, undefined]);
    expect(second.headers['x-generation-id']).toBe(hit?.id);
  });

  it('is a stream where one was asked for', async () => {
    const own = bench();
    const init = { headers: CACHED, body: chatBody({ stream: true }) };
    const [first, second] = [await call(own, init), await call(own, init)];
    const contentOf = ({ text }: Answered): string =>
      [...text.matchAll(/"delta":\{(?:"role":"assistant",)?"content":"([^"]*)"/g)].map((match) => match[1]).join('');
    expect(own.stubs.calls).toHaveLength(1);
    expect([cacheOf(first)[0], cacheOf(second)[0]]).toEqual(['MISS', 'HIT']);
    expect(second.headers['content-type']).toContain('text/event-stream');
    expect(contentOf(second)).toBe(contentOf(first));
    expect(contentOf(second)).toContain('<p0#0>');
    expect(second.text).toContain('"prompt_tokens":0');
    expect(second.text.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it.each([
    ['messages', { max_tokens: 20 }],
    ['responses', { messages: undefined, input: 'Hello' }],
  ] as const)('has the shape of its dialect: %s', async (dialect, fields) => {
    // The clock of the bench does not wait for a file to be read.
    await loadApiFormat(dialect);
    const own = bench();
    for (const stream of [false, true]) {
      const init = { path: `/${dialect}`, headers: CACHED, body: chatBody({ ...fields, stream }) };
      const [first, second] = [await call(own, init), await call(own, init)];
      expect([first.status, cacheOf(first)[0], cacheOf(second)[0]]).toEqual([200, 'MISS', 'HIT']);
      expect(second.text).toContain('<p0#');
      expect(second.text).toContain('"input_tokens":0');
      expect(first.text).not.toContain('"output_tokens":0,"cost":0');
    }
    expect(own.stubs.calls).toHaveLength(2);
  });

  it('is spelled as its caller spells', async () => {
    const own = bench();
    const init = { headers: { 'x-openrouter-cache': 'true' }, body: chatBody() };
    expect(cacheOf(await call(own, init), 'openrouter')).toEqual(['MISS', undefined, '300', undefined]);
    expect(cacheOf(await call(own, init), 'openrouter')[0]).toBe('HIT');
    const branded = bench(ANSWER, { brand: 'openrouter' });
    expect(cacheOf(await call(branded, { headers: CACHED, body: chatBody() }), 'openrouter')[0]).toBe('MISS');
  });

  it('comes only for the same account, body, shape and way', async () => {
    const own = bench();
    const others = [
      { account: { id: 'a' } },
      { account: { id: 'b' } },
      { account: { id: 'a', keyId: 'second' } },
      { account: { id: 'a' }, stream: true },
      { account: { id: 'a' }, body: { temperature: 0.5 } },
      { account: { id: 'a' }, anthropicBeta: 'some' },
    ];
    for (let round = 0; round < 2; round += 1) {
      for (const other of others) {
        const { settled } = ask(own, { ...other, ...ON });
        await own.environment.advance(100);
        expect(statusOf(await settled)).toBe(200);
      }
      expect(own.stubs.calls).toHaveLength(others.length);
    }
  });

  it('lives as long as its caller says, within a day, and can be thrown away', async () => {
    const own = bench();
    const asked = async (headers: Readonly<Record<string, string>>): Promise<(string | undefined)[]> =>
      cacheOf(await call(own, { headers: { ...CACHED, ...headers }, body: chatBody() }));
    expect(await asked({ 'x-router-cache-ttl': '60abc' })).toEqual(['MISS', undefined, '60', undefined]);
    await own.environment.advance(59_000);
    expect((await asked({}))[0]).toBe('HIT');
    await own.environment.advance(1_000);
    expect(await asked({ 'x-router-cache-ttl': '999999' })).toEqual(['MISS', undefined, '86400', undefined]);
    expect((await asked({}))[0]).toBe('HIT');
    expect(await asked({ 'x-router-cache-clear': 'true', 'x-router-cache-ttl': '1.5' })).toEqual([
      'MISS',
      undefined,
      '1',
      undefined,
    ]);
    await own.environment.advance(1_000);
    expect((await asked({}))[0]).toBe('MISS');
  });
});

describe('the cache', () => {
  it('takes part only where it is asked for, and presets have the last word', async () => {
    const presets = { on: { cache_enabled: true, cache_ttl_seconds: 7 }, off: { cache_enabled: false } };
    const own = bench(ANSWER, { presets });
    const always = bench(ANSWER, { presets, responseCache: { enabled: true, ttlSeconds: 9 } });
    const statusIn = async (one: Bench, preset: string | undefined, headers: Readonly<Record<string, string>>) =>
      cacheOf(await call(one, { headers, body: chatBody(preset === undefined ? {} : { preset }) })).slice(0, 3);
    expect((await statusIn(own, undefined, {}))[0]).toBeUndefined();
    expect(await statusIn(own, 'on', {})).toEqual(['MISS', undefined, '7']);
    expect((await statusIn(own, 'on', { 'x-router-cache': 'false' }))[0]).toBeUndefined();
    expect((await statusIn(own, 'off', CACHED))[0]).toBeUndefined();
    expect(await statusIn(always, undefined, {})).toEqual(['MISS', undefined, '9']);
    expect((await statusIn(always, 'off', {}))[0]).toBeUndefined();
    expect((await statusIn(always, undefined, { 'x-router-cache': 'false' }))[0]).toBeUndefined();
  });

  it('keeps nothing where nothing may be retained', async () => {
    const own = benchOf({ p0: { behaves: ANSWER, models: { 'acme/one': { zeroDataRetention: true } } } });
    const account = { id: 'a', policy: { zeroDataRetention: true } };
    for (let index = 0; index < 2; index += 1) expect(statusOf(await askAndWait(own, { account, ...ON }))).toBe(200);
    expect(own.stubs.calls).toHaveLength(2);
  });

  it('keeps no answer that is an error, was left, or is too large', async () => {
    const fails: Behaviour = { does: 'fail', kind: 'invalid_request' };
    const breaks: Behaviour = { does: 'break', kind: 'server', pieces: 2 };
    const own = bench([fails, ANSWER, breaks, ANSWER, ANSWER, ANSWER]);
    const asked = { ...ON, cache: { enabled: true, ttlSeconds: 3_600 } };
    expect(statusOf(await askAndWait(own, asked))).toBe(400);
    expect(statusOf(await askAndWait(own, asked))).toBe(200);
    expect(statusOf(await askAndWait(own, { ...asked, stream: true }))).toBe(502);
    expect((await askAndWait(own, { ...asked, stream: true, leaveAfter: 2 })).status).toBe('left');
    expect(own.stubs.calls).toHaveLength(4);
    const small = bench(ANSWER, { responseCache: { enabled: true } });
    withConstants(small.router, { responses: { maxEntryBytes: 20 } });
    await askAndWait(small, {});
    await askAndWait(small, {});
    expect(small.stubs.calls).toHaveLength(2);
  });

  it('forgets the least recently used answers when all together are too large', () => {
    const cache = memoryResponseCache(1_000, () => 0);
    for (let index = 0; index < 20; index += 1) void cache.set(`key ${index}`, 'x'.repeat(100), 1_000);
    const kept = Array.from({ length: 20 }, (_, index) => cache.get(`key ${index}`)).filter(Boolean);
    expect([kept.length, cache.get('key 19')]).toEqual([4, 'x'.repeat(100)]);
    void cache.set('huge', 'x'.repeat(1_000), 1_000);
    expect(cache.get('huge')).toBeUndefined();
  });

  it('asks once for equal requests at the same time', async () => {
    const own = bench({ ...ANSWER, afterMs: 50 });
    for (const stream of [false, true]) {
      const running = Array.from({ length: 10 }, () => ask(own, { ...ON, stream }));
      await own.environment.advance(2_000);
      const texts = running.map(({ outcome }) => outcome && textOf(outcome));
      expect(new Set(texts).size).toBe(1);
      expect(texts[0]).toContain('<p0#');
      const costs = running.map(({ outcome }) => (outcome?.result ?? outcome?.chunks.at(-1))?.usage?.total_tokens);
      expect(costs.toSorted((a = 0, b = 0) => a - b)).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 30]);
    }
    expect(own.stubs.calls).toHaveLength(2);
  });

  it.each([
    [
      'fails',
      [
        { does: 'fail', kind: 'invalid_request', afterMs: 50 },
        { ...ANSWER, afterMs: 10 },
      ],
      undefined,
      400,
    ],
    [
      'breaks off',
      [
        { does: 'break', kind: 'server', pieces: 2 },
        { ...ANSWER, afterMs: 10 },
      ],
      undefined,
      502,
    ],
    ['is left', { ...ANSWER, afterMs: 50 }, 20, undefined],
  ] as const)('lets the others go on by themselves when the one that asks %s', async (_, behaves, abortAt, status) => {
    const own = bench(behaves);
    const controller = new AbortController();
    const first = ask(own, { ...ON, stream: true, signal: controller.signal });
    await own.environment.advance(0);
    const others = Array.from({ length: 3 }, () => ask(own, { ...ON, stream: true }));
    await own.environment.advance(abortAt ?? 0);
    if (abortAt !== undefined) controller.abort();
    await own.environment.advance(5_000);
    expect(first.outcome && statusOf(first.outcome)).toBe(status);
    for (const { outcome } of others)
      expect(outcome && [statusOf(outcome), textOf(outcome) !== '']).toEqual([200, true]);
    expect(own.environment.pendingTimers).toBe(0);
  });

  it('does not wait for ever for somebody who reads slowly', async () => {
    const own = bench();
    const slow = own.router.stream(chatBody() as never, ON)[Symbol.asyncIterator]();
    void slow.next();
    await own.environment.advance(10);
    const other = ask(own, { ...ON, stream: true });
    await own.environment.advance(5_000);
    expect(other.outcome && statusOf(other.outcome)).toBe(200);
    await slow.return?.();
  });

  it('names everything that is wrong in its configuration by its path', () => {
    const providers = [simulated()];
    expect(() => resolveConfig({ providers, responseCache: { ttlSeconds: 0, maxBytes: Number.NaN } })).toThrow(
      /^responseCache\.ttlSeconds .*\nresponseCache\.maxBytes /,
    );
    const store = memoryResponseCache(1, () => 0);
    expect(() => resolveConfig({ providers, responseCache: { maxBytes: 5, store } })).toThrow('kept elsewhere');
  });
});

describe('answers that are empty or cut', () => {
  it.each([
    ['', 'stop', {}, 2],
    [' ', 'stop', {}, 2],
    ['half of it', 'length', {}, 2],
    ['half of it', 'content_filter', {}, 2],
    ['as long as asked', 'length', { max_tokens: 9 }, 1],
    ['all of it', 'stop', {}, 1],
  ] as const)('are not kept and not given to others: "%s", %s, %o', async (content, reason, fields, calls) => {
    for (const stream of [false, true]) {
      let asked = 0;
      const message = { role: 'assistant', content, refusal: null, reasoning: null } as const;
      const choice = { index: 0, finish_reason: reason, native_finish_reason: reason, logprobs: null, message };
      const provider: Provider = {
        slug: 'p0',
        name: 'P0',
        models: { 'acme/one': {} },
        chat: () => {
          asked += 1;
          return Promise.resolve({ type: 'whole', result: { choices: [choice] } });
        },
      };
      const environment = fakeEnvironment();
      const router = createRouter({ providers: [provider], environment, on: { warning: () => {} } });
      const own = { router, environment };
      for (let time = 0; time < 2; time += 1)
        await call(own, { headers: CACHED, body: chatBody({ ...fields, stream }) });
      expect(asked).toBe(calls);
    }
  });
});
