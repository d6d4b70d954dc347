/** The endpoints of a simulated world. */
import type { EndpointDeclaration } from '../../catalog/endpoint.ts';
import type { Price } from '../../catalog/price.ts';
import { type ProviderCall, failedReply } from '../../contracts/provider.ts';
import { BlockCache } from './block-cache.ts';
import { TrafficChance } from './chance.ts';
import { Work, type SimulatedTurn } from './inference-call.ts';
import { InferenceServer } from './inference-server.ts';
import type { Fault, OutageSchedule, PresentFault } from './outages.ts';
import type { VirtualClock } from './virtual-clock.ts';
import { type TrafficToolCall, toolCall } from './tool-calls.ts';
import { adviceHeaders, isInBand, type RefusedResponse, replyOf, streamOf } from './faults.ts';
import { RateLimiter } from './rate-limits.ts';
import type { PoisonRequests, SimulatedAdvice, SimulatedEndpoint } from './world.ts';
import type { PieceStream, ProviderReply } from '../../contracts/provider-reply.ts';
import { failure } from '../../contracts/failure.ts';
import type { ReportedUsage, UpstreamResult } from '../../contracts/stream-piece.ts';

/** What a simulated endpoint reads of a call. */
export interface SimulatedCall {
  readonly request: Pick<ProviderCall['request'], 'metadata' | 'stream'> &
    Partial<Pick<ProviderCall['request'], 'tools'>>;
  readonly signal: AbortSignal;
  /** Key that the account brought; the shared one where it brought none. */
  readonly apiKey?: ProviderCall['apiKey'];
}

/** A reply, or a response that a router and other programs read each in their own way. */
export type ServerReply =
  | ProviderReply
  /** A response with an error status. */
  | { readonly type: 'refused'; readonly response: RefusedResponse }
  /** A non-streaming response with status 200 whose body is no answer. */
  | { readonly type: 'garbled'; readonly reply: ProviderReply };

/** What endpoints report about the calls they got. */
export interface CallBook {
  turnOf(call: SimulatedCall): SimulatedTurn;
  /** Counts a call; gives its number among those of its request, from 1 on. */
  called(call: SimulatedCall, endpoint: string, dead: number | undefined): number;
  /** What a call cost, whether its answer was wanted in the end or not. */
  charged(call: SimulatedCall, usd: number, cachedTokens: number): void;
  /** The same for a call whose answer is no longer wanted. */
  chargedInVain(call: SimulatedCall, usd: number): void;
  answered(call: SimulatedCall, endpoint: string, answer: ServerAnswer): void;
}

/** What is remembered of an answer. */
export interface ServerAnswer {
  readonly startedMs: number;
  /** Whether it calls a tool with arguments that are no JSON. */
  readonly isBroken: boolean;
}

/** Milliseconds in which a failure is answered. */
const FAILURE_MS = 60;
/** Milliseconds after which something more of an answer is there that is still being written. */
const READ_MS = 5_000;
/** Default time for which prompts stay cached. */
export const USUAL_CACHE_MS = 300_000;

/** What the servers of a simulation share, and the seed of one of them. */
interface ServerSurroundings {
  readonly clock: VirtualClock;
  readonly seed: number;
  readonly book: CallBook;
}

/** One simulated endpoint: answers calls in virtual time as its world says. */
export class SimulatedServer {
  readonly endpoint: SimulatedEndpoint;
  readonly schedule: OutageSchedule;
  readonly #clock: VirtualClock;
  readonly #seed: number;
  readonly #book: CallBook;
  readonly #limiter: RateLimiter | undefined;
  /** Prompts in the cache, by session. */
  readonly #cached = new Map<string, { readonly tokens: number; readonly untilMs: number }>();
  /** Prompts in the cache, block by block. */
  readonly #blocks: BlockCache;
  readonly #inference: InferenceServer | undefined;
  #running = 0;

  constructor(endpoint: SimulatedEndpoint, schedule: OutageSchedule, { clock, seed, book }: ServerSurroundings) {
    this.endpoint = endpoint;
    this.schedule = schedule;
    this.#clock = clock;
    this.#seed = seed;
    this.#book = book;
    this.#limiter = endpoint.rate && new RateLimiter(endpoint.rate);
    const { cacheMs, inference } = endpoint;
    this.#blocks = new BlockCache(cacheMs ?? USUAL_CACHE_MS);
    this.#inference =
      inference &&
      new InferenceServer(inference, clock, cacheMs ?? Infinity, () => schedule.at(clock.elapsedMs).slowness);
  }

