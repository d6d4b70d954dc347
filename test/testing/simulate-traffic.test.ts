import { describe, expect, it } from 'vitest';
import { createRouter } from '../../src/index.ts';
import { type SimulatedEndpoint, type TrafficWorld, simulateTraffic } from '../../src/entries/testing.ts';

function endpoint(name: string, usd: number, rest: Partial<SimulatedEndpoint> = {}): SimulatedEndpoint {
  return { name, price: { prompt: usd, completion: 4 * usd }, latency: { medianMs: 500 }, ...rest };
}

const traffic = { requests: 400, perSecond: 4 };
const run = (world: TrafficWorld): ReturnType<typeof simulateTraffic> =>
  simulateTraffic(world, (setup) => createRouter({ ...setup }));

describe('simulateTraffic', () => {
  it('gives the same report for the same seed, and another one for another', async () => {
    const world = { endpoints: [endpoint('a', 1), endpoint('b', 2)], traffic, outages: { share: 0.1 } };
    const first = await run({ ...world, seed: 3 });
    expect(await run({ ...world, seed: 3 })).toEqual(first);
    expect((await run({ ...world, seed: 4 })).costUsd).not.toBe(first.costUsd);
  });

  it('costs what the oracle pays where there is one endpoint', async () => {
    const report = await run({ endpoints: [endpoint('only', 1)], traffic });
    expect(report).toMatchObject({ success: 1, attemptsPerRequest: 1, shares: { only: 1 }, cancelledUsd: 0 });
    expect(report.regret).toBeCloseTo(0, 10);
    expect(report.requests).toBeGreaterThanOrEqual(400);
  });

  it('draws latencies with the declared median and spread', async () => {
    const report = await run({
      endpoints: [endpoint('only', 1, { latency: { medianMs: 800, spread: 0.5 } })],
      traffic: { ...traffic, requests: 4_000 },
    });
    expect(report.firstTokenMs.p50).toBeGreaterThan(760);
    expect(report.firstTokenMs.p50).toBeLessThan(840);
    // exp(0.5 × 1.645) = 2.28 medians.
    expect(report.firstTokenMs.p95 / report.firstTokenMs.p50).toBeGreaterThan(2.1);
    expect(report.firstTokenMs.p95 / report.firstTokenMs.p50).toBeLessThan(2.5);
    expect(report.answerMs.max).toBe(0);
  });

  it('makes answers that are not streamed wait for their last token', async () => {
    const slow = endpoint('only', 1, { tokensPerSecond: 50 });
    const report = await run({ endpoints: [slow], traffic: { ...traffic, streaming: 0, answerTokens: 250 } });
    expect(report.answerMs.p50).toBeGreaterThan(3_500);
    expect(report.firstTokenMs.max).toBe(0);
  });

  it('lets sessions pay a tenth for what is in their cache', async () => {
    const costs = await Promise.all(
      [300_000, 0].map(
        async (cacheMs) => (await run({ endpoints: [endpoint('only', 1, { cacheMs })], traffic })).costUsd,
      ),
    );
    expect((costs[0] ?? 0) / (costs[1] ?? 1)).toBeLessThan(0.7);
  });

  it('counts requests that met an endpoint while it answered nothing, and finds out when it was used again', async () => {
    const failing = endpoint('cheap', 0.5, { outages: [{ kind: 'fail', fromMs: 30_000, toMs: 60_000 }] });
    const report = await run({ endpoints: [failing, endpoint('dear', 1)], traffic: { ...traffic, requests: 800 } });
    expect(report).toMatchObject({ success: 1, deadTimes: 1 });
    expect(report.victimsPerDeadTime).toBeGreaterThan(0);
    expect(report.recoveryMs).toBeGreaterThan(0);
    expect(report.missedMs).toEqual([report.recoveryMs]);
    expect(report.attemptsPerRequest).toBeGreaterThan(1);
  });

  it('does not call an endpoint missed while only cheaper ones answered', async () => {
    const cheap = endpoint('cheap', 0.5, { rate: { perSecond: 5, burst: 2 } });
    const failing = endpoint('dear', 1, { outages: [{ kind: 'fail', fromMs: 30_000, toMs: 60_000 }] });
    const report = await run({ endpoints: [cheap, failing], traffic: { ...traffic, requests: 800 } });
    expect(report.recoveryMs).toBeGreaterThan(0);
    expect(report.missedMs).toEqual([]);
  });

  it('refuses beyond a rate limit, and more in a surge', async () => {
    const limited = endpoint('only', 1, { rate: { perSecond: 8, retryAfter: 'milliseconds' } });
    const surges = [{ fromMs: 60_000, toMs: 90_000, factor: 10 }];
    const report = await run({ endpoints: [limited], traffic: { ...traffic, turns: 1, requests: 1_200, surges } });
    expect(report.failures[429]).toBeGreaterThan(100);
    expect(report.surge?.success).toBeLessThan(report.success);
    expect(report.surge?.requests).toBeLessThan(report.requests);
  });

  it('lets a router find out how many calls at a time an endpoint answers in time', async () => {
    const small = endpoint('small', 0.5, { concurrencyKnee: 2, tokensPerSecond: 80 });
    const large = endpoint('large', 1, { tokensPerSecond: 80 });
    const { success, shares, firstTokenMs } = await run({
      endpoints: [small, large],
      traffic: { requests: 2_000, perSecond: 4, turns: 1 },
    });
    expect(success).toBe(1);
    expect(firstTokenMs.p99).toBeLessThan(6_000);
    // What it can take is still taken.
    expect(shares['small']).toBeGreaterThan(0.1);
  });

  it('grows latency with the cube of the calls above the knee', async () => {
    const traffics = { ...traffic, turns: 1, perSecond: 40 };
    const crowded = await run({ endpoints: [endpoint('only', 1, { concurrencyKnee: 10 })], traffic: traffics });
    const alone = await run({ endpoints: [endpoint('only', 1)], traffic: traffics });
    expect(crowded.firstTokenMs.p50).toBeGreaterThan(3 * alone.firstTokenMs.p50);
  });

  it('lets instances share a store that takes its time', async () => {
    const world = { endpoints: [endpoint('a', 1), endpoint('b', 1)], traffic, instances: 4, storeLatencyMs: 100 };
    const report = await run(world);
    expect(report.success).toBe(1);
  });
});
