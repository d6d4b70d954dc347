/** Decodes UTF-8, and parses JSON around its long texts. */
import { isUnbrokenBase64 } from '../protocol/base64.ts';
import type { StringSpan } from '../protocol/scan-json.ts';
import { nodeModule } from './node-module.ts';

/** What Node has beyond the Web: two functions that look at bytes and copy them, many times as fast as a decoder. */
interface NodeBuffers {
  isAscii(bytes: Uint8Array): boolean;
  readonly Buffer: {
    from(buffer: ArrayBufferLike, offset: number, length: number): BytesOfNode;
    isBuffer(bytes: Uint8Array): bytes is Uint8Array & BytesOfNode;
  };
}

interface BytesOfNode {
  latin1Slice(): string;
}

const buffers = nodeModule<Partial<NodeBuffers>>('node:buffer');
const isAscii = buffers?.isAscii;
const NodeBuffer = buffers?.Buffer;

/** The text of bytes that are all ASCII; undefined for others, and where that cannot be told cheaply. */
function asciiText(bytes: Uint8Array): string | undefined {
  if (isAscii === undefined || NodeBuffer === undefined || !isAscii(bytes)) return undefined;
  // Bytes from a socket are a buffer of Node already.
  if (NodeBuffer.isBuffer(bytes)) return bytes.latin1Slice();
  return NodeBuffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).latin1Slice();
}

/** Whether bytes are all ASCII; false also where that cannot be told cheaply. */
export function areAscii(bytes: Uint8Array): boolean {
  return isAscii?.(bytes) === true;
}

const STRICT = new TextDecoder('utf-8', { fatal: true });

/**
 * The text of UTF-8 bytes.
 *
 * @throws {@link TypeError} when they are no UTF-8.
 */
export function decodeStrictly(bytes: Uint8Array): string {
  return asciiText(bytes) ?? STRICT.decode(bytes);
}

const STREAMED = { stream: true } as const;

/**
 * Decodes UTF-8 that comes in pieces, which may be cut anywhere; what is no UTF-8 becomes U+FFFD, and a byte order mark at
 * the beginning is left out. Pieces of ASCII alone take the short way.
 */
export class TextPieces {
  #decoder: InstanceType<typeof TextDecoder> | undefined;
  #hasBegun = false;
  /** True when the decoder may hold the beginning of a character. */
  #isCut = false;

  /** The text of one more piece. */
  decode(bytes: Uint8Array): string {
    const ascii = this.#isCut ? undefined : asciiText(bytes);
    if (ascii !== undefined) {
      this.#hasBegun ||= ascii !== '';
      return ascii;
    }
    // By hand: a decoder that begins with half a character takes a mark behind it for one at the beginning.
    this.#decoder ??= new TextDecoder('utf-8', { ignoreBOM: true });
    this.#isCut = (bytes.at(-1) ?? 0) > LAST_ASCII || (this.#isCut && bytes.length === 0);
    const text = this.#decoder.decode(bytes, STREAMED);
    const isMarked = !this.#hasBegun && text.startsWith(BYTE_ORDER_MARK);
    this.#hasBegun ||= text !== '';
    return isMarked ? text.slice(1) : text;
  }

  /** What was cut off by the end. */
  end(): string {
    return this.#decoder?.decode() ?? '';
  }
}

/** The text of UTF-8 that is one piece. What is none becomes U+FFFD, and a byte order mark is left out. */
export function wholeText(bytes: Uint8Array): string {
  const ascii = asciiText(bytes);
  if (ascii !== undefined) return ascii;
  const pieces = new TextPieces();
  return pieces.decode(bytes) + pieces.end();
}

const LAST_ASCII = 0x7f;
const BYTE_ORDER_MARK = '\ufeff';

/** Characters from which on a text is written verbatim where that is known to be right. Shorter ones are quoted fast. */
export const LONG_TEXT = 32 * 1024;