  /** Its offer of the simulated model, as a router gets it. */
  declaration(): EndpointDeclaration {
    const { endpoint, schedule } = this;
    const startSeconds = this.wallClock() / 1_000;
    return {
      ...(endpoint.provider === undefined ? {} : { tag: endpoint.name }),
      ...(endpoint.declaresPrice === false ? {} : { price: schedule.declaredPrice(startSeconds) }),
      implicitCaching: true,
      ...endpoint.declared,
    };
  }

  /** Epoch milliseconds, as its world has them. */
  wallClock(): number {
    return this.#clock.environment(0).wallClock();
  }

  answer(call: SimulatedCall): Promise<ServerReply> {
    const startedMs = this.#clock.elapsedMs;
    const { mode, slowness, errors, failMs, breaks, faults, dead } = this.schedule.at(startedMs);
    const turn = this.#book.turnOf(call);
    const attempt = this.#book.called(call, this.endpoint.name, dead);
    // Luck belongs to the request: its first call has the same wherever it goes, and so has each further one. Two routers
    // in one world then differ by what they decide and not by chance.
    const chance = new TrafficChance(this.#seed, `call ${attempt} of ${turn.id}`);
    const { medianMs, spread = 0.35 } = this.endpoint.latency;
    const drawnMs = chance.around(medianMs, spread);
    const fails = chance.uniform() < errors;
    const breaksBefore = chance.uniform() < breaks.before;
    const breaksAfter = chance.uniform() < breaks.after;
    const hasTools = (call.request.tools?.length ?? 0) > 0;
    const tool = hasTools ? toolCall({ isBroken: chance.uniform() < (this.endpoint.brokenToolCalls ?? 0) }) : undefined;
    const fault = drawnFault(faults, chance);
    if (mode === 'down') return this.#after(call, failMs ?? FAILURE_MS, () => failedReply(OUT));
    const refused = this.#refused(turn, call.apiKey !== undefined);
    if (refused !== undefined) return this.#after(call, FAILURE_MS, () => refused);
    if (fault !== undefined && fault.as !== 'cut' && mode === 'up') {
      return this.#after(call, fault.as === 'silence' ? Infinity : (fault.failMs ?? FAILURE_MS), () =>
        this.#faultReply(fault, call),
      );
    }
    if (turn.poison !== undefined && this.#chokesOn(turn.poison) && mode === 'up') {
      return this.#after(call, turn.poison.failMs ?? FAILURE_MS, () => failedReply(CHOKED));
    }
    this.#running += 1;
    const concurrencyLimit = this.#running / (this.endpoint.concurrencyKnee ?? Infinity);
    const firstTokenMs = drawnMs * slowness * Math.max(1, concurrencyLimit) ** 3;
    const open = { isOver: false };
    const work = this.#inference === undefined ? undefined : new Work(turn, this.endpoint.name);
    const finish = (): void => {
      if (open.isOver) return;
      open.isOver = true;
      this.#running -= 1;
      work?.leave();
    };
    call.signal.addEventListener('abort', () => {
      if (open.isOver) return;
      finish();
      // A call that a provider works on costs its prompt, also when nobody waits for the answer any more; no failure costs.
      const costs = !fails && mode === 'up' && this.schedule.at(this.#clock.elapsedMs).mode === 'up';
      if (costs) this.#book.chargedInVain(call, this.#priceOf(call, 0, work?.cachedTokens).usd);
    });
    const answerMs = fails ? (failMs ?? firstTokenMs) : firstTokenMs;
    return this.#after<ServerReply>(call, mode === 'hanging' ? Infinity : answerMs, () => {
      const after = this.schedule.at(this.#clock.elapsedMs).mode;
      if (after === 'hanging') return new Promise<ProviderReply>(() => {});
      if (fails || after === 'down') {
        finish();
        return failedReply(OUT);
      }
      if (breaksBefore) {
        finish();
        return brokenReply(call);
      }
      const deliver = (): ProviderReply | Promise<ProviderReply> =>
        breaksAfter || fault?.as === 'cut'
          ? this.#cutOff(call, finish)
          : this.#deliver(call, startedMs, finish, { tool, work });
      if (work === undefined || this.#inference === undefined) return deliver();
      return work.begin(this.#inference, call.signal).then(deliver);
    });
  }

  /** Whether a call would be answered that began now, the n-th of its request. */
  wouldAnswer(turn: SimulatedTurn, attempt: number): boolean {
    const now = this.#clock.elapsedMs;
    const { mode, errors, breaks, faults } = this.schedule.at(now);
    const chance = new TrafficChance(this.#seed, `call ${attempt} of ${turn.id}`);
    chance.normal();
    const drawn = [chance.uniform() < errors, chance.uniform() < breaks.before, chance.uniform() < breaks.after];
    const isPoison = turn.poison !== undefined && this.#chokesOn(turn.poison);
    if (mode !== 'up' || isPoison || drawn.includes(true) || drawnFault(faults, chance) !== undefined) return false;
    const { concurrencyLimit } = this.endpoint;
    if (concurrencyLimit !== undefined && this.#running >= concurrencyLimit.calls) return false;
    return this.#limiter?.has(now, turn, turn.key) !== false;
  }

  /** What a limit of the endpoint says, where it is reached. */
  #refused(turn: SimulatedTurn, isOwnKey: boolean): ServerReply | undefined {
    const { concurrencyLimit, rate } = this.endpoint;
    if (concurrencyLimit !== undefined && this.#running >= concurrencyLimit.calls) {
      return this.#refusal(429, concurrencyLimit.retryAfter);
    }
    const waitMs = this.#limiter?.take(this.#clock.elapsedMs, turn, isOwnKey ? turn.key : undefined) ?? 0;
    if (waitMs <= 0) return undefined;
    const { retryAfter: form = 'none' } = rate ?? {};
    return this.#refusal(429, form === 'none' ? undefined : { form, ms: waitMs });
  }

  #refusal(status: number, advice: SimulatedAdvice | undefined): ServerReply {
    const headers = advice === undefined ? {} : adviceHeaders(advice, this.wallClock());
    return { type: 'refused', response: { status, headers } };
  }

  #faultReply({ as, retryAfter }: Fault, { request }: SimulatedCall): ServerReply {
    if (typeof as === 'number') return this.#refusal(as, retryAfter);
    const reply = replyOf(as, request, this.wallClock());
    if (reply === undefined) throw new RangeError(`a call that fails as "${as}" has no reply`);
    return reply.type === 'failed' && isInBand(as) ? { type: 'garbled', reply } : reply;
  }

  #chokesOn({ at }: PoisonRequests): boolean {
    const { name, provider = name } = this.endpoint;
    return at === undefined || at.includes(name) || at.includes(provider);
  }

