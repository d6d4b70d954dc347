/** Random worlds in which endpoints fail only some of the time, and worlds that show one figure each. */
import { TrafficChance } from '../../src/testing/simulate-traffic/chance.ts';
import type { Outage, PoisonRequests, SimulatedEndpoint, TrafficWorld } from '../../src/entries/testing.ts';
import { CLIENT_LIBRARIES, type ClientLibrary } from './clients.ts';
import { around, between, oneOf } from './draws.ts';
import { FAULTY_KINDS } from './faulty-worlds.ts';

/** A world with what is expected of it. */
export interface KnownWorld {
  readonly kind: string;
  readonly world: TrafficWorld;
  /** Share of the calls that fail at every endpoint, for worlds in which it is the same everywhere. */
  readonly share?: number | undefined;
  /** True where providers refuse what exceeds a limit, so that requests have to be refused. */
  readonly isLimited?: boolean | undefined;
  /** Whose retries programs have that call providers, or the router. */
  readonly library: ClientLibrary;
}

/** What a draw of a world decides. */
export type DrawnWorld = Omit<KnownWorld, 'kind' | 'library'>;

/** Draws one world. */
export type Draw = (chance: TrafficChance, seed: number, requests: number) => DrawnWorld;

/** From the start to the end. */
const ALWAYS = { fromMs: 0, toMs: Infinity };

