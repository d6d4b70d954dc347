/** Settles calls and requests: usage, cost, events, records. */
import { usdFromNano } from '../../catalog/cost.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { CountedHealth } from '../../core/fallback/health.ts';
import type { RoutedRequest } from '../../contracts/request.ts';
import { likelyPromptTokens } from '../../core/tokens/token-estimate.ts';
import { expectedCost, requestRates, roughPromptTokens } from '../../core/selection/adaptive/expected-cost.ts';
import { failureUsd } from '../../core/selection/adaptive/health-score.ts';
import type { PlanStep } from '../../core/selection/route-plan.ts';
import type { RouterError } from '../../protocol/router-error.ts';
import { measurementOf } from './call-work.ts';
import { warnOfFailure, warnOfUnknownPrice } from '../events/attempt-warnings.ts';
import { factsOf, isListed } from '../events/announce.ts';
import type { AnswerFacts, AttemptedCall, CallEnd } from './attempt-call.ts';
import { CALLER_GONE } from './router-errors.ts';
import type { RequestLedger } from '../ledger/request-ledger.ts';
import type { RuntimeServices } from './services.ts';
import type { AttemptFailure } from '../../contracts/failure.ts';
import { growthFactor } from '../../core/selection/adaptive/growth.ts';
import { usualMedian } from '../../core/selection/adaptive/speed.ts';
import type { Attempt } from '../../core/fallback/attempt.ts';
import type { PromptCacheReport } from '../../contracts/prompt-cache.ts';
import type { Usage } from '../../protocol/usage.ts';
import type { Answer, Execution, Recorded } from './answer.ts';
import { spentOnFailed, chargedFor, ABANDONED, usageOfFailed } from './billing.ts';

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
  if (facts !== undefined && attempt.continued === undefined) learnFrom(services, sent, attempt.step, facts, endedAt);
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
    const { failure: cause } = outcome;
    const charged = ABANDONED.has(cause.kind) ? 0 : spentOnFailed(answer, execution.request, cause);
    // What is charged at an unknown price counts as nothing beside the time.
    const lostUsd = failureUsd(endedAt - attempt.startedAt, usdFromNano(charged ?? 0));
    const isLong = cause.kind === 'timeout' && isLongByItself(services, answer, endedAt - attempt.startedAt);
    const counts = isLong ? TOO_LONG : cause;
    const failed = { ok: false, failure: counts, generation, request, account, again: isAgain, roll, lostUsd } as const;
    const observed = cause.mismatch === undefined ? undefined : MISFIT;
    counted = services.records.ended(endpoint, failed, observed, endedAt);
    warnOfFailure(services, endpoint, cause);
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

/** Counts against nobody: the prompt takes longer to compute than calls may take. */
const TOO_LONG: AttemptFailure = { kind: 'superseded', message: 'The call would take longer than its time limit' };

/** Whether a call that ran out of time would by its own length have taken about as long where nothing is wrong. */
function isLongByItself({ records }: RuntimeServices, { endpoint, work }: AttemptedCall, ms: number): boolean {
  const usual = work && records.usual(endpoint, work.kind);
  const median = usual && usualMedian(usual);
  if (work === undefined || median === undefined) return false;
  return 2 * median * growthFactor(usual?.growth, work.tokens + work.spared) >= ms;
}

/** What an answer shows of its endpoint that was refused because it does not fit its schema. */
const MISFIT = { schema: 'misfits' } as const;

/**
 * Learns from the usage of an answer: how long prompts are cached, what hedges may cost, and how many tokens the
 * endpoint counts in a prompt of nothing but text, beside what was estimated for it.
 *
 * @param sent - The request as it went to this endpoint.
 */
function learnFrom(
  { records, pacing, prompts }: RuntimeServices,
  sent: RoutedRequest,
  { endpoint, figures }: PlanStep,
  { usage, costParts }: AnswerFacts,
  now: number,
): void {
  const cached = usage.prompt_tokens_details?.cached_tokens;
  if (figures !== undefined && figures.warmth > 0 && cached !== undefined)
    prompts.answered(endpoint, figures.warmth * usage.prompt_tokens, cached);
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
  const { raw, thrown: _, mismatch: __, ...shown } = failure;
  return raw === undefined ? shown : { ...shown, message: `The provider answered ${shown.status ?? 'with an error'}` };
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

/**
 * Records that a chat request was answered: the sticky session and the `result` event.
 *
 * @returns How much of its prompt was cached, where a ledger compares that.
 */
export function settleResult(
  services: RuntimeServices,
  execution: Execution,
  answer: Answer,
  facts: AnswerFacts,
): PromptCacheReport | undefined {
  const compared = services.ledger && {
    takesMarks: services.providers.get(answer.endpoint.provider)?.cacheMarks === true,
    said: answer.result ?? answer.call.tracker.facts,
    servedAt: services.sticky.servedAt(execution.request),
  };
  services.sticky.remember(execution.request, answer.endpoint, facts.usage)?.catch(() => {
    services.events.emit('warning', {
      code: 'state_store',
      message: 'A sticky session could not be stored; check the store in "state"',
    });
  });
  return announceResult(services, execution, answer, facts, compared);
}

/** Emits the `result` event. */
export function announceResult(
  services: RuntimeServices,
  execution: Recorded,
  answer: Pick<Answer, 'endpoint' | 'firstTokenAt'>,
  facts: AnswerFacts,
  compared?: Parameters<RequestLedger['answered']>[3],
): PromptCacheReport | undefined {
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
  const cache = services.ledger?.answered(
    services.facts,
    execution,
    { endpoint, firstTokenAt, usage, finishReason, nativeFinishReason },
    compared,
  );
  if (!services.events.isHeard) return cache;
  for (const follower of services.events.followers) follower.answered(execution, answer, facts);
  if (!services.events.heard('result')) return cache;
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
    cache,
  });
  return cache;
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
