/** The report of simulated traffic. */
import { BlockCache } from './block-cache.ts';
import { type SimulatedServer, USUAL_CACHE_MS, costOf } from './simulated-server.ts';
import type { Price } from '../../catalog/price.ts';
import type { DeadTime, OutageSchedule } from './outages.ts';
import { RateLimiter } from './rate-limits.ts';
import type { SimulatedEndpoint } from './world.ts';
import type { SimulatedTurn } from './inference-call.ts';

/** Milliseconds at percentiles. */
export interface TimePercentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

/** How some of the requests went. */
export interface TrafficFigures {
  readonly requests: number;
  /** Share of the requests that were answered, streams to their end. */
  readonly success: number;
  /** The same of those that are not poison. */
  readonly healthySuccess: number;
  /** Upstream calls per request, those that were refused or cancelled included. */
  readonly attemptsPerRequest: number;
  /** US dollars that the providers charge, for cancelled calls too. */
  readonly costUsd: number;
  /**
   * Cost above that of an oracle which has the times of all outages and takes the endpoint of the lowest price that
   * works, for the requests that were answered: 0.1 is ten percent more. Can be a little below 0, because the oracle
   * leaves a warm cache for a lower price.
   */
  readonly regret: number;
  /** Share of the tokens of answered prompts that came from caches. */
  readonly cachedShare: number;
  /** To the first token of streams. */
  readonly firstTokenMs: TimePercentiles;
  /** To the end of non-streaming answers. */
  readonly answerMs: TimePercentiles;
  /** Requests by the status in which they failed. */
  readonly failures: Readonly<Record<number, number>>;
  /**
   * Share of the requests that ended with a refusal of the router itself (`capacity_exhausted`, `temporarily_unavailable`)
   * at a moment at which an endpoint would have answered their next call.
   */
  readonly refusedInVain: number;
}

/** What a simulation shows. */
export interface TrafficReport extends TrafficFigures {
  /** Requests that were answered with a broken tool call. */
  readonly brokenToolCalls: number;
  /** Length of the simulation in virtual milliseconds. */
  readonly durationMs: number;
  /** US dollars of `costUsd` for calls whose answers were not wanted in the end, such as the losers of hedges. */
  readonly cancelledUsd: number;
  /** Times in which an endpoint answered nothing. */
  readonly deadTimes: number;
  /** Requests with a call to an endpoint that answered nothing, per such time. */
  readonly victimsPerDeadTime: number;
  /**
   * Median of the milliseconds from the end of a dead time to the first call that was then answered there, for endpoints
   * that the oracle would have used within the minute after; undefined when there were none. Without those that the router
   * did not use within that minute because a cheaper one took everything: nobody missed them.
   */
  readonly recoveryMs: number | undefined;
  /**
   * The same times one by one, without those in which no more expensive endpoint answered: nobody missed the endpoint
   * then. To be put together over several runs, of which one may have a single outage.
   */
  readonly missedMs: readonly number[];
  /**
   * Calls a second at an endpoint while it answered nothing, without the first second of each such time; 0 when none was
   * longer.
   */
  readonly deadCallsPerSecond: number;
  /** Milliseconds from the end of each time in which no endpoint of the world answered to the first answer after it. */
  readonly backAfterMs: readonly number[];
  /** Share of the answers by endpoint. */
  readonly shares: Readonly<Record<string, number>>;
  /** The same figures for the requests that began during surges; undefined without one. */
  readonly surge: TrafficFigures | undefined;
}

