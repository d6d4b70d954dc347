/** Reads JSON with its long texts cut short. */
import { endOfString } from '../protocol/scan-json.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;

/** Bytes of a text from which on an outline has its beginning only. */
const LONG = 4_096;
/** Bytes of a long text that are looked at together. */
const PIECE = 16_384;

const DECODER = new TextDecoder('utf-8', { fatal: true });

/**
 * What a JSON text says, in which long texts are cut to their beginning. All of it is read by the engine's own parser,
 * long texts piece by piece: a text of a megabyte that is only looked at is never made, as a string of two megabytes or
 * more that stays until the collector comes by.
 *
 * @throws SyntaxError for what is not JSON, TypeError for what is not UTF-8.
 */
export function outlineOf(bytes: Uint8Array): unknown {
  let text = '';
  let written = 0;
  for (let quote = bytes.indexOf(QUOTE); quote >= 0;) {
    const end = endOfString(bytes, quote + 1);
    if (end - quote > LONG) {
      const beginning = endOfPiece(bytes, quote + 1, quote + 1 + LONG);
      text += DECODER.decode(bytes.subarray(written, beginning));
      written = end;
      for (let start = beginning; start < end;) {
        const next = start + PIECE < end ? endOfPiece(bytes, start, start + PIECE) : end;
        JSON.parse(`"${DECODER.decode(bytes.subarray(start, next))}"`);
        start = next;
      }
    }
    quote = end < bytes.byteLength ? bytes.indexOf(QUOTE, end + 1) : -1;
  }
  return JSON.parse(text + DECODER.decode(bytes.subarray(written)));
}

/** The last place up to here where a text can be cut: neither within a character nor within an escape. */
function endOfPiece(bytes: Uint8Array, start: number, wanted: number): number {
  let end = wanted;
  while (end > wanted - 3 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  for (let back = 1; back <= 5; back += 1) {
    const place = end - back;
    if (bytes[place] !== BACKSLASH) continue;
    let before = place;
    while (before > start && bytes[before - 1] === BACKSLASH) before -= 1;
    const isEscape = (place - before) % 2 === 0;
    const length = bytes[place + 1] === LETTER_U ? 6 : 2;
    return isEscape && back < length ? place : end;
  }
  return end;
}
