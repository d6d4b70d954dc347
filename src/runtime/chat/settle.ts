import { type ReportedUsage, scatter } from '../../core/stream/pieces.ts';
import { nanoFromUsd, usdFromNano } from '../../catalog/cost.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { Attempt, AttemptFailure } from '../../core/fallback/failure.ts';
import type { CountedHealth } from '../../core/fallback/health.ts';
import type { RoutedRequest } from '../../core/normalize/normalized-request.ts';
import { calibrated } from '../../core/tokens/likely-tokens.ts';
import { type EstimatedPrompt, likelyPromptTokens } from '../../core/tokens/token-estimate.ts';
import { expectedCost, requestRates, roughPromptTokens } from '../../core/selection/adaptive/expected-cost.ts';
import { failureUsd } from '../../core/selection/adaptive/wellness.ts';
import type { CacheReport } from '../../core/limits/cache-rule.ts';
import type { RoutePlan } from '../../core/selection/route-plan.ts';
import { type Estimate, settleUsage, type Settlement } from '../../core/stream/usage.ts';
import type { RouterError } from '../../protocol/router-error.ts';
import type { Usage } from '../../protocol/chunk.ts';
import { measurementOf } from './call-work.ts';
import { warnOfFailure, warnOfUnknownPrice } from './attempt-warnings.ts';
import { factsOf, isListed } from './announce.ts';
import type { AnswerFacts, AttemptCall, AttemptedCall, CallEnd } from './attempt-call.ts';
import type { Answer, Execution, AnswerCall } from './execution.ts';
import { CALLER_GONE } from './router-errors.ts';
import type { RuntimeServices } from './services.ts';
import { StreamTracker } from '../../core/stream/stream-tracker.ts';
import type { UpstreamResult } from '../../core/stream/upstream-result.ts';

/** What recording an end needs of an execution, whatever it asks for. */
export interface Recorded {
  readonly request: RoutedRequest;
  /** Monotonic milliseconds. */
  readonly startedAt: number;
  readonly attempts: readonly Attempt[];
  readonly plan: RoutePlan;
  /** How the response cache was used, where it took part. */
  readonly report?: CacheReport | undefined;
}

/**
 * Records how one call ended: health, speed, and the `attempt` event. Never makes the caller wait.
 *
 * @param sent - The request as it went to this endpoint, where that is another one.
 * @param isAgain - Whether the request has failed there before.
 * @returns What a failure has left at its endpoint, as long as that may be taken back.
 */
export function settleAttempt(
  services: RuntimeServices,
  execution: Pick<Recorded, 'request'>,
  attempt: Attempt,
  answer: AttemptedCall,
  facts?: AnswerFacts,
  sent: RoutedRequest = execution.request,
  isAgain = false,
): CountedHealth | 'again' | undefined {
  const { outcome, endedAt, chargedNanoUsd = 0 } = attempt;
  const { generation, endpoint } = answer;
  // A prompt that a text was added to is not the one that was estimated.
  if (facts !== undefined && attempt.continued === undefined) learnFrom(services, sent, endpoint, facts, endedAt);
  if (chargedNanoUsd > 0) services.spending.count(execution.request.account, chargedNanoUsd);
  const measured = outcome.ok ? measurementOf(attempt, answer, execution.request, facts) : undefined;
  const seals = facts && answer.call.seals;
  if (seals !== undefined) services.origins.note(execution.request.account.id, endpoint, seals);
  const account = execution.request.account.id;
  let counted: CountedHealth | 'again' | undefined;
  if (outcome.ok) services.records.ended(endpoint, { ok: true, generation, account }, measured, endedAt);
  else {
    const roll = services.environment.random();
    const { id: request } = execution.request;
    const { failure } = outcome;
    const charged = ABANDONED.has(failure.kind) ? 0 : spentOnFailed(answer, execution.request, failure);
    // What is charged at an unknown price counts as nothing beside the time.
    const lostUsd = failureUsd(endedAt - attempt.startedAt, usdFromNano(charged ?? 0));
    const failed = { ok: false, failure, generation, request, account, again: isAgain, roll, lostUsd } as const;
    counted = services.records.ended(endpoint, failed, undefined, endedAt);
    warnOfFailure(services, endpoint, failure);
  }
  if (outcome.ok && facts !== undefined && facts.usage.cost === undefined) warnOfUnknownPrice(services, endpoint);
  if (!services.events.isHeard) return counted;
  for (const follower of services.events.followers) follower.attemptEnds(execution.request, answer, attempt);
  if (!services.events.heard('attempt')) return counted;
  services.events.emit('attempt', {
    request: factsOf(execution.request),
    attempt: answer.attempt,
    hedge: answer.hedge || undefined,
    provider: endpoint.provider,
    model: endpoint.model,
    listed: isListed(services, endpoint.model),
    endpoint: endpoint.id,
    durationMs: attempt.endedAt - attempt.startedAt,
    firstTokenMs: outcome.ok ? answer.firstTokenAt - answer.startedAt : undefined,
    failure: outcome.ok ? undefined : inOurWords(outcome.failure),
    usage: attempt.usage,
    costNanoUsd: attempt.chargedNanoUsd || undefined,
    givenUpCost: attempt.costUsd,
  });
  return counted;
}

