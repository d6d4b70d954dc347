import type { StateStore } from '../../contracts/state-store.ts';
import { fromByteText, toByteText } from '../../platform/byte-text.ts';
import type { JsonValue } from '../../protocol/json.ts';
import type { ApiFormatName } from '../../protocol/api-format.ts';
import * as read from '../../platform/json.ts';

/**
 * How a kept stream lies in a state store: one text that grows, of a head of fixed length, its bytes, and a mark at its
 * end. So a stream is begun, written and ended with one command each, and read with one. Whoever adds to it says how long
 * it is, and nothing is added where that is wrong: of several instances that would go on with it, one does.
 *
 * Keys hold the account, so a stream is found by its own account alone.
 */

/** A store that streams can be kept in. */
export type StreamStore = StateStore & Required<Pick<StateStore, 'append' | 'slice'>>;

/** Bytes before those of the stream. */
export const HEAD_BYTES = 128;

/** Comes after the last byte. JSON and comments of ours hold none; what programs send is freed of it. */
export const END_MARK = '\0';

/** The comment before the last events of a stream that could be continued: from here on its owner alone may end it. */
export const LAST_COMMENT = ': last\n\n';

/** API format of a stream, or `text` for one that the program sends itself. */
export type StreamFormat = 'chat' | ApiFormatName | 'text';

/** What is known of a stream besides its bytes. */
export interface StreamHead {
  readonly format: StreamFormat;
  /** The instance that reads it from its provider. */
  readonly owner: string;
  /** Its number among the streams of its owner. */
  readonly number: number;
  /** True where it outgrew its limit: nothing of it is kept. */
  readonly isDropped?: boolean | undefined;
  /** True where another instance may go on with it: its request is kept. */
  readonly isContinued?: boolean | undefined;
}

/** Keys of one stream. Only the first is looked up for every stream, so the others are made when they are read. */
export class StreamKeys {
  readonly account: string;
  readonly stream: string;

  constructor(account: string, id: string) {
    this.account = account;
    this.stream = `stream\n{${encodeURIComponent(account)}}\n${encodeURIComponent(id)}`;
  }

  /** Set where somebody wants it to stop. */
  get stop(): string {
    return `${this.stream}\nstop`;
  }

  /** Set while somebody reads it at another instance. */
  get readers(): string {
    return `${this.stream}\nreaders`;
  }

  /** What readers get after the last frame when its owner died, where that does not follow from its format. */
  get lost(): string {
    return `${this.stream}\nlost`;
  }

  /** What an instance needs to go on with it. */
  get request(): string {
    return `${this.stream}\nrequest`;
  }

  /** The instance that goes on with it, once its first one is gone. */
  get owner(): string {
    return `${this.stream}\nowner`;
  }
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

/** Who sends a stream. */
export type StreamOwner = Pick<StreamHead, 'owner' | 'number'>;

/**
 * True for a stream that nobody sends any more: its owner is gone, or no longer has it. The store may have been away when
 * it ended.
 */
export function isAbandoned({ number }: StreamOwner, sign: JsonValue | undefined): boolean {
  if (sign === undefined) return true;
  const { next, open } = read.object(sign);
  return number < (read.number(next) ?? 0) && !read.list(open).includes(number);
}

/** Counts how often streams of an instance were to stop. */
export function stopsKey(owner: string): string {
  return `stream owner\n${owner}\nstops`;
}

/** A head as it is stored. */
export function storedHead({ format, owner, number, isDropped, isContinued }: StreamHead): string {
  const head = { format, owner, number, dropped: isDropped, continued: isContinued };
  return `${JSON.stringify(head).padEnd(HEAD_BYTES - 1)}\n`;
}

/** A head that was stored; undefined for what is none. */
export function readHead(text: string): StreamHead | undefined {
  const { format, owner, number, dropped, continued } = read.parseObject(text) ?? {};
  if (!isFormat(format) || typeof owner !== 'string') return undefined;
  return {
    format,
    owner,
    number: read.count(number) ?? 0,
    isDropped: dropped === true,
    isContinued: continued === true,
  };
}

/** Who goes on with a stream, as it is stored under {@link StreamKeys.owner}; undefined for what is none. */
export function readOwner(value: JsonValue | undefined): StreamOwner | undefined {
  const { owner, number } = read.object(value);
  return typeof owner === 'string' ? { owner, number: read.count(number) ?? 0 } : undefined;
}

/** What of a text follows its first bytes. */
export function afterBytes(text: string, bytes: number): string {
  return bytes === 0 ? text : fromByteText(toByteText(text).slice(bytes));
}

function isFormat(value: unknown): value is StreamFormat {
  return value === 'chat' || value === 'messages' || value === 'responses' || value === 'text';
}