  /** Writes half of the answer. What was written costs, as it does at real providers. */
  #cutOff(call: SimulatedCall, finish: () => void): ProviderReply | Promise<ProviderReply> {
    const answerTokens = Math.ceil(this.#book.turnOf(call).answerTokens / 2);
    const writingMs = this.#writingMs(answerTokens);
    const cut = (): void => {
      finish();
      this.#charge(call, answerTokens);
    };
    if (!call.request.stream) {
      return this.#after(call, writingMs, () => {
        cut();
        return brokenReply(call);
      });
    }
    let step = 0;
    const stream: PieceStream = {
      read: async () => {
        step += 1;
        if (step === 1) return [TEXT.slice(0, TEXT.length / 2)];
        if (step > 2) return undefined;
        if (writingMs > 0) await this.#after(call, writingMs, () => undefined);
        cut();
        return [{ type: 'failure', failure: CUT }];
      },
      cancel: finish,
    };
    return { type: 'stream', stream };
  }

  #writingMs(answerTokens: number): number {
    return (answerTokens / (this.endpoint.tokensPerSecond ?? Infinity)) * 1_000;
  }

  #deliver(
    call: SimulatedCall,
    startedMs: number,
    finish: () => void,
    { tool, work }: { readonly tool: TrafficToolCall | undefined; readonly work: Work | undefined },
  ): ProviderReply | Promise<ProviderReply> {
    const { answerTokens } = this.#book.turnOf(call);
    const writingMs = this.#writingMs(answerTokens);
    const complete = (): ReportedUsage => {
      finish();
      const usage = this.#charge(call, answerTokens, work?.cachedTokens);
      this.#book.answered(call, this.endpoint.name, { startedMs, isBroken: tool?.isBroken ?? false });
      return usage;
    };
    const written = (): Promise<void> => work?.ended ?? this.#after(call, writingMs, () => undefined);
    if (!call.request.stream) {
      return written().then(() => ({ type: 'whole', result: resultWith(complete(), tool) }));
    }
    let step = 0;
    const stream: PieceStream = {
      read: async () => {
        step += 1;
        if (step === 1) return tool === undefined ? [TEXT] : [tool.piece];
        if (step > 2) return undefined;
        if (work !== undefined && !(await this.#endsWithin(call, work))) {
          step -= 1;
          return [TEXT];
        }
        if (work === undefined && writingMs > 0) await written();
        const reason = tool === undefined ? 'stop' : 'tool_calls';
        return [
          { type: 'finish', index: 0, reason, native: reason },
          { type: 'usage', usage: complete() },
          { type: 'end' },
        ];
      },
      cancel: finish,
    };
    return { type: 'stream', stream };
  }

  /** Whether an answer ends before something more of it is there to be read. */
  #endsWithin(call: SimulatedCall, { ended }: Work): Promise<boolean> {
    return Promise.race([ended.then(() => true), this.#after(call, READ_MS, () => false)]);
  }

  /** @param computed - Tokens from the cache, where that was found out already. */
  #priceOf(
    call: SimulatedCall,
    answerTokens: number,
    computed?: number,
  ): { readonly usd: number; readonly promptTokens: number; readonly cachedTokens: number } {
    const now = this.#clock.elapsedMs;
    const turn = this.#book.turnOf(call);
    const { promptTokens } = turn;
    const cachedTokens = computed ?? this.#fromCache(turn, now);
    const usd = costOf(this.schedule.at(now).price, promptTokens, cachedTokens, answerTokens);
    return { usd, promptTokens, cachedTokens };
  }

  #charge(call: SimulatedCall, answerTokens: number, computed?: number): ReportedUsage {
    const { usd, promptTokens, cachedTokens } = this.#priceOf(call, answerTokens, computed);
    this.#book.charged(call, usd, cachedTokens);
    return {
      prompt_tokens: promptTokens,
      completion_tokens: answerTokens,
      total_tokens: promptTokens + answerTokens,
      prompt_tokens_details: { cached_tokens: cachedTokens },
      ...(this.endpoint.reportsCost === true ? { reportedCost: usd } : {}),
    };
  }

  /** Tokens of a prompt that come from the cache, which has all of it afterwards. */
  #fromCache({ session, promptTokens, blocks }: SimulatedTurn, now: number): number {
    const { cacheMs = USUAL_CACHE_MS } = this.endpoint;
    if (cacheMs === 0) return 0;
    if (blocks !== undefined) {
      const tokens = this.#blocks.tokens(blocks, promptTokens, now);
      this.#blocks.use(blocks, now);
      return tokens;
    }
    const known = this.#cached.get(session);
    this.#cached.set(session, { tokens: promptTokens, untilMs: now + cacheMs });
    return known !== undefined && now <= known.untilMs ? Math.min(known.tokens, promptTokens) : 0;
  }

  /** Waits in virtual time; a call that is aborted meanwhile never settles, as if its connection were gone. */
  #after<Value>(call: SimulatedCall, ms: number, then: () => Value | Promise<Value>): Promise<Value> {
    if (ms <= 0) return Promise.resolve(then());
    return new Promise((resolve) => {
      if (ms === Infinity) return;
      this.#clock.at(this.#clock.elapsedMs + ms, () => {
        if (!call.signal.aborted) resolve(then());
      });
    });
  }
}

