/** How one request is called at endpoints that refuse something, and what its calls show of that. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { RefusedWord } from '../../contracts/failure.ts';
import type { NormalizedRequest, RoutedRequest } from '../../contracts/request.ts';
import type { Attempt } from '../../core/fallback/attempt.ts';
import { onDemand } from '../../platform/wait.ts';
import type { WarningEvent } from '../../contracts/events.ts';
import type { KnownRefusals } from './known-refusals.ts';

/** A call of an endpoint that has refused something. */
export interface RefusingCall {
  /** As it is called. */
  readonly endpoint: Endpoint;
  /** Sentences about what is different in the request. */
  readonly adjustments: readonly string[] | undefined;
  readonly refused: readonly RefusedWord[];
  /** A word that it is called with again, to see whether it is taken now. */
  readonly tried: RefusedWord | undefined;
}

/** A request with what was tried for it. */
interface Tried {
  readonly request: RoutedRequest;
  readonly attempts: readonly Attempt[];
}

/** Few requests ever meet a refusal. */
const loadRefusals = onDemand(() => import('../../core/fallback/refusal.ts'));

/**
 * How an endpoint is called that has refused something, to the account or to the request itself; undefined for any other,
 * and where a request insists on all of its words.
 */
export function refusingCall(
  known: KnownRefusals,
  { request, attempts }: Tried,
  endpoint: Endpoint,
  now: number,
): RefusingCall | undefined {
  if (attempts.length === 0 && known.isEmpty) return undefined;
  if (request.preferences.requireParameters || !isChat(request)) return undefined;
  const own = refusedBefore(attempts, endpoint);
  if (own.length === 0 && known.isEmpty) return undefined;
  const reader = loadRefusals();
  // Nothing is refused before it was read, so what reads it is there.
  if (reader instanceof Promise) return undefined;
  const mayTry = (word: RefusedWord): boolean => own.length === 0 && reader.usesWord(word, request) !== false;
  const { refused: before, tried } = known.wordsForCall(endpoint, request.account.id, now, mayTry);
  const refused = [...before.filter(({ name }) => own.every((word) => word.name !== name)), ...own];
  if (refused.length === 0 && tried === undefined) return undefined;
  const adjustments = reader.adjustmentsFor(refused, request, endpoint);
  return {
    endpoint:
      own.length > 0
        ? reader.withoutRefused(endpoint, refused)
        : withoutKnown(known, endpoint, refused, reader.withoutRefused),
    adjustments: adjustments.length === 0 ? undefined : adjustments,
    refused,
    tried,
  };
}

function withoutKnown(
  { made }: KnownRefusals,
  endpoint: Endpoint,
  refused: readonly RefusedWord[],
  without: (endpoint: Endpoint, refused: readonly RefusedWord[]) => Endpoint,
): Endpoint {
  if (refused.length === 0) return endpoint;
  const key = JSON.stringify([endpoint.id, ...refused.map(({ name, accepted, instead }) => [name, accepted, instead])]);
  const before = made.get(key);
  // The catalog may have learned more about it meanwhile.
  if (before?.from === endpoint) return before.endpoint;
  const called = without(endpoint, refused);
  made.set(key, { from: endpoint, endpoint: called });
  return called;
}

/** What an endpoint has refused in this request. */
function refusedBefore(attempts: readonly Attempt[], endpoint: Endpoint): readonly RefusedWord[] {
  return attempts.flatMap(({ step, outcome }) =>
    !outcome.ok && outcome.failure.refusal !== undefined && step.endpoint.id === endpoint.id
      ? [outcome.failure.refusal]
      : [],
  );
}

/**
 * Finds out which word of a request the last call was refused for, and notes it there, so that the core can leave it out.
 * Undefined where there is nothing to find out.
 *
 * @param attempts - Changed in place.
 * @param sent - The request as it went to endpoints by their ids, where it was changed for them.
 */
export function readRefusal(
  request: RoutedRequest,
  attempts: Attempt[],
  sent: ReadonlyMap<string, RoutedRequest> | undefined,
): Promise<void> | undefined {
  const last = attempts.at(-1);
  if (last?.outcome.ok !== false) return undefined;
  const called = sent?.get(last.step.endpoint.id) ?? request;
  if (!isChat(called)) return undefined;
  const { failure } = last.outcome;
  if (failure.refusal !== undefined || (failure.status !== 400 && failure.status !== 422)) return undefined;
  return Promise.resolve(loadRefusals()).then(({ refusalOf }) => {
    const refusal = refusalOf(failure, called, last.step.endpoint);
    if (refusal === undefined || attempts.at(-1) !== last) return;
    // A word that was left out, and is refused again, is refused for something else.
    if (refusedBefore(attempts, last.step.endpoint).some(({ name }) => name === refusal.name)) return;
    attempts.splice(-1, 1, { ...last, outcome: { ok: false, failure: { ...failure, refusal } } });
  });
}

/**
 * Notes what an answer shows: that words can be left out which were refused before it, and that others are taken.
 *
 * @returns A warning for each word that was not known before.
 */
export function learnFromAnswer(
  known: KnownRefusals,
  { request, attempts }: Tried,
  { endpoint, refusing }: { readonly endpoint: Endpoint; readonly refusing?: RefusingCall | undefined },
  now: number,
): readonly WarningEvent[] {
  const reader = loadRefusals();
  if (reader instanceof Promise || !isChat(request)) return NONE;
  const { id } = request.account;
  const isTaken = (word: RefusedWord): boolean =>
    refusing?.tried?.name === word.name ||
    (refusing?.refused.some(({ name }) => name === word.name) !== true && reader.usesWord(word, request) === true);
  if (!known.isEmpty) known.answered(endpoint, id, isTaken, now);
  return refusedBefore(attempts, endpoint).flatMap((word) => {
    const holdsFor = known.learn(endpoint, id, word, now);
    return holdsFor === undefined ? NONE : warningOf(endpoint, reader.describeRefusal(word), holdsFor);
  });
}

function warningOf({ provider, model }: Endpoint, word: string, holdsFor: 'account' | 'all'): WarningEvent {
  const whose =
    holdsFor === 'all' ? 'It has to another account as well, so requests of all' : 'Requests of its account';
  return {
    code: 'word_refused',
    message:
      `${provider} refused ${word} for ${model}, and answered without it. ${whose} go there without it for now; ` +
      'explain and the inspector show that, and router.forgetRefusals() ends it',
  };
}

const NONE: readonly WarningEvent[] = [];

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

function isChat(request: RoutedRequest): request is NormalizedRequest {
  return request.operation === 'chat';
}
