/** What a router is held beside in simulated worlds: programs without one, and one that knows everything. */
import { RouterError } from '../../src/protocol/router-error.ts';
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

/** (a): each request goes to the cheapest endpoint, once. */
export function cheapestOnce({ endpoints }: TrafficWorld): MakeClient {
  return ({ environment }, wire) => retrying(environment, [], () => wire.direct(cheapestOf(endpoints)));
}

/** (b): the same with two retries. */
export function cheapestRetried({ endpoints }: TrafficWorld): MakeClient {
  return ({ environment }, wire) => retrying(environment, RETRY_WAITS_MS, () => wire.direct(cheapestOf(endpoints)));
}

/** (c): each call goes to the next endpoint, with two retries. */
export function roundRobin({ endpoints }: TrafficWorld): MakeClient {
  return ({ environment }, wire) => {
    let calls = 0;
    const clients = endpoints.map(({ name }) => wire.direct(name));
    return retrying(environment, RETRY_WAITS_MS, () => clientAt(clients, calls++));
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
    return retrying(environment, ORACLE_WAITS_MS, (attempt) => {
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
  const { mode, errors, breaks, slowness } = schedule.at(ms);
  if (mode !== 'up') return mode === 'down' ? 2 : 3;
  return 1 - (1 - errors) * (1 - breaks.before) * (1 - breaks.after) + Math.min(0.01, (slowness - 1) / 1_000);
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
  waitsMs: readonly number[],
  next: (attempt: number) => TrafficClient,
): TrafficClient {
  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      environment.setTimer(() => resolve(), ms);
    });
  const tried = async <Answer>(
    call: (client: TrafficClient, signal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer> => {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await withTimeout(environment, (signal) => call(next(attempt), signal));
      } catch (error) {
        const waitMs = waitsMs[attempt];
        if (waitMs === undefined || !RouterError.isInstance(error) || !mayPass(error)) throw error;
        const { retryAfterMs: askedMs = 0 } = error;
        await pause(askedMs <= MOST_ASKED_MS ? Math.max(waitMs, askedMs) : waitMs);
      }
    }
  };
  return {
    chat: (request, options) => tried((client, signal) => client.chat(request, { ...options, signal })),
    async *stream(request, options) {
      const { first, iterator } = await tried(async (client, signal) => {
        const opened = client.stream(request, { ...options, signal })[Symbol.asyncIterator]();
        return { first: await opened.next(), iterator: opened };
      });
      for (let step = first; step.done !== true; step = await iterator.next()) yield step.value;
    },
  };
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
