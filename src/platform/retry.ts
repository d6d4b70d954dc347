/** Repeats what failed, outside the path of requests: stores, webhooks, catalog sources. */
import { timerMs } from './environment.ts';
import pRetry from 'p-retry';

/** When something is tried again. */
export interface RetryPolicy {
  /** The most tries, the first among them. Default: no limit. */
  readonly tries?: number | undefined;
  /**
   * Gives the milliseconds to wait before the next try, or undefined when there must be none: then what was thrown is
   * thrown on. It may throw something else instead. Not asked after the last try.
   *
   * @param tried - Tries so far, from 1.
   */
  waitAfter(thrown: unknown, tried: number): number | undefined;
  /** Waits. Default: a timer. */
  readonly wait?: ((ms: number) => Promise<void>) | undefined;
}

/**
 * Does something until it succeeds or its policy ends it. The first try begins at once, before this returns.
 *
 * @returns What the last try gave; it rejects with what that try threw, as it was thrown.
 */
export async function retry<Value>(work: () => Value | Promise<Value>, policy: RetryPolicy): Promise<Value> {
  const { tries = Infinity, wait = pause } = policy;
  async function tryOnce(): Promise<Value> {
    try {
      return await work();
    } catch (thrown) {
      throw new FailedTry(thrown);
    }
  }
  try {
    return await pRetry(tryOnce, {
      retries: tries - 1,
      // The policy knows its waits, and some come from what was thrown.
      minTimeout: 0,
      async shouldRetry({ error, attemptNumber }) {
        const ms = policy.waitAfter((error as FailedTry).thrown, attemptNumber);
        if (ms === undefined) return false;
        await wait(ms);
        return true;
      },
    });
  } catch (error) {
    throw error instanceof FailedTry ? error.thrown : error;
  }
}

/** What a try threw. Without it p-retry would never retry a `TypeError`, and replace what is no error by one. */
class FailedTry extends Error {
  readonly thrown: unknown;

  constructor(thrown: unknown) {
    super('A try failed');
    this.thrown = thrown;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, timerMs(ms));
  });
}