/** Every kind of world, each with what makes one. */
const KINDS: Readonly<Record<string, Draw>> = {
  'random failures, 1 endpoint': (chance, seed, requests) => randomFailures(chance, seed, requests, 1),
  'random failures, 2 endpoints': (chance, seed, requests) => randomFailures(chance, seed, requests, 2),
  'random failures, 4 endpoints': (chance, seed, requests) => randomFailures(chance, seed, requests, 4),
  'endpoints fail different shares': (chance, seed, requests) => {
    const outages = (): readonly Outage[] => [
      { kind: 'brownout', ...ALWAYS, errors: between(chance, 0, 0.6), factor: between(chance, 1, 2), failMs: 60 },
    ];
    const endpoints = endpointsOf(chance, oneOf(chance, [2, 3, 4])).map((one) => ({ ...one, outages: outages() }));
    return { world: { seed, endpoints, traffic: trafficOf(chance, requests) } };
  },
  'brown-out for a while, slow too': (chance, seed, requests) => {
    const traffic = trafficOf(chance, requests);
    const spanMs = (requests / traffic.perSecond) * 1_000;
    const outage = (): Outage => {
      const fromMs = between(chance, 0.1, 0.5) * spanMs;
      const toMs = fromMs + between(chance, 0.2, 0.4) * spanMs;
      return { kind: 'brownout', fromMs, toMs, errors: between(chance, 0.1, 0.7), factor: between(chance, 1, 4) };
    };
    const endpoints = endpointsOf(chance, oneOf(chance, [1, 2, 4])).map((one) => ({ ...one, outages: [outage()] }));
    return { world: { seed, endpoints, traffic } };
  },
  'poison from all accounts': (chance, seed, requests) =>
    poisoned(chance, seed, requests, { share: between(chance, 0.03, 0.3) }),
  'poison from one account': (chance, seed, requests) =>
    poisoned(chance, seed, requests, { share: between(chance, 0.03, 0.3), oneAccount: true }),
  'poison at one provider alone': (chance, seed, requests) =>
    poisoned(chance, seed, requests, {
      share: between(chance, 0.03, 0.3),
      at: ['a'],
      oneAccount: chance.uniform() < 0.5,
    }),
  'poison among random failures': (chance, seed, requests) => {
    const share = between(chance, 0.03, 0.2);
    const { world } = poisoned(chance, seed, requests, { share, oneAccount: chance.uniform() < 0.5 });
    return { world: { ...world, endpoints: world.endpoints.map((one) => failing(one, between(chance, 0.05, 0.3))) } };
  },
  'bursts within a provider': (chance, seed, requests) => {
    const errors = between(chance, 0.05, 0.4);
    const outages: readonly Outage[] = [
      { kind: 'brownout', ...ALWAYS, errors, factor: 1, failMs: 60, burstMs: around(chance, 1_500) },
    ];
    const isAlone = chance.uniform() < 0.5;
    const endpoints = endpointsOf(chance, isAlone ? 2 : 3).map((one, index) =>
      index < 2 ? { ...one, provider: 'first', outages } : failing(one, between(chance, 0, 0.2)),
    );
    return { world: { seed, endpoints, traffic: trafficOf(chance, requests) } };
  },
  'bursts, 1 endpoint': (chance, seed, requests) => {
    const errors = between(chance, 0.05, 0.4);
    const burstMs = around(chance, 1_500);
    const endpoints = endpointsOf(chance, 1).map((one) => ({
      ...one,
      outages: [{ kind: 'brownout', ...ALWAYS, errors, factor: 1, failMs: 60, burstMs } as const],
    }));
    return { world: { seed, endpoints, traffic: trafficOf(chance, requests) } };
  },
  'failures after seconds': (chance, seed, requests) => {
    const errors = between(chance, 0.05, 0.5);
    const outages: readonly Outage[] = [
      { kind: 'brownout', ...ALWAYS, errors, factor: 1, failMs: between(chance, 2_000, 10_000) },
    ];
    const endpoints = endpointsOf(chance, oneOf(chance, [1, 2, 4])).map((one) => ({ ...one, outages }));
    return { share: errors, world: { seed, endpoints, traffic: trafficOf(chance, requests) } };
  },
  'streams break before the first token': (chance, seed, requests) => breaking(chance, seed, requests, 'before'),
  'streams break after the first token': (chance, seed, requests) => breaking(chance, seed, requests, 'after'),
  'the only endpoint dies and comes back': (chance, seed, requests) => deadAndBack(chance, seed, requests, 1),
  'one of several dies and comes back': (chance, seed, requests) =>
    deadAndBack(chance, seed, requests, oneOf(chance, [2, 3, 4])),
  'five requests an hour': (chance, seed) => {
    const errors = between(chance, 0.05, 0.4);
    const endpoints = endpointsOf(chance, oneOf(chance, [1, 2])).map((one) => failing(one, errors));
    const traffic = { ...trafficOf(chance, 200), turns: 1, perSecond: 5 / 3_600 };
    return { share: errors, world: { seed, endpoints, traffic } };
  },
  'outages of all sorts': (chance, seed, requests) => {
    const traffic = trafficOf(chance, requests);
    const spanMs = (requests / traffic.perSecond) * 1_000;
    const endpoints = endpointsOf(chance, oneOf(chance, [2, 3, 4])).map((one) => {
      const outages = Array.from({ length: 2 }, (): Outage => {
        const fromMs = chance.uniform() * spanMs;
        const times = { fromMs, toMs: fromMs + chance.exponential(spanMs / 12) };
        const kind = oneOf(chance, ['fail', 'hang', 'slow', 'brownout', 'flap', 'break'] as const);
        return kind === 'brownout' ? { kind, ...times, errors: between(chance, 0.1, 0.9) } : { kind, ...times };
      });
      return { ...one, outages };
    });
    return { world: { seed, endpoints, traffic } };
  },
  'more requests than rate limits allow': (chance, seed, requests) => {
    const perSecond = between(chance, 2, 10);
    const retryAfter = oneOf(chance, ['none', 'milliseconds', 'seconds'] as const);
    const endpoints = endpointsOf(chance, oneOf(chance, [1, 2])).map((one) => ({
      ...one,
      rate: { perSecond, retryAfter },
    }));
    // In sum a tenth too many, or twice as many.
    const excess = oneOf(chance, [1.1, 2]);
    const traffic = { ...trafficOf(chance, requests), perSecond: excess * perSecond * endpoints.length };
    return { isLimited: true, world: { seed, endpoints, traffic } };
  },
  'everything is well': (chance, seed, requests) => ({
    share: 0,
    world: { seed, endpoints: endpointsOf(chance, oneOf(chance, [1, 2, 4])), traffic: trafficOf(chance, requests) },
  }),
  ...FAULTY_KINDS,
};

/** Names of the kinds, in the order of the table. */
export const WORLD_KINDS: readonly string[] = Object.keys(KINDS);

/** The world of a number: the kinds come by turns. The same seed and number make the same world. */
export function randomWorld(seed: number, index: number, requests: number): KnownWorld {
  const kind = WORLD_KINDS[index % WORLD_KINDS.length] ?? '';
  const own = seed * 100_000 + index;
  const drawn = KINDS[kind]?.(new TrafficChance(own, kind), own, requests);
  if (drawn === undefined) throw new RangeError(`There is no kind of world "${kind}"`);
  return { kind, library: oneOf(new TrafficChance(own, 'library'), CLIENT_LIBRARIES), ...drawn };
}

function randomFailures(chance: TrafficChance, seed: number, requests: number, count: number): DrawnWorld {
  const share = between(chance, 0.05, 0.5);
  const endpoints = endpointsOf(chance, count).map((one) => failing(one, share));
  return { share, world: { seed, endpoints, traffic: trafficOf(chance, requests) } };
}

function poisoned(chance: TrafficChance, seed: number, requests: number, poison: PoisonRequests): DrawnWorld {
  const endpoints = endpointsOf(chance, oneOf(chance, [1, 2, 4]));
  return { world: { seed, endpoints, traffic: { ...trafficOf(chance, requests), accounts: 5, poison } } };
}

