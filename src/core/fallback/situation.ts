/** What a move may depend on besides the plan and the attempts so far. */
import type { FallbackPolicy } from '../../options/fallback.ts';
import type { PlanStep } from '../selection/route-plan.ts';
import type { Admission } from './health.ts';

/** What the next move may depend on, besides the plan and the attempts so far. */
export interface Situation {
  readonly policy: FallbackPolicy;
  /** Monotonic milliseconds. */
  readonly now: number;
  /** When the request's own time is over. */
  readonly deadlineAt: number;
  /** Called again before every move: an endpoint may have failed for somebody else meanwhile. */
  readonly admission: (step: PlanStep) => Admission;
  /** Whether a repetition at an endpoint is let through now. Called when it would go out. */
  readonly mayRepeat: (step: PlanStep) => boolean;
  /** Whether no server has listened at an endpoint for a while, so that nothing is waited for. Default: no. */
  readonly isGone?: ((step: PlanStep) => boolean) | undefined;
  /** Whether an endpoint has answered a call that began after a time. Default: no. */
  readonly answeredSince?: ((step: PlanStep, at: number) => boolean) | undefined;
  /** Milliseconds that the request may still be held back where calls are let through only now and then. Default 0. */
  readonly holdMs?: number | undefined;
  /** True right after a wait that an earlier move requested. */
  readonly waited: boolean;
  /** Random number from 0 to 1. */
  readonly roll: number;
  /** Milliseconds that the request may still wait for a place at an endpoint whose rate is used up. Default 0. */
  readonly slotWaitMs?: number | undefined;
  /** Milliseconds that it may still wait for a place where its prompt is cached, although another is free. Default 0. */
  readonly warmWaitMs?: number | undefined;
  /** Endpoint at which it has waited for a place. */
  readonly promised?: string | undefined;
  /** Whether the process-wide budget has room for another endpoint after one that refused. Default true. */
  readonly mayRetryRefusal?: boolean | undefined;
  /** True: the refusal of a model, or of the content, is the end. Default false. */
  readonly returnRefusals?: boolean | undefined;
}
