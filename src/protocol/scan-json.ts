/** Scans JSON in bytes for its depth and size, before it is parsed. */

/** What a body may hold, as far as its bytes show. */
export interface ScanLimits {
  /** Levels of nesting. */
  readonly depth: number;
  /** Values, containers included. */
  readonly nodes: number;
  /** Different names of members. */
  readonly names: number;
}

/** Where the characters of a string begin in a text, and where its closing quotation mark is. */
export type StringSpan = readonly [from: number, to: number];

/** What a scan found. The problem is the end of a sentence about the body as a whole. */
export type JsonScan =
  | {
      readonly ok: true;
      readonly nodes: number;
      /** Its long strings, names of members left out. */
      readonly long: readonly StringSpan[];
    }
  | { readonly ok: false; readonly nodes: number; readonly problem: string };

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const MEANS_NOTHING = new Uint8Array(256).fill(1);
for (const byte of [QUOTE, COMMA, COLON, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT]) MEANS_NOTHING[byte] = 0;

/** Bytes of a string that are looked at one by one before its end is searched for; a search costs as much as many bytes. */
const SHORT_STRING = 64;

/**
 * Counts what is in a JSON text before it is parsed: a parser makes all of it first, and needs seconds for a few
 * kilobytes' worth of gzip. Whatever a parser would make of the text, up to a mistake in it, is counted; whether it is
 * JSON at all is not looked at. Linear in the bytes.
 *
 * @param longBytes - Bytes from which on a string is long. Default: none is.
 */
export function scanJson(bytes: Uint8Array, limits: ScanLimits, longBytes = Infinity): JsonScan {
  const { length } = bytes;
  const long: StringSpan[] = [];
  let depth = 0;
  let nodes = 1;
  let members = 0;
  for (let at = 0; at < length; at += 1) {
    const byte = bytes[at] ?? 0;
    // Most bytes mean nothing here, and a look into a table is the cheapest way past them.
    if (MEANS_NOTHING[byte] === 1) continue;
    switch (byte) {
      case QUOTE: {
        const from = at + 1;
        at = endOfString(bytes, from);
        if (at - from >= longBytes && bytes[beforeNextToken(bytes, at) + 1] !== COLON) long.push([from, at]);
        break;
      }
      case COLON:
        members += 1;
        break;
      case COMMA:
        nodes += 1;
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT: {
        depth += 1;
        if (depth > limits.depth) return { ok: false, nodes, problem: tooDeep(limits) };
        at = beforeNextToken(bytes, at);
        const next = bytes[at + 1];
        if (next !== CLOSE_ARRAY && next !== CLOSE_OBJECT) nodes += 1;
        break;
      }
      default:
        depth -= 1;
    }
    if (nodes > limits.nodes) return { ok: false, nodes, problem: tooManyNodes(limits) };
  }
  if (members > limits.names && countNames(bytes, limits.names) > limits.names) {
    return { ok: false, nodes, problem: tooManyNames(limits) };
  }
  return { ok: true, nodes, long };
}

/** The words for a text that is nested too deeply. */
export function tooDeep({ depth }: Pick<ScanLimits, 'depth'>): string {
  return `must not be nested more than ${depth} levels deep`;
}

/** The words for a text with too many values. */
export function tooManyNodes({ nodes }: Pick<ScanLimits, 'nodes'>): string {
  return `must not hold more than ${nodes.toLocaleString('en-US')} JSON values`;
}

/** The words for a text with too many names. */
export function tooManyNames({ names }: Pick<ScanLimits, 'names'>): string {
  return `must not hold more than ${names.toLocaleString('en-US')} different names of members`;
}

/** The place of the quotation mark that ends a string, or the end of the text. */
export function endOfString(bytes: Uint8Array, start: number): number {
  let from = start;
  for (;;) {
    const near = Math.min(from + SHORT_STRING, bytes.length);
    for (; from < near; from += 1) {
      const byte = bytes[from];
      if (byte === QUOTE) return from;
      if (byte === BACKSLASH) from += 1;
    }
    // An escape at the end of the near part has led beyond it.
    const quote = bytes.indexOf(QUOTE, from);
    if (quote < 0) return bytes.length;
    let backslashes = 0;
    while (quote - backslashes > from && bytes[quote - backslashes - 1] === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return quote;
    from = quote + 1;
  }
}

/** The place of the last white space that follows, or the same place when none does. */
function beforeNextToken(bytes: Uint8Array, start: number): number {
  let at = start;
  for (;;) {
    const next = bytes[at + 1];
    if (next !== 0x20 && next !== 0x0a && next !== 0x0d && next !== 0x09) return at;
    at += 1;
  }
}

/**
 * Counts different names up to one more than a limit. A parser keeps a table of all names and makes a form of objects
 * for every new set of them, so a name that was not there before costs ten times as much as one that was.
 */
function countNames(bytes: Uint8Array, limit: number): number {
  const seen = new Set<number>();
  for (let at = 0; at < bytes.length && seen.size <= limit; at += 1) {
    if (bytes[at] !== QUOTE) continue;
    const end = endOfString(bytes, at + 1);
    if (bytes[beforeNextToken(bytes, end) + 1] === COLON) seen.add(digest(bytes, at + 1, end));
    at = end;
  }
  return seen.size;
}

/**
 * A number of 53 bits in place of a name. Names that are made to have the same number make the count too small; finding
 * enough of them makes them so long that the limit on bytes is reached first.
 */
function digest(bytes: Uint8Array, start: number, end: number): number {
  let high = 0x811c9dc5;
  let low = 0;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    high = Math.imul(high ^ byte, 0x01000193);
    low = (Math.imul(low, 0x2c1b3c6d) + byte + 1) | 0;
  }
  return (high >>> 0) * 0x20_0000 + (low >>> 11);
}
