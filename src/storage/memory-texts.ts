/** Texts that grow, in memory: kept streams. Loaded when the first is begun. */
import { fromByteText, toByteText } from '../platform/byte-text.ts';

/** Parts that a text may have before they are copied into one. */
const PARTS = 32;

/** A text that grows. */
interface GrowingText {
  /** One character for each byte. */
  bytes: string;
  /** What was added last, as it came: what nobody adds to or reads is not looked at. */
  added: string;
  /** Parts since all were copied into one. */
  parts: number;
}

/** Where texts are kept. */
interface TextCache {
  get(key: string): { value: GrowingText } | undefined;
  set(key: string, entry: { value: GrowingText }, options: { readonly ttl: number }): unknown;
  delete(key: string): unknown;
}

/** Texts by their keys; see `StateStore.append`. */
export class MemoryTexts {
  readonly #texts: TextCache;

  constructor(texts: TextCache) {
    this.#texts = texts;
  }

  append(key: string, text: string, at: number, ttlMs: number): boolean {
    const entry = this.#texts.get(key) ?? { value: { bytes: '', added: '', parts: 0 } };
    const { value: grown } = entry;
    const bytes = bytesOf(grown);
    if (bytes.length !== at) return bytes.length > at && bytes.slice(at) === toByteText(text);
    grown.added = whole(text);
    grown.parts += 1;
    this.#texts.set(key, entry, { ttl: Math.max(1, ttlMs) });
    return true;
  }

  slice(key: string, from: number, to?: number): string {
    const grown = this.#texts.get(key)?.value;
    return grown === undefined ? '' : fromByteText(bytesOf(grown).slice(from, to));
  }

  delete(key: string): void {
    this.#texts.delete(key);
  }
}

function bytesOf(grown: GrowingText): string {
  if (grown.added !== '') {
    grown.bytes += toByteText(grown.added);
    grown.added = '';
    if (grown.parts >= PARTS) {
      grown.bytes = whole(grown.bytes);
      grown.parts = 0;
    }
  }
  return grown.bytes;
}

/**
 * A text that was put together from many, in one piece: whoever looks at it has its parts copied. It takes less memory,
 * and the collector has one thing to copy and not hundreds.
 */
function whole(text: string): string {
  text.charCodeAt(0);
  return text;
}
