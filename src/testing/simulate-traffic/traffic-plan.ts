/** What callers of a simulated world do: sessions, their turns, by whom they are sent and which of them are poison. */
import { Chance } from './chance.ts';
import type { PoisonRequests, SimulatedTraffic } from './world.ts';

/** One turn of a session, as it was decided before the simulation began. */
interface PlannedTurn {
  /** Milliseconds after the turn before; those of the first turn are from the start of the simulation. */
  readonly afterMs: number;
  /** Tokens that the caller adds. */
  readonly newTokens: number;
  readonly answerTokens: number;
  readonly stream: boolean;
  readonly tools: boolean;
  /** Present where endpoints fail it. */
  readonly poison: PoisonRequests | undefined;
}

/** A conversation whose prompt grows by what was said. */
export interface PlannedSession {
  readonly id: string;
  /** Whether requests name the session. */
  readonly named: boolean;
  /** Account that sends it; the anonymous one when undefined. */
  readonly account: string | undefined;
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
  const callers = new Callers(traffic, seed);
  const withTools = new Chance(seed, 'tools');
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
    const session = planSession(`session-${sessions.length}`, ms, traffic, chance, callers, withTools);
    planned += session.turns.length;
    sessions.push(session);
  }
  return { sessions, durationMs: ms };
}

/** Decides by whom sessions are sent, and which of their requests are poison. Its draws change no other ones. */
class Callers {
  readonly #accounts: number | undefined;
  readonly #poison: PoisonRequests | undefined;
  readonly #chance: Chance;

  constructor({ accounts, poison }: SimulatedTraffic, seed: number) {
    this.#accounts = accounts;
    this.#poison = poison;
    this.#chance = new Chance(seed, 'callers');
  }

  /** The account of the next session, and whether all or which of its requests are poison. */
  next(): { readonly account: string | undefined; readonly poison: () => PoisonRequests | undefined } {
    const poison = this.#poison;
    const isPoison = poison !== undefined && this.#chance.uniform() < poison.share;
    if (poison?.oneAccount === true && isPoison) return { account: 'poison', poison: () => poison };
    const account =
      this.#accounts === undefined ? undefined : `account-${Math.floor(this.#chance.uniform() * this.#accounts)}`;
    if (poison === undefined || poison.oneAccount === true) return { account, poison: () => undefined };
    return { account, poison: () => (this.#chance.uniform() < poison.share ? poison : undefined) };
  }
}

function planSession(
  id: string,
  startMs: number,
  traffic: SimulatedTraffic,
  chance: Chance,
  callers: Callers,
  withTools: Chance,
): PlannedSession {
  const { turns = 6, pauseMs = 30_000, promptTokens = 2_000, turnTokens = 300, answerTokens = 250 } = traffic;
  const { streaming = 1, named = 1, tools = 0 } = traffic;
  const length = (mean: number): number =>
    Math.max(1, Math.round(chance.around(mean / MEAN_OVER_MEDIAN, LENGTH_SPREAD)));
  const count = chance.count(turns);
  const { account, poison } = callers.next();
  return {
    id,
    account,
    named: chance.uniform() < named,
    turns: Array.from({ length: count }, (_, index) => ({
      afterMs: index === 0 ? startMs : chance.exponential(pauseMs),
      newTokens: length(index === 0 ? promptTokens : turnTokens),
      answerTokens: length(answerTokens),
      stream: chance.uniform() < streaming,
      tools: withTools.uniform() < tools,
      poison: poison(),
    })),
  };
}
