/** Recognises base64. */

/** Node's and Bun's way to write base64 as bytes: a tenth of the time that a look at each character takes. */
interface Scratch {
  write(text: string, offset: number, length: number, encoding: 'base64'): number;
}

const { Buffer: buffers } = globalThis as { readonly Buffer?: { alloc(size: number): Scratch } };

/** Shorter texts are looked through as fast. */
const LONG = 1_024;

/** Characters that are looked at in one go: so many groups of four. */
const STEP = 65_536;
const STEP_BYTES = (STEP / 4) * 3;

let scratch: Scratch | undefined;

const WIDE = /[^\0-\xff]/;

/** Whether a text is Latin-1. Engines see that at once of one that they keep so. */
export function isLatin1(text: string): boolean {
  return !WIDE.test(text);
}

const NOT_BASE64 = /[^A-Za-z0-9+/_\s-]/g;

/** Base64 in either alphabet; lines may be broken, and the padding left out. One look at each character. */
export function isBase64(data: string, from: number): boolean {
  if (data.length - from >= LONG && isLatin1(data) && isUnbrokenBase64(data, from)) return true;
  NOT_BASE64.lastIndex = from;
  const end = NOT_BASE64.exec(data)?.index ?? data.length;
  if (data.length - end > 2 || data.slice(end).replaceAll('=', '') !== '') return false;
  // One character alone says nothing, and neither does one too many.
  return (end - from) % 4 !== 1 || /\s/.test(data.slice(from, end));
}

/**
 * Whether a text is certainly base64 in either alphabet without white space, so that nothing in it means anything to
 * JSON. False where the runtime cannot tell fast.
 *
 * @param data - Without characters beyond Latin-1: Node takes them for those that their low bytes are.
 */
export function isUnbrokenBase64(data: string, from: number): boolean {
  if (buffers === undefined) return false;
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0;
  const end = data.length - padding;
  // What is no base64 is left out of the bytes, so their number tells; but not of a last group of one.
  if (end <= from || (end - from) % 4 === 1) return false;
  scratch ??= buffers.alloc(STEP_BYTES);
  for (let at = from; at < end; at += STEP) {
    const until = Math.min(at + STEP, end);
    const bytes = scratch.write(data.slice(at, until), 0, STEP_BYTES, 'base64');
    if (bytes !== Math.floor(((until - at) * 3) / 4)) return false;
  }
  return true;
}
