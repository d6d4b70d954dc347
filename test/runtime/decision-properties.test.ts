import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  simulateTraffic,
  type SimulatedEndpoint,
  type TrafficReport,
  type TrafficWorld,
} from '../../src/entries/testing.ts';
import {
  lateAnswerShare,
  type LateEnds,
  lateEndsAfter,
  NO_LATE_ENDS,
} from '../../src/core/selection/adaptive/hedge.ts';
import { createRouter } from '../../src/index.ts';
import { condition, sceneOf } from '../support/decisions.ts';
import { STORMS_ARE_FULL } from '../support/storms.ts';

const RUNS = STORMS_ARE_FULL ? 30 : 2;

/** As many hedges as there can be. */
const EAGER = { tuning: { hedgeAfter: 1.1 } };
/** What hedges may cost of what answers cost. */
const SHARE = 0.012;
/** Ends of calls that their endpoint has no part in. */
const ENDED_HERE: ReadonlySet<string> = new Set(['superseded', 'aborted']);
/** Sums of nano-dollars are this exact. */
const ROUNDING_USD = 1e-12;

/** Endpoints that differ in everything, with outages at random. */
const world: fc.Arbitrary<TrafficWorld> = fc
  .record({
    seed: fc.nat(1_000_000),
    share: fc.constantFrom(0, 0.1, 0.3),
    endpoints: fc.array(
      fc.record({
        usd: fc.double({ min: 0.1, max: 3, noNaN: true }),
        medianMs: fc.integer({ min: 100, max: 1_500 }),
        spread: fc.double({ min: 0.1, max: 0.8, noNaN: true }),
        perSecond: fc.option(fc.integer({ min: 1, max: 6 })),
      }),
      { minLength: 2, maxLength: 5 },
    ),
  })
  .map(({ seed, share, endpoints }) => ({
    seed,
    endpoints: endpoints.map(({ usd, medianMs, spread, perSecond }, index): SimulatedEndpoint => ({
      name: `e${index}`,
      price: { prompt: usd, completion: 4 * usd },
      latency: { medianMs, spread },
      ...(perSecond === null ? {} : { rate: { perSecond } }),
    })),
    traffic: { requests: 250, perSecond: 3, streaming: 0.5 },
    outages: { share, meanMs: 20_000 },
  }));

/** What was seen of the calls of one simulation. */
interface Seen {
  readonly report: TrafficReport;
  /** Numbers of hedges, by request. */
  readonly hedges: ReadonlyMap<string, number>;
  readonly providers: ReadonlySet<string>;
  /** Requests that got a further call after their answer had begun. */
  readonly late: readonly string[];
  /**
   * The most by which these ever exceeded their share of what answers had cost until then, each counted as often as late
   * calls of its endpoint may at least be thought to answer.
   */
  readonly overdrawnUsd: number;
  /** How often an endpoint was taken for one that is out. */
  readonly alarms: number;
}

type Options = NonNullable<Parameters<typeof createRouter>[0]>;

async function simulated(given: TrafficWorld, options: Partial<Options> = {}, preferences: object = {}): Promise<Seen> {
  const hedges = new Map<string, number>();
  const providers = new Set<string>();
  const begun = new Set<string>();
  const late: string[] = [];
  const out = new Set<string>();
  const askedFirst = new Map<string, string>();
  const besideSilent = new Set<string>();
  let alarms = 0;
  let hedgedUsd = 0;
  let answersUsd = 0;
  let overdrawnUsd = -Infinity;
  const lateEnds = new Map<string, LateEnds>();
  /** Endpoints beside whose calls another one was made, by request. */
  const hedged = new Map<string, string>();
  const report = await simulateTraffic(given, (setup) => {
    const router = createRouter({ on: { warning: () => {} }, ...setup, ...options });
    router.on('health', (event) => {
      if (event.type !== 'breaker') return;
      if (event.state === 'closed') out.delete(event.endpoint);
      else if (!out.has(event.endpoint)) alarms += 1;
      if (event.state === 'closed') return;
      out.add(event.endpoint);
      for (const [id, endpoint] of askedFirst) if (endpoint === event.endpoint) besideSilent.add(id);
    });
    router.on('attempt', ({ request, endpoint, usage, failure, givenUpCost = 0 }) => {
      const endsOf = (id: string): LateEnds => lateEnds.get(id) ?? NO_LATE_ENDS;
      // Each failure as if its call had been late, which nobody outside can see.
      const isFault = failure !== undefined && !ENDED_HERE.has(failure.kind);
      if (isFault) lateEnds.set(endpoint, lateEndsAfter(endsOf(endpoint), 'failed'));
      answersUsd += usage?.cost ?? 0;
      const lateAt = hedged.get(request.id) ?? endpoint;
      if (!besideSilent.has(request.id)) hedgedUsd += givenUpCost * lateAnswerShare(endsOf(lateAt));
      overdrawnUsd = Math.max(overdrawnUsd, hedgedUsd - SHARE * answersUsd);
    });
    router.on('attempt_start', ({ request, hedge, provider, endpoint }) => {
      providers.add(provider);
      if (hedge === true) {
        hedged.set(request.id, askedFirst.get(request.id) ?? endpoint);
        askedFirst.delete(request.id);
      } else {
        askedFirst.set(request.id, endpoint);
        if (out.has(endpoint)) besideSilent.add(request.id);
        else besideSilent.delete(request.id);
      }
      if (begun.has(request.id)) late.push(request.id);
      if (hedge === true) hedges.set(request.id, (hedges.get(request.id) ?? 0) + 1);
    });
    const asking = <Body extends object>(body: Body): Body => ({ ...body, provider: preferences });
    return {
      chat: (body, call) => router.chat(asking(body), call),
      async *stream(body, call) {
        for await (const chunk of router.stream(asking(body), call)) {
          begun.add(chunk.id);
          yield chunk;
        }
      },
    };
  });
  return { report, hedges, providers, late, overdrawnUsd, alarms };
}

