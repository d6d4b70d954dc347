/** Counters in memory that live until their time is over, and then are gone. */

/** Milliseconds of the stretches in which counters end together. */
const STRETCH_MS = 5_000;

interface Counter {
  value: number;
  /** Monotonic milliseconds; in the past for one that was deleted. */
  until: number;
  /** The stretch in whose list its key is. */
  listed: number;
}

/**
 * No counter is pushed out by others: what was spent and is forgotten could be spent again. Counters of windows that
 * are over go when the next one is added, all that ended in the same five seconds at once, so that what is kept is what
 * is alive.
 */
export class TimedCounters {
  readonly #counters = new Map<string, Counter>();
  /** Keys by the stretch in which they end, at the earliest. */
  readonly #ending = new Map<number, string[]>();
  readonly #now: () => number;
  /** All stretches before this one are swept. */
  #swept: number | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Counters in memory, those whose time has been over for less than a few seconds among them. */
  get size(): number {
    return this.#counters.size;
  }

  get(key: string): number | undefined {
    return this.#alive(key)?.value;
  }

  /** Changes a counter that is alive, which keeps its time; false where there is none. */
  replace(key: string, value: number): boolean {
    const known = this.#alive(key);
    if (known === undefined) return false;
    known.value = value;
    return true;
  }

  /** @param ttlMs - Milliseconds after which it is gone. */
  add(key: string, value: number, ttlMs: number): void {
    const now = this.#now();
    this.#sweep(now);
    const until = now + ttlMs;
    const stretch = Math.floor(until / STRETCH_MS);
    const known = this.#counters.get(key);
    // Whoever makes and deletes the same counter again and again must not make a list longer each time.
    const isListed = known !== undefined && known.listed <= stretch;
    this.#counters.set(key, { value, until, listed: isListed ? known.listed : stretch });
    if (!isListed) this.#list(key, stretch);
  }

  delete(key: string): void {
    const known = this.#counters.get(key);
    if (known !== undefined) known.until = -Infinity;
  }

  #alive(key: string): Counter | undefined {
    const known = this.#counters.get(key);
    return known !== undefined && known.until > this.#now() ? known : undefined;
  }

  #list(key: string, stretch: number): void {
    const keys = this.#ending.get(stretch);
    if (keys === undefined) this.#ending.set(stretch, [key]);
    else keys.push(key);
  }

  #sweep(now: number): void {
    const current = Math.floor(now / STRETCH_MS);
    const from = this.#swept ?? current;
    if (this.#swept === current) return;
    this.#swept = current;
    // After a long sleep there are more stretches than lists.
    if (current - from > this.#ending.size) {
      for (const stretch of this.#ending.keys()) if (stretch < current) this.#end(stretch, now);
    } else for (let stretch = from; stretch < current; stretch += 1) this.#end(stretch, now);
  }

  #end(stretch: number, now: number): void {
    const keys = this.#ending.get(stretch);
    if (keys === undefined) return;
    this.#ending.delete(stretch);
    for (const key of keys) {
      const known = this.#counters.get(key);
      if (known?.listed !== stretch) continue;
      if (known.until <= now) this.#counters.delete(key);
      else {
        known.listed = Math.floor(known.until / STRETCH_MS);
        this.#list(key, known.listed);
      }
    }
  }
}
