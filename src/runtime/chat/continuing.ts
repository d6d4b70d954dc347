/** Goes on with a stream of text that breaks after its first token. Loaded where a request wants that. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import { canBeContinued, continuedRequest, type ContinuedRequest } from '../../core/fallback/continuation.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { type Settlement, billAnswer } from '../../core/stream/billing.ts';
import type { Dialing } from './attempt-call.ts';
import { type BilledText, ContinuedCall, GONE } from './continued-call.ts';
import { UpstreamCall } from './upstream-call.ts';
import type { Attempt } from '../../core/fallback/attempt.ts';
import type { Answer, ChatAnswer, ContinuedStream } from './answer.ts';
import { escapeText } from '../../core/stream/pieces.ts';
import { StreamTracker } from '../../core/stream/stream-tracker.ts';
import type { RoutePlan } from '../../core/selection/route-plan.ts';

/** What going on needs of the request that it works for. */
interface ContinuedExecution {
  readonly request: NormalizedRequest;
  readonly signal: AbortSignal;
  readonly attempts: readonly Attempt[];
  readonly plan: RoutePlan;
  /** The next answer, after the failure of the one before. */
  next(): Promise<ChatAnswer>;
}

/** What an instance that is gone has sent of an answer. */
export interface SentBefore {
  /** Generation id of the answer. */
  readonly id: string;
  /** Its text so far. Undefined where it had not begun. */
  readonly text: string | undefined;
  /** Id of the endpoint that it came from, where that is known. */
  readonly endpoint?: string | undefined;
  /** See {@link Continuing.beforeEnd}. */
  readonly beforeEnd: () => Promise<boolean>;
}

/** Makes the calls of a request whose stream may break, and one answer of theirs. */
export class Continuing implements ContinuedStream {
  readonly #execution: ContinuedExecution;
  readonly #giveTime: () => void;
  /** How each call goes on with the text before it. */
  readonly #ways = new WeakMap<UpstreamCall, ContinuedRequest>();
  readonly #before: SentBefore | undefined;
  /** What was sent before the calls that are made now. */
  #text: string | undefined;
  isTaken = false;
  beforeEnd: ContinuedStream['beforeEnd'];

  /**
   * @param giveTime - Gives the next calls as much time as the first had.
   * @param before - What an instance that is gone has sent of the answer.
   */
  constructor(execution: ContinuedExecution, giveTime: () => void, before?: SentBefore) {
    this.#execution = execution;
    this.#giveTime = giveTime;
    this.#before = before;
    this.#text = before?.text;
    this.beforeEnd = before?.beforeEnd;
  }

  /**
   * The answer, which goes on by itself.
   *
   * @throws {@link RouterError} when there is none; the signal's reason when the client disconnects.
   */
  async run(): Promise<Answer> {
    const answer = await this.#first();
    if (answer.result !== undefined || !this.isWanted) return answer;
    const { id, text, endpoint } = this.#before ?? {};
    return new ContinuedAnswer(
      this,
      answer,
      id && text !== undefined ? { text, bill: this.#billOf(text, endpoint) } : undefined,
    );
  }

  async #first(): Promise<ChatAnswer> {
    try {
      return await this.#execution.next();
    } catch (error) {
      // Nobody else is to fail with it once more.
      await this.#before?.beforeEnd();
      throw error;
    }
  }

  /** What was likely used and paid for a text; undefined where its endpoint is unknown by now. */
  #billOf(text: string, id: string | undefined): Settlement | undefined {
    const { request, plan } = this.#execution;
    const endpoint = plan.steps.find((step) => step.endpoint.id === id)?.endpoint;
    if (endpoint === undefined) return undefined;
    const tracker = new StreamTracker();
    tracker.countText(escapeText(text));
    return billAnswer(request, { endpoint, call: { tracker } });
  }

  /**
   * Makes a call; undefined where it is made as always. The answer in a provider's own words could not be gone on with
   * by another, so it is called in the chat form.
   */
  dial(dialing: Dialing<NormalizedRequest>): UpstreamCall | undefined {
    if (!this.isWanted) return undefined;
    const { endpoint } = dialing;
    const request = dialing.request.native === undefined ? dialing.request : { ...dialing.request, native: undefined };
    if (this.#text === undefined)
      return request === dialing.request ? undefined : new UpstreamCall({ ...dialing, request });
    const continued = continuedRequest(request, endpoint, this.#text, this.#execution.attempts);
    const addition = continued.way === 'prefill' ? 'prefill' : undefined;
    const call = new UpstreamCall({ ...dialing, request: continued.request, addition });
    this.#ways.set(call, continued);
    return call;
  }

  /** How a call goes on with what was sent. */
  wayOf(call: UpstreamCall): ContinuedRequest | undefined {
    return this.#ways.get(call);
  }

  /** The answer that goes on with a text. */
  goOn(text: string): Promise<ChatAnswer> {
    this.#text = text;
    this.#giveTime();
    return this.#execution.next();
  }

  /** True once the client has disconnected. */
  get isAborted(): boolean {
    return this.#execution.signal.aborted;
  }

  get isWanted(): boolean {
    return canBeContinued(this.#execution.request);
  }
}

/** The answers of several endpoints as one: each goes on where the one before broke. */
class ContinuedAnswer implements Answer {
  readonly firstTokenAt: number;
  readonly call: ContinuedCall;

  constructor(continuing: Continuing, first: ChatAnswer, before?: BilledText) {
    this.firstTokenAt = first.firstTokenAt;
    this.call = new ContinuedCall(continuing, first, before);
  }

  get endpoint(): Endpoint {
    return this.call.answer.endpoint;
  }

  readonly bill = (): Settlement => this.call.total(this.call.answer.bill());

  readonly settle: Answer['settle'] = (end) => {
    const { attempt, facts } = this.call.answer.settle({ ...end, continued: this.call.continued });
    const { usage, costParts } = this.call.total(facts);
    return { attempt, facts: { ...facts, usage, costParts } };
  };

  readonly fail: Answer['fail'] = (reason) => this.call.fail(reason);

  readonly abandon = (): void => {
    this.call.close();
    this.call.fail(GONE);
  };
}
