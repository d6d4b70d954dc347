/** What the answer of a call is to its reader, and what a refusal in its place is. */
import type { Settlement } from '../../core/stream/usage.ts';
import type { AttemptCall, AttemptedCall, CallEnd } from './attempt-call.ts';
import { type AttemptFailure, failure, type Continuation } from '../../contracts/failure.ts';
import type { Attempt } from '../../core/fallback/attempt.ts';
import type { Answer, AnswerBreak } from './answer.ts';

/**
 * The answer of a call: what its reader needs of it, and what ends it.
 *
 * @param own - What the call itself used and cost.
 * @param total - The same, with what was lost on calls beside it.
 * @param ended - Notes how it ended.
 */
export function answerOf<Call extends AttemptCall<Result>, Result>(
  { endpoint, call, firstTokenAt, result }: AttemptedCall<Call, Result>,
  own: () => Settlement,
  total: () => Settlement,
  ended: (end: CallEnd, continued?: Continuation) => Attempt,
): Answer<Call, Result> {
  const fail = (reason: AttemptFailure, { kept = false, continued }: AnswerBreak = {}): Attempt =>
    ended({ failure: reason, kept: kept ? own() : undefined }, continued);
  return {
    endpoint,
    call,
    firstTokenAt,
    result,
    bill: total,
    fail,
    settle: ({ finishReason, nativeFinishReason, toolCalls, continued }) => {
      const { usage, costParts } = total();
      const facts = { usage, costParts, finishReason, nativeFinishReason, toolCalls };
      return { attempt: ended({ facts }, continued), facts };
    },
    abandon: () => {
      call.close();
      fail(failure('aborted', 'The client disconnected'));
    },
  };
}

/** Why a model refused to answer; undefined where it did not, or where nothing was said of it and it is the answer. */
export function refusalOf({ call }: { readonly call: AttemptCall<unknown> }, end: CallEnd): string | undefined {
  if ('facts' in end) return end.facts.finishReason === 'content_filter' ? call.reported.refusal?.category : undefined;
  return end.failure === WITHHELD ? (call.reported.refusal?.category ?? 'other') : undefined;
}

/** Of an answer that is a refusal, and in whose place another model is called. */
export const WITHHELD = failure('content_policy', 'A content filter kept the entire response back');

/** A failure with the place where the call went. */
export function calledAt(reason: AttemptFailure, { address }: AttemptCall<unknown>): AttemptFailure {
  return address === undefined ? reason : { ...reason, address: address() };
}

/** How an attempt ended whose call answered. */
export const OK = { ok: true } as const;
