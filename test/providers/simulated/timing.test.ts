import { type ChatChunk, type ChatRequest, type Router, createRouter, simulated } from 'signalbox';
import { type FakeEnvironment, fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { ask, hearStream } from '../../support/simulated.ts';

interface Scene {
  readonly environment: FakeEnvironment;
  readonly router: Router;
}

function open(options: Parameters<typeof simulated>[0] = {}): Scene {
  const environment = fakeEnvironment();
  const models = { 'acme/one': {}, 'acme/fast': { tag: 'turbo' }, 'acme/slow': { tier: 'flex' } } as const;
  const provider = simulated({ environment, models, firstTokenMs: 100, tokensPerSecond: 50, ...options });
  return { environment, router: createRouter({ providers: [provider], environment }) };
}

const ASKED: ChatRequest = ask('How do rivers find the sea?', { model: 'acme/one' });

/** Notes when an answer came and how many tokens it had. */
async function timed({ environment, router }: Scene, request: ChatRequest): Promise<{ ms: number; tokens: number }> {
  const startedAt = environment.now();
  let endedAt = 0;
  const answer = router.chat(request).then((result) => {
    endedAt = environment.now();
    return result.usage?.completion_tokens ?? 0;
  });
  await environment.advance(120_000);
  return { ms: endedAt - startedAt, tokens: await answer };
}

describe('the time of a simulated answer', () => {
  it('is that of its first token and of all others, and the same for the same seed', async () => {
    const { ms, tokens } = await timed(open(), ASKED);
    const usual = 100 + (tokens - 1) * 20;
    expect(ms).toBeGreaterThan(usual * 0.8);
    expect(ms).toBeLessThan(usual * 1.2);
    expect((await timed(open(), ASKED)).ms).toBe(ms);
    expect((await timed(open({ seed: 2 }), ASKED)).ms).not.toBe(ms);
  });

  it('is half on a turbo endpoint and double on a flex one', async () => {
    const { ms } = await timed(open(), ASKED);
    const fast = await timed(open(), { ...ASKED, model: 'acme/fast' });
    const slow = await timed(open(), { ...ASKED, model: 'acme/slow', service_tier: 'flex' });
    expect(fast.ms / fast.tokens).toBeLessThan(0.7 * (ms / fast.tokens));
    expect(slow.ms).toBeGreaterThan(1.5 * ms);
  });

  it('is nothing when it is to be had at once, by 0 or by Infinity', async () => {
    for (const tokensPerSecond of [0, Infinity]) {
      const { environment, router } = open({ firstTokenMs: 0, tokensPerSecond });
      const startedAt = environment.now();
      await router.chat(ASKED);
      await hearStream(router, ASKED);
      expect(environment.now()).toBe(startedAt);
      expect(environment.pendingTimers).toBe(0);
    }
  });

  it('includes the tokens that are thought and not shown', async () => {
    const plain = await timed(open(), ASKED);
    const thinking = await timed(open(), { ...ASKED, reasoning: { effort: 'high', exclude: true } });
    const gap = (plain.ms - 100) / plain.tokens;
    expect(thinking.tokens).toBeGreaterThan(plain.tokens + 50);
    expect(thinking.ms - plain.ms).toBeGreaterThan((thinking.tokens - plain.tokens) * gap * 0.8);
  });
});

describe('a simulated stream', () => {
  it('gives one token after the other as time goes by', async () => {
    const { environment, router } = open();
    const startedAt = environment.now();
    const times: number[] = [];
    const reading = (async () => {
      for await (const { choices } of router.stream(ASKED)) {
        if (choices[0]?.delta.content) times.push(environment.now() - startedAt);
      }
    })();
    await environment.advance(60_000);
    await reading;
    expect(times[0]).toBeGreaterThanOrEqual(80);
    expect(times[0]).toBeLessThanOrEqual(120);
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(10 - 1e-6);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(30 + 1e-6);
    expect(environment.pendingTimers).toBe(0);
  });

  it('makes no token that nobody asks for: a slow reader holds it back', async () => {
    const environment = fakeEnvironment();
    const provider = simulated({ environment, models: { 'acme/one': {} }, firstTokenMs: 100, tokensPerSecond: 50 });
    const router: Router = createRouter({ providers: [provider], environment: fakeEnvironment() });
    const stream = router.stream(ASKED)[Symbol.asyncIterator]();
    const opening = stream.next();
    await environment.advance(120);
    await opening;
    await stream.next();
    await environment.advance(10_000);
    expect(environment.pendingTimers).toBe(0);
    const second: IteratorResult<ChatChunk> = await stream.next();
    expect(second.value).toMatchObject({ choices: [{ delta: { content: expect.stringMatching(/./) } }] });
    const third = stream.next();
    await environment.settle();
    expect(environment.pendingTimers).toBe(1);
    await environment.advance(30);
    await third;
    expect(environment.pendingTimers).toBe(0);
    await stream.return?.();
  });
});

describe('a simulated answer that nobody wants any more', () => {
  it('stops at once when it is whole and leaves no timer', async () => {
    const { environment, router } = open();
    for (const elapsed of [0, 50, 1_000]) {
      const controller = new AbortController();
      const answer = router.chat(ASKED, { signal: controller.signal });
      const settled = expect(answer).rejects.toThrow('gone');
      await environment.advance(elapsed);
      expect(environment.pendingTimers).toBeGreaterThan(0);
      controller.abort(new Error('gone'));
      await settled;
      expect(environment.pendingTimers).toBe(0);
    }
  });

  it('stops at once when it is streamed, before the first token and in the middle', async () => {
    for (const elapsed of [0, 50, 400]) {
      const { environment, router } = open();
      const controller = new AbortController();
      const reading = hearStream(
        { ...router, stream: (request) => router.stream(request, { signal: controller.signal }) },
        ASKED,
      );
      const settled = expect(reading).rejects.toThrow('gone');
      await environment.advance(elapsed);
      controller.abort(new Error('gone'));
      await settled;
      expect(environment.pendingTimers).toBe(0);
    }
  });

  it('stops when the reader leaves the loop', async () => {
    const { environment, router } = open();
    const reading = (async () => {
      for await (const { choices } of router.stream(ASKED)) if (choices[0]?.delta.content) break;
    })();
    await environment.advance(120);
    await reading;
    expect(environment.pendingTimers).toBe(0);
  });

  it('fails when its provider is closed, and the provider goes on answering others', async () => {
    const environment = fakeEnvironment();
    const provider = simulated({ environment, models: { 'acme/one': {} }, firstTokenMs: 100 });
    const router: Router = createRouter({ providers: [provider], environment, fallback: { triesPerEndpoint: 1 } });
    const whole = expect(router.chat(ASKED)).rejects.toMatchObject({ status: 502 });
    const streamed = expect(hearStream(router, ASKED)).rejects.toMatchObject({ status: 502 });
    await environment.advance(300);
    await provider.close?.();
    await Promise.all([whole, streamed]);
    expect(environment.pendingTimers).toBe(0);
    const next = router.chat(ASKED);
    await environment.advance(60_000);
    expect((await next).choices[0]?.finish_reason).toBe('stop');
  });
});
