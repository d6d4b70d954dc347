/** Writes and reads vectors as base64. */

/** Node's and Bun's way with bytes, ten times as fast as what every runtime has. */
interface FastBytes {
  from(text: string, encoding: 'base64'): Uint8Array;
  from(buffer: ArrayBufferLike): { toString(encoding: 'base64'): string };
}

const fastBytes = (globalThis as { readonly Buffer?: FastBytes }).Buffer ?? null;

/** Numbers that `String.fromCharCode` takes at a time without overflowing the stack. */
const CHUNK = 8_192;

/**
 * Writes a vector as base64 of little-endian 32-bit floats. Exact for numbers that such floats can hold; others become
 * the nearest that they can.
 *
 * @param bytes - Null for the means that every runtime has.
 */
export function encodeFloat32(vector: ArrayLike<number>, bytes: FastBytes | null = fastBytes): string {
  const view = new DataView(new ArrayBuffer(vector.length * 4));
  for (let index = 0; index < vector.length; index += 1) view.setFloat32(index * 4, Number(vector[index]), true);
  if (bytes !== null) return bytes.from(view.buffer).toString('base64');
  const octets = new Uint8Array(view.buffer);
  let text = '';
  for (let from = 0; from < octets.length; from += CHUNK) {
    text += String.fromCharCode(...octets.subarray(from, from + CHUNK));
  }
  return btoa(text);
}

/**
 * Reads base64 of little-endian 32-bit floats, exactly; undefined for a text that is not that.
 *
 * @param bytes - Null for the means that every runtime has.
 */
export function decodeFloat32(text: string, bytes: FastBytes | null = fastBytes): Float32Array | undefined {
  const octets = bytes === null ? decodeSlowly(text) : bytes.from(text, 'base64');
  // Node leaves out what is no base64, so only the length tells.
  if (octets === undefined || octets.length !== decodedLength(text) || octets.length % 4 !== 0) return undefined;
  const view = new DataView(octets.buffer, octets.byteOffset, octets.byteLength);
  const vector = new Float32Array(octets.length / 4);
  for (let index = 0; index < vector.length; index += 1) vector[index] = view.getFloat32(index * 4, true);
  return vector;
}

function decodedLength(text: string): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return Math.floor(((text.length - padding) * 3) / 4);
}

function decodeSlowly(text: string): Uint8Array | undefined {
  try {
    const binary = atob(text);
    return Uint8Array.from(binary, (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
