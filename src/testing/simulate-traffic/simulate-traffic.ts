/** Sends simulated traffic through a real router, in virtual time. */
import { RouterError } from '../../protocol/router-error.ts';
import type { Message } from '../../protocol/message.ts';
import type { Provider } from '../../contracts/provider.ts';
import type { Router } from '../../router/router.ts';
import type { Environment } from '../../platform/environment.ts';
import { memoryStore } from '../../storage/memory.ts';
import type { StateStore } from '../../contracts/state-store.ts';
import { TrafficChance } from './chance.ts';
import { type DeadCall, Oracle, reportOf, type RequestLog, type TrafficReport } from './report.ts';
import { OutageSchedule, randomOutages } from './outages.ts';
import { directClient, providersOf, type TrafficClient } from './clients.ts';
import { type CallBook, type ServerAnswer, type SimulatedCall, SimulatedServer } from './simulated-server.ts';
import { SIMULATED_TOOL } from './tool-calls.ts';
import { BLOCK_TOKENS } from './block-cache.ts';
import { blocksOf, type PlannedSession, planTraffic, type TrafficPlan } from './traffic-plan.ts';
import { VirtualClock } from './virtual-clock.ts';
import { SIMULATED_MODEL, type TracedRequest, type TrafficWorld } from './world.ts';
import type { SimulatedTurn } from './inference-call.ts';
import type { Account } from '../../options/accounts.ts';

/** What a simulated instance of the router must be made with. */
export interface SimulatedSetup {
  /** Those of the world, with its endpoints. */
  readonly providers: readonly Provider[];
  /** The virtual clock, and chance that is the same for the same seed. */
  readonly environment: Environment;
  /** Shared by all instances. Left out when there is only one, so that it keeps its state to itself. */
  readonly state?: StateStore;
}

/** How requests reach the endpoints of a world without a router. */
export interface SimulatedWire {
  /**
   * A client that sends each request to one endpoint, once: what a router is compared with. Fails with a
   * {@link RouterError}, as a router does.
   *
   * @throws RangeError when the world has no endpoint of this name.
   */
  direct(endpoint: string): TrafficClient;
}

/** Text that prompts are cut from. The router counts four characters as a token, and so does this. */
const TEXT = 'The quick brown fox jumps over the lazy dog while nobody is watching it. '.repeat(2_000);
const CHARACTERS_PER_TOKEN = 4;
/** What a router says where it makes no call, because all endpoints seem to fail or to be full. */
const REFUSALS: ReadonlySet<string> = new Set(['capacity_exhausted', 'temporarily_unavailable']);
/** What requests with tools offer. */
const TOOLS = [
  {
    type: 'function' as const,
    function: { name: SIMULATED_TOOL, parameters: { type: 'object', properties: { text: { type: 'string' } } } },
  },
];

/**
 * Sends simulated traffic through a real router, in virtual time: no network, no waiting, and the same report for the
 * same seed. Shows what a configuration does when endpoints fail, hang, slow down or refuse, before they really do.
 * What is sent through something else in the same world is the same traffic, and the n-th call of each request meets the
 * same latency and the same chance of failing, so that small differences show.
 *
 * @param world - Endpoints, traffic and everything that goes wrong.
 * @param client - Makes a router, once for each instance, from the providers, the clock and the state store of the world;
 * or anything else that answers requests, to be compared with a router in the same world.
 * @example
 * ```ts
 * const report = await simulateTraffic(
 *   {
 *     endpoints: [
 *       { name: 'cheap', price: { prompt: 0.2, completion: 0.8 }, latency: { medianMs: 700 } },
 *       { name: 'dear', price: { prompt: 0.6, completion: 2.4 }, latency: { medianMs: 350 } },
 *     ],
 *     outages: { share: 0.05 },
 *   },
 *   (setup) => createRouter({ ...setup }),
 * );
 * ```
 */
export async function simulateTraffic(
  world: TrafficWorld,
  client: (setup: SimulatedSetup, wire: SimulatedWire) => TrafficClient,
): Promise<TrafficReport> {
  const simulation = new Simulation(world);
  return simulation.run(client);
}

/** A request as it is sent, and whether its answer is to stream. */
type SimulatedBody = Parameters<Router['chat']>[0] & { readonly stream: boolean };

class Simulation implements CallBook {
  readonly #world: TrafficWorld;
  readonly #seed: number;
  readonly #clock = new VirtualClock();
  readonly #plan: TrafficPlan;
  readonly #servers: readonly SimulatedServer[];
  readonly #oracle: Oracle;
  readonly #logs: RequestLog[] = [];
  /** Requests under way, by the id that their bodies carry. */
  readonly #open = new Map<string, { readonly turn: SimulatedTurn; readonly log: RequestLog }>();
  /** Times at which calls began that were answered, by endpoint. */
  readonly #answers = new Map<string, number[]>();
  /** Calls of endpoints while they answered nothing. */
  readonly #deadCalls: DeadCall[] = [];
  #sessionsLeft: number;

