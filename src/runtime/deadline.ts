import type { Environment, Timer } from './environment.ts';

/** What a call is waiting for. */
export type Phase = 'connect' | 'first_token' | 'answer' | 'idle' | 'total';

/**
 * The one timer of an upstream call. Moving on to the next phase, or hearing from the provider, moves a number; the
 * timer itself is only set again when it has fired too early.
 */
export class Deadline {
  readonly #environment: Environment;
  readonly #onExpire: (phase: Phase) => void;
  #phase: Phase = 'total';
  #phaseEndsAt = Infinity;
  #totalEndsAt: number;
  #timer: Timer | undefined;
  #firesAt = Infinity;
  #cleared = false;

  constructor(environment: Environment, totalEndsAt: number, onExpire: (phase: Phase) => void) {
    this.#environment = environment;
    this.#totalEndsAt = totalEndsAt;
    this.#onExpire = onExpire;
  }

  /** Enters a phase that may last this long from now. Without effect once the timer has been ended for good. */
  enter(phase: Phase, ms: number): void {
    if (this.#cleared) return;
    this.#phase = phase;
    this.#phaseEndsAt = this.#environment.now() + ms;
    this.#schedule();
  }

  /** Nothing is awaited from the provider: only the total time runs on. */
  pause(): void {
    this.#phaseEndsAt = Infinity;
  }

  /** The answer has begun: from here on only its progress counts, not its total time. */
  liftTotal(): void {
    this.#totalEndsAt = Infinity;
  }

  /** Ends the timer for good. */
  clear(): void {
    this.#cleared = true;
    this.#phaseEndsAt = Infinity;
    this.#totalEndsAt = Infinity;
    if (this.#timer !== undefined) this.#environment.clearTimer(this.#timer);
    this.#timer = undefined;
    this.#firesAt = Infinity;
  }

  #schedule(): void {
    const endsAt = Math.min(this.#phaseEndsAt, this.#totalEndsAt);
    if (endsAt === Infinity || endsAt >= this.#firesAt) return;
    if (this.#timer !== undefined) this.#environment.clearTimer(this.#timer);
    this.#firesAt = endsAt;
    this.#timer = this.#environment.setTimer(() => this.#fire(), endsAt - this.#environment.now());
  }

  #fire(): void {
    this.#timer = undefined;
    this.#firesAt = Infinity;
    const now = this.#environment.now();
    if (now >= this.#totalEndsAt) this.#onExpire('total');
    else if (now >= this.#phaseEndsAt) this.#onExpire(this.#phase);
    else this.#schedule();
  }
}
