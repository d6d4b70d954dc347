/** The clock, randomness and timers of the router, which tests replace. */
import { nodeModule } from './node-module.ts';
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
  /** Milliseconds of CPU that this process has used. Absent where the runtime does not give it. */
  readonly cpuTime?: () => number | undefined;
  /** Letters and digits, unguessable. */
  readonly randomText: (length: number) => string;
  readonly setTimer: (callback: () => void, ms: number) => Timer;
  readonly clearTimer: (timer: Timer) => void;
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
/** Bytes from here on would make the first letters of the alphabet likelier than the others. */
const FAIR_BYTES = 256 - (256 % ALPHABET.length);
/** The letter that a byte stands for; 0 for a byte that stands for none. */
const LETTERS = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < FAIR_BYTES ? ALPHABET.charCodeAt(byte % ALPHABET.length) : 0,
);
/** The longest delay that timers of the platform understand; a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Milliseconds that a timer of the platform may have: 24 days take the place of what is longer. */
export function timerMs(ms: number): number {
  return Math.min(Math.max(0, ms), MAX_TIMER_MS);
}

/** Some thousand random letters and digits. */
function drawText(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(4_096));
  let drawn = 0;
  // By index, and from a table: this is a good part of what an id costs.
  for (let index = 0; index < bytes.length; index += 1) {
    const letter = LETTERS[bytes[index] ?? 0] ?? 0;
    if (letter === 0) continue;
    bytes[drawn] = letter;
    drawn += 1;
  }
  return new TextDecoder().decode(bytes.subarray(0, drawn));
}

/** The real thing. */
export function systemEnvironment(): Environment {
  const origin = performance.timeOrigin;
  let pool = '';
  let used = 0;

  function randomText(length: number): string {
    // Drawn and written in advance: most texts are cut from one that is there.
    while (pool.length - used < length) {
      pool = pool.slice(used) + drawText();
      used = 0;
    }
    const text = pool.slice(used, used + length);
    used += length;
    return text;
  }

  return {
    now: () => origin + performance.now(),
    wallClock: () => Date.now(),
    cpuTime,
    random: () => Math.random(),
    randomText,
    setTimer: (callback, ms) => setTimeout(callback, timerMs(ms)),
    clearTimer: (timer) => clearTimeout(timer as ReturnType<typeof setTimeout>),
  };
}

/** A variable of the process environment, on runtimes that have one; blank ones count as absent. */
export function readEnvironment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name]?.trim() || undefined;
}

/** Milliseconds of CPU that this process has used; undefined where the runtime does not give it. */
function cpuTime(): number | undefined {
  const { process } = globalThis as {
    process?: { cpuUsage?: () => { readonly user: number; readonly system: number } };
  };
  const used = process?.cpuUsage?.();
  return used === undefined ? undefined : (used.user + used.system) / 1_000;
}

/** Bytes that the runtime allows its heap to have; undefined where it does not give it. */
export function heapLimit(): number | undefined {
  const v8 = nodeModule<{ getHeapStatistics?: () => unknown }>('node:v8');
  const { heap_size_limit: limit } = Object(v8?.getHeapStatistics?.()) as { heap_size_limit?: unknown };
  return typeof limit === 'number' && limit > 0 ? limit : undefined;
}
