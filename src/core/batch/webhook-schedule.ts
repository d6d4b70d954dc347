/** Decides when webhooks are delivered and repeated, and when an event is given up. */
import type { WebhookTry, WebhookState } from '../../contracts/batch-record.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Milliseconds before each try, counted from the one before. */
const SCHEDULE = [
  0,
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];

/** Tries until an event is given up: 75 hours and 35 minutes. */
export const WEBHOOK_TRIES = SCHEDULE.length;

/** Longest wait that a receiver may request. */
export const MAX_WEBHOOK_WAIT_MS = 24 * HOUR;

/** Part of a wait by which it may be shorter or longer, so that many events do not come back together. */
const JITTER = 0.1;

/** Statuses with which a receiver may say when it may be called again. */
const BUSY: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Tries that a batch remembers: the last ones. */
const REMEMBERED = 5;

/** How a delivery stands after another try, and what follows it. */
export function webhookStateAfter(
  state: WebhookState | undefined,
  { status }: WebhookTry,
  next: AfterTry,
  now: number,
): WebhookState {
  return {
    status: next.type === 'again' ? 'pending' : next.type,
    tries: (state?.tries ?? 0) + 1,
    attempts: [...(state?.attempts ?? []), { at: now, status }].slice(-REMEMBERED),
    nextAt: next.type === 'again' ? now + next.afterMs : undefined,
  };
}

/** What follows a try. */
type AfterTry =
  | { readonly type: 'delivered' }
  | { readonly type: 'given_up'; readonly reason: 'gone' | 'tries' }
  | { readonly type: 'again'; readonly afterMs: number };

/**
 * Decides what follows a try to deliver an event. Any 2xx is a delivery, 410 is an end, everything else is tried again
 * on a schedule.
 *
 * @param tries - Tries so far, this one included.
 * @param roll - Random number from 0 to 1.
 */
export function afterWebhookTry({ status = 0, retryAfterMs = 0 }: WebhookTry, tries: number, roll: number): AfterTry {
  if (status >= 200 && status < 300) return { type: 'delivered' };
  if (status === 410) return { type: 'given_up', reason: 'gone' };
  const wait = SCHEDULE[tries];
  if (wait === undefined) return { type: 'given_up', reason: 'tries' };
  const requested = BUSY.has(status) ? Math.min(retryAfterMs, MAX_WEBHOOK_WAIT_MS) : 0;
  return { type: 'again', afterMs: Math.max(requested, Math.round(wait * (1 - JITTER + 2 * JITTER * roll))) };
}

/**
 * How many requests of batches one provider gets at a time. The limit halves when the provider complains about the
 * rate, and grows by one for each limit's worth of answers, so that batches find the rate that a provider takes.
 */
export interface BatchPace {
  /** Requests at a time; a fraction on its way to the next whole number. */
  readonly limit: number;
  /** Monotonic milliseconds before which nothing new is begun. */
  readonly pausedUntil: number;
  /** Number of the last reduction. Complaints about requests that were begun before it are about the old rate. */
  readonly generation: number;
}

/** Pause in milliseconds after a complaint without a time in it. */
export const DEFAULT_PAUSE_MS = 1_000;

/** The pace at the beginning, which is also the fastest. */
export function freshPace(most: number): BatchPace {
  return { limit: most, pausedUntil: 0, generation: 0 };
}

/** True when another request may begin. */
export function mayBegin(pace: BatchPace, inside: number, now: number): boolean {
  return now >= pace.pausedUntil && inside < Math.max(1, Math.floor(pace.limit));
}

/** The pace after an answer. */
export function afterAnswer(pace: BatchPace, most: number): BatchPace {
  if (pace.limit >= most) return pace;
  return { ...pace, limit: Math.min(most, pace.limit + 1 / Math.max(1, pace.limit)) };
}

/**
 * The pace after a complaint about the rate.
 *
 * @param generation - The pace's generation when the request was begun.
 */
export function afterComplaint(pace: BatchPace, generation: number, now: number, retryAfterMs?: number): BatchPace {
  const pausedUntil = Math.max(pace.pausedUntil, now + (retryAfterMs ?? DEFAULT_PAUSE_MS));
  if (generation < pace.generation) return { ...pace, pausedUntil };
  return { limit: Math.max(1, pace.limit / 2), pausedUntil, generation: pace.generation + 1 };
}
