import { type Router, createRouter, failure, handle } from 'signalbox';
import { type FakeEnvironment, fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { type FedProvider, GOOD_END, fedProvider } from '../support/fed-provider.ts';
import { chatBody, httpCall } from '../support/http-call.ts';

interface Listening {
  readonly environment: FakeEnvironment;
  readonly provider: FedProvider;
  readonly router: Router;
  /** Frames in order, each with the milliseconds after which it came. */
  readonly heard: readonly (readonly [ms: number, frame: string])[];
  /** Status, once it is known. */
  readonly status: () => number | undefined;
}

/** Begins a stream and notes when each frame comes. */
async function listen(
  config: Partial<Parameters<typeof createRouter>[0]> = {},
  others: readonly FedProvider[] = [],
): Promise<Listening> {
  const environment = fakeEnvironment();
  const provider = fedProvider();
  const router = createRouter({ ...config, providers: [provider, ...others], environment });
  const startedAt = environment.now();
  const heard: [number, string][] = [];
  let status: number | undefined;
  void handle(router, httpCall({ body: chatBody({ stream: true }) })).then(async (reply) => {
    status = reply?.status;
    if (reply?.type === 'whole') heard.push([environment.now() - startedAt, reply.body]);
    if (reply?.type !== 'stream') return;
    for await (const frame of reply.frames) heard.push([environment.now() - startedAt, frame]);
  });
  await environment.settle();
  return { environment, provider, router, heard, status: () => status };
}

const COMMENT = ': ROUTER PROCESSING\n\n';

describe('a quiet stream', () => {
  it('is kept open by a comment after a second, and then every five', async () => {
    const { environment, heard, status } = await listen();
    await environment.advance(999);
    expect(status()).toBeUndefined();
    await environment.advance(1);
    expect(status()).toBe(200);
    await environment.advance(30_000);
    expect(heard).toEqual([1, 6, 11, 16, 21, 26, 31].map((second) => [second * 1_000, COMMENT]));
  });

  it('has the periods of its configuration', async () => {
    const { environment, heard } = await listen({ keepAlive: { firstMs: 200, everyMs: 500 } });
    await environment.advance(1_200);
    expect(heard).toEqual([200, 700, 1_200].map((ms) => [ms, COMMENT]));
  });

  it('spells its comment as the brand does', async () => {
    const { environment, heard } = await listen({ brand: 'openrouter' });
    await environment.advance(1_000);
    expect(heard).toEqual([[1_000, ': OPENROUTER PROCESSING\n\n']]);
  });

  it('goes on with content as if nothing had been', async () => {
    const { environment, provider, heard } = await listen();
    await environment.advance(1_500);
    provider.calls[0]?.push('Hello', ...GOOD_END);
    provider.calls[0]?.end();
    await environment.settle();
    const text = heard.map(([, frame]) => frame).join('');
    expect(text.startsWith(COMMENT)).toBe(true);
    expect(text).toContain('"content":"Hello"');
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(environment.pendingTimers).toBe(0);
  });

  it('is kept open in the middle as well', async () => {
    const { environment, provider, heard } = await listen();
    provider.calls[0]?.push('Hel');
    await environment.advance(12_000);
    provider.calls[0]?.push('lo', ...GOOD_END);
    await environment.settle();
    expect(heard.filter(([, frame]) => frame === COMMENT).map(([ms]) => ms)).toEqual([1_000, 6_000, 11_000]);
    expect(heard.map(([, frame]) => frame).join('')).toContain('"content":"lo"');
  });
});

describe('a failure', () => {
  it('before the first comment is an ordinary error', async () => {
    const { environment, provider, heard, status } = await listen();
    await environment.advance(900);
    provider.calls[0]?.fail(failure('unreachable', 'Nobody is there'));
    await environment.settle();
    expect(status()).toBe(502);
    expect(JSON.parse(heard[0]?.[1] ?? '')).toMatchObject({ error: { code: 502 } });
  });

  it('keeps its status when an endpoint was tried again after a wait of more than a second', async () => {
    const fallback = { triesPerEndpoint: 2 };
    const { environment, provider, heard, status } = await listen({ fallback });
    provider.calls[0]?.fail(failure('rate_limited', 'Slow down', { retryAfterMs: 1_300 }));
    await environment.advance(1_200);
    expect(status()).toBeUndefined();
    await environment.advance(800);
    expect(provider.calls).toHaveLength(2);
    provider.calls[1]?.fail(failure('rate_limited', 'Slow down'));
    await environment.settle();
    expect(status()).toBe(429);
    expect(JSON.parse(heard[0]?.[1] ?? '')).toMatchObject({ error: { code: 429 } });
    expect(environment.pendingTimers).toBe(0);
  });

  it('is followed by a comment as ever while the endpoint that was called again is silent', async () => {
    const { environment, provider, heard } = await listen();
    provider.calls[0]?.fail(failure('server', 'Broken'));
    await environment.advance(20_000);
    expect(provider.calls).toHaveLength(2);
    expect(heard).toEqual([3, 8, 13, 18].map((second) => [second * 1_000, COMMENT]));
  });

  it('of one endpoint delays no comment while another one is asked', async () => {
    const second = fedProvider({ slug: 'second', models: { 'acme/one': {} } });
    const { environment, provider, heard } = await listen({}, [second]);
    await environment.advance(500);
    [provider, second].find(({ calls }) => calls.length > 0)?.calls[0]?.fail(failure('unreachable', 'Nobody'));
    await environment.advance(500);
    expect(provider.calls.length + second.calls.length).toBe(2);
    expect(heard).toEqual([[1_000, COMMENT]]);
  });

  it('after the first comment can only be told in the stream', async () => {
    const { environment, provider, heard, status } = await listen();
    await environment.advance(1_000);
    provider.calls[0]?.fail(failure('unreachable', 'Nobody is there'));
    await environment.settle();
    expect(status()).toBe(200);
    const [, last] = heard.map(([, frame]) => frame);
    expect(last).toMatch(/^data: \{.*"error":\{"code":502.*\n\ndata: \[DONE\]\n\n$/);
  });
});

describe('a stream that nobody reads any more', () => {
  it('ends its call and its timers', async () => {
    const environment = fakeEnvironment();
    const provider = fedProvider();
    const router = createRouter({ providers: [provider], environment });
    const reply = handle(router, httpCall({ body: chatBody({ stream: true }) }));
    await environment.settle();
    provider.calls[0]?.push('Hello');
    const answered = await reply;
    if (answered?.type !== 'stream') throw new Error('expected a stream');
    await answered.frames.next();
    await answered.frames.return?.();
    await environment.settle();
    expect(provider.calls[0]?.cancelled).toBe(true);
    expect(router.internals.admission.inside).toBe(0);
    expect(await answered.frames.next()).toEqual({ done: true, value: undefined });
    await environment.advance(1);
    expect(environment.pendingTimers).toBe(0);
  });

  it('ends its call also before anything came', async () => {
    const environment = fakeEnvironment();
    const provider = fedProvider();
    const router = createRouter({ providers: [provider], environment });
    const controller = new AbortController();
    const reply = handle(router, httpCall({ body: chatBody({ stream: true }), signal: controller.signal }));
    await environment.settle();
    controller.abort();
    await reply;
    expect(provider.calls[0]?.cancelled).toBe(true);
    expect(router.internals.admission.inside).toBe(0);
    expect(environment.pendingTimers).toBe(0);
  });
});

describe('frames', () => {
  it('that arrive together are written together', async () => {
    const { environment, provider, heard } = await listen();
    provider.calls[0]?.push('a', 'b', 'c');
    await environment.settle();
    expect(heard).toHaveLength(1);
    provider.calls[0]?.push('d');
    await environment.settle();
    expect(heard).toHaveLength(2);
  });
});
