import { describe, expect, it } from 'vitest';
import type { BudgetKeeper, BudgetTicket } from '../../src/contracts/account-limits.ts';
import type { ChatRequest } from '../../src/protocol/chat-request.ts';
import type { RouterConfig } from '../../src/config/router.ts';
import { simulateTraffic } from '../../src/entries/testing.ts';
import { createRouter } from '../../src/index.ts';
import { logSink } from '../../src/observe/log-sink.ts';
import { type Bench, type Running, ask, askAndWait, benchOf, metadataOf, statusOf } from '../support/driving.ts';
import type { Behaviour } from '../support/stub-provider.ts';
import type { AttemptEvent } from '../../src/contracts/events.ts';

const usage = { prompt_tokens: 25, completion_tokens: 5, total_tokens: 30 };
const ANSWER: Behaviour = { does: 'answer', afterMs: 300, everyMs: 0, usage };
const LATE: Behaviour = { ...ANSWER, afterMs: 950 };
const SOON: Behaviour = { ...ANSWER, afterMs: 100 };
/** Long enough for its tokens to be counted. */
const messages = [{ role: 'user' as const, content: 'How long does this take? '.repeat(4) }];
const costing = (usd: number) => ({ 'acme/one': { price: { prompt: usd, completion: usd } } });

/** Calls of the cheap endpoint before the one that is late: enough to know what is usual, and to fill the budget. */
const BEFORE = 300;

/** A cheap endpoint whose calls from number {@link BEFORE} on are late, and a dear one that answers in time. */
function twoEndpoints(config: Partial<RouterConfig> = {}, then: Behaviour = LATE): Bench {
  return benchOf(
    {
      cheap: { models: costing(1), behaves: (call) => (call < BEFORE ? ANSWER : then) },
      dear: { models: costing(3), behaves: SOON },
    },
    { ...config },
  );
}

async function warmedUp(bench: Bench, stream: boolean): Promise<Bench> {
  for (let call = 0; call < BEFORE; call += 1) await askAndWait(bench, { stream, body: { messages } });
  expect(bench.stubs.calls.every(({ provider }) => provider === 'cheap')).toBe(true);
  return bench;
}

async function late(bench: Bench, stream: boolean, body: Partial<ChatRequest> = {}) {
  await warmedUp(bench, stream);
  const startedAt = bench.environment.now();
  const outcome = await askAndWait(bench, { stream, metadata: true, body: { messages, ...body } });
  expect(statusOf(outcome)).toBe(200);
  return { outcome, tookMs: outcome.endedAt - startedAt, calls: bench.stubs.calls.slice(BEFORE) };
}

