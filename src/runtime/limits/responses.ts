import {
  type CachePolicy,
  type CacheRule,
  cacheRule,
  type CacheWish,
  type CacheReport,
} from '../../core/limits/cache-rule.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { ResponseCacheStore } from '../../contracts/response-cache.ts';
import type { Environment } from '../../platform/environment.ts';
import { type EventHub, warn } from '../chat/events.ts';
import { sha256 } from '../../platform/hash.ts';
import { valueWithin, andThen, type MaybePromise } from '../../platform/wait.ts';
import { type CachedAnswer, readCachedAnswer, reportHit } from './cached-answer.ts';
import { declareEndpoint, type Endpoint } from '../../catalog/endpoint.ts';
import type { Attempt } from '../../core/fallback/failure.ts';
import type { RoutePlan } from '../../core/selection/route-plan.ts';
import { ResultCollector } from '../../core/stream/collect.ts';
import type { Choice } from '../../protocol/chat-result.ts';
import type { JsonObject, JsonValue } from '../../protocol/json.ts';
import type { RouterMetadata } from '../../protocol/metadata.ts';
import type { Answer, AnswerCall, Execution } from '../chat/execution.ts';
import { AnsweredExecution } from '../pipeline/answered-execution.ts';
import type { RuntimeServices } from '../chat/services.ts';

/** What the cache of a router is made with. */
export interface ResponsesOptions {
  readonly store: ResponseCacheStore;
  readonly policy: CachePolicy;
  /** Bytes of one answer; larger ones are not kept. */
  readonly maxEntryBytes: number;
}

/** A request that is being answered; others that are the same wait for it. */
export interface Flight {
  /** The answer, or undefined when it came to none. */
  readonly landed: Promise<CachedAnswer | undefined>;
  /** Ends it. May be called more than once. */
  readonly land: (answer?: CachedAnswer) => void;
}

/** A store that takes longer than this many milliseconds is not worth waiting for. */
const STORE_WAIT_MS = 250;

/** The response cache of a router (gaps 9.4): non-streaming responses, by everything that they depend on. */
export class Responses {
  readonly #options: ResponsesOptions;
  readonly #environment: Environment;
  readonly #events: EventHub;
  readonly #flights = new Map<string, Flight>();

  constructor(options: ResponsesOptions, environment: Environment, events: EventHub) {
    this.#options = options;
    this.#environment = environment;
    this.#events = events;
  }

