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

/**
 * Times that a measurement is made at most: what else the process and the machine do, and cold code, only ever add to
 * it. Work that is too much is so each time.
 */
const TRIES = 10;

/**
 * Measures again while the result is over the limit: the same work costs the same each time, and noise does not. Gives
 * milliseconds as they are on a machine that has nothing else to do: a busy one takes more of its processor for the same
 * work, because caches and cores are shared.
 */
export async function leastOf(limit: number, measure: () => Promise<number>): Promise<number> {
  let least = Infinity;
  for (let tries = 0; tries < TRIES && least > limit; tries += 1) {
    least = Math.min(least, (await measure()) / slowness());
  }
  return least;
}

const REFERENCE = JSON.stringify(Array.from({ length: 40_000 }, (_, at) => ({ type: 'text', text: `${at}` })));
/** Milliseconds of the reference work on a machine that has nothing else to do. */
const REFERENCE_MS = 25;

/**
 * A limit as tests hold it: twice as much, because what the reference work does not tell of a shared machine (its
 * memory, its collector) makes up to a half of difference from one hour to the next. What grows with the square of a
 * body, or waits for nothing in between, takes ten times as long.
 */
export function withNoise(limit: number): number {
  return 2 * limit;
}

/** How many times as long as usual this machine takes at the moment; 1 where it is as fast or faster. */
function slowness(): number {
  const before = busyMs();
  JSON.stringify(JSON.parse(REFERENCE));
  return Math.min(4, Math.max(1, (busyMs() - before) / REFERENCE_MS));
}