describe.each([true, false])('a call that is late (stream: %s)', (stream) => {
  it('gets a second one beside it, and the loser is cancelled and told of', async () => {
    const attempts: unknown[] = [];
    const lines: unknown[] = [];
    const usages: unknown[] = [];
    const bench = twoEndpoints();
    bench.router.on('result', ({ usage: told }) => usages.push(told.cost_details));
    const write = (details: object, message: string): void => void lines.push([message, details]);
    for (const [name, listener] of Object.entries(logSink({ debug: write, info: write, warn: write, error: write }))) {
      bench.router.on(name as 'attempt', listener as (event: AttemptEvent) => void);
    }
    bench.router.on('attempt', ({ provider, hedge, failure, givenUpCost }) => {
      attempts.push([provider, hedge, failure?.kind, givenUpCost !== undefined && givenUpCost > 0]);
    });
    const { outcome, tookMs, calls } = await late(bench, stream);
    expect(calls.map(({ provider }) => provider)).toEqual(['cheap', 'dear']);
    expect(calls[0]?.signal.aborted).toBe(true);
    // Twice what 95 % of the calls take are 0.77 s.
    expect(tookMs).toBeLessThan(930);
    expect(metadataOf(outcome)?.attempts).toMatchObject([
      { provider: 'CHEAP', status: 499, given_up: true, cost: expect.any(Number) as number },
      { provider: 'DEAR', status: 200, hedge: true },
    ]);
    expect(attempts.slice(-2)).toEqual([
      ['cheap', undefined, 'superseded', true],
      ['dear', true, undefined, false],
    ]);
    expect(usages.at(-1)).toMatchObject({ given_up_cost: expect.any(Number) as number });
    expect(usages.at(-2)).not.toHaveProperty('given_up_cost');
    expect(lines).toContainEqual([
      'attempt given up',
      expect.objectContaining({ givenUpCost: expect.any(Number) as number }),
    ]);
    expect(lines).toContainEqual(['attempt succeeded', expect.objectContaining({ hedge: true })]);
    expect(bench.environment.pendingTimers).toBe(0);
  });

  it.each<[string, Partial<RouterConfig>, Partial<ChatRequest>]>([
    ['hedges are switched off', { hedge: false }, {}],
    ['fallbacks are not allowed', {}, { provider: { allow_fallbacks: false } }],
    ['a provider runs tools', {}, { mcp_servers: [{ url: 'https://tools.test' }] } as Partial<ChatRequest>],
    ['nothing may be spent on it', { tuning: { hedgeShare: 0 } }, {}],
  ])('is waited for when %s', async (_name, config, body) => {
    const { tookMs, calls } = await late(twoEndpoints(config), stream, body);
    expect(calls.map(({ provider }) => provider)).toEqual(['cheap']);
    expect(tookMs).toBeGreaterThanOrEqual(950);
  });

  it('gets it later where its endpoint answers others meanwhile', async () => {
    const behaves = (call: number): Behaviour => (call === BEFORE ? { ...ANSWER, afterMs: 5_000 } : ANSWER);
    const cheap = { models: costing(1), behaves };
    const bench = await warmedUp(benchOf({ cheap, dear: { models: costing(3), behaves: ANSWER } }), stream);
    const running = ask(bench, { stream, body: { messages } });
    await bench.environment.advance(100);
    const other = ask(bench, { stream, body: { messages } });
    await bench.environment.advance(5_000);
    expect([(await running.settled).status, (await other.settled).status]).toEqual(['ok', 'ok']);
    const [first, , beside] = bench.stubs.calls.slice(BEFORE);
    expect(beside?.provider).toBe('dear');
    // 1.1 times what 95 % of the calls take are 0.42 s, twice that 0.77 s.
    expect((beside?.startedAt ?? 0) - (first?.startedAt ?? 0)).toBeGreaterThan(760);
    expect((beside?.startedAt ?? 0) - (first?.startedAt ?? 0)).toBeLessThan(1_000);
  });

  it('is the answer when it is faster than the one beside it', async () => {
    const bench = twoEndpoints({}, { ...ANSWER, afterMs: 850 });
    const { outcome, calls } = await late(bench, stream);
    expect(calls.map(({ provider }) => provider)).toEqual(['cheap', 'dear']);
    expect(metadataOf(outcome)?.attempts).toMatchObject([
      { provider: 'DEAR', hedge: true, given_up: true },
      { provider: 'CHEAP', status: 200 },
    ]);
  });
});

describe('a call whose time limit is over', () => {
  const timeouts = { firstTokenMs: 1_000, answerMs: 1_000, totalMs: 60_000 };
  const after = (afterMs: number): Behaviour => ({ ...ANSWER, afterMs });
  const LASTS = after(1_900);
  /** Calls by which an endpoint is known. */
  const KNOWN = 12;

  /** A cheap endpoint of which every second call lasts longer than the limit, and another one that takes a time of its own. */
  async function overLimit(
    stream: boolean,
    requests: number,
    otherMs: number,
    behaves: Behaviour = LASTS,
  ): Promise<readonly (string | undefined)[]> {
    const other = { price: { prompt: 3, completion: 3 }, timeouts: { firstTokenMs: 9_000, answerMs: 9_000 } };
    const lasts = (call: number): boolean => call >= KNOWN && (call - KNOWN) % 2 === 0;
    const bench = benchOf(
      {
        cheap: { models: costing(1), behaves: (call) => (lasts(call) ? behaves : ANSWER) },
        dear: { models: { 'acme/one': other }, behaves: after(otherMs) },
      },
      { timeouts, hedge: false, hangDetection: false },
    );
    for (let call = 0; call < 2 * KNOWN; call += 1) {
      const provider = { only: [call < KNOWN ? 'dear' : 'cheap'] };
      await askAndWait(bench, { stream, body: { messages, provider } });
    }
    const asked: Running[] = [];
    for (let index = 0; index < requests; index += 1) {
      asked.push(ask(bench, { stream, body: { messages, provider: { order: ['cheap', 'dear'] } } }));
      await bench.environment.advance(100);
    }
    await bench.environment.advance(10_000);
    for (const one of asked) expect(await one.settled).toMatchObject({ status: 'ok' });
    return bench.stubs.calls.slice(2 * KNOWN).map(({ provider }) => provider);
  }

  describe.each([true, false])('(stream: %s)', (stream) => {
    it('is waited for where its endpoint answers others, and no other one would have answered by now', async () => {
      expect(await overLimit(stream, 4, 5_000)).toEqual(['cheap', 'cheap', 'cheap', 'cheap']);
    });

    it('is given up where another one answers sooner', async () => {
      expect(await overLimit(stream, 4, 300)).toEqual(['cheap', 'cheap', 'cheap', 'cheap', 'dear', 'dear']);
    });

    it('is given up after twice its time where it hangs, however many second calls there were', async () => {
      const calls = await overLimit(stream, 60, 300, { does: 'hang' });
      expect(calls.filter((name) => name === 'dear').length).toBeGreaterThanOrEqual(30);
    });

    it('is waited for where there were as many second calls as there may be', async () => {
      const moved = (await overLimit(stream, 60, 300)).filter((name) => name === 'dear').length;
      expect(moved).toBeGreaterThanOrEqual(8);
      // Eight, and a tenth of the requests.
      expect(moved).toBeLessThanOrEqual(8 + Math.ceil(0.1 * (2 * KNOWN + 60)));
    });
  });
});

