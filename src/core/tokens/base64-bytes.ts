/** Reads single bytes of a file in base64 without decoding the rest. */

/** Bytes of a file in base64, as characters, without decoding the rest; fewer where it ends, undefined where it is none. */
export function bytesAt(base64: string, from: number, length: number): string | undefined {
  const group = Math.floor(from / 3);
  const skipped = from - group * 3;
  const read = base64.slice(group * 4, (group + Math.ceil((skipped + length) / 3)) * 4);
  try {
    return atob(read.slice(0, read.length - (read.length % 4))).slice(skipped, skipped + length);
  } catch {
    return undefined;
  }
}

/** Bytes of a file in base64. */
export function byteLength(base64: string): number {
  return Math.floor((base64.length * 3) / 4);
}

/** A number whose first byte weighs most; bytes that are not there are zeros. */
export function big(bytes: string, at: number, length: number): number {
  let value = 0;
  for (let index = 0; index < length; index += 1) value = value * 256 + (bytes.charCodeAt(at + index) || 0);
  return value;
}

/** A number whose last byte weighs most; bytes that are not there are zeros. */
export function little(bytes: string, at: number, length: number): number {
  let value = 0;
  for (let index = length - 1; index >= 0; index -= 1) value = value * 256 + (bytes.charCodeAt(at + index) || 0);
  return value;
}
