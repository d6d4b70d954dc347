/** An entry of an {@link ExpiringMap}, in the order in which entries were used. */
export interface ExpiringEntry<Value> {
  readonly key: string;
  value: Value;
  /** The time after which it is gone, by the clock of whoever asks. */
  readonly endsAt: number;
  /** Its neighbours: used before it, and after it. */
  earlier: ExpiringEntry<Value> | undefined;
  later: ExpiringEntry<Value> | undefined;
}

/**
 * Entries that end at a time, the least recently used of which go first where there are too many. Not an `LRUCache`: a
 * rate limit looks at 26 counters for each request, and that makes an object for each look.
 */
export class ExpiringMap<Value> {
  readonly #maxEntries: number;
  readonly #entries = new Map<string, ExpiringEntry<Value>>();
  #first: ExpiringEntry<Value> | undefined;
  #last: ExpiringEntry<Value> | undefined;

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  /** What is kept at this time. It is now the one that was used last. */
  get(key: string, now: number): ExpiringEntry<Value> | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (now > entry.endsAt) {
      this.delete(key);
      return undefined;
    }
    if (entry !== this.#last) {
      this.#unlink(entry);
      this.#append(entry);
    }
    return entry;
  }

  set(key: string, value: Value, endsAt: number): void {
    this.delete(key);
    if (this.#first !== undefined && this.#entries.size >= this.#maxEntries) this.delete(this.#first.key);
    const entry = { key, value, endsAt, earlier: undefined, later: undefined };
    this.#entries.set(key, entry);
    this.#append(entry);
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#unlink(entry);
  }

  #append(entry: ExpiringEntry<Value>): void {
    entry.earlier = this.#last;
    entry.later = undefined;
    if (this.#last === undefined) this.#first = entry;
    else this.#last.later = entry;
    this.#last = entry;
  }

  #unlink({ earlier, later }: ExpiringEntry<Value>): void {
    if (earlier === undefined) this.#first = later;
    else earlier.later = later;
    if (later === undefined) this.#last = earlier;
    else later.earlier = earlier;
  }
}
