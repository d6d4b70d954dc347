import { seededRandom } from '../../providers/simulated/chance.ts';

/** Draws from the distributions that a simulated world is made of. */
export class TrafficChance {
  readonly uniform: () => number;

  /** @param stream - Distinguishes the parts of a world, so that more draws in one do not change another. */
  constructor(seed: number, stream: string) {
    let mixed = seed >>> 0;
    for (let index = 0; index < stream.length; index += 1)
      mixed = Math.imul(mixed ^ stream.charCodeAt(index), 0x9e3779b1);
    this.uniform = seededRandom(mixed);
  }

  /** Exponentially distributed. */
  exponential(mean: number): number {
    return -mean * Math.log(1 - this.uniform());
  }

  normal(): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.uniform()));
    return radius * Math.cos(2 * Math.PI * this.uniform());
  }

  /** Lognormally distributed, with this median. */
  around(median: number, spread: number): number {
    return median * Math.exp(spread * this.normal());
  }

  /** A whole number from 1 on, geometrically distributed. */
  count(mean: number): number {
    return mean <= 1 ? 1 : 1 + Math.floor(Math.log(1 - this.uniform()) / Math.log(1 - 1 / mean));
  }
}
