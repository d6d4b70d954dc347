import { describe, expect, it } from 'vitest';
import { createRouter } from '../../../src/index.ts';
import { simulateTraffic, type SimulatedEndpoint, type TrafficWorld } from '../../../src/entries/testing.ts';
import { RateLimiter } from '../../../src/testing/simulate-traffic/rate-limits.ts';

const turn = (promptTokens: number) => ({
  id: 'one',
  session: 'one',
  promptTokens,
  answerTokens: 20,
  blocks: undefined,
  poison: undefined,
});

describe('a rate limit', () => {
  it('counts calls in a bucket that fills at a constant speed', () => {
    const limiter = new RateLimiter({ perSecond: 2, burst: 1 });
    expect(limiter.take(0, turn(1))).toBe(0);
    expect(limiter.has(100, turn(1))).toBe(false);
    expect(limiter.take(100, turn(1))).toBe(400);
    expect(limiter.take(500, turn(1))).toBe(0);
  });

  it('counts tokens of prompts and answers', () => {
    const limiter = new RateLimiter({ counts: 'tokens', perSecond: 100, burst: 200 });
    expect(limiter.take(0, turn(130))).toBe(0);
    expect(limiter.take(0, turn(80))).toBe(500);
    expect(limiter.take(500, turn(80))).toBe(0);
  });

  it('is whole again when a window begins', () => {
    const limiter = new RateLimiter({ perSecond: 0.1, windowMs: 20_000 });
    expect([limiter.take(19_000, turn(1)), limiter.take(19_500, turn(1))]).toEqual([0, 0]);
    expect(limiter.take(19_600, turn(1))).toBe(400);
    expect(limiter.has(20_000, turn(1))).toBe(true);
    expect(limiter.take(20_000, turn(1))).toBe(0);
  });

  it('is of each key where it says so', () => {
    const limiter = new RateLimiter({ perSecond: 1, burst: 1, perKey: true });
    expect(limiter.take(0, turn(1), 'first')).toBe(0);
    expect(limiter.take(0, turn(1), 'second')).toBe(0);
    expect(limiter.take(0, turn(1), 'first')).toBe(1_000);
    expect(limiter.take(0, turn(1))).toBe(0);
  });
});

describe('a world with limits', () => {
  const world = (limits: Partial<SimulatedEndpoint>, traffic: TrafficWorld['traffic'] = {}): TrafficWorld => ({
    endpoints: [{ name: 'only', price: { prompt: 1, completion: 4 }, latency: { medianMs: 500 }, ...limits }],
    traffic: { requests: 400, perSecond: 20, turns: 1, ...traffic },
  });

  it('refuses calls above as many at a time', async () => {
    const report = await simulateTraffic(
      world({ concurrencyLimit: { calls: 5, retryAfter: { form: 'seconds', ms: 1_000 } } }),
      (_setup, wire) => wire.direct('only'),
    );
    expect(report.failures[429]).toBeGreaterThan(80);
    expect(report.success).toBeGreaterThan(0.3);
  });

  it('lets accounts with keys of their own have a limit each', async () => {
    const limits = { rate: { perSecond: 5, burst: 5, perKey: true } };
    const run = (ownKeys: boolean) =>
      simulateTraffic(world(limits, { accounts: 4, ownKeys }), (_setup, wire) => wire.direct('only'));
    expect((await run(true)).success).toBeGreaterThan(2 * (await run(false)).success);
  });

  it('says what a router refused while the endpoint would have answered', async () => {
    const limited = await simulateTraffic(world({ rate: { perSecond: 5 } }), (setup) => createRouter({ ...setup }));
    expect(limited.success).toBeLessThan(0.9);
    expect(limited.refusedInVain).toBeLessThanOrEqual(1 - limited.success);
    const free = await simulateTraffic(world({}), (setup) => createRouter({ ...setup }));
    expect(free.refusedInVain).toBe(0);
  });
});
