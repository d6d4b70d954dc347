import { seededRandom } from '../providers/simulated/chance.ts';
import type { Environment } from '../platform/environment.ts';

/** An {@link Environment} in which time only passes when it is told to, and chance is the same in every run. */
export interface FakeEnvironment extends Environment {
  /** Lets time pass: timers fire in order, and everything that follows from each is done before the next. */
  advance(ms: number): Promise<void>;
  /** Lets everything happen that needs no time. */
  settle(): Promise<void>;
  /** Timers that have neither fired nor been cleared. A request that is over leaves none. */
  readonly pendingTimers: number;
}

/** Options of {@link fakeEnvironment}. */
export interface FakeEnvironmentOptions {
  /** Same seed, same chance. Default 1. */
  readonly seed?: number | undefined;
  /** Epoch milliseconds at the start. Default 2026-01-01T00:00:00Z. */
  readonly startAt?: number | undefined;
}

interface PendingTimer {
  readonly at: number;
  readonly order: number;
  readonly callback: () => void;
}

const START = Date.UTC(2026, 0, 1);
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';
/** Turns of the event loop after which nothing that needs no time is left to happen. */
const SETTLE_TURNS = 4;

/** Calls back in the next turn of the event loop. A timer waits a millisecond for that, which adds up. */
const nextTurn: (callback: () => void) => unknown =
  (globalThis as { setImmediate?: (callback: () => void) => unknown }).setImmediate ??
  ((callback) => setTimeout(callback, 0));

/** Makes a {@link FakeEnvironment}. */
export function fakeEnvironment({ seed = 1, startAt = START }: FakeEnvironmentOptions = {}): FakeEnvironment {
  const timers = new Set<PendingTimer>();
  const chance = seededRandom(seed);
  const letters = seededRandom(seed + 1);
  let now = startAt;
  let order = 0;

  async function settle(): Promise<void> {
    for (let turn = 0; turn < SETTLE_TURNS; turn += 1) {
      await new Promise<void>(nextTurn);
    }
  }

  function nextTimer(until: number): PendingTimer | undefined {
    let next: PendingTimer | undefined;
    for (const timer of timers) {
      if (timer.at > until) continue;
      if (next === undefined || timer.at < next.at || (timer.at === next.at && timer.order < next.order)) next = timer;
    }
    return next;
  }

  return {
    now: () => now,
    wallClock: () => now,
    random: chance,
    randomText: (length) => Array.from({ length }, () => ALPHABET[Math.floor(letters() * ALPHABET.length)]).join(''),
    setTimer(callback, ms) {
      const timer: PendingTimer = { at: now + Math.max(0, ms), order: order++, callback };
      timers.add(timer);
      return timer;
    },
    clearTimer(timer) {
      timers.delete(timer as PendingTimer);
    },
    async advance(ms) {
      const until = now + ms;
      await settle();
      for (let timer = nextTimer(until); timer !== undefined; timer = nextTimer(until)) {
        timers.delete(timer);
        now = Math.max(now, timer.at);
        timer.callback();
        await settle();
      }
      now = until;
    },
    settle,
    get pendingTimers() {
      return timers.size;
    },
  };
}
