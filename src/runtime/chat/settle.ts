/** Settles calls and requests: usage, cost, events, records. */
import { usdFromNano } from '../../catalog/cost.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { CountedHealth } from '../../core/fallback/forgiven.ts';
import type { RoutedRequest } from '../../contracts/request.ts';
import { likelyPromptTokens } from '../../core/tokens/token-estimate.ts';
import {
  expectedCost,
  PER_ANSWER_TOKEN,
  requestRates,
  roughPromptTokens,
} from '../../core/selection/adaptive/expected-cost.ts';
import { failureUsd } from '../../core/selection/adaptive/health-score.ts';
import type { RequestFailures } from '../endpoints/request-failures.ts';
import type { RouterError } from '../../protocol/router-error.ts';
import { isListed, requestFacts } from '../events/announce.ts';
import type { AnswerFacts, AttemptedCall, CallEnd, CallWork } from './attempt-call.ts';
import { hasQueued, isLongByItself } from './busy-calls.ts';
import { CALLER_GONE, thrownKind, thrownPlace } from './router-errors.ts';
import type { CallMeasurement } from '../../core/selection/performance.ts';
import { warn } from '../events/events.ts';
import type { RequestLedger } from '../ledger/request-ledger.ts';
import type { RuntimeServices } from './services.ts';
import { type AttemptFailure, NO_TOKEN } from '../../contracts/failure.ts';
import type { Attempt } from '../../core/fallback/attempt.ts';
import type { PromptCacheReport } from '../../contracts/prompt-cache.ts';
import type { Usage } from '../../protocol/usage.ts';
import type { Answer, Execution, Recorded, ShownBefore } from './answer.ts';
import { spentOnFailed, chargedFor, ABANDONED, usageOfFailed } from '../../core/stream/billing.ts';

/**
 * Records how one call ended: health, speed, and the `attempt` event. Never makes the caller wait.
 *
 * @param failures - What the request has left at endpoints so far.
 * @returns What a failure has left at its endpoint, as long as that may be taken back.
 */
export function settleAttempt(
  services: RuntimeServices,
  request: RoutedRequest,
  ended: EndedCall,
  failures: RequestFailures | undefined,
): CountedHealth | 'again' | undefined {
  const { made, attempt, facts } = ended;
  const { account } = request;
  const { endpoint } = made;
  const { outcome, chargedNanoUsd = 0 } = attempt;
  // A prompt that a text was added to is not the one that was estimated.
  if (facts !== undefined && attempt.continued === undefined) learnFrom(services, ended.sent, attempt, facts);
  if (chargedNanoUsd > 0) services.spending.count(account, chargedNanoUsd);
  const seals = facts && made.call.seals;
  if (seals !== undefined) services.origins.note(account.id, endpoint, seals);
  const counted = recordEnd(services, request, ended, failures);
  if (!outcome.ok) warnOfFailure(services, endpoint, outcome.failure);
  else if (facts !== undefined && facts.usage.cost === undefined) warnOfUnknownPrice(services, endpoint);
  if (services.events.isHeard) announceEnd(services, request, made, attempt);
  return counted;
}

/** A call that has ended, and what it came to. */
interface EndedCall {
  readonly made: AttemptedCall;
  readonly attempt: Attempt;
  /** Absent for one that has failed. */
  readonly facts: AnswerFacts | undefined;
  /** The request as it went to this endpoint. */
  readonly sent: RoutedRequest;
}

/** Folds the end of a call into the record of its endpoint. */
function recordEnd(
  services: RuntimeServices,
  request: RoutedRequest,
  { made, attempt, facts }: EndedCall,
  failures: RequestFailures | undefined,
): CountedHealth | 'again' | undefined {
  const { endpoint, generation } = made;
  const { outcome, startedAt, endedAt } = attempt;
  const account = request.account.id;
  if (outcome.ok) {
    const measured = measurementOf(attempt, made, request, facts);
    return services.records.ended(endpoint, { ok: true, generation, account, startedAt }, measured, endedAt);
  }
  const { failure: cause } = outcome;
  const charged = ABANDONED.has(cause.kind) ? 0 : spentOnFailed(made, request, cause);
  const isLong =
    cause.kind === 'timeout' &&
    (isLongByItself(services, made, endedAt - startedAt) || hasQueued(services, request, made, attempt));
  const failed = {
    ok: false,
    failure: isLong ? TOO_LONG : cause,
    generation,
    request: request.id,
    account,
    startedAt,
    again: failures?.has(endpoint) === true,
    roll: services.environment.random(),
    // What is charged at an unknown price counts as nothing beside the time.
    lostUsd: failureUsd(endedAt - startedAt, usdFromNano(charged ?? 0)),
  } as const;
  return services.records.ended(endpoint, failed, cause.mismatch === undefined ? undefined : MISFIT, endedAt);
}

