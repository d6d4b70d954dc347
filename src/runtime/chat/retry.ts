import pRetry from 'p-retry';

/** Thrown by one try to say: decide again what to do next. Never leaves this loop. */
export class TryAgain extends Error {
  override readonly name = 'TryAgain';
}

/**
 * Runs a try again and again until it gives a value or an error of its own. Whether another try makes sense, and after
 * what wait, is decided inside the try, by the core; this is only the loop.
 */
export function untilDecided<Value>(attempt: () => Promise<Value>, signal: AbortSignal): Promise<Value> {
  return pRetry(attempt, {
    retries: Infinity,
    minTimeout: 0,
    signal,
    shouldRetry: ({ error }) => error instanceof TryAgain,
  });
}
