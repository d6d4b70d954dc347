import { type Environment, systemEnvironment, type Timer } from '../../src/platform/environment.ts';

/** Milliseconds between two looks at the clock. */
const LOOK_MS = 5;
/** Longest time between two looks that counts; what is beyond it, the machine has given to somebody else. */
const LONGEST_TURN_MS = 10;

interface Waiting {
  readonly at: number;
  readonly callback: () => void;
}

/**
 * The real environment, with a clock that only counts while this process gets to run. A patience of 300 ms is 300 ms on
 * an idle machine, and on a busy one at least thirty turns of the event loop, however long they take. So what happens
 * in this process in time happens in time under any load, and nothing waits longer than it must.
 */
export function turnClock(): Environment {
  const waiting = new Set<Waiting>();
  let now = performance.timeOrigin + performance.now();
  let last = 0;
  let looking: ReturnType<typeof setTimeout> | undefined;

  function look(): void {
    const real = performance.now();
    now += Math.min(real - last, LONGEST_TURN_MS);
    last = real;
    for (const timer of [...waiting].sort((left, right) => left.at - right.at)) {
      if (timer.at > now) break;
      // A timer that fires may clear one behind it.
      if (waiting.delete(timer)) timer.callback();
    }
    looking = waiting.size === 0 ? undefined : setTimeout(look, LOOK_MS);
  }

  return {
    ...systemEnvironment(),
    now: () => now,
    setTimer(callback, ms): Timer {
      const timer: Waiting = { at: now + Math.max(0, ms), callback };
      waiting.add(timer);
      if (looking === undefined) {
        last = performance.now();
        looking = setTimeout(look, LOOK_MS);
      }
      return timer;
    },
    clearTimer: (timer) => void waiting.delete(timer as Waiting),
  };
}