describe('an endpoint that nobody has ever heard of', () => {
  const timeouts = { firstTokenMs: 60_000, answerMs: 300_000, totalMs: 600_000 };
  const cold = (first: Behaviour, config: Partial<RouterConfig> = {}): Bench =>
    benchOf(
      { cheap: { models: costing(1), behaves: first }, dear: { models: costing(3), behaves: ANSWER } },
      { timeouts, ...config },
    );

  it.each([
    [true, 9_000],
    [false, 45_000],
  ])('is taken for silent long before its time limit (stream: %s)', async (stream, afterMs) => {
    const bench = cold({ does: 'hang' });
    const [first, second] = [ask(bench, { stream, body: { messages } }), ask(bench, { stream, body: { messages } })];
    await bench.environment.advance(afterMs - 1);
    expect(bench.stubs.calls.map(({ provider }) => provider)).toEqual(['cheap', 'cheap']);
    await bench.environment.advance(1_000);
    expect([(await first.settled).status, (await second.settled).status]).toEqual(['ok', 'ok']);
    await askAndWait(bench, { stream, body: { messages } });
    expect(bench.stubs.calls.map(({ provider }) => provider).slice(2, 4)).toEqual(['dear', 'dear']);
  });

  it('goes on when it was only slow, and is the answer if it is first', async () => {
    const slow: Behaviour = { ...ANSWER, afterMs: 30_000 };
    const bench = benchOf(
      { cheap: { models: costing(1), behaves: slow }, dear: { models: costing(3), behaves: slow } },
      { timeouts },
    );
    const asked = ask(bench, { stream: true, body: { messages }, metadata: true });
    await bench.environment.advance(31_000);
    const outcome = await asked.settled;
    expect(metadataOf(outcome)?.attempts).toMatchObject([
      { provider: 'DEAR', hedge: true, given_up: true },
      { provider: 'CHEAP', status: 200 },
    ]);
  });

  it.each<[string, Partial<RouterConfig>]>([
    ['hang detection is off', { hangDetection: false }],
    ['it may take longer', { tuning: { firstResponseMs: 60_000 } }],
  ])('is waited for where %s', async (_name, config) => {
    const bench = cold({ ...ANSWER, afterMs: 50_000 }, config);
    const asked = ask(bench, { stream: true, body: { messages } });
    await bench.environment.advance(51_000);
    expect((await asked.settled).status).toBe('ok');
    expect(bench.stubs.calls.map(({ provider }) => provider)).toEqual(['cheap']);
  });
});

describe('an endpoint that may hang', () => {
  it.each([
    [1, ['cheap']],
    [2, ['cheap', 'cheap', 'dear', 'dear']],
  ])('is not waited for as long: %i late calls at a time', async (count, providers) => {
    const bench = twoEndpoints({ tuning: { hedgeAfter: 10, hedgeShare: 1 } }, { ...ANSWER, afterMs: 1_900 });
    await warmedUp(bench, false);
    const running = Array.from({ length: count }, () => ask(bench, { stream: false, body: { messages } }));
    await bench.environment.advance(2_000);
    for (const { settled } of running) expect((await settled).status).toBe('ok');
    expect(bench.stubs.calls.slice(BEFORE).map(({ provider }) => provider)).toEqual(providers);
  });
});