function breaking(chance: TrafficChance, seed: number, requests: number, at: 'before' | 'after'): DrawnWorld {
  const outages: readonly Outage[] = [{ kind: 'break', ...ALWAYS, share: between(chance, 0.1, 0.5), at }];
  const endpoints = endpointsOf(chance, oneOf(chance, [1, 2, 4])).map((one) => ({
    ...one,
    tokensPerSecond: 80,
    outages,
  }));
  return { world: { seed, endpoints, traffic: trafficOf(chance, requests) } };
}

function deadAndBack(chance: TrafficChance, seed: number, requests: number, count: number): DrawnWorld {
  const traffic = trafficOf(chance, requests);
  const spanMs = (requests / traffic.perSecond) * 1_000;
  const fromMs = between(chance, 0.2, 0.5) * spanMs;
  const kind = count > 1 && chance.uniform() < 0.3 ? 'hang' : 'fail';
  const outage: Outage = { kind, fromMs, toMs: fromMs + between(chance, 0.05, 0.3) * spanMs };
  const endpoints = endpointsOf(chance, count).map((one, index) =>
    index === 0 ? { ...one, outages: [outage] } : failing(one, between(chance, 0, 0.2)),
  );
  return { world: { seed, endpoints, traffic } };
}

/** Fails a share of its calls, soon and without becoming slower. */
export function failing(endpoint: SimulatedEndpoint, errors: number): SimulatedEndpoint {
  return { ...endpoint, outages: [{ kind: 'brownout', ...ALWAYS, errors, factor: 1, failMs: 60 }] };
}

/** Endpoints of one model, `a` being the cheapest; some have the same price. */
function endpointsOf(chance: TrafficChance, count: number): readonly SimulatedEndpoint[] {
  const isEven = chance.uniform() < 0.4;
  let usd = between(chance, 0.2, 1);
  return Array.from({ length: count }, (_, index) => {
    if (index > 0 && !isEven) usd *= between(chance, 1.05, 1.6);
    return {
      name: String.fromCharCode(97 + index),
      price: { prompt: usd, completion: 4 * usd },
      latency: { medianMs: between(chance, 200, 900), spread: between(chance, 0.2, 0.5) },
    };
  });
}

interface DrawnTraffic {
  readonly requests: number;
  readonly perSecond: number;
  readonly turns: number;
  readonly pauseMs: number;
  readonly promptTokens: number;
  readonly answerTokens: number;
  readonly streaming: number;
}

function trafficOf(chance: TrafficChance, requests: number): DrawnTraffic {
  const turns = oneOf(chance, [1, 1, 3]);
  return {
    requests,
    perSecond: oneOf(chance, [1, 4, 10, 40]),
    turns,
    pauseMs: 5_000,
    promptTokens: 300,
    answerTokens: 80,
    streaming: oneOf(chance, [1, 1, 0.5, 0]),
  };
}

/** Endpoints that differ in nothing, for the worlds of one figure. */
function equalEndpoints(count: number, outages: readonly Outage[]): readonly SimulatedEndpoint[] {
  return Array.from({ length: count }, (_, index) => ({
    name: String.fromCharCode(97 + index),
    price: { prompt: 1, completion: 4 },
    latency: { medianMs: 200, spread: 0.3 },
    outages,
  }));
}

const PLAIN = { turns: 1, promptTokens: 100, answerTokens: 50 };

/** The worlds of the table: so many equal endpoints, each failing the same share of its calls. */
export function evenFailures(seed: number, requests: number, count: number, errors: number): TrafficWorld {
  const outages: readonly Outage[] = [{ kind: 'brownout', ...ALWAYS, errors, factor: 1, failMs: 60 }];
  return { seed, endpoints: equalEndpoints(count, outages), traffic: { ...PLAIN, requests, perSecond: 45 } };
}

/** So many equal endpoints that fail nothing but poison. */
export function evenPoison(seed: number, requests: number, count: number, poison: PoisonRequests): TrafficWorld {
  const traffic = { ...PLAIN, requests, perSecond: 45, accounts: 5, poison };
  return { seed, endpoints: equalEndpoints(count, []), traffic };
}

/** One endpoint that is dead for half a minute, and so many requests a second. */
export function deadOnly(seed: number, perSecond: number): TrafficWorld {
  const outages: readonly Outage[] = [{ kind: 'fail', fromMs: 20_000, toMs: 50_000 }];
  return {
    seed,
    endpoints: equalEndpoints(1, outages),
    traffic: { ...PLAIN, requests: 70 * perSecond, perSecond },
  };
}
