/** Splits the bytes of a JSON array into its items. */
import { ByteBuffer } from './byte-buffer.ts';

/** Bytes of JSON that mean something outside of strings. */
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** One item of an array, still as bytes: valid until the splitter is given more. */
export interface RawItem {
  readonly bytes: Uint8Array;
  /** Where the value of the wanted member is in an object, from its colon to the comma or brace behind it. */
  readonly member?: { readonly from: number; readonly to: number } | undefined;
}

/** What is wrong between or inside items. */
type SplitProblem = 'syntax' | 'too_deep' | 'too_large';

/** Why an array cannot be split. */
export class SplitError extends Error {
  override readonly name = 'SplitError';
  readonly problem: SplitProblem;

  constructor(problem: SplitProblem) {
    super(problem);
    this.problem = problem;
  }
}

/** Where the splitter is. */
type Place =
  /** Behind the opening bracket. */
  | 'start'
  /** Behind a comma: an item must come. */
  | 'item'
  /** In an object or array. */
  | 'container'
  /** In a text, a number or a word that is an item itself. */
  | 'scalar'
  /** Behind an item: a comma or the end. */
  | 'after'
  | 'end';

/** Bounds of {@link ItemSplitter}. */
interface SplitOptions {
  /** Member of items whose value is looked for. */
  readonly member: string;
  readonly depth: number;
  readonly itemBytes: number;
}

/**
 * Finds the items of a JSON array in bytes, without reading what is in them: only nesting and quotation marks count.
 * Whether an item is JSON shows when it is parsed. That way a long text costs one search for its end, and an item costs
 * no more memory than its bytes.
 */
