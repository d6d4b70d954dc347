import type { MaybePromise } from '../storage/state-store.ts';

interface NodeHash {
  update(text: string): NodeHash;
  digest(encoding: 'hex'): string;
}

interface NodeCrypto {
  createHash(algorithm: 'sha256'): NodeHash;
  createHmac(algorithm: 'sha256', key: string): NodeHash;
}

/** Node's own hashes answer at once; Web Crypto, which is everywhere, costs a promise and a thread. */
const nodeCrypto = (
  globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } }
).process?.getBuiltinModule?.('node:crypto') as NodeCrypto | undefined;

/** SHA-256 of a text, as 64 hexadecimal digits. */
export function sha256(text: string): MaybePromise<string> {
  if (nodeCrypto !== undefined) return nodeCrypto.createHash('sha256').update(text).digest('hex');
  return crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)).then(toHex);
}

/** HMAC-SHA-256 of a text under a key, as 64 hexadecimal digits. */
export function hmacSha256(key: string, text: string): MaybePromise<string> {
  if (nodeCrypto !== undefined) return nodeCrypto.createHmac('sha256', key).update(text).digest('hex');
  return hmacByWebCrypto(key, text);
}

async function hmacByWebCrypto(key: string, text: string): Promise<string> {
  const encoder = new TextEncoder();
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const imported = await crypto.subtle.importKey('raw', encoder.encode(key), algorithm, false, ['sign']);
  return toHex(await crypto.subtle.sign('HMAC', imported, encoder.encode(text)));
}

function toHex(bytes: ArrayBuffer): string {
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
