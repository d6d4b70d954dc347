/** Bytes that are spelled at once: a call with more arguments would overflow the stack. A multiple of three. */
const SLICE = 24_576;

/** Writes bytes as base64, in any runtime. */
export function toBase64(bytes: Uint8Array): string {
  let text = '';
  for (let start = 0; start < bytes.length; start += SLICE) {
    text += btoa(String.fromCharCode(...bytes.subarray(start, start + SLICE)));
  }
  return text;
}
