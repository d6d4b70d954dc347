/** SHA-256 and HMAC on every platform. */
import type { MaybePromise } from './wait.ts';
import { nodeModule } from './node-module.ts';

interface NodeHash {
  update(text: string): NodeHash;
  digest(encoding: 'hex'): string;
  digest(): Uint8Array;
}

interface NodeCrypto {
  /** In one call, at half of what a hash object costs; absent in older versions. */
  hash?(algorithm: 'sha256', text: string): string;
  createHash(algorithm: 'sha256'): NodeHash;
  createHmac(algorithm: 'sha256', key: string | Uint8Array): NodeHash;
}

/** Node's own hashes answer at once; Web Crypto, which is everywhere, costs a promise and a thread. */
const nodeCrypto = nodeModule<NodeCrypto>('node:crypto');

/** SHA-256 of a text, as 64 hexadecimal digits. */
export function sha256(text: string): MaybePromise<string> {
  if (nodeCrypto?.hash !== undefined) return nodeCrypto.hash('sha256', text);
  if (nodeCrypto !== undefined) return nodeCrypto.createHash('sha256').update(text).digest('hex');
  return crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)).then(toHex);
}

/** HMAC-SHA-256 of a text under a key, as 64 hexadecimal digits. */
export function hmacSha256(key: string, text: string): MaybePromise<string> {
  if (nodeCrypto !== undefined) return nodeCrypto.createHmac('sha256', key).update(text).digest('hex');
  return hmacByWebCrypto(key, text);
}

/** HMAC-SHA-256 of a text under a key of bytes, as 32 bytes. */
export function hmacBytes(key: Uint8Array<ArrayBuffer>, text: string): MaybePromise<Uint8Array> {
  if (nodeCrypto !== undefined) return nodeCrypto.createHmac('sha256', key).update(text).digest();
  return signByWebCrypto(key, text).then((mac) => new Uint8Array(mac));
}

async function hmacByWebCrypto(key: string, text: string): Promise<string> {
  return toHex(await signByWebCrypto(new TextEncoder().encode(key), text));
}

async function signByWebCrypto(key: Uint8Array<ArrayBuffer>, text: string): Promise<ArrayBuffer> {
  const imported = await crypto.subtle.importKey('raw', key, HMAC, false, ['sign']);
  return crypto.subtle.sign(HMAC.name, imported, new TextEncoder().encode(text));
}

const HMAC = { name: 'HMAC', hash: 'SHA-256' };

function toHex(bytes: ArrayBuffer): string {
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