/** One request of the simulation, as it went. */
export interface RequestLog {
  readonly startedMs: number;
  readonly stream: boolean;
  readonly oracleUsd: number | undefined;
  readonly inSurge: boolean;
  /** Whether endpoints fail it however often it is sent. */
  readonly isPoisoned: boolean;
  readonly promptTokens: number;
  calls: number;
  costUsd: number;
  /** Tokens of the prompt that the endpoint had in its cache whose answer was delivered. */
  cachedTokens: number;
  cancelledUsd: number;
  /** Endpoint whose answer was delivered. */
  answeredBy: string | undefined;
  /** Whether that answer is a broken tool call. */
  isBroken: boolean;
  /** Milliseconds to the first token of a stream, or to the non-streaming response. */
  tookMs: number | undefined;
  status: number;
  /** Whether a router refused it while an endpoint would have answered. */
  isRefusedInVain: boolean;
  /** Dead times that it met, each once. */
  readonly met: Set<string>;
}

/** A call of an endpoint in one of its dead times. */
export interface DeadCall {
  readonly endpoint: string;
  /** Number of the dead time. */
  readonly dead: number;
  readonly atMs: number;
}

/** What of a dead time is not counted: nothing can be known of it yet. */
const FIRST_MS = 1_000;

/** How long after a dead time an endpoint may stay unused without being counted as lost. */
const RECOVERY_WINDOW_MS = 60_000;

/** Sums up the requests of a simulation. */
export function reportOf(
  logs: readonly RequestLog[],
  servers: readonly SimulatedServer[],
  oracle: Oracle,
  {
    answers,
    deadCalls,
    durationMs,
  }: {
    readonly answers: ReadonlyMap<string, readonly number[]>;
    readonly deadCalls: readonly DeadCall[];
    readonly durationMs: number;
  },
): TrafficReport {
  const deadTimes = servers.reduce((sum, { schedule }) => sum + schedule.deadTimes.length, 0);
  const victims = logs.reduce((sum, { met }) => sum + met.size, 0);
  const inSurge = logs.filter((log) => log.inSurge);
  const answered = logs.filter(isAnswered);
  const recoveries = recoveriesOf(servers, oracle, answers, durationMs);
  return {
    ...figuresOf(logs),
    brokenToolCalls: answered.filter(({ isBroken }) => isBroken).length,
    durationMs,
    cancelledUsd: total(logs, ({ cancelledUsd }) => cancelledUsd),
    deadTimes,
    victimsPerDeadTime: deadTimes === 0 ? 0 : victims / deadTimes,
    recoveryMs:
      recoveries.length === 0
        ? undefined
        : quantile(
            recoveries.map(({ ms }) => ms),
            0.5,
          ),
    missedMs: recoveries.filter(({ isMissed }) => isMissed).map(({ ms }) => ms),
    deadCallsPerSecond: deadCallsPerSecond(servers, deadCalls, durationMs),
    backAfterMs: backAfterMs(servers, logs, durationMs),
    shares: Object.fromEntries(
      servers.map(({ endpoint: { name } }) => [
        name,
        answered.length === 0 ? 0 : answered.filter(({ answeredBy }) => answeredBy === name).length / answered.length,
      ]),
    ),
    surge: inSurge.length === 0 ? undefined : figuresOf(inSurge),
  };
}

function figuresOf(logs: readonly RequestLog[]): TrafficFigures {
  const answered = logs.filter(isAnswered);
  const healthy = logs.filter(({ isPoisoned }) => !isPoisoned);
  // What failed requests cost counts; what the oracle would have paid for them does not help anybody.
  const costUsd = total(logs, (log) => log.costUsd);
  const comparable = answered.filter(({ oracleUsd }) => oracleUsd !== undefined);
  const oracleUsd = total(comparable, (log) => log.oracleUsd ?? 0);
  const ownUsd = total(comparable, (log) => log.costUsd);
  const failures: Record<number, number> = {};
  for (const { tookMs, status } of logs) if (tookMs === undefined) failures[status] = (failures[status] ?? 0) + 1;
  return {
    requests: logs.length,
    success: logs.length === 0 ? 0 : answered.length / logs.length,
    healthySuccess: healthy.length === 0 ? 0 : healthy.filter(isAnswered).length / healthy.length,
    attemptsPerRequest: logs.length === 0 ? 0 : total(logs, ({ calls }) => calls) / logs.length,
    costUsd,
    cachedShare:
      total(answered, ({ cachedTokens }) => cachedTokens) /
      Math.max(
        1,
        total(answered, (log) => log.promptTokens),
      ),
    regret: oracleUsd === 0 ? 0 : ownUsd / oracleUsd - 1,
    firstTokenMs: percentiles(answered.filter(({ stream }) => stream)),
    answerMs: percentiles(answered.filter(({ stream }) => !stream)),
    failures,
    refusedInVain: logs.length === 0 ? 0 : logs.filter((log) => log.isRefusedInVain).length / logs.length,
  };
}

