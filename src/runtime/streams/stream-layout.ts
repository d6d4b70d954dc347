import type { JsonValue } from '../../protocol/json.ts';
import type { ApiFormatName } from '../../protocol/api-format.ts';
import * as read from '../../platform/json.ts';

/**
 * How a kept stream lies in a state store: a head, and its bytes in chunks of one size, so that the chunk of any byte is
 * known. Keys hold the account, so a stream is found by its own account alone.
 */

/** Bytes of a chunk. The last one is written again while it grows. */
export const CHUNK_BYTES = 16_384;

/** API format of a stream, or `text` for one that the program sends itself. */
export type StreamFormat = 'chat' | ApiFormatName | 'text';

/** What is known of a stream besides its bytes. */
export interface StreamHead {
  readonly format: StreamFormat;
  /** The instance that reads it from its provider. */
  readonly owner: string;
  /** Its number among the streams of its owner. */
  readonly number: number;
  /** Bytes of all of it. Undefined while it goes on. */
  readonly bytes: number | undefined;
  /** True where it outgrew its limit: nothing of it is kept. */
  readonly isDropped: boolean;
  /** What readers get after the last frame when its owner died; undefined where that follows from the format. */
  readonly lost: string | undefined;
}

/** Keys of one stream. */
export interface StreamKeys {
  readonly head: string;
  /** Set where somebody wants it to stop. */
  readonly stop: string;
  /** Set while somebody reads it at another instance. */
  readonly readers: string;
  readonly chunk: (index: number) => string;
}

/** The keys of a stream of an account. */
export function keysOf(account: string, id: string): StreamKeys {
  const stream = `stream\n{${encodeURIComponent(account)}}\n${encodeURIComponent(id)}`;
  return {
    head: stream,
    stop: `${stream}\nstop`,
    readers: `${stream}\nreaders`,
    chunk: (index) => `${stream}\n${index}`,
  };
}

/** The key that is there while an instance lives: {@link SignOfLife}. */
export function aliveKey(owner: string): string {
  return `stream owner\n${owner}`;
}

/** What an instance says of itself now and then. */
export interface SignOfLife {
  /** Number that its next stream gets. */
  readonly next: number;
  /** Numbers of its streams that go on. */
  readonly open: readonly number[];
}

/**
 * True for a stream that nobody sends any more: its owner is gone, or no longer has it. The store may have been away when
 * it ended.
 */
export function isAbandoned({ number }: StreamHead, sign: JsonValue | undefined): boolean {
  if (sign === undefined) return true;
  const { next, open } = read.object(sign);
  return number < (read.number(next) ?? 0) && !read.list(open).includes(number);
}

/** Counts how often streams of an instance were to stop. */
export function stopsKey(owner: string): string {
  return `stream owner\n${owner}\nstops`;
}

/** A head as it is stored. */
export function storedHead({ format, owner, number, bytes, isDropped, lost }: StreamHead): JsonValue {
  return {
    format,
    owner,
    number,
    ...(bytes === undefined ? {} : { bytes }),
    ...(isDropped ? { dropped: true } : {}),
    ...(lost === undefined ? {} : { lost }),
  };
}

/** A head that was stored; undefined for what is none. */
export function readHead(value: JsonValue | undefined): StreamHead | undefined {
  const { format, owner, number, bytes, dropped, lost } = read.object(value);
  if (!isFormat(format) || typeof owner !== 'string') return undefined;
  return {
    format,
    owner,
    number: read.count(number) ?? 0,
    bytes: read.count(bytes),
    isDropped: dropped === true,
    lost: read.string(lost),
  };
}

function isFormat(value: unknown): value is StreamFormat {
  return value === 'chat' || value === 'messages' || value === 'responses' || value === 'text';
}
