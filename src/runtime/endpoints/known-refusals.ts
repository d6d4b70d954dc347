/**
 * What providers have refused, by endpoint: a request whose word is refused is made once more without it, and so are
 * others after it.
 */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { RefusedWord } from '../../contracts/failure.ts';
import type { NormalizedRequest, RoutedRequest } from '../../contracts/request.ts';
import type { Attempt } from '../../core/fallback/attempt.ts';
import type { withoutRefused } from '../../core/fallback/refusal.ts';
import type { Environment } from '../../platform/environment.ts';
import { onDemand } from '../../platform/wait.ts';

/** An endpoint as it is called since it refused something. */
export interface RefusingEndpoint {
  /** As it is in the catalog. */
  readonly from: Endpoint;
  /** As it is called. */
  readonly endpoint: Endpoint;
  readonly refusals: readonly RefusedWord[];
  /** Monotonic milliseconds until which it is called so: a provider may take tomorrow what it refused today. */
  readonly until: number;
}

/** Words of one endpoint that are kept. */
const MOST_WORDS = 16;
/** Endpoints that are kept; the one that was added first makes room. */
const MOST_ENDPOINTS = 1_000;
/** Milliseconds after which an endpoint is tried again with what it refused. */
const KEPT_MS = 3_600_000;

/** Endpoints that have refused something. */
export class KnownRefusals {
  readonly #known = new Map<string, RefusingEndpoint>();
  /** True before the first refusal: nearly no request ever meets one. */
  isEmpty = true;

  /** How an endpoint is called; undefined for one that has refused nothing. */
  of(endpoint: Endpoint, now: number): RefusingEndpoint | undefined {
    const known = this.#known.get(endpoint.id);
    if (known === undefined) return undefined;
    // The catalog may have learned more about it meanwhile.
    if (known.until > now && known.from === endpoint) return known;
    this.#known.delete(endpoint.id);
    return undefined;
  }

  /**
   * Notes a refusal, unless it says nothing about other requests.
   *
   * @param without - Makes the endpoint that is called.
   */
  learn(endpoint: Endpoint, refusal: RefusedWord, without: typeof withoutRefused, now: number): void {
    if (refusal.passing === true) return;
    const before = this.of(endpoint, now)?.refusals ?? [];
    const others = before.filter(({ name }) => name !== refusal.name);
    const refusals = [...others, refusal].slice(-MOST_WORDS);
    this.isEmpty = false;
    this.#known.delete(endpoint.id);
    this.#known.set(endpoint.id, {
      from: endpoint,
      endpoint: without(endpoint, refusals),
      refusals,
      until: now + KEPT_MS,
    });
    const [oldest] = this.#known.keys();
    if (this.#known.size > MOST_ENDPOINTS && oldest !== undefined) this.#known.delete(oldest);
  }
}

/** Few requests ever meet a refusal. */
const loadRefusals = onDemand(() => import('../../core/fallback/refusal.ts'));

/**
 * How an endpoint is called that has refused something; undefined for any other, and where a request insists on all of
 * its words.
 *
 * @param execution - With its attempts so far: a word that was refused beside another one is left out of it alone.
 */
export function refusingAt(
  known: KnownRefusals,
  { request, attempts }: { readonly request: RoutedRequest; readonly attempts: readonly Attempt[] },
  endpoint: Endpoint,
  now: number,
): RefusingEndpoint | undefined {
  if (request.preferences.requireParameters) return undefined;
  const refusing = known.of(endpoint, now);
  if (attempts.length === 0) return refusing;
  const own = attempts.flatMap(({ step, outcome }) =>
    !outcome.ok && outcome.failure.refusal?.passing === true && step.endpoint === endpoint
      ? [outcome.failure.refusal]
      : [],
  );
  const reader = own.length === 0 ? undefined : loadRefusals();
  if (reader === undefined || reader instanceof Promise) return refusing;
  const refusals = [...(refusing?.refusals ?? []), ...own];
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
  known: KnownRefusals,
  environment: Environment,
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
    known.learn(last.step.endpoint, refusal, withoutRefused, environment.now());
  });
}

function isChat(request: RoutedRequest): request is NormalizedRequest {
  return request.operation === 'chat';
}
