/** Says of calls that ran out of time whether their endpoints are only busy. */
import { growthFactor, usualMedian } from '../../core/selection/adaptive/speed.ts';
import type { Attempt } from '../../core/fallback/attempt.ts';
import type { RoutedRequest } from '../../contracts/request.ts';
import type { AttemptedCall } from './attempt-call.ts';
import { timeoutsOf } from './call-watch.ts';
import type { RuntimeServices } from './services.ts';

/** Whether a call that ran out of time would by its own length have taken about as long where nothing is wrong. */
export function isLongByItself({ records }: RuntimeServices, { endpoint, work }: AttemptedCall, ms: number): boolean {
  const usual = work && records.usual(endpoint, work.kind);
  const median = usual && usualMedian(usual);
  if (work === undefined || median === undefined) return false;
  return 2 * median * growthFactor(usual?.growth, work.tokens + work.spared) >= ms;
}

/**
 * Whether a call that ran out of time waited behind others. Its endpoint has answered some of them within the time limit,
 * and none that began much later: where those are answered before it, this call hangs.
 */
export function hasQueued(
  { providers, records, timeouts }: RuntimeServices,
  { stream }: RoutedRequest,
  { endpoint }: AttemptedCall,
  { outcome, startedAt, endedAt }: Attempt,
): boolean {
  if (outcome.ok || outcome.failure.overdue !== true) return false;
  const limits = timeoutsOf(timeouts, providers.get(endpoint.provider) ?? {}, endpoint);
  const limitMs = stream ? limits.firstTokenMs : limits.answerMs;
  const { lastSuccessAt, answeredStartedAt } = records.loadOf(endpoint);
  const hasAnswered = lastSuccessAt > Math.max(startedAt, endedAt - limitMs);
  return hasAnswered && answeredStartedAt < startedAt + limitMs / 2;
}
