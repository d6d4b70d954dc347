import { Chance } from './chance.ts';
import type { SimulatedTraffic } from './world.ts';

/** One turn of a session, as it was decided before the simulation began. */
export interface PlannedTurn {
  /** Milliseconds after the turn before; those of the first turn are from the start of the simulation. */
  readonly afterMs: number;
  /** Tokens that the caller adds. */
  readonly newTokens: number;
  readonly answerTokens: number;
  readonly stream: boolean;
}

/** A conversation whose prompt grows by what was said. */
export interface PlannedSession {
  readonly id: string;
  /** Whether requests name the session. */
  readonly named: boolean;
  readonly turns: readonly PlannedTurn[];
}

/** What callers do, and for how long. */
export interface TrafficPlan {
  readonly sessions: readonly PlannedSession[];
  readonly durationMs: number;
}

/** Spread of prompt and answer lengths around their median. */
const LENGTH_SPREAD = 0.6;
/** A lognormal mean lies above its median by this factor. */
const MEAN_OVER_MEDIAN = Math.exp(LENGTH_SPREAD ** 2 / 2);

/** Decides who will ask what and when, independently of how the router answers. */
export function planTraffic(traffic: SimulatedTraffic, seed: number): TrafficPlan {
  const { requests = 20_000, perSecond = 6, turns = 6, surges = [] } = traffic;
  const chance = new Chance(seed, 'sessions');
  const sessionsPerMs = perSecond / turns / 1_000;
  const sessions: PlannedSession[] = [];
  let planned = 0;
  let ms = 0;
  while (planned < requests) {
    // Thinning by time: a session's worth of waiting passes faster in a surge.
    const factor = surges.reduce((most, { fromMs, toMs, factor: by }) => (ms >= fromMs && ms < toMs ? by : most), 1);
    const step = chance.exponential(1 / (sessionsPerMs * factor));
    const nextEdge = surges
      .flatMap(({ fromMs, toMs }) => [fromMs, toMs])
      .reduce((next, edge) => (edge > ms && edge < next ? edge : next), Infinity);
    if (ms + step > nextEdge) {
      ms = nextEdge;
      continue;
    }
    ms += step;
    const session = planSession(`session-${sessions.length}`, ms, traffic, chance);
    planned += session.turns.length;
    sessions.push(session);
  }
  return { sessions, durationMs: ms };
}

function planSession(id: string, startMs: number, traffic: SimulatedTraffic, chance: Chance): PlannedSession {
  const { turns = 6, pauseMs = 30_000, promptTokens = 2_000, turnTokens = 300, answerTokens = 250 } = traffic;
  const { streaming = 1, named = 1 } = traffic;
  const length = (mean: number): number =>
    Math.max(1, Math.round(chance.around(mean / MEAN_OVER_MEDIAN, LENGTH_SPREAD)));
  const count = chance.count(turns);
  return {
    id,
    named: chance.uniform() < named,
    turns: Array.from({ length: count }, (_, index) => ({
      afterMs: index === 0 ? startMs : chance.exponential(pauseMs),
      newTokens: length(index === 0 ? promptTokens : turnTokens),
      answerTokens: length(answerTokens),
      stream: chance.uniform() < streaming,
    })),
  };
}
