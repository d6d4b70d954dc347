/** Divides the bytes of kept streams among accounts, and chooses which streams make room for others. */
import type { AccountNumber } from '../../core/limits/share.ts';
import { Shares } from '../limits/shares.ts';
import type { StreamKeys } from './stream-layout.ts';

/** Milliseconds between two looks for kept streams whose time is over. */
const FORGET_MS = 1_000;

/** A stream that ended and is kept. */
interface EndedStream {
  readonly keys: StreamKeys;
  readonly bytes: number;
  /** Monotonic milliseconds. */
  readonly until: number;
}

/** Those of one account, the oldest first. */
interface EndedOfAccount {
  readonly streams: Map<string, EndedStream>;
  bytes: number;
}

/**
 * The bytes of all streams that one instance keeps. One account may have half of them while there can be others. Whoever
 * needs room gets it from streams that have ended: those of its own where it has its share, else those of the account that
 * has most; the oldest go first.
 */
export class StreamRoom {
  readonly #bytes: Shares;
  readonly #drop: (keys: StreamKeys) => void;
  readonly #ended = new Map<string, EndedOfAccount>();
  #endedBytes = 0;
  /** Monotonic milliseconds. */
  #forgetAt = 0;

  /**
   * @param unit - Bytes of the longest stream.
   * @param drop - Deletes a stream that makes room for another.
   */
  constructor(limit: number, unit: number, drop: (keys: StreamKeys) => void) {
    this.#bytes = new Shares(limit, { unit });
    this.#drop = drop;
  }

  /** Says how many accounts there can be: one alone may have all of it. */
  divide(accounts: AccountNumber): void {
    this.#bytes.divide(accounts);
  }

  /** Makes room for more bytes of an account; false where there is none. */
  make({ account }: StreamKeys, bytes: number, now: number): boolean {
    // A map whose first entries were deleted one after the other is slow to find its next.
    if (this.#bytes.held + bytes > this.#bytes.limit || now >= this.#forgetAt) this.#forgetOver(now);
    while (!this.#mayHave(account, bytes)) if (!this.#dropOldest(account)) return false;
    while (this.#bytes.held + bytes > this.#bytes.limit) if (!this.#dropOldest(this.#richest())) return false;
    this.#bytes.change(account, bytes);
    return true;
  }

  /** Gives back bytes of a stream that is not kept. */
  free({ account }: StreamKeys, bytes: number): void {
    this.#bytes.change(account, -bytes);
  }

  /** Notes that a stream has ended: it makes room where others need it. */
  ended(keys: StreamKeys, bytes: number, until: number): void {
    let own = this.#ended.get(keys.account);
    if (own === undefined) this.#ended.set(keys.account, (own = { streams: new Map(), bytes: 0 }));
    own.streams.set(keys.stream, { keys, bytes, until });
    own.bytes += bytes;
    this.#endedBytes += bytes;
  }

  /** Forgets a stream that was deleted. */
  forget({ account, stream }: StreamKeys): void {
    const own = this.#ended.get(account);
    const ended = own?.streams.get(stream);
    if (own === undefined || ended === undefined) return;
    own.streams.delete(stream);
    own.bytes -= ended.bytes;
    if (own.streams.size === 0) this.#ended.delete(account);
    this.#endedBytes -= ended.bytes;
    this.#bytes.change(account, -ended.bytes);
  }

  /** Whether an account may have more, where what others could give up counts as free. */
  #mayHave(account: string, bytes: number): boolean {
    const ofOthers = this.#endedBytes - (this.#ended.get(account)?.bytes ?? 0);
    return this.#bytes.verdict(account, bytes, ofOthers) === 'granted';
  }

  /** The account with the most bytes of those whose streams could make room. */
  #richest(): string | undefined {
    let richest: string | undefined;
    for (const account of this.#ended.keys()) {
      if (richest === undefined || this.#bytes.of(account) > this.#bytes.of(richest)) richest = account;
    }
    return richest;
  }

  #dropOldest(account: string | undefined): boolean {
    if (account === undefined) return false;
    for (const { keys } of this.#ended.get(account)?.streams.values() ?? []) {
      this.forget(keys);
      this.#drop(keys);
      return true;
    }
    return false;
  }

  /** Forgets streams whose time is over: their store has deleted them. */
  #forgetOver(now: number): void {
    this.#forgetAt = now + FORGET_MS;
    for (const { streams } of this.#ended.values()) {
      for (const { keys, until } of streams.values()) {
        if (until > now) break;
        this.forget(keys);
      }
    }
  }
}
