/** What callers of a simulated world do: sessions, their turns, by whom they are sent and which of them are poison. */
import { BLOCK_TOKENS } from './block-cache.ts';
import { TrafficChance } from './chance.ts';
import type { PoisonRequests, SharedDocuments, SimulatedTraffic, TracedRequest } from './world.ts';

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
  /** Document that it begins with. */
  readonly document?: { readonly name: string; readonly tokens: number } | undefined;
  /** Present where it is a single request of a trace: then that says what its prompt is. */
  readonly traced?: TracedRequest | undefined;
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
  if (traffic.trace !== undefined) return tracedTraffic(traffic, traffic.trace, seed);
  const { requests = 20_000, perSecond = 6, turns = 6, surges = [] } = traffic;
  const chance = new TrafficChance(seed, 'sessions');
  const callers = new Callers(traffic, seed);
  const library = traffic.documents && new Library(traffic.documents, seed);
  const withTools = new TrafficChance(seed, 'tools');
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
    const drawn = planSession(`session-${sessions.length}`, ms, traffic, { chance, callers, withTools });
    const session = library === undefined ? drawn : { ...drawn, document: library.next() };
    planned += session.turns.length;
    sessions.push(session);
  }
  return { sessions, durationMs: ms };
}

/** A plan of the requests of a trace, each at its time, whatever became of those before. */
function tracedTraffic(traffic: SimulatedTraffic, trace: readonly TracedRequest[], seed: number): TrafficPlan {
  const { streaming = 1, named = 1, tools: share = 0 } = traffic;
  const chance = new TrafficChance(seed, 'sessions');
  const withTools = new TrafficChance(seed, 'tools');
  const callers = new Callers(traffic, seed);
  const sessions = trace.map((traced, index): PlannedSession => {
    const { atMs, promptTokens, answerTokens, session = `session-${index}` } = traced;
    const { account, poison } = callers.next();
    const stream = chance.uniform() < streaming;
    const tools = withTools.uniform() < share;
    return {
      id: session,
      account,
      // A session sends its name always or never.
      named: named >= 1 || new TrafficChance(seed, `named ${session}`).uniform() < named,
      turns: [{ afterMs: atMs, newTokens: promptTokens, answerTokens, stream, tools, poison: poison() }],
      traced,
    };
  });
  return { sessions, durationMs: trace.reduce((most, { atMs }) => Math.max(most, atMs), 0) };
}

/** Documents that sessions begin with. Its draws change no other ones. */
class Library {
  readonly #own: SharedDocuments;
  readonly #chance: TrafficChance;
  readonly #tokens: readonly number[];
  /** Sum of the weights of all documents. */
  readonly #total: number;

  constructor(own: SharedDocuments, seed: number) {
    this.#own = own;
    this.#chance = new TrafficChance(seed, 'documents');
    this.#tokens = Array.from({ length: own.count }, () => lengthAround(own.tokens, this.#chance));
    this.#total = this.#tokens.reduce((sum, _, index) => sum + 1 / (index + 1), 0);
  }

  next(): PlannedSession['document'] {
    if (this.#chance.uniform() >= (this.#own.share ?? 1)) return undefined;
    let left = this.#chance.uniform() * this.#total;
    const index = this.#tokens.findIndex((_, place) => (left -= 1 / (place + 1)) < 0);
    return { name: `document-${index}`, tokens: this.#tokens[index] ?? this.#own.tokens };
  }
}

/** Names of the whole blocks of a prompt that begins with a document. */
export function blocksOf({ id, document }: PlannedSession, promptTokens: number): readonly string[] {
  const shared = Math.floor((document?.tokens ?? 0) / BLOCK_TOKENS);
  return Array.from({ length: Math.floor(promptTokens / BLOCK_TOKENS) }, (_, index) =>
    index < shared ? `${document?.name}.${index}` : `${id}.${index}`,
  );
}

/** Decides by whom sessions are sent, and which of their requests are poison. Its draws change no other ones. */
class Callers {
  readonly #accounts: number | undefined;
  readonly #poison: PoisonRequests | undefined;
  readonly #chance: TrafficChance;

  constructor({ accounts, poison }: SimulatedTraffic, seed: number) {
    this.#accounts = accounts;
    this.#poison = poison;
    this.#chance = new TrafficChance(seed, 'callers');
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

/** What sessions are drawn from, each with numbers of its own. */
interface TrafficDraws {
  readonly chance: TrafficChance;
  readonly callers: Callers;
  /** Which requests have tools. */
  readonly withTools: TrafficChance;
}

function planSession(
  id: string,
  startMs: number,
  traffic: SimulatedTraffic,
  { chance, callers, withTools }: TrafficDraws,
): PlannedSession {
  const { turns = 6, pauseMs = 30_000, promptTokens = 2_000, turnTokens = 300, answerTokens = 250 } = traffic;
  const { streaming = 1, named = 1, tools = 0 } = traffic;
  const length = (mean: number): number => lengthAround(mean, chance);
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

function lengthAround(mean: number, chance: TrafficChance): number {
  return Math.max(1, Math.round(chance.around(mean / MEAN_OVER_MEDIAN, LENGTH_SPREAD)));
}
