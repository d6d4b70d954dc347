/** Texts that grow, in memory: kept streams. Loaded when the first is begun. */
import { fromByteText, toByteText } from '../platform/byte-text.ts';

/** Parts that a text may have before they are copied into one. */
const PARTS = 32;

/** A text, with one character for each of its bytes. */
interface GrowingText {
  value: string;
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
    const entry = this.#texts.get(key) ?? { value: { value: '', parts: 0 } };
    const { value: grown } = entry;
    const bytes = toByteText(text);
    if (grown.value.length !== at) return grown.value.length > at && grown.value.slice(at) === bytes;
    grown.value += bytes;
    grown.parts += 1;
    if (grown.parts >= PARTS) {
      // Whoever looks at a text of many parts has them copied into one, which takes less memory.
      grown.value.charCodeAt(0);
      grown.parts = 0;
    }
    this.#texts.set(key, entry, { ttl: Math.max(1, ttlMs) });
    return true;
  }

  slice(key: string, from: number, to?: number): string {
    return fromByteText(this.#texts.get(key)?.value.value.slice(from, to) ?? '');
  }

  delete(key: string): void {
    this.#texts.delete(key);
  }
}
