/** Lets plugins judge the answers of endpoints before one of them is taken. Loaded with the pipeline. */
import { failure, type Mismatch } from '../../contracts/failure.ts';
import type { AnswerJudge, PluginAnswer } from '../../contracts/plugin.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { UpstreamResult } from '../../contracts/stream-piece.ts';
import type { Attempt } from '../../core/fallback/attempt.ts';
import { faultToName, mismatchError, withFault } from '../../core/fallback/named-fault.ts';
import { addUsage } from '../../core/stream/sum-usage.ts';
import { type Settlement, type Reported, billAnswer } from '../../core/stream/billing.ts';
import type { CallResult, Dialing } from '../chat/attempt-call.ts';
import type { Choice } from '../../protocol/chat-result.ts';
import { RouterError } from '../../protocol/router-error.ts';
import { UpstreamCall } from '../chat/upstream-call.ts';

/** What is counted of answers that were refused. */
type Bill = Pick<Settlement, 'usage' | 'costParts'>;

/** Makes the calls of a request whose answers are judged, and adds up what those cost that were refused. */
export class JudgedAnswers {
  readonly #judge: AnswerJudge;
  readonly #bills: Bill[] = [];

  constructor(judge: AnswerJudge) {
    this.#judge = judge;
  }

  /**
   * Makes a call, which names the fault of an earlier answer where it is time for that.
   *
   * @param attempts - Those of the same request that have ended.
   */
  dial(dialing: Dialing<NormalizedRequest>, attempts: readonly Attempt[]): UpstreamCall {
    const fault = faultToName(attempts, dialing.endpoint);
    const requested = fault === undefined ? dialing : { ...dialing, request: withFault(dialing.request, fault) };
    return new JudgedCall(requested, this.#judge, fault, (bill) => this.#bills.push(bill));
  }

  /** What an answer and those that were refused before it used and cost. */
  total(last: Bill): Bill {
    return this.#bills.reduce(
      (sum, one) => ({
        usage: addUsage(sum.usage, one.usage),
        costParts: sum.costParts && one.costParts && [...sum.costParts, ...one.costParts],
      }),
      last,
    );
  }
}

/** A call whose complete answer is judged before it counts as one. */
class JudgedCall extends UpstreamCall {
  schema: 'fits' | undefined;
  readonly #dialing: Dialing<NormalizedRequest>;
  readonly #judge: AnswerJudge;
  readonly #named: boolean;
  readonly #onRefused: (bill: Bill) => void;
  /** What is charged for the answer that was refused. */
  #refused: Reported | undefined;

  constructor(
    dialing: Dialing<NormalizedRequest>,
    judge: AnswerJudge,
    fault: ReturnType<typeof faultToName>,
    onRefused: (bill: Bill) => void,
  ) {
    super(dialing);
    this.#dialing = dialing;
    this.#judge = judge;
    this.#named = fault !== undefined;
    this.#onRefused = onRefused;
  }

  override get reported(): Reported {
    return this.#refused ?? super.reported;
  }

  override open(onResult: (result: CallResult) => void): void {
    super.open((result) => onResult(this.#judged(result)));
  }

  #judged(opened: CallResult): CallResult {
    if (opened.type !== 'whole' || opened.withheld === true) return opened;
    const { result } = opened;
    const { tools, toolChoice } = this.#dialing.request;
    const mayCall = tools.length > 0 && toolChoice !== 'none';
    const verdict = this.#judge(mayCall ? result.choices : result.choices.map(withoutCalls));
    if (verdict.type === 'refused') return this.#refuse(result, verdict.mismatch);
    this.schema = 'fits';
    const { choices } = verdict;
    return choices === undefined ? opened : { ...opened, result: { ...result, choices } };
  }

  #refuse(result: UpstreamResult, { path, problem, answer }: Mismatch): CallResult {
    const { request, endpoint } = this.#dialing;
    const bill = billAnswer(request, { endpoint, call: this, result });
    this.#onRefused(bill);
    const { usage, serviceTier } = result;
    const outputImages = result.choices.reduce((count, { message }) => count + (message.images?.length ?? 0), 0);
    const likelyTokens = bill.usage.completion_tokens;
    this.#refused = { usage, serviceTier, outputImages, likelyTokens, isComplete: true };
    const mismatch = { path, problem, answer, ...(this.#named ? { named: true } : {}) };
    return { type: 'failed', failure: failure('schema_mismatch', MISFIT, { mismatch }) };
  }
}

/**
 * What a plugin answered itself, judged like all answers.
 *
 * @throws {@link RouterError} 502 of the type `schema_mismatch` where it is refused: nobody else is asked.
 */
export function judgedAnswer(answer: PluginAnswer, judge: AnswerJudge | undefined): PluginAnswer {
  const verdict = judge?.(answer.choices);
  if (verdict?.type === 'refused') {
    throw new RouterError({ status: 502, errorType: 'schema_mismatch', ...mismatchError(verdict.mismatch) });
  }
  return verdict?.choices === undefined ? answer : { ...answer, choices: verdict.choices };
}

/** An answer whose calls nobody wants: none may be made any more. */
function withoutCalls(choice: Choice): Choice {
  const { tool_calls: calls = [], ...message } = choice.message;
  return calls.length === 0 ? choice : { ...choice, message, finish_reason: 'stop' };
}

/** Events and records say this of the failure; where it does not fit is for the caller. */
const MISFIT = 'The answer does not fit the JSON schema of the request';