/** Values that are looked at. A body of more is no body of a few long texts. */
const MOST_VALUES = 20_000;

/**
 * The long texts of a JSON body in whose text there is no backslash. JSON cannot hold quotes and control characters any
 * other way, and UTF-8 no halves of characters, so such a text and its JSON are the same but for the quotes: an image of
 * megabytes can be passed on without looking at each of its characters again. Undefined where there is none.
 *
 * @param text - The body as it came, decoded from valid UTF-8.
 * @param value - What it was parsed to, within the depth that the runtime can parse.
 */
export function verbatimTexts(text: string, value: unknown): readonly string[] | undefined {
  if (text.length < LONG_TEXT || text.includes('\\')) return undefined;
  const found: string[] = [];
  // Not by recursion: nobody has looked yet how deep the body is.
  const left: unknown[] = [[value]];
  let looked = 0;
  for (let one = left.pop(); one !== undefined; one = left.pop()) {
    const members = Array.isArray(one) ? (one as readonly unknown[]) : Object.values(one as object);
    looked += 1 + members.length;
    if (looked > MOST_VALUES) return undefined;
    for (const member of members) {
      if (typeof member === 'string') {
        if (member.length >= LONG_TEXT) found.push(member);
      } else if (typeof member === 'object' && member !== null) left.push(member);
    }
  }
  return found.length === 0 ? undefined : found;
}

/** Characters before the base64 of a data URL. */
const MAX_HEAD = 512;
/** Nothing in such a beginning means anything to JSON. */
const PLAIN_HEAD = /^[\w;:=+./-]*,$/;

/** Stands for a long text while the rest is parsed. Unguessable, so that nobody else writes it. */
let marker: string | undefined;

/** A body that was parsed around its long texts. */
interface ParsedAround {
  readonly value: unknown;
  readonly verbatim: readonly string[];
}

/**
 * Parses a JSON body without its images and other media: a parser would look at each of their characters and copy them
 * once more, and so would whoever decodes the text as a whole. Undefined where there are none, and for what is no
 * JSON.
 *
 * @param long - Strings that are long, in their order.
 * @param nodes - Values in the body.
 * @throws {@link TypeError} when the bytes are no UTF-8.
 */
export function parseAround(bytes: Uint8Array, long: readonly StringSpan[], nodes: number): ParsedAround | undefined {
  if (long.length === 0 || nodes > MOST_VALUES) return undefined;
  const verbatim: string[] = [];
  let rest = '';
  let at = 0;
  for (const [from, to] of long) {
    const text = asciiText(bytes.subarray(from, to));
    if (text === undefined || !isMedia(text)) continue;
    marker ??= crypto.randomUUID();
    rest += `${decodeStrictly(bytes.subarray(at, from))}${marker} ${verbatim.length}`;
    verbatim.push(text);
    at = to;
  }
  if (verbatim.length === 0) return undefined;
  rest += decodeStrictly(bytes.subarray(at));
  try {
    return { value: withLongTexts(JSON.parse(rest), verbatim), verbatim };
  } catch {
    return undefined;
  }
}

/** Base64, or a data URL of it. */
function isMedia(text: string): boolean {
  const comma = text.slice(0, MAX_HEAD).indexOf(',');
  return (comma < 0 || PLAIN_HEAD.test(text.slice(0, comma + 1))) && isUnbrokenBase64(text, comma + 1);
}

/** Puts texts in the place of their marks. */
function withLongTexts(value: unknown, texts: readonly string[]): unknown {
  const root = [value];
  const left: unknown[] = [root];
  for (let one = left.pop(); one !== undefined; one = left.pop()) {
    const members = one as Record<string, unknown>;
    for (const key of Object.keys(members)) {
      const member = members[key];
      if (typeof member === 'object' && member !== null) left.push(member);
      else if (typeof member === 'string' && marker !== undefined && member.startsWith(marker)) {
        members[key] = texts[Number(member.slice(marker.length))];
      }
    }
  }
  return root[0];
}
