import type { Account } from '../core/account.ts';
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
  /** Writes a key, in the place of the one with the same hash. */
  put(key: StoredKey): MaybePromise<void>;
  /** Removes a key. Gives false when there was none. */
  remove(hash: string): MaybePromise<boolean>;
  close?(): Promise<void>;
}
