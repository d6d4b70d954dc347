import process from 'node:process';

/** What was measured of turns of the event loop. */
export interface TurnWatch {
  /** Ends the measurement. Gives milliseconds of this thread's processor in the longest turn so far. */
  stop(): number;
}

/**
 * Measures how long turns of the event loop keep this thread busy. Time of the processor counts, and not time on the
 * clock, so that other programs on the machine make no difference.
 */
export function watchTurns(): TurnWatch {
  let longest = 0;
  let before = busyMs();
  let next = setImmediate(look);
  function look(): void {
    const now = busyMs();
    longest = Math.max(longest, now - before);
    before = now;
    next = setImmediate(look);
  }
  return {
    stop() {
      clearImmediate(next);
      return Math.max(longest, busyMs() - before);
    },
  };
}

function busyMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** Times that a measurement is made: what else the process does, and cold code, only ever add to it. */
const TRIES = 4;

/** Measures again while the result is over the limit: the same work costs the same each time, and noise does not. */
export async function leastOf(limit: number, measure: () => Promise<number>): Promise<number> {
  let least = Infinity;
  for (let tries = 0; tries < TRIES && least > limit; tries += 1) least = Math.min(least, await measure());
  return least;
}
