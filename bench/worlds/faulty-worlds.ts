/** Random worlds in which calls fail in every way that providers have, by chance, in bursts and by load. */
import type { TrafficChance } from '../../src/testing/simulate-traffic/chance.ts';
import type {
  Outage,
  SimulatedAdvice,
  SimulatedAdviceForm,
  SimulatedEndpoint,
  SimulatedFault,
  SimulatedRateLimit,
} from '../../src/entries/testing.ts';
import { between, logBetween, oneOf } from './draws.ts';
import type { Draw, DrawnWorld } from './worlds.ts';

/** The ways to fail, each kind with those that routers and clients treat alike. */
const FAULTS = {
  '429 by chance': [429],
  'overload by chance (503, 529)': [503, 529],
  'time-outs and conflicts by chance (408, 409, 425, 504, 524)': [408, 409, 425, 504, 524],
  'server errors by chance (500, 502, 520)': [500, 502, 520],
  'account errors by chance (401, 402, 403, 404)': [401, 402, 403, 404],
  'connections are reset': ['reset'],
  'empty answers and errors with status 200': ['empty', 'error in a 200'],
  'answers are cut': ['cut'],
  'some calls never answer': ['silence'],
} as const satisfies Readonly<Record<string, readonly [SimulatedFault, ...SimulatedFault[]]>>;

const ANY_FAULT = Object.values(FAULTS).flat() as [SimulatedFault, ...SimulatedFault[]];
const FORMS = ['seconds', 'decimals', 'milliseconds', 'date'] as const;
/** Statuses that come with advice. */
const ADVISING: ReadonlySet<SimulatedFault> = new Set([408, 409, 429, 500, 502, 503, 504, 529]);

/** From the start to the end. */
const ALWAYS = { fromMs: 0, toMs: Infinity };

/** Every kind of these worlds, each with what draws one. */
export const FAULTY_KINDS: Readonly<Record<string, Draw>> = {
  ...Object.fromEntries(
    Object.entries(FAULTS).map(([kind, faults]): [string, Draw] => [
      kind,
      (chance, seed, requests) => faulty(chance, seed, requests, () => [drawFault(chance, faults)]),
    ]),
  ),
  'failures of every sort, in bursts': (chance, seed, requests) =>
    faulty(chance, seed, requests, () => {
      const burstMs = logBetween(chance, 200, 20_000);
      return [{ ...drawFault(chance, ANY_FAULT), share: logBetween(chance, 0.001, 0.3), burstMs }];
    }),
  'failures of every sort, mixed': (chance, seed, requests) =>
    faulty(chance, seed, requests, () =>
      Array.from({ length: oneOf(chance, [2, 3, 4]) }, () => ({
        ...drawFault(chance, ANY_FAULT),
        share: logBetween(chance, 0.001, 0.2),
        ...(chance.uniform() < 0.3 ? { burstMs: logBetween(chance, 200, 20_000) } : {}),
      })),
    ),
  'limits of requests': (chance, seed, requests) =>
    limited(chance, seed, requests, ({ perEndpoint }) => ({
      rate: { perSecond: perEndpoint, ...(chance.uniform() < 0.5 ? {} : { burst: Math.max(1, perEndpoint / 2) }) },
    })),
  'limits of tokens': (chance, seed, requests) =>
    limited(chance, seed, requests, ({ perEndpoint, tokens }) => ({
      rate: { counts: 'tokens', perSecond: perEndpoint * tokens, burst: Math.max(10, 4 * perEndpoint) * tokens },
    })),
  'limits of calls at a time': (chance, seed, requests) =>
    limited(chance, seed, requests, ({ perEndpoint, answerMs }) => ({
      concurrencyLimit: {
        calls: Math.max(1, Math.round((perEndpoint * answerMs) / 1_000)),
        retryAfter: chance.uniform() < 0.5 ? undefined : adviceOf(chance),
      },
    })),
  'limits of each key': (chance, seed, requests) =>
    limited(chance, seed, requests, ({ perEndpoint }) => ({ rate: { perKey: true, perSecond: perEndpoint / KEYS } })),
  'limits of a minute': (chance, seed, requests) =>
    // At more a second, all requests would come within the first minutes.
    limited(
      chance,
      seed,
      requests,
      ({ perEndpoint }) => ({ rate: { windowMs: oneOf(chance, [10_000, 60_000]), perSecond: perEndpoint } }),
      5,
    ),
  'limits, and failures by chance': (chance, seed, requests) => {
    const drawn = limited(chance, seed, requests, ({ perEndpoint }) => ({ rate: { perSecond: perEndpoint } }));
    const { world } = drawn;
    const outages = [{ ...drawFault(chance, ANY_FAULT), share: logBetween(chance, 0.001, 0.2) }];
    return { ...drawn, world: { ...world, endpoints: world.endpoints.map((one) => ({ ...one, outages })) } };
  },
};

/** Accounts with keys of their own. */
const KEYS = 4;

type Fault = Extract<Outage, { kind: 'fault' }>;

