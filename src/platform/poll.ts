import type { MaybePromise } from './wait.ts';

/** Marks that there is nothing yet. */
export const PENDING: unique symbol = Symbol('pending');

/** What a poll gives: what is there, or that there is nothing yet. */
export type Polled<Value> = Value | typeof PENDING;

/** Something that is read piece after piece, by one reader. A base class, so that foreign readers are told apart. */
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