export class ItemSplitter {
  readonly #options: SplitOptions;
  readonly #name: Uint8Array;
  #place: Place = 'start';
  /** Bytes of the item from bites before this one, and of the item before it that was put together in the same way. */
  #held = new ByteBuffer();
  #taken = new ByteBuffer();
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** Where the last string at the first level of the item stands, and the last colon there. */
  #string = { from: 0, to: 0 };
  #key: { readonly from: number; readonly to: number } | undefined;
  #colon = 0;
  #candidates: {
    readonly key: { readonly from: number; readonly to: number };
    readonly from: number;
    readonly to: number;
  }[] = [];

  constructor(options: SplitOptions) {
    this.#options = options;
    this.#name = new TextEncoder().encode(JSON.stringify(options.member));
  }

  /** Bytes of an item that is not complete. */
  get pending(): number {
    return this.#held.length;
  }

  get ended(): boolean {
    return this.#place === 'end';
  }

  /**
   * Reads on.
   *
   * @param onItem - Called with each item as soon as it is complete.
   * @returns How many bytes were used: fewer than given when the array has ended.
   * @throws {@link SplitError}
   */
  split(bytes: Uint8Array, onItem: (item: RawItem) => void): number {
    /** Where the item begins in these bytes. */
    let begin = 0;
    let at = 0;
    while (at < bytes.byteLength && this.#place !== 'end') {
      if (this.#place === 'container' || this.#place === 'scalar') {
        const end = this.#inItem(bytes, at, begin);
        if (end < 0) break;
        onItem(this.#take(bytes.subarray(begin, end)));
        at = end;
        continue;
      }
      const byte = bytes[at] ?? 0;
      if (!isSpace(byte)) {
        begin = at;
        if (this.#between(byte)) continue;
      }
      at += 1;
    }
    if (this.#place === 'container' || this.#place === 'scalar') this.#keep(bytes.subarray(begin));
    return this.#place === 'end' ? at : bytes.byteLength;
  }

  /** A byte outside of items. True when an item begins with it. */
  #between(byte: number): boolean {
    if (byte === CLOSE_ARRAY && this.#place !== 'item') {
      this.#place = 'end';
      return false;
    }
    if (this.#place === 'after') {
      if (byte !== COMMA) throw new SplitError('syntax');
      this.#place = 'item';
      return false;
    }
    if (byte === COMMA || byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) throw new SplitError('syntax');
    this.#place = byte === OPEN_OBJECT || byte === OPEN_ARRAY ? 'container' : 'scalar';
    return true;
  }

  /** Reads on in an item. Gives the place behind its end, or -1 when it goes on. */
  #inItem(bytes: Uint8Array, start: number, begin: number): number {
    // Places in the item are counted from its own beginning.
    const offset = this.#held.length - begin;
    for (let at = start; at < bytes.byteLength; at += 1) {
      if (this.#inString) {
        at = this.#endOfString(bytes, at);
        if (at < 0) return -1;
        this.#string = { ...this.#string, to: offset + at + 1 };
        if (this.#depth === 0) return at + 1;
        continue;
      }
      const byte = bytes[at] ?? 0;
      switch (byte) {
        case QUOTE:
          this.#inString = true;
          if (this.#depth <= 1) this.#string = { from: offset + at, to: 0 };
          break;
        case OPEN_OBJECT:
        case OPEN_ARRAY:
          this.#depth += 1;
          if (this.#depth > this.#options.depth) throw new SplitError('too_deep');
          break;
        case COLON:
          if (this.#depth === 1) {
            this.#key = this.#string;
            this.#colon = offset + at + 1;
          }
          break;
        case CLOSE_OBJECT:
        case CLOSE_ARRAY:
          if (this.#depth === 0) return at;
          if (this.#depth === 1) this.#member(offset + at);
          this.#depth -= 1;
          if (this.#depth === 0) return at + 1;
          break;
        case COMMA:
          if (this.#depth === 0) return at;
          if (this.#depth === 1) this.#member(offset + at);
          break;
        default:
          if (this.#depth === 0 && isSpace(byte)) return at;
      }
    }
    return -1;
  }

  /** The place of the quotation mark that ends a string, or -1 when it goes on. */
  #endOfString(bytes: Uint8Array, start: number): number {
    let from = start;
    if (this.#escaped) {
      this.#escaped = false;
      from += 1;
    }
    for (;;) {
      const near = Math.min(from + SHORT_STRING, bytes.byteLength);
      for (; from < near; from += 1) {
        const byte = bytes[from];
        if (byte === QUOTE) {
          this.#inString = false;
          return from;
        }
        if (byte === BACKSLASH) from += 1;
      }
      if (from > bytes.byteLength) {
        this.#escaped = true;
        return -1;
      }
      const quote = bytes.indexOf(QUOTE, from);
      const end = quote < 0 ? bytes.byteLength : quote;
      let backslashes = 0;
      while (end - backslashes > from && bytes[end - backslashes - 1] === BACKSLASH) backslashes += 1;
      const escaped = backslashes % 2 === 1;
      if (quote < 0) {
        this.#escaped = escaped;
        return -1;
      }
      if (!escaped) {
        this.#inString = false;
        return quote;
      }
      from = quote + 1;
    }
  }

  /** A member of the item ends here. */
  #member(to: number): void {
    const key = this.#key;
    this.#key = undefined;
    if (key !== undefined) this.#candidates.push({ key, from: this.#colon, to });
    // Only a few members are remembered: an item with very many of them is none of ours.
    if (this.#candidates.length > MAX_MEMBERS) this.#candidates.shift();
  }

  #keep(bytes: Uint8Array): void {
    // The bytes belong to whoever gave them, and may be overwritten.
    if (this.#held.length + bytes.byteLength > this.#options.itemBytes) throw new SplitError('too_large');
    this.#held.add(bytes);
  }

  #take(last: Uint8Array): RawItem {
    if (this.#held.length + last.byteLength > this.#options.itemBytes) throw new SplitError('too_large');
    const bytes = this.#whole(last);
    const member = this.#candidates.findLast(({ key }) =>
      isName(bytes.subarray(key.from, key.to), this.#name, this.#options),
    );
    this.#place = 'after';
    this.#candidates = [];
    this.#key = undefined;
    return { bytes, member };
  }

  /** An item whose last bytes are these. It stays where it is while the next one begins to be put together. */
  #whole(last: Uint8Array): Uint8Array {
    if (this.#held.length === 0) return last;
    this.#held.add(last);
    const bytes = this.#held.all();
    [this.#held, this.#taken] = [this.#taken, this.#held];
    this.#held.clear();
    return bytes;
  }
}

const MAX_MEMBERS = 64;
/** Bytes of a string that are looked at one by one before its end is searched for; a search costs as much as many bytes. */
const SHORT_STRING = 64;

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Whether a key as it was written is this name; with escapes it must be read to know. */
function isName(key: Uint8Array, name: Uint8Array, { member }: SplitOptions): boolean {
  if (!key.includes(BACKSLASH)) return key.byteLength === name.byteLength && key.every((byte, at) => byte === name[at]);
  try {
    return JSON.parse(new TextDecoder().decode(key)) === member;
  } catch {
    return false;
  }
}
