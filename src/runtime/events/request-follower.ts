/** Who looks on while requests go their way. */
import type { PendingRecord } from '../../core/ledger/pending-record.ts';
import type { RoutedRequest } from '../../contracts/request.ts';
import type { PlanStep } from '../../core/selection/route-plan.ts';
import type { RouterError } from '../../protocol/router-error.ts';
import type { AnswerFacts, AttemptedCall } from '../chat/attempt-call.ts';
import type { Attempt } from '../../core/fallback/attempt.ts';
import type { Answer, Recorded } from '../chat/answer.ts';

/** A call that begins. */
export interface BegunAttempt {
  readonly step: PlanStep;
  /** Number of the call, from 1. */
  readonly attempt: number;
  /** Whether it is made beside another one. */
  readonly hedge: boolean;
}

/**
 * Somebody within the router who looks on while requests go their way. Unlike a listener it is given what is there, and
 * no event is built for it: it follows thousands of requests a second and shows a few of them. It is called in the turn
 * of the request, so it must not throw, and it must not keep what it is given: that would keep prompts.
 */
export interface RequestFollower {
  /** As the `request` event, and likewise below. */
  begins(request: RoutedRequest): void;
  attemptStarts(request: RoutedRequest, begun: BegunAttempt): void;
  firstToken(request: RoutedRequest, made: AttemptedCall): void;
  attemptEnds(request: RoutedRequest, made: AttemptedCall, attempt: Attempt): void;
  answered(execution: Recorded, answer: Pick<Answer, 'endpoint' | 'firstTokenAt'>, facts: AnswerFacts): void;
  failed(execution: Recorded, error: Pick<RouterError, 'status' | 'errorType'>): void;
  /** A request was refused before it began, of which no event tells. Only known where there is a ledger. */
  refused(draft: PendingRecord): void;
}
