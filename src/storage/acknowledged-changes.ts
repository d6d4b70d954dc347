/** Remembers which changes of a state store were acknowledged, so that each is made once. */
import type { ChangeName } from '../contracts/state-store.ts';
import { boundedMap } from './memory.ts';

/** Places whose acknowledged changes are remembered. What is forgotten here stays in the store for a day. */
const MAX_PLACES = 4_096;

/**
 * Changes whose results have arrived: nobody sends them again, so a store that keeps their numbers may forget them. They
 * are named to it with the next change in the same place. So it keeps a few numbers for each writer, not a day of them.
 */
export class AcknowledgedChanges {
  readonly #numbers = boundedMap<number[]>(MAX_PLACES);

  /** Makes a change, with the numbers that may be forgotten in its place. */
  async along<Result>(
    place: string,
    name: ChangeName | undefined,
    send: (forgettable: readonly number[]) => Promise<Result>,
  ): Promise<Result> {
    const forgettable = this.#numbers.get(place)?.splice(0) ?? [];
    try {
      const result = await send(forgettable);
      // The first try of one that is repeated may still be under way.
      if (name !== undefined && name.isRepeated !== true) this.#add(place, [name.number]);
      return result;
    } catch (error) {
      this.#add(place, forgettable);
      throw error;
    }
  }

  #add(place: string, numbers: readonly number[]): void {
    const known = this.#numbers.get(place);
    if (known === undefined) this.#numbers.set(place, [...numbers]);
    else known.push(...numbers);
  }
}
