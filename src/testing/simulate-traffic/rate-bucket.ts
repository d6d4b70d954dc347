import type { SimulatedRateLimit } from './world.ts';

/** A token bucket in virtual time. */
export class RateBucket {
  readonly #perMs: number;
  readonly #burst: number;
  #tokens: number;
  #atMs = 0;

  constructor({ perSecond, burst = Math.max(1, 2 * perSecond) }: SimulatedRateLimit) {
    this.#perMs = perSecond / 1_000;
    this.#burst = burst;
    this.#tokens = burst;
  }

  /** Takes a token; or gives the milliseconds until there is one. */
  take(nowMs: number): number {
    this.#tokens = Math.min(this.#burst, this.#tokens + (nowMs - this.#atMs) * this.#perMs);
    this.#atMs = nowMs;
    if (this.#tokens < 1) return (1 - this.#tokens) / this.#perMs;
    this.#tokens -= 1;
    return 0;
  }

  /** Whether there is a token now, without taking it. */
  hasOne(nowMs: number): boolean {
    return this.#tokens + (nowMs - this.#atMs) * this.#perMs >= 1;
  }
}
