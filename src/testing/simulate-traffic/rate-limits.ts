/** Rate limits of simulated endpoints: buckets that fill at a constant speed, and windows that begin anew. */
import type { SimulatedTurn } from './inference-call.ts';
import type { SimulatedRateLimit } from './world.ts';

/** What a provider counts, in virtual time. */
interface Allowance {
  /** Takes an amount; or gives the milliseconds until there is as much. */
  take(nowMs: number, amount: number): number;
  /** Whether there is as much now, without taking it. */
  has(nowMs: number, amount: number): boolean;
}

/** The rate limit of an endpoint, of which each API key has one where its world says so. */
export class RateLimiter {
  readonly #limit: SimulatedRateLimit;
  readonly #shared: Allowance;
  readonly #byKey = new Map<string, Allowance>();

  constructor(limit: SimulatedRateLimit) {
    this.#limit = limit;
    this.#shared = allowanceOf(limit);
  }

  /** Takes what a call needs; or gives the milliseconds until there is as much. */
  take(nowMs: number, turn: SimulatedTurn, key?: string): number {
    return this.#allowance(key).take(nowMs, this.#amount(turn));
  }

  /** Whether a call would be let in now. */
  has(nowMs: number, turn: SimulatedTurn, key?: string): boolean {
    return this.#allowance(key).has(nowMs, this.#amount(turn));
  }

  #amount({ promptTokens, answerTokens }: SimulatedTurn): number {
    return this.#limit.counts === 'tokens' ? promptTokens + answerTokens : 1;
  }

  #allowance(key: string | undefined): Allowance {
    if (key === undefined || this.#limit.perKey !== true) return this.#shared;
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const own = allowanceOf(this.#limit);
    this.#byKey.set(key, own);
    return own;
  }
}

function allowanceOf(limit: SimulatedRateLimit): Allowance {
  return limit.windowMs === undefined ? new Bucket(limit) : new Window(limit.perSecond, limit.windowMs);
}

/** Fills at a constant speed. */
class Bucket implements Allowance {
  readonly #perMs: number;
  readonly #burst: number;
  #tokens: number;
  #atMs = 0;

  constructor({ perSecond, burst = Math.max(1, 2 * perSecond) }: SimulatedRateLimit) {
    this.#perMs = perSecond / 1_000;
    this.#burst = burst;
    this.#tokens = burst;
  }

  take(nowMs: number, amount: number): number {
    this.#tokens = Math.min(this.#burst, this.#tokens + (nowMs - this.#atMs) * this.#perMs);
    this.#atMs = nowMs;
    if (this.#tokens < amount) return (amount - this.#tokens) / this.#perMs;
    this.#tokens -= amount;
    return 0;
  }

  has(nowMs: number, amount: number): boolean {
    return this.#tokens + (nowMs - this.#atMs) * this.#perMs >= amount;
  }
}

/** Is full again whenever a window of time begins. */
class Window implements Allowance {
  readonly #size: number;
  readonly #windowMs: number;
  #window = 0;
  #used = 0;

  constructor(perSecond: number, windowMs: number) {
    this.#size = Math.max(1, (perSecond * windowMs) / 1_000);
    this.#windowMs = windowMs;
  }

  take(nowMs: number, amount: number): number {
    const window = Math.floor(nowMs / this.#windowMs);
    if (window !== this.#window) [this.#window, this.#used] = [window, 0];
    if (this.#used + amount > this.#size) return (window + 1) * this.#windowMs - nowMs;
    this.#used += amount;
    return 0;
  }

  has(nowMs: number, amount: number): boolean {
    const window = Math.floor(nowMs / this.#windowMs);
    return (window === this.#window ? this.#used : 0) + amount <= this.#size;
  }
}
