import type { InlineData } from './wire.ts';

/** Bytes that become characters at once; the arguments of a function are limited. */
const SLICE = 32_768;

/**
 * Takes a data URL apart without copying its bytes more than once; undefined for any other address. Bytes that are not
 * base64 already become it.
 *
 * @param fallback - Media type when the URL names none.
 */
export function readDataUrl(url: string, fallback: string): InlineData | undefined {
  if (!/^data:/i.test(url.slice(0, 5))) return undefined;
  const comma = url.indexOf(',');
  if (comma < 0) return undefined;
  const head = url.slice(5, comma);
  const body = url.slice(comma + 1);
  const mimeType = spelledAsGoogleDoes(head.split(';', 1)[0]?.trim().toLowerCase() || fallback);
  if (!/;\s*base64\s*$/i.test(head)) return { mimeType, data: base64Of(new TextEncoder().encode(decoded(body))) };
  return { mimeType, data: body.includes('%') ? decoded(body) : body };
}

/** A common misspelling that Google does not know. */
function spelledAsGoogleDoes(type: string): string {
  return type === 'image/jpg' ? 'image/jpeg' : type;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function base64Of(bytes: Uint8Array): string {
  let characters = '';
  for (let start = 0; start < bytes.length; start += SLICE) {
    characters += String.fromCharCode(...bytes.subarray(start, start + SLICE));
  }
  return btoa(characters);
}
