/** The contract of stores for API keys. */
import type { Account } from './account.ts';
import type { MaybePromise } from '../platform/wait.ts';

/** A stored API key. The key itself is nowhere: what is kept is its hash. */
export interface StoredKey {
  /** SHA-256 of the key, as 64 hexadecimal digits. Names the key in management operations. */
  readonly hash: string;
  /** For people. */
  readonly name: string;
  /** The beginning and the end of the key, such as `sk-sb-ab…wxyz`, so that people know it again. */
  readonly label: string;
  /** What `authenticate` gives for it. Plain data. */
  readonly account: Account;
  /** True: it is refused. */
  readonly disabled: boolean;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** Epoch milliseconds. */
  readonly updatedAt: number;
  /** Epoch milliseconds from which on it is refused. Absent for one without an end. */
  readonly expiresAt?: number | undefined;
  /** Hash of the key that took its place when it was rotated. While that one is there, it is not rotated again. */
  readonly successor?: string | undefined;
  /** Counts the changes of the key, from 0: one that was based on an older revision is not written. */
  readonly revision: number;
}

/**
 * Where API keys live. Every operation is atomic, and what one process has written, all of them read from then on. Keys
 * are found by their hash, which nobody can choose.
 */
export interface KeyStore {
  /** The key with a hash, also when it is disabled or has expired. */
  find(hash: string): MaybePromise<StoredKey | undefined>;
  /**
   * Keys in the order of their hashes.
   *
   * @param account - Id of the account; undefined for all.
   * @param after - Hash behind which to begin.
   */
  list(account: string | undefined, after: string | undefined, limit: number): MaybePromise<readonly StoredKey[]>;
  /** Writes a new key. Its hash is that of random text, so one that is there is the same, whose answer was lost. */
  add(key: StoredKey): MaybePromise<void>;
  /**
   * Writes a key in the place of the one with the same hash, whose revision must be one lower. Gives false when it is
   * not, or when there is none: what was revoked meanwhile does not come back.
   */
  replace(key: StoredKey): MaybePromise<boolean>;
  /** Removes a key. Gives false when there was none. */
  remove(hash: string): MaybePromise<boolean>;
  close?(): Promise<void>;
}

/** What a new key is made of. */
export interface NewKey {
  /** What `authenticate` gives for the key. Without `providerKeys`: they would be there for everybody who reads the store. */
  readonly account: Account;
  /** A name to show. Default: the id of the account. */
  readonly name?: string | undefined;
  /** Epoch milliseconds, or a date, from which on it is refused. Default: never. */
  readonly expiresAt?: number | Date | undefined;
}

/** What may be changed about a key; what is left out stays. */
export interface KeyChanges {
  readonly account?: Account | undefined;
  readonly name?: string | undefined;
  /** Epoch milliseconds, or a date, from which on it is refused; null for never. */
  readonly expiresAt?: number | Date | null | undefined;
  /** True: it is refused from now on. */
  readonly disabled?: boolean | undefined;
}

/** A key that was just made. It is shown this once. */
export interface CreatedKey {
  /** The key itself. */
  readonly key: string;
  readonly stored: StoredKey;
}

/** Makes, lists, changes and revokes stored keys. */
export interface KeyManagement {
  /**
   * Makes a key.
   *
   * @throws ConfigError when something about its account is wrong.
   */
  create(wanted: NewKey): Promise<CreatedKey>;
  /** Keys of an account, or of all, in pages of up to 100, in the order of their hashes. */
  list(options?: {
    readonly account?: string | undefined;
    /** Hash of the last key of the page before. */
    readonly after?: string | undefined;
  }): Promise<readonly StoredKey[]>;
  /** The key with a hash, also when it is disabled or has expired. */
  find(hash: string): Promise<StoredKey | undefined>;
  /**
   * Changes a key.
   *
   * @throws RouterError 404 when it is not there, 409 when others change it all the time.
   */
  update(hash: string, changes: KeyChanges): Promise<StoredKey>;
  /**
   * Makes a key in the place of another one, which still works for a while. What was spent with it counts for the new
   * one too.
   *
   * @param overlapMs - Milliseconds for which the old one works. Default 86,400,000 (a day).
   * @throws RouterError 404 when it is not there.
   */
  rotate(hash: string, overlapMs?: number): Promise<CreatedKey>;
  /**
   * Removes a key; it is refused from now on.
   *
   * @throws RouterError 404 when it is not there.
   */
  revoke(hash: string): Promise<void>;
  /** Closes the store. */
  close(): Promise<void>;
}