function isAnswered({ tookMs }: RequestLog): boolean {
  return tookMs !== undefined;
}

function deadCallsPerSecond(
  servers: readonly SimulatedServer[],
  deadCalls: readonly DeadCall[],
  durationMs: number,
): number {
  let seconds = 0;
  let calls = 0;
  for (const { endpoint, schedule } of servers) {
    const own = deadCalls.filter((call) => call.endpoint === endpoint.name);
    for (const [index, { fromMs, toMs }] of schedule.deadTimes.entries()) {
      const countedFromMs = fromMs + FIRST_MS;
      seconds += Math.max(0, Math.min(toMs, durationMs) - countedFromMs) / 1_000;
      calls += own.filter(({ dead, atMs }) => dead === index && atMs >= countedFromMs).length;
    }
  }
  return seconds === 0 ? 0 : calls / seconds;
}

function backAfterMs(
  servers: readonly SimulatedServer[],
  logs: readonly RequestLog[],
  durationMs: number,
): readonly number[] {
  const answeredAt = logs
    .flatMap(({ startedMs, tookMs }) => (tookMs === undefined ? [] : [startedMs + tookMs]))
    .sort((left, right) => left - right);
  return commonDeadTimes(servers)
    .filter(({ toMs }) => toMs < durationMs)
    .map(({ toMs }) => (answeredAt.find((ms) => ms >= toMs) ?? durationMs) - toMs);
}

/** Times in which none of the endpoints answers. */
function commonDeadTimes(servers: readonly SimulatedServer[]): readonly DeadTime[] {
  const [first, ...others] = servers.map(({ schedule }) => schedule.deadTimes);
  return others.reduce<readonly DeadTime[]>(
    (common, times) =>
      common.flatMap((one) =>
        times.flatMap((other) => {
          const fromMs = Math.max(one.fromMs, other.fromMs);
          const toMs = Math.min(one.toMs, other.toMs);
          return fromMs < toMs ? [{ fromMs, toMs }] : [];
        }),
      ),
    first ?? [],
  );
}

/** A time from the end of a dead time to the first answer after it. */
interface Recovery {
  readonly ms: number;
  /** Whether a more expensive endpoint answered meanwhile. */
  readonly isMissed: boolean;
}

/** The shortest first. */
function recoveriesOf(
  servers: readonly SimulatedServer[],
  oracle: Oracle,
  answers: ReadonlyMap<string, readonly number[]>,
  durationMs: number,
): readonly Recovery[] {
  const recoveries: Recovery[] = [];
  for (const { endpoint, schedule } of servers) {
    const startedMs = [...(answers.get(endpoint.name) ?? [])].sort((left, right) => left - right);
    const dearer = servers.filter((other) => listPrice(other.endpoint) > listPrice(endpoint));
    for (const [index, { toMs }] of schedule.deadTimes.entries()) {
      const nextMs = schedule.deadTimes[index + 1]?.fromMs ?? durationMs;
      if (toMs >= durationMs || !oracle.chose(endpoint.name, toMs, Math.min(nextMs, toMs + RECOVERY_WINDOW_MS)))
        continue;
      const firstMs = startedMs.find((ms) => ms >= toMs && ms < nextMs) ?? nextMs;
      const isMissed = dearer.some((other) =>
        answers.get(other.endpoint.name)?.some((ms) => ms >= toMs && ms < firstMs),
      );
      const ms = firstMs - toMs;
      if (isMissed || ms <= RECOVERY_WINDOW_MS) recoveries.push({ ms, isMissed });
    }
  }
  return recoveries.sort((left, right) => left.ms - right.ms);
}

