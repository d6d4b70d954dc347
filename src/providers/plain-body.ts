/** Most bytes of a whole answer: 64 MB, decompressed. */
export const MAX_WHOLE_BYTES = 64_000_000;

/** Collects a body that came where an event stream was expected. Bytes may be cut inside a character. */
export class PlainBody {
  readonly #decoder = new TextDecoder();
  #text = '';
  #left = MAX_WHOLE_BYTES;

  /** Reads more bytes. Returns false once the body is larger than a whole answer may be. */
  push(bytes: Uint8Array): boolean {
    this.#left -= bytes.byteLength;
    if (this.#left < 0) return false;
    this.#text += this.#decoder.decode(bytes, STREAMED);
    return true;
  }

  /** The whole text. */
  end(): string {
    return this.#text + this.#decoder.decode();
  }
}

const STREAMED = { stream: true } as const;
