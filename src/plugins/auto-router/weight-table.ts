/** Stores and reads the trained weights of the classifier. */
import type { TaskType } from './task-types.ts';

/** Trained weights as they are stored. */
export interface StoredWeights {
  /** At most 32. */
  readonly tasks: readonly TaskType[];
  /** Of each task, in the order of `tasks`, in ten-thousandths. */
  readonly bias: readonly number[];
  /** What a level of 1 stands for. */
  readonly scale: number;
  /**
   * Base64 of the features that have weights, in the order of their hashes: the distance from the one before, as a
   * variable-length number; how many weights follow; and of each a byte, five bits for the index of its task and three
   * for its level.
   */
  readonly data: string;
}

/** Sizes that a stored weight can have. Few are large, so those lie farther apart. */
export const LEVELS = [-3, -1.5, -0.75, 0.75, 1.5, 3, 5, 8] as const;

/** Trained weights, ready for use. */
export interface WeightTable {
  readonly tasks: readonly TaskType[];
  /** Of each task, in ten-thousandths. */
  readonly bias: readonly number[];
  readonly scale: number;
  /** By the hash of a feature, its weights as they are stored. */
  readonly features: ReadonlyMap<number, Uint8Array>;
}

/** Reads stored weights. */
export function decodeWeights({ tasks, bias, scale, data }: StoredWeights): WeightTable {
  const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
  const features = new Map<number, Uint8Array>();
  let hash = -1;
  let at = 0;
  while (at < bytes.length) {
    let distance = 0;
    let shift = 0;
    let byte: number;
    do {
      byte = bytes[at] ?? 0;
      at += 1;
      distance |= (byte & 0x7f) << shift;
      shift += 7;
    } while (byte >= 0x80);
    hash += distance;
    const end = at + 1 + (bytes[at] ?? 0);
    features.set(hash, bytes.subarray(at + 1, end));
    at = end;
  }
  return { tasks, bias, scale, features };
}

/** Stores weights. The inverse of {@link decodeWeights}. */
export function encodeWeights({ tasks, bias, scale, features }: WeightTable): StoredWeights {
  const bytes: number[] = [];
  let before = -1;
  for (const [hash, weights] of [...features].sort(([left], [right]) => left - right)) {
    let distance = hash - before;
    for (; distance >= 0x80; distance >>= 7) bytes.push((distance & 0x7f) | 0x80);
    bytes.push(distance, weights.length, ...weights);
    before = hash;
  }
  return { tasks, bias, scale, data: btoa(bytes.map((byte) => String.fromCharCode(byte)).join('')) };
}

/** A weight of one task as a byte; undefined when it is too small to be kept. */
export function packWeight(task: number, weight: number, scale: number): number | undefined {
  const steps = weight / scale;
  if (Math.abs(steps) < LEVELS[3] / 2) return undefined;
  let best = 0;
  for (const [index, level] of LEVELS.entries()) {
    if (Math.abs(level - steps) < Math.abs((LEVELS[best] ?? 0) - steps)) best = index;
  }
  return (task << 3) | best;
}