function listPrice({ price }: SimulatedEndpoint): number {
  return price.prompt + price.completion;
}

function percentiles(logs: readonly RequestLog[]): TimePercentiles {
  const times = logs.map(({ tookMs }) => tookMs ?? 0).sort((left, right) => left - right);
  return {
    p50: quantile(times, 0.5),
    p90: quantile(times, 0.9),
    p95: quantile(times, 0.95),
    p99: quantile(times, 0.99),
    max: times.at(-1) ?? 0,
  };
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

function total(logs: readonly RequestLog[], amount: (log: RequestLog) => number): number {
  return logs.reduce((sum, log) => sum + amount(log), 0);
}

interface Known {
  readonly endpoint: SimulatedEndpoint;
  readonly schedule: OutageSchedule;
  readonly limiter: RateLimiter | undefined;
  readonly cached: Map<string, { readonly tokens: number; readonly untilMs: number }>;
  readonly blocks: BlockCache;
  /** Times at which it was chosen. */
  readonly chosenAt: number[];
}

/**
 * Has the times of all outages and all rate limits, and gives each request to the endpoint that works and has the
 * lowest price for it. Sessions are cached there as they are for anybody else, but it does not stay with a more
 * expensive endpoint because a prompt is cached there: a router that does can be a little cheaper.
 */
export class Oracle {
  readonly #known: readonly Known[];

  constructor(servers: readonly { readonly endpoint: SimulatedEndpoint; readonly schedule: OutageSchedule }[]) {
    this.#known = servers.map(({ endpoint, schedule }) => ({
      endpoint,
      schedule,
      limiter: endpoint.rate && new RateLimiter(endpoint.rate),
      cached: new Map(),
      blocks: new BlockCache(endpoint.cacheMs ?? USUAL_CACHE_MS),
      chosenAt: [],
    }));
  }

  /** US dollars that a request costs; undefined when no endpoint works. */
  cost(turn: SimulatedTurn, nowMs: number): number | undefined {
    const { promptTokens, answerTokens } = turn;
    let best: { readonly listUsd: number; readonly price: Price; readonly known: Known } | undefined;
    for (const known of this.#known) {
      const { impaired, price } = known.schedule.at(nowMs);
      if (impaired || known.limiter?.has(nowMs, turn, turn.key) === false) continue;
      const listUsd = costOf(price, promptTokens, 0, answerTokens);
      if (best === undefined || listUsd < best.listUsd) best = { listUsd, price, known };
    }
    if (best === undefined) return undefined;
    const { limiter, chosenAt } = best.known;
    limiter?.take(nowMs, turn, turn.key);
    chosenAt.push(nowMs);
    return costOf(best.price, promptTokens, fromCache(best.known, turn, nowMs), answerTokens);
  }

  /** Whether an endpoint was the best choice at some time within a span. */
  chose(name: string, fromMs: number, toMs: number): boolean {
    const chosenAt = this.#known.find(({ endpoint }) => endpoint.name === name)?.chosenAt ?? [];
    return chosenAt.some((ms) => ms >= fromMs && ms < toMs);
  }
}

function fromCache({ endpoint, cached, blocks: known }: Known, turn: SimulatedTurn, nowMs: number): number {
  const { session, promptTokens, blocks } = turn;
  const { cacheMs = USUAL_CACHE_MS } = endpoint;
  if (cacheMs === 0) return 0;
  if (blocks !== undefined) {
    const tokens = known.tokens(blocks, promptTokens, nowMs);
    known.use(blocks, nowMs);
    return tokens;
  }
  const entry = cached.get(session);
  cached.set(session, { tokens: promptTokens, untilMs: nowMs + cacheMs });
  return entry !== undefined && nowMs <= entry.untilMs ? Math.min(entry.tokens, promptTokens) : 0;
}