/** What an answer shows of its endpoint. Embeddings generate nothing: their speed is that of reading. */
function measurementOf(
  attempt: Attempt,
  answer: Pick<AttemptedCall, 'call' | 'startedAt' | 'firstTokenAt' | 'result' | 'work'>,
  { operation, needs }: RoutedRequest,
  facts: AnswerFacts | undefined,
): CallMeasurement {
  const tokens = operation === 'chat' ? facts?.usage.completion_tokens : facts?.usage.prompt_tokens;
  const streamed = answer.result === undefined;
  const seconds = (attempt.endedAt - (streamed ? answer.firstTokenAt : answer.startedAt)) / 1_000;
  return {
    latencyMs: answer.firstTokenAt - answer.startedAt,
    inOnePiece: !streamed,
    tokensPerSecond: tokens !== undefined && seconds > 0 ? tokens / seconds : undefined,
    computedTokens: answer.work && facts && computedTokens(answer.work, needs, facts.usage),
    toolCalls: facts?.toolCalls,
    schema: answer.call.schema,
  };
}

/** Tokens that an endpoint has computed for a call, once it is known. Prompts are still counted as roughly as before, so that both can be compared. */
function computedTokens(
  { kind, tokens, work }: CallWork,
  needs: RoutedRequest['needs'],
  { prompt_tokens: prompt, completion_tokens: answer, prompt_tokens_details: details }: Usage,
): number {
  const cached = prompt > 0 ? Math.min(1, (details?.cached_tokens ?? 0) / prompt) : 0;
  return (
    work - tokens + roughPromptTokens(needs) * (1 - cached) + (kind === 'streaming' ? 0 : PER_ANSWER_TOKEN * answer)
  );
}

/** Emits the `attempt` event. */
function announceEnd(services: RuntimeServices, request: RoutedRequest, made: AttemptedCall, attempt: Attempt): void {
  const { events } = services;
  for (const follower of events.followers) follower.attemptEnds(request, made, attempt);
  if (!events.heard('attempt')) return;
  const { endpoint } = made;
  const { outcome } = attempt;
  events.emit('attempt', {
    request: requestFacts(request),
    attempt: made.attempt,
    hedge: made.hedge || undefined,
    provider: endpoint.provider,
    model: endpoint.model,
    listed: isListed(services, endpoint.model),
    endpoint: endpoint.id,
    durationMs: attempt.endedAt - attempt.startedAt,
    firstTokenMs: outcome.ok ? made.firstTokenAt - made.startedAt : undefined,
    failure: outcome.ok ? undefined : inOurWords(outcome.failure),
    usage: attempt.usage,
    costNanoUsd: attempt.chargedNanoUsd || undefined,
    givenUpCost: attempt.costUsd,
  });
}

/** Warns of a failure that lasts until somebody does something about it. */
function warnOfFailure(services: RuntimeServices, endpoint: Endpoint, failure: AttemptFailure): void {
  warnOfRefusedKey(services, endpoint, failure);
  warnOfBrokenAdapter(services, endpoint, failure);
}

/** A key that is not accepted, or has nothing left, stays that way until somebody does something about it. */
function warnOfRefusedKey({ events, records }: RuntimeServices, endpoint: Endpoint, failure: AttemptFailure): void {
  const { provider, model, byok } = endpoint;
  if (byok !== undefined || (failure.kind !== 'credentials' && failure.kind !== 'quota')) return;
  // A refusal that may concern its request alone is nobody's trouble until it is suspected to be more.
  if (failure.doubtful === true && records.admission(endpoint).ok) return;
  const trouble =
    failure.kind === 'credentials' ? 'does not accept its key' : 'says that its balance or quota is used up';
  const answer = failure.status === undefined ? '' : ` (it answered ${failure.status})`;
  warn(events, {
    code: 'provider_key',
    message: `${provider} ${trouble} for ${model}${answer}; it cools down for a while. Check the key and the account there`,
  });
}

/** The caller sees that the provider could not be called, so whoever wrote its adapter must hear why. */
function warnOfBrokenAdapter({ events }: RuntimeServices, endpoint: Endpoint, failure: AttemptFailure): void {
  if (!('thrown' in failure)) return;
  const { thrown, message } = failure;
  const what = message === NO_TOKEN ? 'apiKey function' : 'adapter';
  warn(events, {
    code: 'provider_failed',
    message: `The ${what} of ${endpoint.provider} threw ${thrownKind(thrown)} ${thrownPlace(thrown)}`.trim(),
    thrown,
  });
}

/** Costs that are missing are not missed until somebody adds them up, so it is told with the first answer. */
function warnOfUnknownPrice({ events, records }: RuntimeServices, endpoint: Endpoint): void {
  if (!records.noteUnpriced(endpoint)) return;
  const { model, provider, price } = endpoint;
  const unknown = price === undefined ? 'its price is unknown' : 'its price leaves out something that was billed';
  warn(events, {
    code: 'price_unknown',
    message:
      `An answer of ${model} at ${provider} has no cost in usage, budgets and metrics: ${unknown}. Declare it in the ` +
      `provider's models, { '${model}': { price: { prompt, completion } } } in USD per million tokens, or run ` +
      '"npx signalbox catalog refresh"',
  });
}

