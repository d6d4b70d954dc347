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
export function yieldTurn(): Promise<void> {
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

/**
 * Loads something when it is first requested, and keeps it: an `import()` of a module that is there already takes
 * longer than planning a route. What could not be loaded is tried again by whoever asks next.
 */
export function onDemand<Value>(load: () => Promise<Value>): () => MaybePromise<Value> {
  let kept: { readonly value: MaybePromise<Value> } | undefined;
  return () => {
    if (kept !== undefined) return kept.value;
    const loading = load().then(
      (value) => {
        kept = { value };
        return value;
      },
      (error: unknown) => {
        kept = undefined;
        throw error;
      },
    );
    kept = { value: loading };
    return loading;
  };
}

/** Marks that there is nothing yet. */
export const PENDING: unique symbol = Symbol('pending');

/** What a poll gives: what is there, or that there is nothing yet. */
export type Polled<Value> = Value | typeof PENDING;

/** Something that is read piece after piece, by one reader. A base class, so that foreign readers are distinguished. */
export abstract class Pollable<Value> {
  /**
   * Gives what is there. Where nothing is, calls `wake` when to ask again, never before the poll has returned; that of a
   * later poll takes its place. A wake may come in vain, also when nobody waits any more. So a read makes no promise,
   * however many layers it goes through.
   */
  abstract poll(wake: () => void): Polled<Value>;

  /** The same for a reader who waits: a promise only where nothing is there, and for what a poll throws. */
  read(): MaybePromise<Value> {
    try {
      return whenThere((wake) => this.poll(wake));
    } catch (error) {
      return Promise.reject(error);
    }
  }
}

/**
 * Polls until something is there: one promise, however often that is.
 *
 * @throws What the first poll throws; what a later one throws comes as a rejection.
 */
export function whenThere<Value>(poll: (wake: () => void) => Polled<Value>): MaybePromise<Value> {
  let settle: ((value: Value) => void) | undefined;
  let refuse: ((error: unknown) => void) | undefined;
  const ask = (): void => {
    // Woken in vain: what is there now is for the next reader.
    if (settle === undefined) return;
    try {
      const value = poll(ask);
      if (value === PENDING) return;
      settle(value);
    } catch (error) {
      refuse?.(error);
    }
    settle = undefined;
  };
  const first = poll(ask);
  if (first !== PENDING) return first;
  return new Promise((resolve, reject) => {
    settle = resolve;
    refuse = reject;
  });
}

/** What is read by promises or by polls, to be polled. */
export function pollable<Value>(source: { read(): MaybePromise<Value> }): Pollable<Value> {
  return source instanceof Pollable ? (source as Pollable<Value>) : new PolledReads(() => source.read());
}

/** Makes what is read by promises pollable. */
class PolledReads<Value> extends Pollable<Value> {
  readonly #next: () => MaybePromise<Value>;
  #outcome: { readonly value: Value } | { readonly error: unknown } | undefined;
  #isReading = false;
  #wake: (() => void) | undefined;

  constructor(next: () => MaybePromise<Value>) {
    super();
    this.#next = next;
  }

  poll(wake: () => void): Polled<Value> {
    const outcome = this.#outcome;
    if (outcome !== undefined) {
      this.#outcome = undefined;
      if ('error' in outcome) throw outcome.error;
      return outcome.value;
    }
    if (!this.#isReading) {
      const next = this.#next();
      if (!isPromise(next)) return next;
      this.#isReading = true;
      // A promise of another library may call back at once.
      Promise.resolve(next).then(this.#onValue, this.#onError);
    }
    this.#wake = wake;
    return PENDING;
  }

  readonly #onValue = (value: Value): void => this.#settle({ value });
  readonly #onError = (error: unknown): void => this.#settle({ error });

  #settle(outcome: { readonly value: Value } | { readonly error: unknown }): void {
    this.#isReading = false;
    this.#outcome = outcome;
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}

/** True for a promise, of whatever library. */
function isPromise<Value>(value: MaybePromise<Value>): value is Promise<Value> {
  return value instanceof Promise || typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

const TURN = Promise.resolve();

/** Calls back in this turn of the event loop, after what is running now. */
export function soon(callback: () => void): void {
  void TURN.then(callback);
}
