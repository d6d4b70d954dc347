/** Answers a request with what a plugin gave. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { PluginAnswer } from '../../contracts/plugin.ts';
import type { RoutePlan } from '../../core/selection/route-plan.ts';
import { describeRouting } from '../../core/selection/router-metadata.ts';
import { piecesOf } from '../../core/stream/pieces.ts';
import { type Settlement, settleUsage } from '../../core/stream/billing.ts';
import type { RouterMetadata } from '../../protocol/metadata.ts';
import type { RuntimeServices } from '../chat/services.ts';
import { heldCall } from './transformed-call.ts';
import type { Attempt } from '../../core/fallback/attempt.ts';
import type { Answer, Execution } from '../chat/answer.ts';

/** What a plugin answered, and the endpoint that stands for it where an answer names its model and provider. */
interface AnswerOfPlugin {
  readonly endpoint: Endpoint;
  readonly answer: PluginAnswer;
}

/** A request that a plugin answered: nobody is called, and no endpoint's health or session learns of it. */
export class AnsweredExecution implements Execution {
  readonly request: NormalizedRequest;
  readonly plan: RoutePlan;
  readonly startedAt: number;
  readonly signal: AbortSignal;
  readonly attempts: readonly Attempt[] = [];
  onSending: Execution['onSending'];
  readonly #endpoint: Endpoint;
  readonly #answer: PluginAnswer;
  readonly #now: () => number;

  constructor(
    { environment }: RuntimeServices,
    request: NormalizedRequest,
    signal: AbortSignal,
    { endpoint, answer }: AnswerOfPlugin,
  ) {
    // Without targets there is no choice of endpoints, and so nothing that a session could stick to.
    this.request = { ...request, targets: [] };
    this.plan = { requested: request.requested, steps: [], rejected: [] };
    this.startedAt = environment.now();
    this.signal = signal;
    this.#now = environment.now;
    this.#endpoint = endpoint;
    this.#answer = answer;
  }

  run(): Promise<Answer> {
    const { choices, usage } = this.#answer;
    const result = { choices, usage };
    const firstTokenAt = this.#now();
    const call = heldCall(piecesOf(result));
    const answer: Answer = {
      endpoint: this.#endpoint,
      call,
      firstTokenAt,
      bill: () => this.#bill(),
      settle: (end) => {
        const { usage: used, costParts } = this.#bill();
        return { attempt: this.#attempt({ ok: true }), facts: { usage: used, costParts, ...end } };
      },
      fail: (failure) => this.#attempt({ ok: false, failure }),
      abandon: () => call.close(),
    };
    return Promise.resolve(this.request.stream ? answer : { ...answer, result });
  }

  #bill(): Settlement {
    const reported = this.#answer.usage ?? { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    const none = { promptTokens: 0, completionTokens: 0, images: 0, at: this.request.created };
    return settleUsage(this.#endpoint, reported, none);
  }

  #attempt(outcome: Attempt['outcome']): Attempt {
    const step = { endpoint: this.#endpoint, target: 0, strategy: 'direct', why: 'a plugin answered' };
    return { step, startedAt: this.startedAt, endedAt: this.#now(), outcome };
  }

  metadata(): RouterMetadata {
    const shown = describeRouting({ plan: this.plan, attempts: [], answered: false, pipeline: [] });
    return { ...shown, strategy: this.#answer.strategy ?? shown.strategy };
  }
}
