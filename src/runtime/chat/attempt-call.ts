/** The interface between the attempt loop and its upstream calls. */
import type { TimedKind } from '../../core/selection/adaptive/speed.ts';
import type { CostPart } from '../../catalog/cost.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { TokenCalibration } from '../../core/tokens/likely-tokens.ts';
import type { Reported, Settlement } from '../../core/stream/billing.ts';
import type { RoutePlan } from '../../core/selection/route-plan.ts';
import type { TraceContext } from '../../contracts/trace-context.ts';
import type { CallProgress, Provider } from '../../contracts/provider.ts';
import type { JsonValue } from '../../protocol/json.ts';
import type { Environment } from '../../platform/environment.ts';
import type { ProviderKey } from '../../options/accounts.ts';
import type { Timeouts } from '../../options/fallback.ts';
import type { AttemptFailure, Addition } from '../../contracts/failure.ts';
import type { UpstreamResult } from '../../contracts/stream-piece.ts';
import type { Usage } from '../../protocol/usage.ts';
import type { RefusingCall } from '../endpoints/refused-calls.ts';

/**
 * How a call came out: a failure, a non-streaming response, or a stream whose first content is in hand. One that is
 * withheld says nothing but that a content filter kept it back, so that another model may be called instead.
 */
export type CallResult<Result = UpstreamResult> =
  | { readonly type: 'failed'; readonly failure: AttemptFailure }
  | { readonly type: 'whole'; readonly result: Result; readonly withheld?: boolean }
  | { readonly type: 'committed'; readonly firstTokenAt: number; readonly withheld?: boolean };

/** An upstream call, as far as its execution cares. */
export interface AttemptCall<Result> {
  /** Makes the call and reports, once, when it either failed, is complete, or has committed. Never throws. */
  open(onResult: (result: CallResult<Result>) => void): void;
  /** Frees everything. */
  close(): void;
  /** Ends a call that has not answered yet: its result is this failure. */
  giveUp(reason: AttemptFailure): void;
  /** What the provider said so far of what it will charge for. */
  readonly reported: Reported;
  /** What was encrypted or signed in the reasoning of its answer; undefined where nothing was. */
  readonly seals?: readonly string[] | undefined;
  /** What its provider changed in the request, a sentence for each change. Absent where nothing was. */
  readonly adjustments?: readonly string[] | undefined;
  /** Says of an answer that was held to a schema that it fits. Absent for all others. */
  readonly schema?: 'fits' | undefined;
  /** Where it went; undefined where its provider did not say. */
  readonly address?: (() => string) | undefined;
}

/** A call that was made, and what came of it. */
export interface AttemptedCall<Call = AttemptCall<unknown>, Result = unknown> {
  readonly endpoint: Endpoint;
  readonly call: Call;
  /** Monotonic milliseconds at which the call began. */
  readonly startedAt: number;
  readonly firstTokenAt: number;
  /** Breaker generation that the call belongs to. */
  readonly generation: number;
  /** Number of the attempt in the request, counted from 1. */
  readonly attempt: number;
  /** True when it was made although an earlier call had not failed. */
  readonly hedge: boolean;
  /** Tokens that its endpoint likely had to compute for it, and those of the calls that waited before it. */
  readonly work?: CallWork | undefined;
  /** How it was called without words that were refused. Absent for a call like any other. */
  readonly refusing?: RefusingCall | undefined;
  /** Absent for a stream. */
  readonly result?: Result | undefined;
  /** How its endpoint counts tokens, where that matters: for calls that have failed. */
  readonly tokens?: TokenCalibration | undefined;
}

/** Tokens of a call by which its time is judged. */
export interface CallWork {
  readonly kind: TimedKind;
  /** What was expected of it alone. */
  readonly tokens: number;
  /** The same with the calls that waited before it. */
  readonly work: number;
  /** Those that its endpoint was likely spared by its cache. */
  readonly spared: number;
}

/** How a call ended: well, or badly. */
export type CallEnd =
  | { readonly facts: AnswerFacts }
  | {
      readonly failure: AttemptFailure;
      /** What it used and cost, where what it had shown stays part of the answer. */
      readonly kept?: Settlement | undefined;
    };

/** What a successful answer showed, besides that it succeeded. */
export interface AnswerFacts {
  readonly usage: Usage;
  /** What the cost consists of; absent when the provider reported the cost, or when unknown the price. */
  readonly costParts?: readonly CostPart[] | undefined;
  readonly finishReason: string | null;
  /** In the provider's own words, where it said so. */
  readonly nativeFinishReason?: string | undefined;
  /** Present when the request had tools and the answer called some: whether the calls were valid. */
  readonly toolCalls?: 'valid' | 'invalid' | undefined;
}

/** What an execution knows about a call that it is about to make. */
export interface Dialing<Request> {
  readonly environment: Environment;
  /** The caller's signal. */
  readonly signal: AbortSignal;
  readonly timeouts: Timeouts;
  /** Monotonic milliseconds at which the request's own time is over. */
  readonly deadlineAt: number;
  /** The request as it goes to this endpoint. */
  readonly request: Request;
  readonly provider: Provider;
  readonly endpoint: Endpoint;
  /** The account's own key, where the endpoint is its own. */
  readonly apiKey: ProviderKey | undefined;
  /** Goes with the call, so that its trace can go on at the provider. */
  readonly traceContext: TraceContext | undefined;
  /** Whether a refusal is kept back until it is complete, because another model may be called in its place. */
  readonly holdsRefusals: boolean;
  /** What the router has put into the request beside what the caller sent. */
  readonly addition?: Addition | undefined;
  /** Whether the call is waited for although its answer is late by its time limits. */
  readonly isWaitedFor: () => boolean;
  readonly onSending: (body: () => JsonValue) => void;
  readonly onLimits: CallProgress['limits'];
}

/** What a loop over endpoints begins with, and what it shares with others where it is one of several for a request. */
export interface LoopStart<Request> {
  readonly request: Request;
  readonly plan: RoutePlan;
  readonly signal: AbortSignal;
  /** Monotonic milliseconds at which the request's time is over. Default: `timeouts.totalMs` from now. */
  readonly deadlineAt?: number | undefined;
  /** Attempts that were made before this execution, for the numbers in events. */
  readonly attemptsBefore?: number | undefined;
  /** What the request looks like for one endpoint. Called once for each, before its first attempt. */
  readonly prepare?: ((endpoint: Endpoint) => Request | Promise<Request>) | undefined;
}
