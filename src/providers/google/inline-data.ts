import { toBase64 } from '../base64.ts';
import { parseDataUrl } from '../data-url.ts';
import type { InlineData } from './wire.ts';

/**
 * The bytes of a data URL as Google takes them; undefined for one that is broken off.
 *
 * @param fallback - Media type when the URL names none.
 */
export function readInlineData(url: string, fallback: string): InlineData | undefined {
  const read = parseDataUrl(url);
  if (read === undefined) return undefined;
  const { isBase64, data } = read;
  const mimeType = /^data:[;,]/i.test(url) ? fallback : spelledAsGoogleDoes(read.mediaType);
  if (!isBase64) return { mimeType, data: toBase64(new TextEncoder().encode(data)) };
  return { mimeType, data: data.includes('%') ? data.replace(/%(?:2B|2F|3D)/gi, decodeURIComponent) : data };
}

/** A common misspelling that Google does not know. */
function spelledAsGoogleDoes(type: string): string {
  return type === 'image/jpg' ? 'image/jpeg' : type;
}
