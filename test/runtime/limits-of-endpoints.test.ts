import { describe, expect, it, vi } from 'vitest';
import { createRouter } from '../../src/index.ts';
import { simulateTraffic } from '../../src/entries/testing.ts';
import { ask, askAndWait, benchOf, statusOf } from '../support/driving.ts';
import type { Behaviour } from '../support/stub-provider.ts';
import { someOf } from '../support/storms.ts';

const ANSWER: Behaviour = { does: 'answer', everyMs: 0 };

describe('declared limits of an endpoint', () => {
  it('are held before anything is sent: the rest goes to others', async () => {
    const sentAt: number[] = [];
    const report = await simulateTraffic(
      {
        endpoints: [
          {
            name: 'cheap',
            price: { prompt: 1, completion: 1 },
            latency: { medianMs: 300 },
            declared: { rpm: 60 },
          },
          { name: 'dear', price: { prompt: 5, completion: 5 }, latency: { medianMs: 300 } },
        ],
        traffic: { requests: 600, perSecond: 3 },
      },
      (setup) => {
        const router = createRouter(setup);
        router.on('attempt_start', ({ provider }) => {
          if (provider === 'cheap') sentAt.push(setup.environment.now());
        });
        return router;
      },
    );
    expect(report.success).toBe(1);
    const busiest = Math.max(...sentAt.map((at) => sentAt.filter((one) => one >= at && one < at + 60_000).length));
    expect(busiest).toBeGreaterThan(50);
    expect(busiest).toBeLessThanOrEqual(60);
    expect(report.shares['dear']).toBeGreaterThan(0.2);
  });

  it('are a 429 with Retry-After, without a call, where nobody else is left and the wait is long', async () => {
    const bench = benchOf({ p0: { models: { 'acme/one': { rpm: 1 } }, behaves: ANSWER } });
    const first = ask(bench);
    await bench.environment.advance(20);
    expect(first.outcome?.status).toBe('ok');
    const second = ask(bench);
    // What words the error is loaded on use.
    await vi.waitFor(() => expect(second.outcome).toBeDefined(), 20_000);
    expect(second.outcome?.error).toMatchObject({ status: 429, availability: { code: 'capacity_exhausted' } });
    const { retryAfterMs } = (second.outcome?.error ?? {}) as { readonly retryAfterMs?: number };
    expect(retryAfterMs).toBeGreaterThan(50_000);
    expect(bench.stubs.calls).toHaveLength(1);
  });

  it('of calls at a time make a request wait for the place of another', async () => {
    const bench = benchOf({
      p0: { models: { 'acme/one': { concurrency: 1 } }, behaves: { ...ANSWER, afterMs: 300 } },
    });
    const both = [ask(bench), ask(bench)];
    await bench.environment.advance(2_000);
    expect(both.map(({ outcome }) => outcome?.status)).toEqual(['ok', 'ok']);
    const [first, second] = bench.stubs.calls;
    expect(second?.startedAt).toBeGreaterThanOrEqual(first?.endedAt ?? Infinity);
  });
});

describe('a place where the prompt is cached', () => {
  it.each(someOf([1, 2, 3], { every: 3 }))(
    'is waited for, so that sessions pay less and nobody waits long (seed %i)',
    async (seed) => {
      const price = { prompt: 1, completion: 1 };
      const latency = { medianMs: 500 };
      const rate = { perSecond: 3.5, burst: 5, retryAfter: 'milliseconds' as const };
      const [never, usual] = await Promise.all(
        [false, true].map((waits) =>
          simulateTraffic(
            {
              seed,
              endpoints: [
                { name: 'near', price, latency, rate },
                { name: 'far', price: { prompt: 1.3, completion: 1.3 }, latency },
              ],
              traffic: { requests: 1_500, perSecond: 3, promptTokens: 4_000 },
            },
            (setup) => {
              const router = createRouter(setup);
              if (!waits) vi.spyOn(router.internals.services.pacing, 'warmWaitMs').mockReturnValue(0);
              return router;
            },
          ),
        ),
      );
      expect(usual?.success).toBe(1);
      expect(usual?.costUsd).toBeLessThan(1.005 * (never?.costUsd ?? 0));
      expect(usual?.firstTokenMs.p99).toBeLessThan((never?.firstTokenMs.p99 ?? 0) + 400);
    },
  );
});

describe('the last resort', () => {
  it('lets one request at a time find out whether the only endpoint is back', async () => {
    const refused: Behaviour = { does: 'fail', kind: 'credentials', status: 401 };
    const bench = benchOf({ p0: { behaves: (call) => (call < 2 ? refused : ANSWER) } });
    const status = async (): Promise<number | undefined> => {
      const asked = ask(bench);
      await bench.environment.settle();
      return asked.outcome && statusOf(asked.outcome);
    };
    expect(await status()).toBe(502);
    expect(await status()).toBe(503);
    expect(bench.stubs.calls).toHaveLength(1);
    await bench.environment.advance(1_000);
    expect(await status()).toBe(502);
    expect(await status()).toBe(503);
    await bench.environment.advance(1_000);
    expect(await status()).toBe(200);
    // It is back: nobody waits out the ten minutes.
    expect(await status()).toBe(200);
  });
});

describe('time limits', () => {
  it('of an endpoint come before those of its provider, and these before those of the router', async () => {
    const bench = benchOf(
      {
        p0: { models: { 'acme/one': { timeouts: { firstTokenMs: 100 } } }, behaves: { does: 'hang' } },
        p1: { behaves: ANSWER },
      },
      { hedge: false },
    );
    const outcome = await askAndWait(bench, { stream: true, body: { provider: { order: ['p0', 'p1'] } } });
    expect(statusOf(outcome)).toBe(200);
    expect(outcome.endedAt - outcome.startedAt).toBeGreaterThanOrEqual(100);
    expect(bench.stubs.calls.map(({ provider }) => provider)).toEqual(['p0', 'p1']);
    expect((bench.stubs.calls[1]?.startedAt ?? 0) - (bench.stubs.calls[0]?.startedAt ?? 0)).toBe(100);
  });
});
