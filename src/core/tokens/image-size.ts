import { big, bytesAt, little } from './base64-bytes.ts';

/** Pixels of an image. */
export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** Bytes in which the size of an image is looked for: what cameras write before it is longer at times. */
const MOST = 65_538;

/** The size of a PNG, GIF, WebP or JPEG that is a data URL; undefined where it does not say, and for addresses. */
export function imageSize(url: string): ImageSize | undefined {
  const size = writtenSize(url);
  // No image has no pixels, and a formula would divide by them.
  return size === undefined || size.width === 0 || size.height === 0 ? undefined : size;
}

function writtenSize(url: string): ImageSize | undefined {
  const start = /^data:image\/[\w.+-]{1,32};base64,/.exec(url.slice(0, 64))?.[0].length;
  if (start === undefined) return undefined;
  const data = url.slice(start);
  const head = bytesAt(data, 0, 48);
  if (head === undefined) return undefined;
  if (head.startsWith('\x89PNG\r\n')) return { width: big(head, 16, 4), height: big(head, 20, 4) };
  if (head.startsWith('GIF8')) return { width: little(head, 6, 2), height: little(head, 8, 2) };
  if (head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP') return webpSize(head);
  if (!head.startsWith('\xff\xd8')) return undefined;
  const whole = bytesAt(data, 0, MOST);
  return whole === undefined ? undefined : jpegSize(whole);
}

function webpSize(head: string): ImageSize | undefined {
  const format = head.slice(12, 16);
  if (format === 'VP8X') return { width: little(head, 24, 3) + 1, height: little(head, 27, 3) + 1 };
  if (format === 'VP8 ') return { width: little(head, 26, 2) & 0x3fff, height: little(head, 28, 2) & 0x3fff };
  if (format !== 'VP8L') return undefined;
  const bits = little(head, 21, 4);
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
}

/** Goes from segment to segment until the one with the size. */
function jpegSize(bytes: string): ImageSize | undefined {
  for (let at = 2; at + 9 < bytes.length; at += 2 + big(bytes, at + 2, 2)) {
    const marker = bytes.charCodeAt(at + 1);
    if (bytes.charCodeAt(at) !== 0xff) return undefined;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) return { width: big(bytes, at + 7, 2), height: big(bytes, at + 5, 2) };
  }
  return undefined;
}
