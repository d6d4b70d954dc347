/** Goes on with a stream of text that breaks after its first token. Loaded where a request wants that. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import { canBeContinued, continuedRequest, type ContinuedRequest } from '../../core/fallback/continuation.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { Settlement } from '../../core/stream/usage.ts';
import type { Dialing } from './attempt-call.ts';
import { ContinuedCall, GONE } from './continued-call.ts';
import { UpstreamCall } from './upstream-call.ts';
import type { Attempt } from '../../core/fallback/attempt.ts';
import type { Answer, ChatAnswer } from './answer.ts';

/** What going on needs of the request that it works for. */
interface ContinuedExecution {
  readonly request: NormalizedRequest;
  readonly signal: AbortSignal;
  readonly attempts: readonly Attempt[];
  /** The next answer, after the failure of the one before. */
  next(): Promise<ChatAnswer>;
}

/** Makes the calls of a request whose stream may break, and one answer of theirs. */
export class Continuing {
  readonly #execution: ContinuedExecution;
  readonly #giveTime: () => void;
  /** How each call goes on with the text before it. */
  readonly #ways = new WeakMap<UpstreamCall, ContinuedRequest>();
  /** What was sent before the calls that are made now. */
  #text: string | undefined;

  /** @param giveTime - Gives the next calls as much time as the first had. */
  constructor(execution: ContinuedExecution, giveTime: () => void) {
    this.#execution = execution;
    this.#giveTime = giveTime;
  }

  /**
   * The answer, which goes on by itself.
   *
   * @throws {@link RouterError} when there is none; the signal's reason when the client disconnects.
   */
  async run(): Promise<Answer> {
    const answer = await this.#execution.next();
    if (answer.result !== undefined || !this.#isWanted) return answer;
    return new ContinuedAnswer(this, answer);
  }

  /**
   * Makes a call; undefined where it is made as always. The answer in a provider's own words could not be gone on with
   * by another, so it is called in the chat form.
   */
  dial(dialing: Dialing<NormalizedRequest>): UpstreamCall | undefined {
    if (!this.#isWanted) return undefined;
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

  get #isWanted(): boolean {
    return canBeContinued(this.#execution.request);
  }
}

/** The answers of several endpoints as one: each goes on where the one before broke. */
class ContinuedAnswer implements Answer {
  readonly firstTokenAt: number;
  readonly call: ContinuedCall;

  constructor(continuing: Continuing, first: ChatAnswer) {
    this.firstTokenAt = first.firstTokenAt;
    this.call = new ContinuedCall(continuing, first);
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
