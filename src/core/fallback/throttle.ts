/** Decides how many calls an endpoint gets while it fails. */
import type { EndpointHealth } from './health.ts';
import { endedLately } from './outcomes.ts';

/**
 * Share of the repetitions at an endpoint that are let through: what goes out follows what comes back. As long as half of
 * the calls succeed that is all of them; of an endpoint that answers a tenth, a fifth. Repetitions multiply the calls of
 * an endpoint that fails, and those of one that fails because it has too many make it fail more (Google's SRE book, chapter
 * "Handling Overload", client-side throttling).
 *
 * @param health - Undefined for an endpoint that was never called.
 */
export function repetitionShare(health: EndpointHealth | undefined, now: number): number {
  if (health === undefined) return 1;
  const { succeeded, failed } = endedLately(health, now, LATELY_MS);
  const share = (succeeded + PRIOR_SUCCESSES) / (succeeded + failed + PRIOR_SUCCESSES);
  return Math.min(1, CALLS_PER_SUCCESS * share);
}

const LATELY_MS = 10_000;
const CALLS_PER_SUCCESS = 2;
/** Successes that an endpoint is taken to have had: a few failures hold nothing back. */
const PRIOR_SUCCESSES = 2;

/** Milliseconds after its last answer from which an endpoint that refuses connections is no longer about to be back. */
const GONE_AFTER_MS = 10_000;

/**
 * Whether no server listens where an endpoint should be, and none has for a while, or ever: one that is begun anew is back
 * sooner. Then nobody waits for it.
 */
export function isGone(health: EndpointHealth | undefined, now: number): boolean {
  return health?.notListening === true && now - health.breaker.succeededAt >= GONE_AFTER_MS;
}

/**
 * Whether a call under way outlives those that fail, because it takes clearly longer: then its endpoint is likely back. An
 * answer takes longer than such failures do, and who waits for it misses what is up for a moment.
 *
 * @param ms - For how long it has been under way.
 * @param failedAfterMs - How long calls took at most that have failed since the last success; 0 where none has.
 */
export function outlives(ms: number, failedAfterMs: number): boolean {
  return failedAfterMs > 0 && ms > OUTLIVES * failedAfterMs + OUTLIVES_BY_MS;
}

const OUTLIVES = 2;
const OUTLIVES_BY_MS = 100;
