/** Limits how many values that clients make up, session ids and metadata, have counters of their own. */
import type { MaybePromise } from '../platform/wait.ts';
import type { StateStore } from '../contracts/state-store.ts';
import { boundedMap } from './memory.ts';

/**
 * Values of one account that may have counters which live for a day or longer, in each turn of their period. At about
 * half a kilobyte each, one account takes at most some 25 MB.
 */
export const MOST_NAMES = 50_000;
/** Values that this process remembers to have counted. */
const MAX_KNOWN = 16_384;

/** A value that has a counter of its own. */
export interface NamedCounter {
  /** The counter that it has, or will have. */
  readonly key: string;
  /** The counter of how many values of its kind there are; it belongs to the same account. */
  readonly countKey: string;
  /** Milliseconds that both live. */
  readonly ttlMs: number;
}

/**
 * Whether every value has a counter already or may have a new one: the first that may not, or undefined. A counter of
 * costs must not be forgotten, and any client can make up values, so new ones are refused beyond an account's share.
 * Each process counts a value that it meets for the first time before anything was spent, so that several may count it
 * more than once.
 */
export function countedNames(
  state: StateStore,
): (names: readonly NamedCounter[]) => MaybePromise<NamedCounter | undefined> {
  const known = boundedMap<object>(MAX_KNOWN);
  const isCounted = async ({ key, countKey, ttlMs }: NamedCounter): Promise<boolean> => {
    const counted =
      (await state.get(key)) !== undefined ||
      (await state.change([{ key: countKey, by: 1, max: MOST_NAMES, ttlMs }])).applied;
    if (counted) known.set(key, KNOWN);
    return counted;
  };
  async function firstUncounted(names: readonly NamedCounter[]): Promise<NamedCounter | undefined> {
    for (const name of names) if (!known.has(name.key) && !(await isCounted(name))) return name;
    return undefined;
  }
  return (names) => (names.every(({ key }) => known.has(key)) ? undefined : firstUncounted(names));
}

const KNOWN = {};
