/** Calls back in the next turn of the event loop; where there is no shorter way, after a timer of no time. */
const callInNextTurn: (callback: () => void) => unknown =
  (globalThis as { setImmediate?: (callback: () => void) => unknown }).setImmediate ??
  ((callback) => setTimeout(callback, 0));

/** Lets everybody else have a turn, so that long work does not hold up the process. */
export function nextTurn(): Promise<void> {
  return new Promise(callInNextTurn);
}
