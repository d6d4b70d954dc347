/**
 * Bytes of UTF-8 as a text with one character for each byte. Such a text takes one byte a character in memory, is cut at
 * any byte, and is the text itself where that is ASCII.
 */

const ENCODER = new TextEncoder();
const BEYOND_ASCII = /[\u0080-\uFFFF]/;
/** Counts bytes faster than a pattern looks for characters; only Node has it. */
const { Buffer: counter } = globalThis as { readonly Buffer?: { byteLength(text: string): number } };
const isAscii = (text: string): boolean =>
  counter === undefined ? !BEYOND_ASCII.test(text) : counter.byteLength(text) === text.length;

/** Bytes that a text has in UTF-8. */
export function byteLength(text: string): number {
  return counter?.byteLength(text) ?? ENCODER.encode(text).length;
}

/** Arguments that one call may have everywhere. */
const PART = 4_096;

/** The bytes of a text. */
export function toByteText(text: string): string {
  if (isAscii(text)) return text;
  const bytes = ENCODER.encode(text);
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += PART) parts.push(String.fromCharCode(...bytes.subarray(at, at + PART)));
  return parts.join('');
}

/** The text of bytes that begin and end between characters. */
export function fromByteText(bytes: string): string {
  if (isAscii(bytes)) return bytes;
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(
    Uint8Array.from({ length: bytes.length }, (_, index) => bytes.charCodeAt(index)),
  );
}

/** True where a character of the text begins at this byte, or the bytes end there. */
export function beginsCharacter(bytes: string, at: number): boolean {
  const code = bytes.charCodeAt(at);
  return Number.isNaN(code) || code < 0x80 || code > 0xbf;
}
