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

const STREAMED = { stream: true } as const;

/**
 * Decodes UTF-8 that comes in pieces, which may be cut anywhere; what is no UTF-8 becomes U+FFFD, and a byte order mark at
 * the beginning is left out. Pieces of ASCII alone take the short way.
 */
export class TextPieces {
  #decoder: typeof TOLERANT | undefined;
  #hasBegun = false;
  /** True when the decoder may hold the beginning of a character. */
  #isCut = false;

  /** The text of one more piece. */
  decode(bytes: Uint8Array): string {
    const ascii = this.#isCut ? undefined : asciiText(bytes);
    if (ascii !== undefined) {
      this.#hasBegun ||= ascii !== '';
      return ascii;
    }
    // A decoder that has seen nothing takes a mark in the middle of a text for one at its beginning.
    this.#decoder ??= new TextDecoder('utf-8', { ignoreBOM: this.#hasBegun });
    this.#hasBegun = true;
    this.#isCut = (bytes.at(-1) ?? 0) > LAST_ASCII || (this.#isCut && bytes.length === 0);
    return this.#decoder.decode(bytes, STREAMED);
  }

  /** What was cut off by the end. */
  end(): string {
    return this.#decoder?.decode() ?? '';
  }
}

const LAST_ASCII = 0x7f;