describe('in whatever world', () => {
  it('a request has at most one hedge, and none once its answer has begun', async () => {
    await fc.assert(
      fc.asyncProperty(world, async (given) => {
        const { hedges, late } = await simulated(given, EAGER);
        expect([...hedges.values()].every((count) => count === 1)).toBe(true);
        expect(late).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });

  it('there is no hedge where fallbacks are not allowed, and nobody is called who is ignored', async () => {
    await fc.assert(
      fc.asyncProperty(world, async (given) => {
        const { hedges, providers } = await simulated(given, {}, { allow_fallbacks: false, ignore: ['e1'] });
        expect(hedges.size).toBe(0);
        expect(providers.has('e1')).toBe(false);
      }),
      { numRuns: RUNS },
    );
  });

  it('a budget is never exceeded, hedges and cancelled calls included', async () => {
    await fc.assert(
      fc.asyncProperty(world, fc.double({ min: 0.01, max: 0.2, noNaN: true }), async (given, limitUsd) => {
        const { report } = await simulated(given, { ...EAGER, budgets: { default: { limitUsd } } });
        expect(report.costUsd).toBeLessThanOrEqual(limitUsd);
      }),
      { numRuns: RUNS },
    );
  });

  it('hedges never cost more than their share of what answers have cost, but for those beside endpoints that are silent or whose late calls fail', async () => {
    const strategy = fc.constantFrom('adaptive' as const, 'balanced' as const);
    const sort = fc.constantFrom({}, { sort: 'price' as const }, { sort: 'latency' as const });
    await fc.assert(
      fc.asyncProperty(world, strategy, sort, async (given, chosen, preferences) => {
        const longer = { ...given, traffic: { ...given.traffic, requests: 1_000 } };
        const { overdrawnUsd } = await simulated(longer, { ...EAGER, strategy: chosen }, preferences);
        expect(overdrawnUsd).toBeLessThanOrEqual(ROUNDING_USD);
      }),
      { numRuns: RUNS },
    );
  });

  it('endpoints of a calm world are hardly ever taken for silent ones', async () => {
    await fc.assert(
      fc.asyncProperty(world, async (given) => {
        const calm = { ...given, traffic: { ...given.traffic, requests: 1_000 }, outages: { share: 0 } };
        expect((await simulated(calm, EAGER)).alarms).toBeLessThanOrEqual(10);
      }),
      // The same worlds each time: what comes about by chance in one of many hundreds is no news.
      { numRuns: RUNS, seed: 2_026 },
    );
  });

  it('times with long tails are no outage, also while few of them are known', async () => {
    for (const seed of [2, 4, 5]) {
      const { alarms } = await simulated({
        seed,
        endpoints: [1, 1.5, 2.5, 4].map((usd, index) => ({
          name: `e${index}`,
          price: { prompt: usd, completion: 4 * usd },
          latency: { medianMs: 1_500, spread: 0.9 },
          tokensPerSecond: 80,
        })),
        traffic: { requests: 400, perSecond: 4 },
      });
      expect(alarms).toBe(0);
    }
  });

  it('no request is refused while others of many endpoints are free that take a few calls a minute each', async () => {
    for (const retryAfter of ['none', 'seconds'] as const) {
      const { report } = await simulated({
        seed: 1,
        endpoints: Array.from({ length: 20 }, (_, index) => ({
          name: `e${index}`,
          price: { prompt: 1 + index / 10, completion: 4 },
          latency: { medianMs: 500 },
          rate: { perSecond: 0.2, burst: 1, retryAfter },
        })),
        traffic: { requests: 200, perSecond: 1 },
      });
      expect(report.success).toBe(1);
    }
  });

  it('hedges are made as far as their share pays for them', async () => {
    const given: TrafficWorld = {
      seed: 5,
      endpoints: [
        { name: 'e0', price: { prompt: 0.12, completion: 0.48 }, latency: { medianMs: 300, spread: 0.2 } },
        { name: 'e1', price: { prompt: 0.1, completion: 0.4 }, latency: { medianMs: 400, spread: 0.3 } },
      ],
      traffic: { requests: 1_000, perSecond: 3, streaming: 0.5 },
    };
    const [few, many] = await Promise.all(
      [0.01, 1].map(async (share) => await simulated(given, { tuning: { ...EAGER.tuning, hedgeShare: share } })),
    );
    expect(few?.hedges.size).toBeLessThanOrEqual(0.01 * 1_000);
    expect(many?.hedges.size).toBeGreaterThan(2 * (few?.hedges.size ?? 0));
  });

  it('the same world and the same roll give the same plan', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ usd: fc.double({ min: 0, max: 5, noNaN: true }), condition }), {
          minLength: 1,
          maxLength: 12,
        }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        fc.option(fc.string({ minLength: 1 })),
        (endpoints, roll, session) => {
          const plan = (): unknown => {
            const scene = sceneOf(endpoints);
            return scene.plan(session === null ? {} : { session_id: `s${session}` }, roll);
          };
          expect(plan()).toEqual(plan());
        },
      ),
    );
  });
});
