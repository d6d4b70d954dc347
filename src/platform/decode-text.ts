/** What Node has beyond the Web: two functions that look at bytes and copy them, many times as fast as a decoder. */
interface NodeBuffers {
  isAscii(bytes: Uint8Array): boolean;
  readonly Buffer: { from(buffer: ArrayBufferLike, offset: number, length: number): { latin1Slice(): string } };
}

const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } };
const buffers = process?.getBuiltinModule?.('node:buffer') as Partial<NodeBuffers> | undefined;
const isAscii = buffers?.isAscii;

/** The text of bytes that are all ASCII; undefined for others, and where that cannot be told cheaply. */
function asciiText(bytes: Uint8Array): string | undefined {
  if (isAscii === undefined || !isAscii(bytes)) return undefined;
  return buffers?.Buffer?.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).latin1Slice();
}

const STRICT = new TextDecoder('utf-8', { fatal: true });
const TOLERANT = new TextDecoder();

/**
 * The text of UTF-8 bytes.
 *
 * @throws {@link TypeError} when they are no UTF-8.
 */
export function decodeStrictly(bytes: Uint8Array): string {
  return asciiText(bytes) ?? STRICT.decode(bytes);
}

/** The text of UTF-8 bytes; what is none becomes U+FFFD. */
export function decodeTolerantly(bytes: Uint8Array): string {
  return asciiText(bytes) ?? TOLERANT.decode(bytes);
}
