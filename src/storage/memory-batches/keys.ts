import type { IdempotencyKey } from '../batch-store.ts';
import { nameOf } from './entries.ts';

/** A key that was used. */
export interface KnownKey {
  readonly fingerprint: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  readonly account: string;
  readonly batchId: string;
}

/** Idempotency keys that were used, each with its batch. */
export class Keys {
  readonly #keys = new Map<string, KnownKey>();

  /** Keeps a key for a batch, unless it was used before: then it gives what it was used for. */
  claim(account: string, batchId: string, key: IdempotencyKey, now: number): KnownKey | undefined {
    const name = nameOf(account, key.key);
    const known = this.#keys.get(name);
    if (known !== undefined && known.expiresAt > now) return known;
    this.#keys.set(name, { fingerprint: key.fingerprint, expiresAt: now + key.ttlMs, account, batchId });
    return undefined;
  }

  /** Forgets keys whose time is over. */
  expire(now: number): void {
    for (const [name, { expiresAt }] of this.#keys) if (expiresAt <= now) this.#keys.delete(name);
  }

  /** Forgets the keys of a batch. */
  deleteOf(account: string, batchId: string): void {
    for (const [name, key] of this.#keys) {
      if (key.account === account && key.batchId === batchId) this.#keys.delete(name);
    }
  }
}
