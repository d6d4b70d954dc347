import { seededRandom } from '../../src/providers/simulated/chance.ts';
import type { SimulatedEndpoint, TrafficWorld } from '../../src/entries/testing.ts';

/** A situation that routers are compared in. */
export interface Scenario {
  readonly name: string;
  readonly world: (seed: number, requests: number) => TrafficWorld;
}

/** Prices that eight offers of one model have, in USD per million input tokens; answers cost four times as much. */
const PRICES = [0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.3, 1.8];

/**
 * Eight endpoints of one model: dearer ones tend to be faster, and none is without limits. The same seed makes the same
 * endpoints.
 */
export function endpointsOf(
  seed: number,
  retryAfter: 'none' | 'milliseconds' = 'milliseconds',
): readonly SimulatedEndpoint[] {
  const chance = seededRandom(seed * 7_919);
  const between = (low: number, high: number): number => low + (high - low) * chance();
  return PRICES.map((price, index) => {
    const prompt = price * between(0.95, 1.05);
    return {
      name: `endpoint-${String.fromCharCode(97 + index)}`,
      price: { prompt, completion: 4 * prompt, cacheRead: prompt / 10 },
      latency: { medianMs: between(450, 900) - 30 * index, spread: between(0.25, 0.45) },
      rate: { perSecond: between(3, 5), burst: between(4, 10), retryAfter },
      concurrencyKnee: between(12, 30),
    };
  });
}

/** Milliseconds after which outages of a plan begin, so that everything has been measured by then. */
const WARM_MS = 300_000;
const TEN_MINUTES = 600_000;

function cheapestTwo(
  seed: number,
  outage: NonNullable<SimulatedEndpoint['outages']>[number],
): readonly SimulatedEndpoint[] {
  return endpointsOf(seed).map((endpoint, index) => (index < 2 ? { ...endpoint, outages: [outage] } : endpoint));
}

const perSecond = 3;

/** The scenarios of the table. */
export const SCENARIOS: readonly Scenario[] = [
  {
    name: '5 % of endpoint time down',
    world: (seed, requests) => ({
      seed,
      endpoints: endpointsOf(seed),
      traffic: { requests, perSecond },
      outages: { share: 0.05 },
    }),
  },
  {
    name: '15 % down',
    world: (seed, requests) => ({
      seed,
      endpoints: endpointsOf(seed),
      traffic: { requests, perSecond },
      outages: { share: 0.15 },
    }),
  },
  {
    name: 'two cheapest hang for 10 min',
    world: (seed, requests) => ({
      seed,
      endpoints: cheapestTwo(seed, { kind: 'hang', fromMs: WARM_MS, toMs: WARM_MS + TEN_MINUTES }),
      traffic: { requests, perSecond },
    }),
  },
  {
    name: 'two cheapest hang for 10 min, non-streaming',
    world: (seed, requests) => ({
      seed,
      endpoints: cheapestTwo(seed, { kind: 'hang', fromMs: WARM_MS, toMs: WARM_MS + TEN_MINUTES }),
      traffic: { requests, perSecond, streaming: 0 },
    }),
  },
  {
    name: 'two cheapest × 8 slower for 10 min',
    world: (seed, requests) => ({
      seed,
      endpoints: cheapestTwo(seed, { kind: 'slow', factor: 8, fromMs: WARM_MS, toMs: WARM_MS + TEN_MINUTES }),
      traffic: { requests, perSecond },
    }),
  },
  {
    name: 'two cheapest flap, 20 s up and 10 s down',
    world: (seed, requests) => ({
      seed,
      endpoints: cheapestTwo(seed, { kind: 'flap', fromMs: WARM_MS, toMs: Infinity }),
      traffic: { requests, perSecond },
    }),
  },
  {
    name: 'surge × 12, sub-second Retry-After',
    world: (seed, requests) => surge(seed, requests, 'milliseconds'),
  },
  {
    name: 'surge × 12, no Retry-After',
    world: (seed, requests) => surge(seed, requests, 'none'),
  },
  {
    name: 'the cheapest breaks 30 % of its tool calls',
    world: (seed, requests) => ({
      seed,
      endpoints: endpointsOf(seed).map((endpoint, index) => ({
        ...endpoint,
        rate: undefined,
        brokenToolCalls: index === 0 ? 0.3 : 0.01,
      })),
      traffic: { requests, perSecond, tools: 1 },
    }),
  },
  {
    name: '4 instances, store answers in 400 ms',
    world: (seed, requests) => ({
      seed,
      endpoints: endpointsOf(seed),
      traffic: { requests, perSecond },
      outages: { share: 0.05 },
      instances: 4,
      storeLatencyMs: 400,
    }),
  },
];

/** A surge of sessions that bring their whole load at once: their turns follow each other quickly. */
function surge(seed: number, requests: number, retryAfter: 'none' | 'milliseconds'): TrafficWorld {
  const perSecondBefore = 6;
  // Half of the requests come before the surge.
  const fromMs = (requests / 4 / perSecondBefore) * 1_000;
  return {
    seed,
    endpoints: endpointsOf(seed, retryAfter),
    traffic: {
      requests,
      perSecond: perSecondBefore,
      turns: 3,
      pauseMs: 10_000,
      surges: [{ fromMs, toMs: Infinity, factor: 12 }],
    },
  };
}
