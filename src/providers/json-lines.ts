/** Reads bodies of JSON lines. */
import { isJsonObject, type JsonObject } from '../protocol/json.ts';
import { MAX_WHOLE_BYTES, parseJson } from './upstream-failure.ts';
import type { TransportResponse } from '../net/transport.ts';

const LINE_FEED = 0x0a;

/**
 * The objects of a body that has one JSON object on each line, as they come. Only a line feed ends a line: other
 * separators, such as U+2028, may stand inside of strings. The last line needs none. Lines that hold no JSON object, or
 * more bytes than a non-streaming response may have, are passed over: what they were the outcome of counts as missing.
 *
 * @param maxLineBytes - Default: as many as a non-streaming response may have.
 */
export async function* readJsonLines(
  response: TransportResponse,
  maxLineBytes: number = MAX_WHOLE_BYTES,
): AsyncGenerator<JsonObject, void, undefined> {
  let line = new Line(maxLineBytes);
  let over = false;
  try {
    for (let chunks = await response.read(); chunks !== undefined; chunks = await response.read()) {
      for (const chunk of chunks) {
        let start = 0;
        for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
          line.push(chunk.subarray(start, end));
          start = end + 1;
          const value = line.read();
          line = new Line(maxLineBytes);
          if (value !== undefined) yield value;
        }
        line.push(chunk.subarray(start));
      }
    }
    over = true;
    const value = line.read();
    if (value !== undefined) yield value;
  } finally {
    // Whoever wants no more lines leaves the connection free.
    if (!over) response.cancel();
  }
}

/** One line. Bytes may be cut inside a character. */
class Line {
  readonly #decoder = new TextDecoder();
  #text = '';
  #left: number;

  constructor(maxBytes: number) {
    this.#left = maxBytes;
  }

  push(bytes: Uint8Array): void {
    this.#left -= bytes.byteLength;
    if (this.#left >= 0) this.#text += this.#decoder.decode(bytes, STREAMED);
    else this.#text = '';
  }

  read(): JsonObject | undefined {
    const text = this.#left < 0 ? '' : this.#text + this.#decoder.decode();
    const value = text.trim() === '' ? undefined : parseJson(text);
    return isJsonObject(value) ? value : undefined;
  }
}

const STREAMED = { stream: true } as const;