/**
 * Learns from the usage of an answer: what hedges may cost, and how many tokens the endpoint counts in a prompt of nothing
 * but text, beside what was estimated for it.
 *
 * @param sent - The request as it went to this endpoint.
 */
function learnFrom(
  { records, pacing }: RuntimeServices,
  sent: RoutedRequest,
  endpoint: Endpoint,
  { usage, costParts }: AnswerFacts,
  now: number,
): void {
  const usd = usage.cost_details?.upstream_inference_cost ?? undefined;
  pacing.answered(usd);
  // What the provider says itself has no parts.
  const declaredUsd = usd === undefined || costParts !== undefined ? undefined : declaredCost(endpoint, sent, usage);
  if (usd !== undefined && declaredUsd !== undefined && declaredUsd > 0)
    records.charged(endpoint, usd / declaredUsd, now);
  if (!isTextCounted(sent, usage) || !records.wantsTokens(endpoint, now)) return;
  records.reported(endpoint, likelyPromptTokens(sent), usage.prompt_tokens);
}

/** What an answer to a request of nothing but text costs by the declared price; undefined where something else counts. */
function declaredCost(endpoint: Endpoint, sent: RoutedRequest, usage: Usage): number | undefined {
  if (sent.operation !== 'chat' || sent.needs.inputModalities.length > 0 || usage.estimated === true) return undefined;
  const { prompt_tokens: prompt, completion_tokens: answer, prompt_tokens_details: details } = usage;
  if (details?.cache_write_tokens) return undefined;
  return expectedCost(requestRates(endpoint, sent), { prompt, answer }, details?.cached_tokens ?? 0, 1);
}

/** Whether a provider has counted a prompt of nothing but text, so that its length tells how it counts text. */
function isTextCounted({ needs, operation }: RoutedRequest, { estimated }: Usage): boolean {
  return operation === 'chat' && !needs.tools && needs.inputModalities.length === 0 && estimated !== true;
}

/** A provider's words may repeat what the caller said, and events end up in logs. */
function inOurWords(failure: AttemptFailure): AttemptFailure {
  const { raw, thrown: _, ...told } = failure;
  return raw === undefined ? told : { ...told, message: `The provider answered ${told.status ?? 'with an error'}` };
}

/**
 * What a failed call cost, in whole nano-dollars; undefined where its price is unknown. Providers charge for what they have generated, also where an answer
 * does not come to its end: the greater of what they reported and what was likely generated. A call that failed before
 * it said anything costs nothing; where the client disconnected, it is guessed what will be billed.
 */
function spentOnFailed(answer: AttemptedCall, request: RoutedRequest, failed: AttemptFailure): number | undefined {
  return isCharged(answer, failed) ? settleUnanswered(answer, request).costNanoUsd : 0;
}

function isCharged({ call: { reported } }: AttemptedCall, { kind }: AttemptFailure): boolean {
  return reported.usage !== undefined || (reported.likelyTokens ?? 0) > 0 || ABANDONED.has(kind);
}

/** What the loser of a hedge may have cost, in US dollars; undefined for other calls, and without a price. */
export function lostOnHedge(made: AttemptedCall, request: RoutedRequest, failed: AttemptFailure): number | undefined {
  if (failed.kind !== 'superseded' || made.endpoint.price === undefined) return undefined;
  return usdFromNano(spentOnFailed(made, request, failed) ?? 0);
}

/** The same of all attempts of a request. */
export function lostOnHedges(attempts: readonly Attempt[]): number {
  return attempts.reduce((sum, { costUsd = 0 }) => sum + costUsd, 0);
}

