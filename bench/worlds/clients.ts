/** What a router is held beside in simulated worlds: programs without one, and one that knows everything. */
import { RouterError } from '../../src/protocol/router-error.ts';
import { TrafficChance } from '../../src/testing/simulate-traffic/chance.ts';
import { IN_BAND } from '../../src/testing/simulate-traffic/faults.ts';
import { OutageSchedule } from '../../src/testing/simulate-traffic/outages.ts';
import {
  type SimulatedEndpoint,
  type SimulatedSetup,
  type SimulatedWire,
  type TrafficClient,
  type TrafficWorld,
} from '../../src/entries/testing.ts';

type MakeClient = (setup: SimulatedSetup, wire: SimulatedWire) => TrafficClient;

/** Waits before the second and the third try, as published client libraries have them. */
const RETRY_WAITS_MS = [500, 1_000];
/** How long published client libraries wait for a call. */
const CLIENT_TIMEOUT_MS = 600_000;
/** Longest Retry-After that they follow. */
const MOST_ASKED_MS = 60_000;

/** Libraries whose retries programs have. */
export const CLIENT_LIBRARIES = ['openai', 'anthropic', 'ai-sdk'] as const;

/** One of {@link CLIENT_LIBRARIES}. */
export type ClientLibrary = (typeof CLIENT_LIBRARIES)[number];

/** How a client retries: the milliseconds before the next try of a request, undefined for none. */
interface RetryPolicy {
  readonly waitMs: (error: RouterError, attempt: number, id: string) => number | undefined;
}

/** Two retries, after half a second and a second, or what the provider asks for, if that is a minute at most. */
const usualRetries = (waitsMs: readonly number[]): RetryPolicy => ({
  waitMs(error, attempt) {
    const waitMs = waitsMs[attempt];
    if (waitMs === undefined || !mayPass(error)) return undefined;
    const { retryAfterMs: askedMs = 0 } = error;
    return askedMs <= MOST_ASKED_MS ? Math.max(waitMs, askedMs) : waitMs;
  },
});

/**
 * What libraries do by themselves (openai 7.55, @anthropic-ai/sdk 1.11, ai 7.0): two retries of 408, 409, 429, of 500 and
 * above and of connections that failed; not of what comes with status 200. They wait as long as the response says:
 * `openai` up to a minute, `anthropic` however long, `ai` less than a minute. Otherwise it is half a second and a second,
 * less up to a quarter, or with `ai` two and four seconds.
 */
export function retriesOf(library: ClientLibrary, seed: number): RetryPolicy {
  const isAi = library === 'ai-sdk';
  return {
    waitMs(error, attempt, id) {
      if (attempt >= 2 || error.metadata[IN_BAND] === true) return undefined;
      const told = isAi ? undefined : error.retryable;
      if (told === false || (told !== true && !mayPass(error))) return undefined;
      const usualMs = isAi
        ? 2_000 * 2 ** attempt
        : 500 * 2 ** attempt * (1 - 0.25 * new TrafficChance(seed, `wait ${attempt} of ${id}`).uniform());
      const { retryAfterMs: askedMs } = error;
      return askedMs !== undefined && isFollowed(library, askedMs) ? askedMs : usualMs;
    },
  };
}

function isFollowed(library: ClientLibrary, ms: number): boolean {
  if (library === 'anthropic') return ms > 0;
  return ms >= 0 && (library === 'openai' ? ms <= MOST_ASKED_MS : ms < MOST_ASKED_MS);
}

/** A router as a library sees it over HTTP, with the retries of the library. */
export function retriedRouter(make: MakeClient, policy: RetryPolicy): MakeClient {
  return (setup, wire) => {
    const router = make(setup, wire);
    return retrying(setup.environment, policy, () => router, inWholeSeconds);
  };
}

/** `Retry-After` of the router is in whole seconds. */
function inWholeSeconds(error: RouterError): RouterError {
  const { retryAfterMs: ms } = error;
  if (ms === undefined) return error;
  const { status, errorType, message, metadata, availability, retryable } = error;
  const retryAfterMs = Math.ceil(ms / 1_000) * 1_000;
  return new RouterError({ status, errorType, message, metadata, availability, retryable, retryAfterMs });
}

/** (a): each request goes to the cheapest endpoint, once. */
export function cheapestOnce({ endpoints }: TrafficWorld): MakeClient {
  return ({ environment }, wire) => retrying(environment, usualRetries([]), () => wire.direct(cheapestOf(endpoints)));
}

/** (b): the same with two retries. */
export function cheapestRetried({ endpoints }: TrafficWorld, policy = usualRetries(RETRY_WAITS_MS)): MakeClient {
  return ({ environment }, wire) => retrying(environment, policy, () => wire.direct(cheapestOf(endpoints)));
}

