/** Handle of a timer. */
export type Timer = unknown;

/**
 * Time, randomness and timers as the router sees them. Replaced by a fake in tests, so that nothing there waits and
 * every run is the same.
 */
export interface Environment {
  /** Milliseconds that never go back in one process and mean about the same in all of them. */
  readonly now: () => number;
  /** Epoch milliseconds, for display and for dates from outside. */
  readonly wallClock: () => number;
  /** A number from 0 (included) to 1 (excluded). */
  readonly random: () => number;
  /** Letters and digits, unguessable. */
  readonly randomText: (length: number) => string;
  readonly setTimer: (callback: () => void, ms: number) => Timer;
  readonly clearTimer: (timer: Timer) => void;
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
/** Bytes from here on would make the first letters of the alphabet likelier than the others. */
const FAIR_BYTES = 256 - (256 % ALPHABET.length);
/** The longest delay that timers of the platform understand; a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The real thing. */
export function systemEnvironment(): Environment {
  const pool = new Uint8Array(4_096);
  const origin = performance.timeOrigin;
  let used = pool.length;

  function randomText(length: number): string {
    let text = '';
    while (text.length < length) {
      if (used === pool.length) {
        crypto.getRandomValues(pool);
        used = 0;
      }
      const byte = pool[used] ?? 0;
      used += 1;
      if (byte < FAIR_BYTES) text += ALPHABET[byte % ALPHABET.length] ?? '';
    }
    return text;
  }

  return {
    now: () => origin + performance.now(),
    wallClock: () => Date.now(),
    random: () => Math.random(),
    randomText,
    setTimer: (callback, ms) => setTimeout(callback, Math.min(Math.max(0, ms), MAX_TIMER_MS)),
    clearTimer: (timer) => clearTimeout(timer as ReturnType<typeof setTimeout>),
  };
}
