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

/** Longest wait that a receiver may ask for. */
export const MAX_WEBHOOK_WAIT_MS = 24 * HOUR;

/** Part of a wait by which it may be shorter or longer, so that many events do not come back together. */
const JITTER = 0.1;

/** Statuses with which a receiver may say when it wants to be asked again. */
const BUSY: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** How a try ended: with a status, or without any answer. */
export interface WebhookTry {
  readonly status?: number | undefined;
  /** Milliseconds that the receiver asked for. */
  readonly retryAfterMs?: number | undefined;
}

/** What follows a try. */
export type AfterTry =
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
  const asked = BUSY.has(status) ? Math.min(retryAfterMs, MAX_WEBHOOK_WAIT_MS) : 0;
  return { type: 'again', afterMs: Math.max(asked, Math.round(wait * (1 - JITTER + 2 * JITTER * roll))) };
}
