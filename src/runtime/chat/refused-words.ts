/**
 * What a request does about words of it that a provider refuses: it is called once more without one, and so are others.
 */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { NormalizedRequest, RoutedRequest } from '../../contracts/request.ts';
import { onDemand } from '../../platform/wait.ts';
import type { RefusingEndpoint } from './known-refusals.ts';
import type { RuntimeServices } from './services.ts';
import type { Attempt } from '../../core/fallback/attempt.ts';
import type { Recorded } from './answer.ts';

/** Few requests ever meet a refusal. */
const loadRefusals = onDemand(() => import('../../core/fallback/refusal.ts'));

/**
 * How an endpoint is called that has refused something; undefined for any other, and where a request insists on all of
 * its words.
 *
 * @param execution - With its attempts so far: a word that was refused beside another one is left out of it alone.
 */
export function refusingAt(
  { records }: RuntimeServices,
  { request, attempts }: Pick<Recorded, 'request' | 'attempts'>,
  endpoint: Endpoint,
  now: number,
): RefusingEndpoint | undefined {
  if (request.preferences.requireParameters) return undefined;
  const known = records.refusals.of(endpoint, now);
  if (attempts.length === 0) return known;
  const own = attempts.flatMap(({ step, outcome }) =>
    !outcome.ok && outcome.failure.refusal?.passing === true && step.endpoint === endpoint
      ? [outcome.failure.refusal]
      : [],
  );
  const reader = own.length === 0 ? undefined : loadRefusals();
  if (reader === undefined || reader instanceof Promise) return known;
  const refusals = [...(known?.refusals ?? []), ...own];
  return { from: endpoint, endpoint: reader.withoutRefused(endpoint, refusals), refusals, until: now };
}

/** What is different in a request for an endpoint that has refused something. */
export function adjustmentsAt(
  { from, refusals }: RefusingEndpoint,
  request: RoutedRequest,
): readonly string[] | undefined {
  const known = loadRefusals();
  // Nothing is refused before it was read, so what reads it is there.
  if (known instanceof Promise || !isChat(request)) return undefined;
  const adjustments = known.adjustmentsFor(refusals, request, from);
  return adjustments.length === 0 ? undefined : adjustments;
}

/** What was changed in a call: because its provider has refused something before, and because its record says so. */
export function joinedAdjustments(
  learned: readonly string[] | undefined,
  written: readonly string[] | undefined,
): readonly string[] | undefined {
  if (learned === undefined || written === undefined) return learned ?? written;
  // What was learned is also what is written by, so each of it would be said twice.
  const subjects = new Set(learned.map(subjectOf));
  return [...learned, ...written.filter((change) => !subjects.has(subjectOf(change)))];
}

function subjectOf(change: string): string {
  return change.slice(0, change.indexOf(' was '));
}

/**
 * Finds out which word of a request the last call was refused for, and notes it there, so that the core can leave it out.
 * Undefined where there is nothing to find out.
 *
 * @param attempts - Changed in place.
 */
export function learnRefusal(
  services: RuntimeServices,
  request: RoutedRequest,
  attempts: Attempt[],
): Promise<void> | undefined {
  const last = attempts.at(-1);
  if (last?.outcome.ok !== false || !isChat(request)) return undefined;
  const { failure } = last.outcome;
  if (failure.refusal !== undefined || (failure.status !== 400 && failure.status !== 422)) return undefined;
  return Promise.resolve(loadRefusals()).then(({ refusalOf, withoutRefused }) => {
    const refusal = refusalOf(failure, request, last.step.endpoint);
    if (refusal === undefined || attempts.at(-1) !== last) return;
    attempts.splice(-1, 1, { ...last, outcome: { ok: false, failure: { ...failure, refusal } } });
    services.records.refusals.learn(last.step.endpoint, refusal, withoutRefused, services.environment.now());
  });
}

function isChat(request: RoutedRequest): request is NormalizedRequest {
  return request.operation === 'chat';
}
