import type { Environment } from './environment.ts';

/** Waits, unless the signal is aborted meanwhile. The only place where the router waits for time to pass. */
export function wait(environment: Environment, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const endsAt = environment.now() + ms;
    const finish = (): void => {
      environment.clearTimer(timer);
      signal.removeEventListener('abort', finish);
      resolve();
    };
    // Timers of the platform fire up to a millisecond early, and a cooldown that ends then would not be over yet.
    const check = (): void => {
      const left = endsAt - environment.now();
      if (left <= 0) finish();
      else timer = environment.setTimer(check, Math.ceil(left));
    };
    let timer = environment.setTimer(check, ms);
    signal.addEventListener('abort', finish);
  });
}

/** The value of a promise, or undefined when it fails or takes longer than this many milliseconds. */
export function valueWithin<Value>(
  environment: Environment,
  promise: Promise<Value>,
  ms: number,
): Promise<Value | undefined> {
  return new Promise((resolve) => {
    const finish = (value?: Value): void => {
      environment.clearTimer(timer);
      resolve(value);
    };
    const timer = environment.setTimer(() => finish(), ms);
    promise.then(finish, () => finish());
  });
}

/** Calls back in the next turn of the event loop; where there is no shorter way, after a timer of no time. */
const callInNextTurn: (callback: () => void) => unknown =
  (globalThis as { setImmediate?: (callback: () => void) => unknown }).setImmediate ??
  ((callback) => setTimeout(callback, 0));

/** Lets everybody else have a turn, so that long work does not hold up the process. */
export function nextTurn(): Promise<void> {
  return new Promise(callInNextTurn);
}

/** A value now or later: in-memory stores answer at once, and nothing waits for a promise that is not there. */
export type MaybePromise<Value> = Value | Promise<Value>;

/**
 * Goes on with a value: in the same turn when it is there, and when it comes otherwise.
 *
 * @param failed - Goes on where a value does not come. Not called for what `next` throws.
 */
export function andThen<Value, Result>(
  value: MaybePromise<Value>,
  next: (value: Value) => MaybePromise<Result>,
  failed?: (error: unknown) => MaybePromise<Result>,
): MaybePromise<Result> {
  return value instanceof Promise ? value.then(next, failed) : next(value);
}

/** A value, or what is to be had instead of it when making it fails, now or later. */
export function orElse<Value>(
  make: () => MaybePromise<Value>,
  failed: (error: unknown) => MaybePromise<Value>,
): MaybePromise<Value> {
  try {
    const value = make();
    return value instanceof Promise ? value.catch(failed) : value;
  } catch (error) {
    return failed(error);
  }
}
