/** Texts that grow, in memory: kept streams. Loaded when the first is begun. */
import { fromByteText, toByteText } from '../platform/byte-text.ts';

/** Parts that a text may have before they are copied into one. */
const PARTS = 32;

/** A text, with one character for each of its bytes. */
interface GrowingText {
  bytes: string;
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
    const entry = this.#texts.get(key) ?? { value: { bytes: '', parts: 0 } };
    const { value: grown } = entry;
    const { bytes } = grown;
    const added = whole(toByteText(text));
    if (bytes.length !== at) return bytes.length > at && bytes.slice(at) === added;
    grown.parts += 1;
    grown.bytes = grown.parts < PARTS ? bytes + added : whole(bytes + added);
    grown.parts %= PARTS;
    this.#texts.set(key, entry, { ttl: Math.max(1, ttlMs) });
    return true;
  }

  slice(key: string, from: number, to?: number): string {
    return fromByteText(this.#texts.get(key)?.value.bytes.slice(from, to) ?? '');
  }

  delete(key: string): void {
    this.#texts.delete(key);
  }
}

/**
 * A text that was put together from many, in one piece: whoever looks at it has its parts copied. It takes less memory,
 * and the collector has one thing to copy and not hundreds.
 */
function whole(text: string): string {
  text.charCodeAt(0);
  return text;
}