  constructor(world: TrafficWorld) {
    const { seed = 1 } = world;
    this.#world = world;
    this.#seed = seed;
    this.#plan = planTraffic(world.traffic ?? {}, seed);
    this.#sessionsLeft = this.#plan.sessions.length;
    const { durationMs } = this.#plan;
    this.#servers = world.endpoints.map((endpoint) => {
      // Endpoints of one provider draw the same.
      const chance = new TrafficChance(seed, `outages ${endpoint.provider ?? endpoint.name}`);
      const random = world.outages === undefined ? [] : randomOutages(world.outages, chance, durationMs);
      const schedule = new OutageSchedule(endpoint, random, durationMs, seed);
      return new SimulatedServer(endpoint, schedule, { clock: this.#clock, seed, book: this });
    });
    this.#oracle = new Oracle(this.#servers);
  }

  async run(makeClient: (setup: SimulatedSetup, wire: SimulatedWire) => TrafficClient): Promise<TrafficReport> {
    const { instances = 1, storeLatencyMs } = this.#world;
    const shared = memoryStore({ now: this.#clock.environment(this.#seed).now });
    const state = storeLatencyMs === undefined ? shared : delayedStore(shared, this.#clock, storeLatencyMs);
    const clients = Array.from({ length: instances }, (_, index) =>
      makeClient(
        {
          providers: providersOf(this.#servers),
          environment: this.#clock.environment(this.#seed * 1_000 + index),
          ...(instances === 1 && storeLatencyMs === undefined ? {} : { state }),
        },
        { direct: (endpoint) => directClient(this.#servers, endpoint) },
      ),
    );
    const chance = new TrafficChance(this.#seed, 'instances');
    for (const session of this.#plan.sessions) {
      this.#clock.at(session.turns[0]?.afterMs ?? 0, () => {
        void this.#converse(session, () => clients[Math.floor(chance.uniform() * clients.length)]);
      });
    }
    await this.#clock.run(() => this.#sessionsLeft === 0);
    return reportOf(this.#logs, this.#servers, this.#oracle, {
      answers: this.#answers,
      deadCalls: this.#deadCalls,
      durationMs: this.#clock.elapsedMs,
    });
  }

  turnOf(call: SimulatedCall): SimulatedTurn {
    const found = this.#open.get(idOf(call));
    if (found === undefined) throw new RangeError('a call belongs to a request of the simulation');
    return found.turn;
  }

  called(call: SimulatedCall, endpoint: string, dead: number | undefined): number {
    const log = this.#open.get(idOf(call))?.log;
    if (log === undefined) return 1;
    log.calls += 1;
    if (dead !== undefined) {
      log.met.add(`${endpoint} ${dead}`);
      this.#deadCalls.push({ endpoint, dead, atMs: this.#clock.elapsedMs });
    }
    return log.calls;
  }

  charged(call: SimulatedCall, usd: number, cachedTokens: number): void {
    const log = this.#open.get(idOf(call))?.log;
    if (log === undefined) return;
    log.costUsd += usd;
    log.cachedTokens = cachedTokens;
  }

  chargedInVain(call: SimulatedCall, usd: number): void {
    const log = this.#open.get(idOf(call))?.log;
    if (log === undefined) return;
    log.costUsd += usd;
    log.cancelledUsd += usd;
  }

  answered(call: SimulatedCall, endpoint: string, { startedMs, isBroken }: ServerAnswer): void {
    const log = this.#open.get(idOf(call))?.log;
    if (log !== undefined) [log.answeredBy, log.isBroken] = [endpoint, isBroken];
    const times = this.#answers.get(endpoint);
    if (times === undefined) this.#answers.set(endpoint, [startedMs]);
    else times.push(startedMs);
  }

  async #converse(session: PlannedSession, pick: () => TrafficClient | undefined): Promise<void> {
    const { document, traced } = session;
    const messages: Message[] = [];
    let promptTokens = document?.tokens ?? 0;
    if (document !== undefined) messages.push({ role: 'system', content: textOf(document.name, 0, document.tokens) });
    for (const [index, planned] of session.turns.entries()) {
      if (index > 0) await this.#wait(planned.afterMs);
      promptTokens += planned.newTokens;
      const content =
        traced?.blocks === undefined ? textOf(session.id, index, planned.newTokens) : textOfBlocks(traced);
      messages.push({ role: 'user', content });
      const client = pick();
      if (client === undefined) break;
      const { answerTokens, poison } = planned;
      const turn: SimulatedTurn = {
        key: this.#world.traffic?.ownKeys === true ? session.account : undefined,
        id: traced === undefined ? `${session.id}/${index}` : `request-${this.#logs.length}`,
        session: session.id,
        promptTokens,
        answerTokens,
        blocks: document === undefined ? wholeBlocks(traced) : blocksOf(session, promptTokens),
        poison,
      };
      await this.#ask(client, turn, session.account, {
        model: SIMULATED_MODEL,
        stream: planned.stream,
        messages: [...messages],
        ...(session.named ? { session_id: session.id } : {}),
        ...(planned.tools ? { tools: TOOLS } : {}),
      });
      messages.push({ role: 'assistant', content: textOf(session.id, index, answerTokens) });
      promptTokens += answerTokens;
    }
    this.#sessionsLeft -= 1;
  }

  async #ask(
    client: TrafficClient,
    turn: SimulatedTurn,
    account: string | undefined,
    { stream, ...body }: SimulatedBody,
  ): Promise<void> {
    const startedMs = this.#clock.elapsedMs;
    const log: RequestLog = {
      startedMs,
      stream,
      isPoisoned: turn.poison !== undefined,
      oracleUsd: this.#oracle.cost(turn, startedMs),
      inSurge: this.#isInSurge(startedMs),
      promptTokens: turn.promptTokens,
      calls: 0,
      costUsd: 0,
      cachedTokens: 0,
      cancelledUsd: 0,
      answeredBy: undefined,
      isBroken: false,
      tookMs: undefined,
      status: 200,
      isRefusedInVain: false,
      met: new Set(),
    };
    this.#logs.push(log);
    this.#open.set(turn.id, { turn, log });
    const request = { ...body, metadata: { simulated: turn.id } };
    const options = account === undefined ? {} : { account: { id: account, ...this.#ownKeys(turn) } };
    try {
      let firstMs: number | undefined;
      if (stream) for await (const _ of client.stream(request, options)) firstMs ??= this.#clock.elapsedMs;
      else await client.chat(request, options);
      log.tookMs = (firstMs ?? this.#clock.elapsedMs) - startedMs;
    } catch (error) {
      if (!RouterError.isInstance(error)) throw error;
      log.status = error.status;
      log.isRefusedInVain =
        REFUSALS.has(error.availability?.code ?? '') &&
        this.#servers.some((server) => server.wouldAnswer(turn, log.calls + 1));
    }
  }

  #ownKeys({ key }: SimulatedTurn): Pick<Account, 'providerKeys'> {
    if (key === undefined) return {};
    const slugs = this.#servers.map(({ endpoint: { name, provider = name } }) => provider);
    return { providerKeys: Object.fromEntries(slugs.map((slug) => [slug, { apiKey: key }])) };
  }

  #isInSurge(ms: number): boolean {
    return (this.#world.traffic?.surges ?? []).some(({ fromMs, toMs }) => ms >= fromMs && ms < toMs);
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.#clock.at(this.#clock.elapsedMs + ms, resolve));
  }
}

/** Which request of the simulation a call belongs to. */
function idOf({ request }: SimulatedCall): string {
  return request.metadata?.['simulated'] ?? '';
}

/** As much text as so many tokens, beginning in a way that tells conversations apart. */
function textOf(session: string, turn: number, tokens: number): string {
  return `${session}.${turn} ${TEXT.slice(0, Math.max(0, tokens * CHARACTERS_PER_TOKEN - session.length - 4))}`;
}

/** The prompt of a request of a trace: each block reads as it does in every other prompt, and like no other block. */
function textOfBlocks({ blocks = [], promptTokens }: TracedRequest): string {
  const each = BLOCK_TOKENS * CHARACTERS_PER_TOKEN;
  const parts = blocks.map((block) => `${block}. ${TEXT.slice(0, each - block.length - 2)}`);
  return parts.join('').slice(0, promptTokens * CHARACTERS_PER_TOKEN);
}

function wholeBlocks(traced: TracedRequest | undefined): readonly string[] | undefined {
  return traced?.blocks?.slice(0, Math.floor(traced.promptTokens / BLOCK_TOKENS));
}

/** A state store as if it were far away: everything happens after half of the time, and is known after all of it. */
function delayedStore(store: StateStore, clock: VirtualClock, latencyMs: number): StateStore {
  const later = <Value>(work: () => Value | Promise<Value>): Promise<Value> =>
    new Promise((resolve, reject) => {
      const half = latencyMs / 2;
      clock.at(clock.elapsedMs + half, () => {
        Promise.resolve()
          .then(work)
          .then((value) => clock.at(clock.elapsedMs + half, () => resolve(value)), reject);
      });
    });
  return {
    get: (key) => later(() => store.get(key)),
    set: (key, value, ttlMs) => later(() => store.set(key, value, ttlMs)),
    delete: (key) => later(() => store.delete(key)),
    increment: (key, by, ttlMs) => later(() => store.increment(key, by, ttlMs)),
    change: (changes) => later(() => store.change(changes)),
  };
}
