import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

const collectGarbage = runInNewContext('gc') as () => void;

/** Bytes that a process holds when there is no garbage. */
export interface MemoryHeld {
  /** Objects and buffers. */
  readonly used: number;
  /** What the system has given it, including what it may use again. */
  readonly resident: number;
}

/** Collects all garbage and measures what is left. Buffers are only freed a moment after the objects that hold them. */
export async function memoryHeld(): Promise<MemoryHeld> {
  collectGarbage();
  await new Promise((resolve) => setTimeout(resolve, 10));
  collectGarbage();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { used: heapUsed + external, resident: rss };
}
