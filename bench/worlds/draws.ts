/** What random worlds are drawn with. */
import type { TrafficChance } from '../../src/testing/simulate-traffic/chance.ts';

/** Evenly between two numbers. */
export function between(chance: TrafficChance, low: number, high: number): number {
  return low + (high - low) * chance.uniform();
}

/** Between two numbers, as often between 1 and 10 as between 10 and 100. */
export function logBetween(chance: TrafficChance, low: number, high: number): number {
  return low * (high / low) ** chance.uniform();
}

/** Lognormally around a median. */
export function around(chance: TrafficChance, median: number): number {
  return chance.around(median, 0.7);
}

/** One of some values, each as likely as the others. */
export function oneOf<Value>(chance: TrafficChance, values: readonly [Value, ...Value[]]): Value {
  return values[Math.floor(chance.uniform() * values.length)] ?? values[0];
}