/** (c): each call goes to the next endpoint, with two retries. */
export function roundRobin({ endpoints }: TrafficWorld, policy = usualRetries(RETRY_WAITS_MS)): MakeClient {
  return ({ environment }, wire) => {
    let calls = 0;
    const clients = endpoints.map(({ name }) => wire.direct(name));
    return retrying(environment, policy, () => clientAt(clients, calls++));
  };
}

/** Tries of the oracle; it waits half a second before each but the first. */
const ORACLE_WAITS_MS = Array.from({ length: 7 }, () => 500);

/**
 * (d): the first call goes to the cheapest of the endpoints that fail least at this moment, which it knows, and each
 * further one to the next of those that answer at all.
 */
export function oracle({ endpoints, seed = 1 }: TrafficWorld): MakeClient {
  return ({ environment }, wire) => {
    const startMs = environment.now();
    const known = endpoints.map((endpoint) => ({
      schedule: new OutageSchedule(endpoint, [], Infinity, seed),
      listUsd: listPrice(endpoint),
      client: wire.direct(endpoint.name),
    }));
    return retrying(environment, usualRetries(ORACLE_WAITS_MS), (attempt) => {
      const now = environment.now() - startMs;
      const chances = known.map(({ schedule, listUsd, client }) => ({ ill: illness(schedule, now), listUsd, client }));
      chances.sort((left, right) => left.ill - right.ill || left.listUsd - right.listUsd);
      const answering = chances.filter(({ ill }, index) => index === 0 || ill < 1);
      return clientAt(
        answering.map(({ client }) => client),
        attempt,
      );
    });
  };
}

function illness(schedule: OutageSchedule, ms: number): number {
  const { mode, errors, breaks, faults, slowness } = schedule.at(ms);
  if (mode !== 'up') return mode === 'down' ? 2 : 3;
  const spared = faults.reduce((product, { share }) => product * (1 - share), 1 - errors);
  return 1 - spared * (1 - breaks.before) * (1 - breaks.after) + Math.min(0.01, (slowness - 1) / 1_000);
}

function clientAt(clients: readonly TrafficClient[], index: number): TrafficClient {
  const client = clients[index % clients.length];
  if (client === undefined) throw new RangeError('a world needs an endpoint');
  return client;
}

function listPrice({ price }: SimulatedEndpoint): number {
  return price.prompt + price.completion;
}

/** Name of the endpoint with the lowest price. */
export function cheapestOf(endpoints: readonly SimulatedEndpoint[]): string {
  return endpoints.toSorted((left, right) => listPrice(left) - listPrice(right))[0]?.name ?? '';
}

/** Tries again after failures that may pass, as long as nothing of an answer has come. */
function retrying(
  environment: SimulatedSetup['environment'],
  policy: RetryPolicy,
  next: (attempt: number) => TrafficClient,
  read: (error: RouterError) => RouterError = (error) => error,
): TrafficClient {
  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      environment.setTimer(() => resolve(), ms);
    });
  const tried = async <Answer>(
    id: string,
    call: (client: TrafficClient, signal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer> => {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await withTimeout(environment, (signal) => call(next(attempt), signal));
      } catch (error) {
        const waitMs = RouterError.isInstance(error) ? policy.waitMs(read(error), attempt, id) : undefined;
        if (waitMs === undefined) throw error;
        await pause(waitMs);
      }
    }
  };
  return {
    chat: (request, options) => tried(idOf(request), (client, signal) => client.chat(request, { ...options, signal })),
    async *stream(request, options) {
      const { first, iterator } = await tried(idOf(request), async (client, signal) => {
        const opened = client.stream(request, { ...options, signal })[Symbol.asyncIterator]();
        return { first: await opened.next(), iterator: opened };
      });
      for (let step = first; step.done !== true; step = await iterator.next()) yield step.value;
    },
  };
}

function idOf({ metadata }: Parameters<TrafficClient['chat']>[0]): string {
  return metadata?.['simulated'] ?? '';
}

function mayPass({ status }: RouterError): boolean {
  return status >= 500 || status === 408 || status === 409 || status === 429;
}

function withTimeout<Answer>(
  environment: SimulatedSetup['environment'],
  call: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const controller = new AbortController();
  return new Promise((resolve, reject) => {
    const timer = environment.setTimer(() => {
      controller.abort();
      reject(
        new RouterError({ status: 524, errorType: 'timeout', message: 'The call took longer than the client waits' }),
      );
    }, CLIENT_TIMEOUT_MS);
    call(controller.signal).then(
      (answer) => {
        environment.clearTimer(timer);
        resolve(answer);
      },
      (error: unknown) => {
        environment.clearTimer(timer);
        reject(error instanceof Error ? error : new Error('a client failed', { cause: error }));
      },
    );
  });
}