/** Which of the faults of a moment a call meets; none draws nothing, so that worlds without any stay as they are. */
function drawnFault(faults: readonly PresentFault[], chance: TrafficChance): Fault | undefined {
  return faults.find(({ share }) => chance.uniform() < share)?.fault;
}

const OUT = failure('server', 'The endpoint is out of order', { status: 500 });
const CHOKED = failure('server', 'The endpoint could not process the request', { status: 500 });
const CUT = failure('connection', 'The connection was cut before the answer was complete');
const TEXT = 'done';

/** An answer whose connection is cut before anything of it has come. */
function brokenReply({ request }: SimulatedCall): ProviderReply {
  if (!request.stream) return failedReply(CUT);
  return { type: 'stream', stream: streamOf([{ type: 'failure', failure: CUT }]) };
}

/** US dollars for a call. */
export function costOf(price: Price, promptTokens: number, cachedTokens: number, answerTokens: number): number {
  const prompt = (promptTokens - cachedTokens) * price.prompt + cachedTokens * (price.cacheRead ?? price.prompt);
  return (prompt + answerTokens * price.completion) / 1e6;
}

function resultWith(usage: ReportedUsage, tool: TrafficToolCall | undefined): UpstreamResult {
  const reason = tool === undefined ? 'stop' : 'tool_calls';
  return {
    choices: [
      {
        index: 0,
        finish_reason: reason,
        native_finish_reason: reason,
        logprobs: null,
        message: {
          role: 'assistant',
          content: tool === undefined ? TEXT : null,
          refusal: null,
          reasoning: null,
          ...(tool === undefined ? {} : { tool_calls: [tool.call] }),
        },
      },
    ],
    usage,
  };
}