/** What a provider charges for a call that is given up, in US dollars; undefined without a price. */
export function givenUpUsd(answer: UnansweredCall, request: RoutedRequest): number | undefined {
  return settleUnanswered(answer, request).usage.cost_details?.upstream_inference_cost ?? undefined;
}

/** What the cost of a call without an answer depends on. */
export type UnansweredCall = Pick<AttemptedCall, 'endpoint' | 'tokens'> & {
  readonly call: Pick<AttemptCall<unknown>, 'reported'>;
};

function settleUnanswered({ endpoint, tokens, call }: UnansweredCall, request: RoutedRequest): Settlement {
  const { usage, serviceTier, outputImages, likelyTokens = 0, isWhole = false } = call.reported;
  // Some report a prompt of no tokens until they have counted it.
  const billed = billingOf(request, serviceTier, isWhole || (usage?.prompt_tokens ?? 0) > 0 ? usage : undefined);
  return settleUsage(endpoint, usage, {
    ...billed,
    promptTokens: calibrated(billed.promptTokens, tokens),
    completionTokens: likelyTokens,
    outputImages,
    isCut: !isWhole,
  });
}

/** What a call used and cost, where anybody wants to know. */
export function accountOf(
  { ledger, events, spending }: Pick<RuntimeServices, 'ledger' | 'events' | 'spending'>,
  request: RoutedRequest,
  made: AttemptedCall,
  end: CallEnd,
  reserved: number | undefined,
): Pick<Attempt, 'firstTokenAt' | 'usage' | 'chargedNanoUsd'> {
  const isHeard = events.isHeard && events.heard('attempt');
  if (!isHeard && ledger === undefined && !spending.counts(request.account)) return UNCOUNTED;
  const isAnswer = 'facts' in end;
  return {
    firstTokenAt: isAnswer ? made.firstTokenAt : undefined,
    usage: isAnswer ? end.facts.usage : (end.kept?.usage ?? usageOfFailed(made, request, end.failure)),
    chargedNanoUsd: reserved ?? chargedFor(made, request, end),
  };
}

const UNCOUNTED = { firstTokenAt: undefined, usage: undefined, chargedNanoUsd: undefined };

/** What is charged for a call that has ended, in nano-dollars; undefined where its price is unknown. */
export function chargedFor(made: AttemptedCall, request: RoutedRequest, end: CallEnd): number | undefined {
  if ('failure' in end) {
    return end.kept === undefined ? spentOnFailed(made, request, end.failure) : end.kept.costNanoUsd;
  }
  const { cost } = end.facts.usage;
  return cost === undefined ? undefined : nanoFromUsd(cost);
}

/** Failures after which the provider may go on, and charges for it. */
const ABANDONED: ReadonlySet<AttemptFailure['kind']> = new Set(['aborted', 'superseded']);

/** Usage of a call that failed and is charged for, although its caller may not pay for it. */
function usageOfFailed(made: AttemptedCall, request: RoutedRequest, failed: AttemptFailure): Usage | undefined {
  return isCharged(made, failed) ? settleUnanswered(made, request).usage : undefined;
}

/**
 * What a cost breakdown needs of a request, non-streaming or streaming, so that both cost the same.
 *
 * @param reported - Usage that the provider reported: then the prompt need not be estimated, which takes time.
 */
export function billingOf(
  request: Pick<RoutedRequest, 'needs' | 'created'> & EstimatedPrompt,
  serviceTier: string | null | undefined,
  reported?: ReportedUsage,
): Omit<Estimate, 'completionTokens' | 'outputImages'> {
  const { needs, created } = request;
  const promptTokens = reported === undefined ? likelyPromptTokens(request) : 0;
  return { promptTokens, images: needs.images, at: created, serviceTier };
}

/** Records that a chat request was answered: the sticky session and the `result` event. */
export function settleResult(
  services: RuntimeServices,
  execution: Execution,
  answer: Answer,
  facts: AnswerFacts,
): void {
  services.sticky.remember(execution.request, answer.endpoint, facts.usage)?.catch(() => {
    services.events.emit('warning', {
      code: 'state_store',
      message: 'A sticky session could not be stored; check the store in "state"',
    });
  });
  announceResult(services, execution, answer, facts);
}