  /** How a request uses the cache; undefined when it does not. */
  ruleFor(request: NormalizedRequest, wish: CacheWish): CacheRule | undefined {
    return cacheRule(request, wish, this.#options.policy);
  }

  /**
   * The key of a request: two that share it would be answered alike.
   *
   * @param body - As it was sent. The order of its members matters, blanks do not.
   */
  async keyOf(request: NormalizedRequest, body: unknown): Promise<string> {
    const { account, stream, requested, native, anthropicBetas = [] } = request;
    const owner = JSON.stringify([account.id, account.keyId ?? null]);
    const shape = `${native?.dialect ?? 'chat'}\n${stream ? 'stream' : 'whole'}\n${anthropicBetas.join()}`;
    return `response\n${await sha256(`${owner}\n${shape}\n${requested}\n${JSON.stringify(body)}`)}`;
  }

  /** What is kept for a request. A store that fails has nothing. */
  async find(key: string): Promise<CachedAnswer | undefined> {
    const { store } = this.#options;
    const found = await this.#soon(() => store.get(key));
    return readCachedAnswer(found, this.#environment.wallClock());
  }

  /** Throws away what is kept for a request. */
  async forget(key: string): Promise<undefined> {
    const { store } = this.#options;
    await this.#soon(() => store.delete(key));
  }

  /** Keeps an answer, if it is not too large. Nobody waits for it. */
  keep(key: string, answer: CachedAnswer): void {
    const { store, maxEntryBytes } = this.#options;
    const text = JSON.stringify(answer);
    if (new TextEncoder().encode(text).length > maxEntryBytes) return;
    void this.#soon(() => store.set(key, text, answer.expiresAt - answer.storedAt));
  }

  /** The request with this key that is being answered, if there is one. */
  underWay(key: string): Flight | undefined {
    return this.#flights.get(key);
  }

  /** Makes a request the one that others with its key wait for. */
  lead(key: string): Flight {
    let resolve: (answer?: CachedAnswer) => void = () => {};
    const landed = new Promise<CachedAnswer | undefined>((settle) => (resolve = settle));
    const land = (answer?: CachedAnswer): void => {
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
      resolve(answer);
    };
    const flight = { landed, land };
    this.#flights.set(key, flight);
    return flight;
  }

  async #soon<Value>(ask: () => Value | Promise<Value>): Promise<Value | undefined> {
    const asked = (async () => ask())();
    asked.catch(() => warn(this.#events, { code: 'response_cache', message: 'The response cache could not be used' }));
    return valueWithin(this.#environment, asked, STORE_WAIT_MS);
  }
}

/** What a request that uses the cache begins with. */
export interface CachedExecutionOptions {
  readonly request: NormalizedRequest;
  readonly key: string;
  readonly rule: CacheRule;
  readonly signal: AbortSignal;
  /** Begins the request as if there was no cache. */
  readonly start: () => MaybePromise<Execution>;
}

/** What the response cache needs of a request besides the request itself. */
export interface CachedStart extends Pick<CachedExecutionOptions, 'signal' | 'start'> {
  /** As it came: equal bodies have equal answers. */
  readonly body: unknown;
  readonly wish: CacheWish | undefined;
}

/** Starts a request, with the response cache before it where that takes part. */
export function throughCache(
  services: RuntimeServices,
  request: NormalizedRequest,
  { body, wish = NO_WISH, signal, start }: CachedStart,
): MaybePromise<Execution> {
  const { responses } = services;
  const rule = responses.ruleFor(request, wish);
  if (rule === undefined) return start();
  return andThen(
    responses.keyOf(request, body),
    (key) => new CachedExecution(services, { request, key, rule, signal, start }),
  );
}

const NO_WISH: CacheWish = {};

/** How a request has used the response cache so far; undefined when it does not. */
export function cacheReportOf(execution: Execution): CacheReport | undefined {
  return execution instanceof CachedExecution ? execution.report : undefined;
}

/** Usage of an answer that cost nothing (gaps 9.4). */
const NO_USAGE = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, reportedCost: 0 };

/**
 * A request that is answered from the cache if it can be, and whose answer is kept if it cannot. Equal requests at the
 * same time ask upstream once; when the one that asks comes to no answer, the others go on by themselves.
 */
export class CachedExecution implements Execution {
  readonly startedAt: number;
  readonly signal: AbortSignal;
  onSending: ((endpoint: Endpoint, body: JsonValue) => void) | undefined;
  readonly #services: RuntimeServices;
  readonly #options: CachedExecutionOptions;
  #report: CacheReport;
  #inner: Execution | undefined;
  #flight: Flight | undefined;
  #isHit = false;

  constructor(services: RuntimeServices, options: CachedExecutionOptions) {
    this.startedAt = services.environment.now();
    this.signal = options.signal;
    this.#services = services;
    this.#options = options;
    this.#report = { status: 'MISS', ttlSeconds: options.rule.ttlSeconds };
  }

  /** What is known about the cache until now. */
  get report(): CacheReport {
    return this.#report;
  }

  get request(): NormalizedRequest {
    return this.#inner?.request ?? this.#options.request;
  }

  get plan(): RoutePlan {
    return this.#inner?.plan ?? { requested: this.request.requested, steps: [], rejected: [] };
  }

  get attempts(): readonly Attempt[] {
    return this.#inner?.attempts ?? [];
  }

  get errorMetadata(): JsonObject {
    return this.#inner?.errorMetadata ?? {};
  }

  async run(): Promise<Answer> {
    try {
      const found = await this.#find();
      this.signal.throwIfAborted();
      const inner = found === undefined ? await this.#options.start() : this.#answered(found);
      this.#inner = inner;
      inner.onSending = (endpoint, body) => this.onSending?.(endpoint, body);
      return this.#kept(await inner.run());
    } catch (error) {
      this.#flight?.land();
      throw error;
    }
  }

  /** An answer that is kept when it has ended well. A stream is read along; plugins come before a whole one is kept. */
  #kept(answer: Answer): Answer {
    const collector = answer.result === undefined && !this.#isHit ? new ResultCollector() : undefined;
    return {
      ...answer,
      call: collector === undefined ? answer.call : recorded(answer.call, collector),
      settle: (end) => {
        if (collector !== undefined) this.#keep(answer, collector.result().choices);
        return answer.settle(end);
      },
      fail: (failure) => {
        this.#flight?.land();
        return answer.fail(failure);
      },
      abandon: () => {
        this.#flight?.land();
        answer.abandon();
      },
      polish: async (result) => {
        try {
          const polished = (await answer.polish?.(result)) ?? result;
          if (!this.#isHit) this.#keep(answer, polished.choices);
          return polished;
        } finally {
          this.#flight?.land();
        }
      },
    };
  }

  metadata(answered: boolean, generationTime?: number): RouterMetadata {
    return (this.#inner ?? this.#answered(NOTHING)).metadata(answered, generationTime);
  }

  /** The answer that is there, or that an equal request is about to get. */
  async #find(): Promise<CachedAnswer | undefined> {
    const { responses } = this.#services;
    const { key, rule } = this.#options;
    const other = rule.clear ? undefined : responses.underWay(key);
    if (other !== undefined) return this.#waitFor(other);
    // Whoever comes while the store is asked must find somebody to wait for.
    this.#flight = responses.lead(key);
    const found = await (rule.clear ? responses.forget(key) : responses.find(key));
    if (found !== undefined) this.#flight.land(found);
    return found;
  }

  /** Waits for a request that is the same, but not for ever: its caller may read slowly. */
  #waitFor({ landed }: Flight): Promise<CachedAnswer | undefined> {
    const { signal } = this;
    const { environment, timeouts } = this.#services;
    let leave: () => void = () => {};
    const left = new Promise<undefined>((resolve) => (leave = () => resolve(undefined)));
    signal.addEventListener('abort', leave);
    const answer = valueWithin(environment, Promise.race([landed, left]), timeouts.firstTokenMs);
    return answer.finally(() => signal.removeEventListener('abort', leave));
  }

  #answered(found: CachedAnswer): Execution {
    const { environment } = this.#services;
    const { model, provider, choices } = found;
    if (found !== NOTHING) {
      this.#isHit = true;
      this.#report = reportHit(found, environment.wallClock());
    }
    const endpoint = declareEndpoint({ slug: 'response-cache', name: provider }, model, {});
    const request = { ...this.#options.request, wantsMetadata: false };
    const answer = { choices, usage: NO_USAGE, model, provider };
    return new AnsweredExecution(this.#services, request, this.signal, endpoint, answer);
  }

  #keep({ endpoint }: Answer, choices: readonly Choice[]): void {
    const { responses, environment } = this.#services;
    const { key, rule, request } = this.#options;
    const isWhole = choices.length > 0 && choices.every(({ finish_reason: reason }) => reason !== 'error');
    const storedAt = environment.wallClock();
    const kept: CachedAnswer = {
      sourceId: request.id,
      storedAt,
      expiresAt: storedAt + rule.ttlSeconds * 1_000,
      model: endpoint.model,
      provider: endpoint.providerName,
      choices,
    };
    if (isWhole) responses.keep(key, kept);
    this.#flight?.land(isWhole ? kept : undefined);
  }
}

/** Stands for an answer where only the metadata of a request is asked for that came to none. */
const NOTHING: CachedAnswer = { sourceId: '', storedAt: 0, expiresAt: 0, model: '', provider: '', choices: [] };

/** A call that is read along. */
export function recorded(call: AnswerCall, collector: ResultCollector): AnswerCall {
  return {
    tracker: call.tracker,
    async read() {
      const pieces = await call.read();
      for (const piece of pieces ?? []) collector.add(piece);
      return pieces;
    },
    close: () => call.close(),
  };
}
