/** Answers a request from the response cache, or fills the cache with its answer. */
import { declareEndpoint, type Endpoint } from '../../catalog/endpoint.ts';
import type { CacheRule } from '../../core/limits/cache-rule.ts';
import { isWhole, mayAnswer } from '../../core/limits/kept-answer.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { ActivePlugin } from '../../core/pipeline/choose-plugins.ts';
import type { RoutePlan } from '../../core/selection/route-plan.ts';
import { ResultCollector } from '../../core/stream/collect.ts';
import { type MaybePromise, valueWithin } from '../../platform/wait.ts';
import type { Choice } from '../../protocol/chat-result.ts';
import type { JsonObject, JsonValue } from '../../protocol/json.ts';
import type { RouterMetadata } from '../../protocol/metadata.ts';
import type { RuntimeServices } from '../chat/services.ts';
import { AnsweredExecution } from '../pipeline/answered-execution.ts';
import { type CachedAnswer, reportHit, type SharedRequest } from './responses.ts';
import type { Attempt } from '../../core/fallback/attempt.ts';
import type { CacheReport } from '../../contracts/state-store.ts';
import { type Answer, changedAnswer, type Execution, recorded, type RequestOutcome } from '../chat/answer.ts';

/** What a request that uses the cache begins with. */
export interface CachedExecutionOptions {
  readonly request: NormalizedRequest;
  readonly key: string;
  readonly rule: CacheRule;
  /** Those that take part. */
  readonly plugins: readonly ActivePlugin[];
  readonly signal: AbortSignal;
  /** Begins the request as if there was no cache. */
  readonly start: () => MaybePromise<Execution>;
}

/** Usage of an answer that cost nothing (gaps 9.4). */
const NO_USAGE = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, reportedCost: 0 };

/**
 * A request that is answered from the cache if it can be, and whose answer is kept if it cannot. Equal requests at the
 * same time ask upstream once; when that call comes to no answer, the others go on by themselves.
 */
export class CachedExecution implements Execution {
  readonly startedAt: number;
  readonly signal: AbortSignal;
  onSending: ((endpoint: Endpoint, body: JsonValue) => void) | undefined;
  readonly #services: RuntimeServices;
  readonly #options: CachedExecutionOptions;
  #report: CacheReport;
  #inner: Execution | undefined;
  #sharedRequest: SharedRequest | undefined;
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
      const notify: Execution['onSending'] = (endpoint, body) => this.onSending?.(endpoint, body);
      inner.onSending = notify;
      return this.#kept(await inner.run());
    } catch (error) {
      this.#sharedRequest?.land();
      throw error;
    }
  }

  /** An answer that is kept when it has ended well. A stream is read along; plugins come before a whole one is kept. */
  #kept(answer: Answer): Answer {
    const collector = answer.result === undefined && !this.#isHit ? new ResultCollector() : undefined;
    return changedAnswer(answer, {
      call: collector === undefined ? answer.call : recorded(answer.call, collector),
      settle: (end) => {
        if (collector !== undefined) this.#keep(answer, collector.result().choices);
        return answer.settle(end);
      },
      fail: (failure, how) => {
        this.#sharedRequest?.land();
        return answer.fail(failure, how);
      },
      abandon: () => {
        this.#sharedRequest?.land();
        answer.abandon();
      },
      polish: async (result) => {
        try {
          const polished = (await answer.polish?.(result)) ?? result;
          if (!this.#isHit) this.#keep(answer, polished.choices);
          return polished;
        } finally {
          this.#sharedRequest?.land();
        }
      },
    });
  }

  metadata(outcome: RequestOutcome, generationTime?: number): RouterMetadata {
    return (this.#inner ?? this.#answered(NOTHING)).metadata(outcome, generationTime);
  }

  /** An answer, unless rules and policies have changed since it was made, and now forbid it. */
  #allowed(kept: CachedAnswer | undefined): CachedAnswer | undefined {
    const { request, plugins } = this.#options;
    const { catalog } = this.#services.facts;
    const context = { catalog, plugins: plugins.map(({ plugin }) => plugin.id) };
    return kept !== undefined && mayAnswer(kept, request, context) ? kept : undefined;
  }

  /** The answer that is there, or that an equal request is about to get. */
  async #find(): Promise<CachedAnswer | undefined> {
    const { responses } = this.#services;
    const { key, rule } = this.#options;
    const other = rule.clear ? undefined : responses.underWay(key);
    if (other !== undefined) return this.#allowed(await this.#waitFor(other));
    // Whoever comes while the store is asked must find somebody to wait for.
    this.#sharedRequest = responses.lead(key);
    const found = this.#allowed(await (rule.clear ? responses.forget(key) : responses.find(key)));
    if (found !== undefined) this.#sharedRequest.land(found);
    return found;
  }

  /** Waits for a request that is the same, but not for ever: its caller may read slowly. */
  #waitFor({ landed }: SharedRequest): Promise<CachedAnswer | undefined> {
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
    return new AnsweredExecution(this.#services, request, this.signal, { endpoint, answer });
  }

  #keep({ endpoint }: Answer, choices: readonly Choice[]): void {
    const { responses, environment } = this.#services;
    const { key, rule, request } = this.#options;
    const isComplete = isWhole(choices, request);
    const storedAt = environment.wallClock();
    const kept: CachedAnswer = {
      sourceId: request.id,
      storedAt,
      expiresAt: storedAt + rule.ttlSeconds * 1_000,
      endpoint: endpoint.id,
      model: endpoint.model,
      provider: endpoint.providerName,
      choices,
    };
    if (isComplete) responses.keep(key, kept);
    this.#sharedRequest?.land(isComplete ? kept : undefined);
  }
}

/** Stands for an answer where only the metadata of a request is requested that came to none. */
const NOTHING: CachedAnswer = {
  sourceId: '',
  storedAt: 0,
  expiresAt: 0,
  endpoint: '',
  model: '',
  provider: '',
  choices: [],
};
