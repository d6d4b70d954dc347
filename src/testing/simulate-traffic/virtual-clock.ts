/** The virtual clock of simulations. */
import { seededRandom } from '../../providers/simulated/chance.ts';
import type { Environment } from '../../platform/environment.ts';
import { yieldTurn } from '../../platform/wait.ts';

/** A callback at a time; without it, nothing happens then. */
export interface PendingTimer {
  readonly at: number;
  readonly order: number;
  callback: (() => void) | undefined;
}

/** Start of every simulation, so that dates in it are the same in every run. */
const START = Date.UTC(2026, 0, 1);
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';

/**
 * An environment whose time only passes when nothing is left to do at the present: then it jumps to the next timer.
 * A simulated hour takes as long as the work in it.
 */
export class VirtualClock {
  readonly #timers = new TimerHeap();
  #now = START;
  #order = 0;

  /** Milliseconds since the start of the simulation. */
  get elapsedMs(): number {
    return this.#now - START;
  }

  /** Calls back at a time of the simulation, or now if that is over. */
  at(elapsedMs: number, callback: () => void): PendingTimer {
    const timer: PendingTimer = { at: Math.max(this.#now, START + elapsedMs), order: this.#order++, callback };
    this.#timers.push(timer);
    return timer;
  }

  /** An environment of this time, with chance of its own. */
  environment(seed: number): Environment {
    const chance = seededRandom(seed);
    const letters = seededRandom(seed ^ 0x5bd1e995);
    return {
      now: () => this.#now,
      wallClock: () => this.#now,
      random: chance,
      randomText: (length) => Array.from({ length }, () => ALPHABET[Math.floor(letters() * ALPHABET.length)]).join(''),
      setTimer: (callback, ms) => this.at(this.elapsedMs + Math.max(0, ms), callback),
      clearTimer(timer) {
        if (timer !== undefined) (timer as PendingTimer).callback = undefined;
      },
    };
  }

  /** Lets time pass until `isOver`, or until nothing more can happen. */
  async run(isOver: () => boolean): Promise<void> {
    for (;;) {
      // Everything that follows from the last timer without needing time happens within this turn.
      await yieldTurn();
      if (isOver()) return;
      const timer = this.#timers.pop();
      if (timer === undefined) return;
      this.#now = Math.max(this.#now, timer.at);
      timer.callback?.();
    }
  }
}

/** Timers in order of time; those of the same time in the order in which they were set. Cleared ones are skipped. */
class TimerHeap {
  readonly #heap: PendingTimer[] = [];

  push(timer: PendingTimer): void {
    const heap = this.#heap;
    let index = heap.push(timer) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !isBefore(timer, above)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = timer;
  }

  pop(): PendingTimer | undefined {
    for (;;) {
      const timer = this.#take();
      if (timer === undefined || timer.callback !== undefined) return timer;
    }
  }

  #take(): PendingTimer | undefined {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const right = left + 1;
      let child = heap[left];
      if (child === undefined) break;
      let at = left;
      const other = heap[right];
      if (other !== undefined && isBefore(other, child)) [child, at] = [other, right];
      if (!isBefore(child, last)) break;
      heap[index] = child;
      index = at;
    }
    heap[index] = last;
    return first;
  }
}

function isBefore(left: PendingTimer, right: PendingTimer): boolean {
  return left.at < right.at || (left.at === right.at && left.order < right.order);
}
