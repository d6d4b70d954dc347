import type { Environment, Timer } from '../../platform/environment.ts';

/** Something that happens at most once, and that others wait for. */
export class Signal {
  #isRaised = false;
  #wake: (() => void) | undefined;

  get isRaised(): boolean {
    return this.#isRaised;
  }

  raise(): void {
    this.#isRaised = true;
    this.#wake?.();
  }

  /** Called when it is raised, at once if it has been. */
  onRaise(wake: () => void): void {
    this.#wake = wake;
    if (this.#isRaised) wake();
  }
}

/** Waits for the result of a call, but only until it is late or its endpoint silent. */
export class LateCall<Result> {
  readonly #environment: Environment;
  readonly #result: Promise<Result>;
  readonly #silence: Signal;
  readonly #delayMs: number | undefined;
  #timer: Timer | undefined;
  #isOver = false;

  /** @param delayMs - Milliseconds after which it is late; undefined: only silence counts. */
  constructor(environment: Environment, result: Promise<Result>, silence: Signal, delayMs: number | undefined) {
    this.#environment = environment;
    this.#result = result;
    this.#silence = silence;
    this.#delayMs = delayMs;
  }

  /** True once there is a result. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The result, or undefined when the call is late. */
  race(): Promise<Result | undefined> {
    return new Promise((resolve) => {
      const late = (): void => resolve(undefined);
      void this.#result.then((result) => {
        this.#isOver = true;
        this.end();
        resolve(result);
      });
      if (this.#delayMs !== undefined) this.#timer = this.#environment.setTimer(late, this.#delayMs);
      this.#silence.onRaise(late);
    });
  }

  /** The result, or undefined when there is none yet after so many milliseconds more, or when the endpoint is silent. */
  again(ms: number): Promise<Result | undefined> {
    this.end();
    return new Promise((resolve) => {
      const late = (): void => resolve(undefined);
      void this.#result.then(resolve);
      this.#timer = this.#environment.setTimer(late, ms);
      if (!this.#silence.isRaised) this.#silence.onRaise(late);
    });
  }

  /** Clears the timer. */
  end(): void {
    if (this.#timer !== undefined) this.#environment.clearTimer(this.#timer);
    this.#timer = undefined;
  }
}