/** Counts against nobody: the prompt takes longer to compute than calls may take. */
const TOO_LONG: AttemptFailure = { kind: 'superseded', message: 'The call would take longer than its time limit' };

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
  { step, endedAt: now }: Attempt,
  { usage, costParts }: AnswerFacts,
): void {
  const { endpoint, figures } = step;
  const cached = usage.prompt_tokens_details?.cached_tokens;
  if (figures !== undefined && figures.warmth > 0 && cached !== undefined)
    prompts.answered(endpoint, figures.warmth * usage.prompt_tokens, cached);
  const usd = usage.cost_details?.upstream_inference_cost ?? undefined;
  pacing.answered(usd);
  // What the provider says itself has no parts.
  const declaredUsd = usd === undefined || costParts !== undefined ? undefined : declaredCost(endpoint, sent, usage);
  if (usd !== undefined && declaredUsd !== undefined && declaredUsd > 0)
    records.charged(endpoint, usd / declaredUsd, now);
  if (!isTextCounted(sent, usage)) return;
  const { counts } = records;
  const { id } = sent.account;
  const [forAll, forAccount] = [records.wantsTokens(endpoint, now), counts.wants(endpoint, id, now)];
  if (!forAll && !forAccount) return;
  const estimated = likelyPromptTokens(sent);
  if (forAll) records.reported(endpoint, estimated, usage.prompt_tokens);
  if (forAccount) counts.reported(endpoint, id, { estimated, reported: usage.prompt_tokens }, now);
}

/** What an answer to a request of nothing but text costs by the declared price; undefined where something else counts. */
function declaredCost(endpoint: Endpoint, sent: RoutedRequest, usage: Usage): number | undefined {
  if (sent.operation !== 'chat' || sent.needs.inputModalities.length > 0 || usage.estimated === true) return undefined;
  const { prompt_tokens: prompt, completion_tokens: answer, prompt_tokens_details: details } = usage;
  // What costs something besides tokens says nothing of their price: fields of the client, searches, choices.
  const isPlain = Object.keys(sent.extra).length === 0 && usage.server_tool_use === undefined;
  if (!isPlain || sent.needs.parameters.includes('web_search_options') || details?.cache_write_tokens) return undefined;
  return expectedCost(requestRates(endpoint, sent), { prompt, answer }, details?.cached_tokens ?? 0, 1);
}

/** Whether a provider has counted a prompt of nothing but text, so that its length tells how it counts text. */
function isTextCounted({ needs, operation }: RoutedRequest, { estimated }: Usage): boolean {
  return operation === 'chat' && !needs.tools && needs.inputModalities.length === 0 && estimated !== true;
}

/** A provider's words may repeat what the caller said, and events end up in logs. */
function inOurWords(failure: AttemptFailure): AttemptFailure {
  const { raw, thrown: _, mismatch: __, evidence: ___, overdue: ____, ...shown } = failure;
  return raw === undefined ? shown : { ...shown, message: `The provider answered ${shown.status ?? 'with an error'}` };
}

/** What a call used and cost, where anybody wants to know. */
export function accountOf(
  { ledger, events, spending }: Pick<RuntimeServices, 'ledger' | 'events' | 'spending'>,
  request: RoutedRequest,
  made: AttemptedCall,
  { end, reserved }: { readonly end: CallEnd; readonly reserved: number | undefined },
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
  const { prompt_tokens_details: prompt } = facts.usage ?? NO_USAGE;
  // Nothing else is remembered of a request without a session.
  if (execution.request.session.key !== undefined || prompt?.cached_tokens || prompt?.cache_write_tokens) {
    services.sticky.remember(execution.request, answer.endpoint, facts.usage)?.catch(() => {
      services.events.emit('warning', {
        code: 'state_store',
        message: 'A sticky session could not be stored; check the store in "state"',
      });
    });
  }
  return announceResult(services, execution, answer, { facts, compared });
}

const NO_USAGE: Partial<Usage> = {};

/** What is known of an answer when it is announced. */
interface AnnouncedFacts {
  readonly facts: AnswerFacts;
  /** What its prompt is compared with others by. Default: it is not. */
  readonly compared?: Parameters<RequestLedger['answered']>[3];
}

/** Emits the `result` event. */
export function announceResult(
  services: RuntimeServices,
  execution: Recorded,
  answer: Pick<Answer, 'endpoint' | 'firstTokenAt'>,
  { facts, compared }: AnnouncedFacts,
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
    request: requestFacts(execution.request),
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
  shown: ShownBefore,
): void {
  // Another instance accounts for it.
  if (execution.continuing?.isTaken === true) return;
  const { rateTicket } = execution.request;
  const committed = shown === 'content';
  // What was shown, or may have been begun when the client disconnected, stays counted as it was estimated.
  if (rateTicket !== undefined && !committed && error !== CALLER_GONE) services.rates.settle(rateTicket, 0);
  services.ledger?.failed(services.facts, execution, error, shown);
  for (const follower of services.events.followers) follower.failed(execution, error);
  if (!services.events.heard('error')) return;
  const last = execution.attempts.at(-1)?.step.endpoint;
  services.events.emit('error', {
    request: requestFacts(execution.request),
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