/** Emits the `result` event. */
export function announceResult(
  services: RuntimeServices,
  execution: Recorded,
  answer: Pick<Answer, 'endpoint' | 'firstTokenAt'>,
  facts: AnswerFacts,
): void {
  const { rateTicket, account } = execution.request;
  if (rateTicket !== undefined) services.rates.settle(rateTicket, facts.usage.total_tokens);
  services.usualTokens.note(
    account.id,
    answer.endpoint.model,
    facts.usage.completion_tokens,
    isTextCounted(execution.request, facts.usage) && execution.attempts.at(-1)?.continued === undefined
      ? { reported: facts.usage.prompt_tokens, rough: roughPromptTokens(execution.request.needs) }
      : undefined,
  );
  const { usage, finishReason, nativeFinishReason } = facts;
  const { endpoint, firstTokenAt } = answer;
  services.ledger?.answered(services.facts, execution, {
    endpoint,
    firstTokenAt,
    usage,
    finishReason,
    nativeFinishReason,
  });
  if (!services.events.isHeard) return;
  for (const follower of services.events.followers) follower.answered(execution, answer, facts);
  if (!services.events.heard('result')) return;
  services.events.emit('result', {
    request: factsOf(execution.request),
    provider: answer.endpoint.provider,
    model: answer.endpoint.model,
    listed: isListed(services, answer.endpoint.model),
    attempts: execution.attempts.length,
    durationMs: services.environment.now() - execution.startedAt,
    firstTokenMs: answer.firstTokenAt - execution.startedAt,
    usage: facts.usage,
    costParts: facts.costParts,
    finishReason: facts.finishReason,
  });
}

/** Records that a request failed, or that its client disconnected. */
export function settleError(
  services: RuntimeServices,
  execution: Recorded,
  error: Pick<RouterError, 'status' | 'errorType'> & { readonly message?: string },
  committed: boolean,
): void {
  const { rateTicket } = execution.request;
  // What was shown, or may have been begun when the client disconnected, stays counted as it was estimated.
  if (rateTicket !== undefined && !committed && error !== CALLER_GONE) services.rates.settle(rateTicket, 0);
  services.ledger?.failed(services.facts, execution, error, committed);
  for (const follower of services.events.followers) follower.failed(execution, error);
  if (!services.events.heard('error')) return;
  const last = execution.attempts.at(-1)?.step.endpoint;
  services.events.emit('error', {
    request: factsOf(execution.request),
    ...(last === undefined
      ? {}
      : { provider: last.provider, model: last.model, listed: isListed(services, last.model) }),
    status: error.status,
    errorType: error.errorType,
    attempts: execution.attempts.length,
    durationMs: services.environment.now() - execution.startedAt,
    committed,
  });
}

/** An answer, as far as its cost depends on it. */
interface Billed {
  readonly endpoint: Endpoint;
  readonly call: Pick<AnswerCall, 'tracker'>;
  readonly result?: UpstreamResult | undefined;
}

/** What was counted in an answer. */
interface Counted {
  /** Undefined when the provider reported nothing. */
  readonly reported: ReportedUsage | undefined;
  /** The likely number of tokens in everything the model wrote. */
  readonly likelyTokens: number;
  readonly images: number;
  /** The tier in which the provider says it served. */
  readonly serviceTier: string | null | undefined;
}

/** What an answer used and cost: a whole one, or a stream as far as it was read. Both cost the same. */
export function billAnswer(request: RoutedRequest, { endpoint, call, result }: Billed): Settlement {
  const { reported, likelyTokens, images, serviceTier } =
    result === undefined ? countedIn(call.tracker) : countedInWhole(call.tracker, result);
  return settleUsage(endpoint, reported, {
    ...billingOf(request, serviceTier, reported),
    completionTokens: likelyTokens,
    outputImages: images,
  });
}

function countedIn({ usage, likelyTokens, images, facts }: StreamTracker): Counted {
  return { reported: usage, likelyTokens, images, serviceTier: facts.serviceTier };
}

function countedInWhole(tracker: StreamTracker, result: UpstreamResult): Counted {
  return {
    reported: result.usage,
    likelyTokens: result.usage === undefined ? likelyTokensOf(tracker, result) : 0,
    images: result.choices.reduce((count, { message }) => count + (message.images?.length ?? 0), 0),
    serviceTier: result.serviceTier,
  };
}

/** Counts an answer exactly as it would be counted in a stream. */
function likelyTokensOf(seen: StreamTracker, result: UpstreamResult): number {
  if (seen.likelyTokens > 0) return seen.likelyTokens;
  const tracker = new StreamTracker();
  for (const piece of scatter(result)) if (typeof piece !== 'string') tracker.observe(piece);
  return tracker.likelyTokens;
}
