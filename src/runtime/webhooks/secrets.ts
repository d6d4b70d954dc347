/** Fewest bytes of a secret: shorter ones can be guessed. */
const MIN_BYTES = 24;
/** Most bytes of a secret, as the receivers' libraries have it. */
const MAX_BYTES = 64;
const PREFIX = 'whsec_';

/**
 * The bytes of a webhook secret: `whsec_` and base64, as Standard Webhooks writes them.
 *
 * @throws RangeError that ends a sentence which begins with the secret's place; it does not hold the secret.
 */
export function bytesOfSecret(secret: string): Uint8Array<ArrayBuffer> {
  if (!secret.startsWith(PREFIX)) throw new RangeError(`must begin with "${PREFIX}"`);
  const bytes = fromBase64(secret.slice(PREFIX.length));
  if (bytes === undefined) throw new RangeError(`must be base64 behind "${PREFIX}"`);
  if (bytes.byteLength < MIN_BYTES || bytes.byteLength > MAX_BYTES) {
    throw new RangeError(`must hold ${MIN_BYTES} to ${MAX_BYTES} bytes, not ${bytes.byteLength}`);
  }
  return bytes;
}

/** Base64 as bytes, or undefined for what is none. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** Bytes as base64. */
export function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}
