import type { TrafficChance } from './chance.ts';

/** Times in which everything fails, as far apart as their share of the time demands; drawn as time goes on. */
export class Bursts {
  readonly #share: number;
  readonly #meanMs: number;
  readonly #chance: TrafficChance;
  /** Ends of calm times and of bursts, by turns. */
  readonly #edges: number[] = [];
  #drawnToMs: number;

  constructor(fromMs: number, share: number, meanMs: number, chance: TrafficChance) {
    this.#share = share;
    this.#meanMs = meanMs;
    this.#chance = chance;
    this.#drawnToMs = fromMs;
    // Otherwise every brown-out would begin with a calm time.
    if (chance.uniform() < share) this.#edges.push(fromMs);
  }

  /** Whether a time is in one. */
  includes(ms: number): boolean {
    if (this.#share <= 0 || this.#share >= 1) return this.#share >= 1;
    while (this.#drawnToMs <= ms) {
      const isCalm = this.#edges.length % 2 === 0;
      const calmMs = (this.#meanMs * (1 - this.#share)) / this.#share;
      this.#drawnToMs += this.#chance.exponential(isCalm ? calmMs : this.#meanMs);
      this.#edges.push(this.#drawnToMs);
    }
    // What is looked for is near the end: time only goes on.
    const last = this.#edges.findLastIndex((edge) => edge <= ms);
    return last % 2 === 0;
  }
}
