import type { TaskType } from './task-types.ts';

/** Trained weights as they are stored. */
export interface StoredWeights {
  readonly tasks: readonly TaskType[];
  /** Of each task, in the order of `tasks`. */
  readonly bias: readonly number[];
  /** What a stored weight of 1 stands for. */
  readonly scale: number;
  /**
   * Base64 of the buckets that have weights, in order: how many buckets were passed over, as a variable-length number;
   * how many weights follow; and of each weight the index of its task and its value from -127 to 127, a byte each.
   */
  readonly data: string;
}

/** Trained weights, ready for use: those of bucket `b` stand from `starts[b]` up to `starts[b + 1]`. */
export interface WeightTable {
  readonly tasks: readonly TaskType[];
  readonly bias: readonly number[];
  readonly scale: number;
  readonly starts: Uint16Array;
  readonly classes: Uint8Array;
  readonly values: Int8Array;
}

/** Reads stored weights. */
export function decodeWeights({ tasks, bias, scale, data }: StoredWeights, buckets: number): WeightTable {
  const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
  const starts = new Uint16Array(buckets + 1);
  const classes: number[] = [];
  const values: number[] = [];
  let bucket = 0;
  let at = 0;
  while (at < bytes.length) {
    let gap = 0;
    let shift = 0;
    let byte: number;
    do {
      byte = bytes[at] ?? 0;
      at += 1;
      gap |= (byte & 0x7f) << shift;
      shift += 7;
    } while (byte >= 0x80);
    bucket += gap;
    const count = bytes[at] ?? 0;
    at += 1;
    for (let index = 0; index < count; index += 1, at += 2) {
      classes.push(bytes[at] ?? 0);
      values.push(((bytes[at + 1] ?? 0) << 24) >> 24);
    }
    bucket += 1;
    starts[bucket] = values.length;
  }
  // Buckets without weights end where the one before ends.
  for (let index = 1; index <= buckets; index += 1)
    starts[index] = Math.max(starts[index] ?? 0, starts[index - 1] ?? 0);
  return { tasks, bias, scale, starts, classes: Uint8Array.from(classes), values: Int8Array.from(values) };
}

/** Stores the weights that are not zero; `values[bucket * tasks + task]` is one. The inverse of {@link decodeWeights}. */
export function encodeWeights(
  tasks: readonly TaskType[],
  bias: readonly number[],
  scale: number,
  values: Int8Array,
): StoredWeights {
  const bytes: number[] = [];
  let gap = 0;
  for (let bucket = 0; bucket * tasks.length < values.length; bucket += 1) {
    const own = tasks.flatMap((_, task) => {
      const value = values[bucket * tasks.length + task] ?? 0;
      return value === 0 ? [] : [task, value & 0xff];
    });
    if (own.length === 0) {
      gap += 1;
      continue;
    }
    for (; gap >= 0x80; gap >>= 7) bytes.push((gap & 0x7f) | 0x80);
    bytes.push(gap, own.length / 2, ...own);
    gap = 0;
  }
  return { tasks, bias, scale, data: btoa(bytes.map((byte) => String.fromCharCode(byte)).join('')) };
}