function drawFault(chance: TrafficChance, faults: readonly [SimulatedFault, ...SimulatedFault[]]): Fault {
  const as = oneOf(chance, faults);
  const isAdvised = ADVISING.has(as) && chance.uniform() < (as === 429 || as === 503 ? 0.6 : 0.2);
  return {
    kind: 'fault',
    ...ALWAYS,
    as,
    // Somebody whose calls hang half of the time has gone elsewhere.
    share: logBetween(chance, 0.001, as === 'silence' ? 0.05 : 0.5),
    failMs: chance.uniform() < 0.8 ? logBetween(chance, 5, 500) : logBetween(chance, 500, 10_000),
    retryAfter: isAdvised ? adviceOf(chance) : undefined,
  };
}

function adviceOf(chance: TrafficChance): SimulatedAdvice {
  const ms = chance.uniform() < 0.85 ? logBetween(chance, 50, 20_000) : logBetween(chance, 20_000, 300_000);
  return { form: oneOf(chance, FORMS), ms };
}

/** Endpoints that fail so: all in the same way, each in its own, or only some of them. */
function faulty(chance: TrafficChance, seed: number, requests: number, draw: () => readonly Outage[]): DrawnWorld {
  const { endpoints, traffic } = surroundings(chance, requests, 300);
  const spread = oneOf(chance, ['same', 'same', 'own', 'some'] as const);
  const same = draw();
  const outagesOf = (index: number): readonly Outage[] => {
    if (spread === 'some') return index === 0 || chance.uniform() < 0.5 ? same : [];
    return spread === 'own' ? draw() : same;
  };
  return {
    world: { seed, endpoints: endpoints.map((one, index) => ({ ...one, outages: outagesOf(index) })), traffic },
  };
}

/** What limits are set by. */
interface Load {
  /** Requests a second that each endpoint takes. */
  readonly perEndpoint: number;
  /** Milliseconds of a usual answer. */
  readonly answerMs: number;
  /** Tokens of a usual prompt and answer. */
  readonly tokens: number;
}

/** Endpoints that refuse what is above their limits: 0.6 to 3 times as many requests as they take together. */
function limited(
  chance: TrafficChance,
  seed: number,
  requests: number,
  limitsOf: (load: Load) => Pick<SimulatedEndpoint, 'rate' | 'concurrencyLimit'>,
  mostPerSecond = 100,
): DrawnWorld {
  const { endpoints, traffic, answerMs } = surroundings(chance, requests, mostPerSecond);
  const load = logBetween(chance, 0.6, 3);
  const perEndpoint = traffic.perSecond / (endpoints.length * load);
  const { rate, ...limits } = limitsOf({
    perEndpoint,
    answerMs,
    tokens: traffic.promptTokens + traffic.answerTokens,
  });
  const isPerKey = rate?.perKey === true;
  const retryAfter: 'none' | SimulatedAdviceForm = oneOf(chance, ['none', 'none', ...FORMS] as const);
  const own: { rate?: SimulatedRateLimit } = rate === undefined ? {} : { rate: { ...rate, retryAfter } };
  return {
    isLimited: true,
    world: {
      seed,
      endpoints: endpoints.map((one) => ({ ...one, ...limits, ...own })),
      traffic: { ...traffic, ...(isPerKey ? { accounts: KEYS, ownKeys: true } : {}) },
    },
  };
}

interface Surroundings {
  readonly endpoints: readonly SimulatedEndpoint[];
  readonly traffic: {
    readonly requests: number;
    readonly perSecond: number;
    readonly turns: number;
    readonly pauseMs: number;
    readonly promptTokens: number;
    readonly answerTokens: number;
    readonly streaming: number;
  };
  readonly answerMs: number;
}

/** One to eight endpoints, answers of 20 ms to a minute, and 0.1 to so many requests a second. */
function surroundings(chance: TrafficChance, requests: number, mostPerSecond: number): Surroundings {
  const answerMs = logBetween(chance, 20, 30_000);
  const firstShare = between(chance, 0.1, 0.6);
  const isEven = chance.uniform() < 0.3;
  const answerTokens = 80;
  let usd = between(chance, 0.2, 1);
  const endpoints = Array.from({ length: oneOf(chance, [1, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8]) }, (_, index) => {
    if (index > 0 && !isEven) usd *= between(chance, 1.02, 1.8);
    const ownMs = answerMs * logBetween(chance, 0.5, 2);
    return {
      name: String.fromCharCode(97 + index),
      price: { prompt: usd, completion: 4 * usd },
      latency: { medianMs: Math.min(ownMs * firstShare, 15_000), spread: between(chance, 0.1, 0.35) },
      tokensPerSecond: (answerTokens * 1_000) / (ownMs * (1 - firstShare)),
    };
  });
  const traffic = {
    requests,
    perSecond: logBetween(chance, 0.1, mostPerSecond),
    turns: oneOf(chance, [1, 1, 3]),
    pauseMs: 5_000,
    promptTokens: Math.round(logBetween(chance, 50, 2_000)),
    answerTokens,
    streaming: oneOf(chance, [1, 1, 0.5, 0]),
  };
  return { endpoints, traffic, answerMs };
}
