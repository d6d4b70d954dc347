/**
 * How many requests of batches one provider is asked at a time. The limit halves when the provider complains about the
 * rate, and grows by one for each limit's worth of answers, so that batches find the rate that a provider takes.
 */
export interface Pace {
  /** Requests at a time; a fraction on its way to the next whole number. */
  readonly limit: number;
  /** Monotonic milliseconds before which nothing new is begun. */
  readonly pausedUntil: number;
  /** Number of the last reduction. Complaints about requests that were begun before it are about the old rate. */
  readonly generation: number;
}

/** Pause in milliseconds after a complaint without a time in it. */
const DEFAULT_PAUSE_MS = 1_000;

/** The pace at the beginning, which is also the fastest. */
export function freshPace(most: number): Pace {
  return { limit: most, pausedUntil: 0, generation: 0 };
}

/** True when another request may begin. */
export function mayBegin(pace: Pace, inside: number, now: number): boolean {
  return now >= pace.pausedUntil && inside < Math.max(1, Math.floor(pace.limit));
}

/** The pace after an answer. */
export function afterAnswer(pace: Pace, most: number): Pace {
  if (pace.limit >= most) return pace;
  return { ...pace, limit: Math.min(most, pace.limit + 1 / Math.max(1, pace.limit)) };
}

/**
 * The pace after a complaint about the rate.
 *
 * @param generation - The pace's generation when the request was begun.
 */
export function afterComplaint(pace: Pace, generation: number, now: number, retryAfterMs?: number): Pace {
  const pausedUntil = Math.max(pace.pausedUntil, now + (retryAfterMs ?? DEFAULT_PAUSE_MS));
  if (generation < pace.generation) return { ...pace, pausedUntil };
  return { limit: Math.max(1, pace.limit / 2), pausedUntil, generation: pace.generation + 1 };
}
