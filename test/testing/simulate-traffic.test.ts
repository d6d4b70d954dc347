import { describe, expect, it } from 'vitest';
import { createRouter } from '../../src/index.ts';
import { RouterError } from '../../src/protocol/router-error.ts';
import {
  type Outage,
  SIMULATED_MODEL,
  type SimulatedEndpoint,
  type TrafficClient,
  type TrafficWorld,
  simulateTraffic,
} from '../../src/entries/testing.ts';

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

  it('breaks tool calls, streamed and not, as often as it is told', async () => {
    const report = await run({
      endpoints: [endpoint('only', 1, { brokenToolCalls: 0.25 })],
      traffic: { ...traffic, requests: 2_000, tools: 0.5, streaming: 0.5 },
    });
    expect(report.success).toBe(1);
    expect(report.brokenToolCalls / report.requests).toBeGreaterThan(0.1);
    expect(report.brokenToolCalls / report.requests).toBeLessThan(0.15);
  });

  it.each([2, 8])('shows that of %i endpoints the one that breaks tool calls is found', async (count) => {
    const endpoints = Array.from({ length: count }, (_, index) =>
      endpoint(`e${index}`, 1 + index / 2, { brokenToolCalls: index === 0 ? 0.3 : 0.02 }),
    );
    const report = await run({ endpoints, traffic: { requests: 2_000, perSecond: 3, tools: 1, streaming: 0.5 } });
    // 2 % of the others' calls, and a dozen until it is found out.
    expect(report.brokenToolCalls).toBeLessThan(0.02 * report.requests + 40);
    expect(report.shares['e0']).toBeLessThan(0.05);
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
    const busy = { ...traffic, requests: 4_000, perSecond: 20 };
    const report = await run({ endpoints: [failing, endpoint('dear', 1)], traffic: busy });
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

const ALWAYS = { fromMs: 0, toMs: Infinity };
const many = { requests: 1_500, perSecond: 20, turns: 1 };
const brownout = (rest: Partial<Extract<Outage, { kind: 'brownout' }>> = {}): Outage => ({
  kind: 'brownout',
  ...ALWAYS,
  errors: 0.3,
  factor: 1,
  failMs: 60,
  ...rest,
});

/** Sends every request to one endpoint, once. */
const direct = (world: TrafficWorld, name = 'only'): ReturnType<typeof simulateTraffic> =>
  simulateTraffic(world, (_setup, wire) => wire.direct(name));

/** How one request went at one endpoint. */
interface Seen {
  readonly id: string;
  readonly account: string | undefined;
  readonly startedMs: number;
  readonly tookMs: number;
  readonly parts: number;
  readonly failed: boolean;
}

/** Sends every request to all of some endpoints at the same time, and lists what each made of it. */
async function watched(world: TrafficWorld, names: readonly string[]): Promise<readonly (readonly Seen[])[]> {
  const seen: Seen[][] = names.map(() => []);
  await simulateTraffic(world, ({ environment }, wire) => {
    const client: TrafficClient = {
      chat: () => Promise.resolve(),
      async *stream(request, options) {
        const startedMs = environment.now();
        await Promise.all(
          names.map(async (name, index) => {
            let parts = 0;
            let failed = false;
            try {
              for await (const _ of wire.direct(name).stream(request, options)) parts += 1;
            } catch (error) {
              if (!RouterError.isInstance(error)) throw error;
              failed = true;
            }
            const tookMs = environment.now() - startedMs;
            const id = request.metadata?.['simulated'] ?? '';
            seen[index]?.push({ id, account: options?.account?.id, startedMs, tookMs, parts, failed });
          }),
        );
        yield 'done';
      },
    };
    return client;
  });
  return seen.map((own) => own.toSorted((left, right) => left.id.localeCompare(right.id)));
}

const shareOf = (seen: readonly Seen[]): number => seen.filter(({ failed }) => failed).length / seen.length;

describe('what can go wrong with an endpoint', () => {
  it.each([0.1, 0.3, 0.5])('fails a share of %f of its calls, without being slower', async (errors) => {
    const report = await direct({
      endpoints: [endpoint('only', 1, { outages: [brownout({ errors })] })],
      traffic: many,
    });
    expect(Math.abs(1 - report.success - errors)).toBeLessThan(0.03);
    expect(report).toMatchObject({ attemptsPerRequest: 1, healthySuccess: report.success });
    expect(report.firstTokenMs.p50).toBeGreaterThan(470);
    expect(report.firstTokenMs.p50).toBeLessThan(530);
  });

  it('draws the tries of a request independently of each other', async () => {
    const world = { endpoints: [endpoint('only', 1, { outages: [brownout({ errors: 0.5 })] })], traffic: many };
    const report = await simulateTraffic({ ...world, traffic: { ...many, streaming: 0 } }, (_setup, wire) => {
      const client = wire.direct('only');
      return {
        chat: (...call) => client.chat(...call).catch(() => client.chat(...call)),
        stream: (...call) => client.stream(...call),
      };
    });
    expect(Math.abs(report.success - 0.75)).toBeLessThan(0.03);
    expect(Math.abs(report.attemptsPerRequest - 1.5)).toBeLessThan(0.04);
  });

  it('gives the n-th call of a request the same luck at every endpoint and in every run', async () => {
    const outages = [brownout()];
    const world = { endpoints: [endpoint('a', 1, { outages }), endpoint('b', 2, { outages })], traffic: many };
    const [atA = []] = await watched(world, ['a']);
    const [atB = []] = await watched(world, ['b']);
    expect(atA.map(({ id, failed }) => ({ id, failed }))).toEqual(atB.map(({ id, failed }) => ({ id, failed })));
    expect(shareOf(atA)).toBeGreaterThan(0.27);
  });

  it.each(['fail', 'brownout'] as const)('takes as long to fail as asked: %s', async (kind) => {
    const outages: readonly Outage[] = [
      { kind, ...ALWAYS, failMs: 10_000, ...(kind === 'brownout' ? { errors: 0.5 } : {}) },
    ];
    const [seen = []] = await watched({ endpoints: [endpoint('only', 1, { outages })], traffic }, ['only']);
    const failed = seen.filter((one) => one.failed);
    expect(failed.length).toBeGreaterThan(100);
    expect(failed.every(({ tookMs }) => tookMs === 10_000)).toBe(true);
  });

  it('fails in bursts, which endpoints of one provider have together and others do not', async () => {
    const outages = [brownout({ errors: 0.3, burstMs: 1_000 })];
    const world = {
      endpoints: [
        endpoint('a', 1, { provider: 'first', outages }),
        endpoint('b', 1, { provider: 'first', outages }),
        endpoint('c', 1, { outages }),
      ],
      traffic: { ...many, requests: 6_000 },
    };
    const [atA = [], atB = [], atC = []] = await watched(world, ['a', 'b', 'c']);
    const failures = (seen: readonly Seen[]): readonly boolean[] => seen.map(({ failed }) => failed);
    expect(failures(atA)).toEqual(failures(atB));
    expect(failures(atA)).not.toEqual(failures(atC));
    for (const seen of [atA, atC]) expect(Math.abs(shareOf(seen) - 0.3)).toBeLessThan(0.1);
    // At 20 requests a second, one that follows a failure is nearly always in the same burst.
    const inTime = atA.toSorted((left, right) => left.startedMs - right.startedMs);
    const followers = inTime.filter((_, index) => inTime[index - 1]?.failed === true);
    expect(shareOf(followers)).toBeGreaterThan(0.85);
  });

  it('has random outages of one provider at all of its endpoints', async () => {
    const world = {
      endpoints: [endpoint('a', 1, { provider: 'first' }), endpoint('b', 2, { provider: 'first' }), endpoint('c', 3)],
      traffic: { ...many, requests: 4_000 },
      outages: { share: 0.3, meanMs: 20_000, kinds: ['fail'] as const },
    };
    const [atA = [], atB = [], atC = []] = await watched(world, ['a', 'b', 'c']);
    const times = (seen: readonly Seen[]): readonly number[] =>
      // Those that begin just before an outage end in it or not, as their own latency has it.
      seen.flatMap(({ failed, tookMs, startedMs }) => (failed && tookMs === 60 ? [startedMs] : []));
    expect(times(atA).length).toBeGreaterThan(500);
    expect(times(atA)).toEqual(times(atB));
    expect(times(atA)).not.toEqual(times(atC));
  });

  it.each(['before', 'after'] as const)('breaks half of the streams %s the first token', async (at) => {
    const outages: readonly Outage[] = [{ kind: 'break', ...ALWAYS, at }];
    const world = { endpoints: [endpoint('only', 1, { outages, tokensPerSecond: 100 })], traffic: many };
    const [seen = []] = await watched(world, ['only']);
    expect(Math.abs(shareOf(seen) - 0.5)).toBeLessThan(0.03);
    const broken = seen.filter(({ failed }) => failed);
    expect(broken.every(({ parts }) => (at === 'before' ? parts === 0 : parts === 1))).toBe(true);
    expect(seen.filter(({ failed }) => !failed).every(({ parts }) => parts > 1)).toBe(true);
    // Half of an answer costs; nothing of one does not.
    const [report, whole] = [await direct(world), await direct({ ...world, endpoints: [endpoint('only', 1)] })];
    const costs = report.costUsd / whole.costUsd;
    expect(costs).toBeGreaterThan(at === 'before' ? 0.45 : 0.85);
    expect(costs).toBeLessThan(at === 'before' ? 0.55 : 0.97);
  });

  it('breaks as large a share of the non-streaming answers as asked', async () => {
    const outages: readonly Outage[] = [{ kind: 'break', ...ALWAYS, share: 0.2 }];
    const world = { endpoints: [endpoint('only', 1, { outages })], traffic: { ...many, streaming: 0 } };
    const report = await direct(world);
    expect(Math.abs(report.success - 0.8)).toBeLessThan(0.03);
    expect(report.failures).toEqual({ 502: report.requests - Math.round(report.success * report.requests) });
  });
});

describe('poison', () => {
  const two = [endpoint('a', 1, { provider: 'first' }), endpoint('b', 2)];

  it.each([0.05, 0.3])('is a share of %f of the requests, which fail everywhere and always', async (share) => {
    const world = { endpoints: two, traffic: { ...many, poison: { share } } };
    const [atA = [], atB = []] = await watched(world, ['a', 'b']);
    expect(Math.abs(shareOf(atA) - share)).toBeLessThan(0.02);
    expect(atA.filter(({ failed }) => failed).map(({ id }) => id)).toEqual(
      atB.filter(({ failed }) => failed).map(({ id }) => id),
    );
    expect(await direct(world, 'a')).toMatchObject({ success: 1 - shareOf(atA), healthySuccess: 1 });
  });

  it.each(['a', 'first'])('fails at %s alone, after the time asked for', async (at) => {
    const poison = { share: 0.2, at: [at], failMs: 5_000 };
    const [atA = [], atB = []] = await watched({ endpoints: two, traffic: { ...many, poison } }, ['a', 'b']);
    expect(Math.abs(shareOf(atA) - 0.2)).toBeLessThan(0.03);
    expect(atA.every(({ failed, tookMs }) => !failed || tookMs === 5_000)).toBe(true);
    expect(shareOf(atB)).toBe(0);
  });

  it('comes from one account, which sends nothing else', async () => {
    const world = { endpoints: two, traffic: { ...many, accounts: 3, poison: { share: 0.1, oneAccount: true } } };
    const [seen = []] = await watched(world, ['a']);
    expect(Math.abs(shareOf(seen) - 0.1)).toBeLessThan(0.02);
    expect(new Set(seen.map(({ account }) => account))).toEqual(
      new Set(['poison', 'account-0', 'account-1', 'account-2']),
    );
    expect(seen.every(({ account, failed }) => failed === (account === 'poison'))).toBe(true);
  });

  it('changes nothing else of the traffic', async () => {
    const plain = await direct({ endpoints: two, traffic: many }, 'a');
    const poisoned = await direct({ endpoints: two, traffic: { ...many, accounts: 4, poison: { share: 0 } } }, 'a');
    expect(poisoned).toEqual(plain);
  });
});

describe('the figures of a report', () => {
  const dead: Outage = { kind: 'fail', fromMs: 10_000, toMs: 20_000 };

  it('count calls at a dead endpoint from its first second on', async () => {
    const report = await direct({ endpoints: [endpoint('only', 1, { outages: [dead] })], traffic: many });
    expect(report.deadCallsPerSecond).toBeGreaterThan(16);
    expect(report.deadCallsPerSecond).toBeLessThan(24);
  });

  it('have the time from the end of an outage of everything to the first answer', async () => {
    const outages = [dead];
    const world = { endpoints: [endpoint('a', 1, { outages }), endpoint('b', 2, { outages })], traffic: many };
    const { backAfterMs } = await direct(world, 'a');
    expect(backAfterMs).toHaveLength(1);
    expect(backAfterMs[0]).toBeLessThan(800);
    expect(backAfterMs[0]).toBeGreaterThan(100);
    // Another one answers meanwhile.
    const half = { ...world, endpoints: [endpoint('a', 1, { outages }), endpoint('b', 2)] };
    expect((await direct(half, 'b')).backAfterMs).toEqual([]);
  });

  it('hold for five requests an hour', async () => {
    const report = await run({
      endpoints: [endpoint('only', 1)],
      traffic: { requests: 50, turns: 1, perSecond: 5 / 3_600 },
    });
    expect(report).toMatchObject({ requests: 50, success: 1 });
    expect(report.durationMs / 3_600_000).toBeGreaterThan(6);
    expect(report.durationMs / 3_600_000).toBeLessThan(15);
  });
});

describe('a world', () => {
  it('has endpoints of one provider under its slug', async () => {
    const world = {
      endpoints: [endpoint('small', 1, { provider: 'first' }), endpoint('large', 1.2, { provider: 'first' })],
      traffic: { requests: 300, perSecond: 3, turns: 1 },
    };
    const endpoints = new Set<string>();
    const report = await simulateTraffic(world, (setup) => {
      expect(setup.providers.map(({ slug }) => slug)).toEqual(['first']);
      const router = createRouter({ ...setup });
      router.on('attempt', (event) => endpoints.add(event.endpoint));
      return router;
    });
    expect(report.success).toBe(1);
    expect((report.shares['small'] ?? 0) + (report.shares['large'] ?? 0)).toBe(1);
    expect([...endpoints]).toContain(`first/small#${SIMULATED_MODEL}`);
  });

  it('says which endpoints it has to a client that names another', async () => {
    await expect(direct({ endpoints: [endpoint('a', 1), endpoint('b', 1)], traffic }, 'c')).rejects.toThrow(
      'The world has no endpoint "c"; it has "a", "b"',
    );
  });
});