describe('a budget', () => {
  it('reserves for both calls, and pays for the cancelled one', async () => {
    const open = new Set<number>();
    const paid: number[] = [];
    let most = 0;
    const keeper: BudgetKeeper = {
      reserve({ account, nanoUsd }) {
        const id = paid.length + open.size;
        open.add(id);
        most = Math.max(most, open.size);
        return { granted: true, ticket: { account, nanoUsd, id, holds: [] } as unknown as BudgetTicket };
      },
      settle(ticket, nanoUsd) {
        open.delete((ticket as unknown as { readonly id: number }).id);
        paid.push(nanoUsd);
      },
    };
    const { calls } = await late(twoEndpoints({ budgets: { default: { limitUsd: 1 }, keeper } }), false);
    expect(calls).toHaveLength(2);
    expect(most).toBe(2);
    expect(open.size).toBe(0);
    expect(paid.slice(-2).every((nanoUsd) => nanoUsd > 0)).toBe(true);
    expect(paid).toHaveLength(BEFORE + 2);
  });
});

describe('in a simulated world', () => {
  it('no request has more than one hedge, and hedges cost no more than their share beside what is silent', async () => {
    const hedges = new Map<string, number>();
    const report = await simulateTraffic(
      {
        seed: 5,
        endpoints: [1, 1.4, 2].map((usd, index) => ({
          name: `e${index}`,
          price: { prompt: usd, completion: 4 * usd },
          latency: { medianMs: 500, spread: 0.5 },
        })),
        traffic: { requests: 1_500, perSecond: 3 },
      },
      (setup) => {
        // As many hedges as there can be.
        const router = createRouter({ ...setup, tuning: { hedgeAfter: 1.1 } });
        router.on('attempt_start', ({ request, hedge }) => {
          if (hedge === true) hedges.set(request.id, (hedges.get(request.id) ?? 0) + 1);
        });
        return router;
      },
    );
    expect(hedges.size).toBeGreaterThan(5);
    expect(Math.max(...hedges.values())).toBe(1);
    expect(report.success).toBe(1);
    expect(report.cancelledUsd / report.costUsd).toBeLessThan(0.012);
  });

  it('calls that fail after seconds have a hedge each once that has shown, although late calls that answer do not', async () => {
    const share = 0.2;
    const world = {
      seed: 7,
      endpoints: ['a', 'b', 'c', 'd'].map((name) => ({
        name,
        price: { prompt: 1, completion: 4 },
        latency: { medianMs: 400 },
        outages: [{ kind: 'brownout', fromMs: 0, toMs: Infinity, errors: share, factor: 1, failMs: 8_000 } as const],
      })),
      traffic: { requests: 2_000, perSecond: 5, turns: 1, promptTokens: 200, answerTokens: 50 },
    };
    const report = await simulateTraffic(world, (setup) => createRouter({ ...setup }));
    expect(report.success).toBeGreaterThan(0.999);
    // Four of a hundred requests meet two such failures.
    expect(report.firstTokenMs.p95).toBeLessThan(4_000);
    expect(report.attemptsPerRequest).toBeLessThan(1.1 / (1 - share));
    const without = await simulateTraffic(world, (setup) => createRouter({ ...setup, hedge: false }));
    expect(without.firstTokenMs.p90).toBeGreaterThan(8_000);
  });
});

describe('calls in vain, where every endpoint has been tried', () => {
  it('are left for an endpoint that answers again, also when it was the first to hang', async () => {
    const hang = (fromMs: number, toMs: number) => [{ kind: 'hang', fromMs, toMs } as const];
    const end = (name: string, fromMs: number, toMs: number) => ({
      name,
      price: { prompt: 0.3, completion: 1.2 },
      latency: { medianMs: 600 },
      outages: hang(fromMs, toMs),
    });
    const world = {
      seed: 7,
      endpoints: [end('one', 30_000, 95_000), end('other', 27_000, 40_000)],
      traffic: { requests: 600, perSecond: 10, turns: 1, promptTokens: 300, answerTokens: 80, streaming: 0.5 },
    };
    const tookMs: number[] = [];
    const { success } = await simulateTraffic(world, (setup) => {
      const router = createRouter({ ...setup });
      const { now } = setup.environment;
      const timed = async <Value>(work: () => Promise<Value>): Promise<Value> => {
        const startedAt = now();
        const value = await work();
        tookMs.push(now() - startedAt);
        return value;
      };
      return {
        chat: (...call) => timed(() => router.chat(...call)),
        stream: (...call) => router.stream(...call),
      };
    });
    expect(success).toBe(1);
    // One of the outages ends after 13 s. Second calls are limited, so a few requests wait for longer.
    const long = tookMs.filter((ms) => ms > 30_000);
    expect(long.length).toBeLessThan(0.1 * tookMs.length);
  });
});
