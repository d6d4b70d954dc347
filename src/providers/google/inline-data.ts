import { parseDataUrl } from '../data-url.ts';
import type { InlineData } from './wire.ts';

/** Bytes that become characters at once; the arguments of a function are limited. */
const SLICE = 32_768;

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
  if (!isBase64) return { mimeType, data: base64Of(new TextEncoder().encode(data)) };
  return { mimeType, data: data.includes('%') ? data.replace(/%(?:2B|2F|3D)/gi, decodeURIComponent) : data };
}

/** A common misspelling that Google does not know. */
function spelledAsGoogleDoes(type: string): string {
  return type === 'image/jpg' ? 'image/jpeg' : type;
}

function base64Of(bytes: Uint8Array): string {
  let characters = '';
  for (let start = 0; start < bytes.length; start += SLICE) {
    characters += String.fromCharCode(...bytes.subarray(start, start + SLICE));
  }
  return btoa(characters);
}
