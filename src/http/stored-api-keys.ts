import { LRUCache } from 'lru-cache';
import type { Authenticate } from '../contracts/authenticate.ts';
import type { KeyStore, StoredKey } from '../contracts/key-store.ts';
import type { Account } from '../core/account.ts';
import { sha256 } from '../platform/hash.ts';
import {
  anything,
  callable,
  checkShape,
  milliseconds,
  optionProblems,
  type OptionShape,
  text,
} from '../platform/option-kinds.ts';
import type { MaybePromise } from '../platform/wait.ts';
import { andThen } from '../platform/wait.ts';
import { ConfigError, RouterError } from '../protocol/router-error.ts';
import { ACCOUNT_OPTIONS } from '../runtime/limits/accounts.ts';

/** Options of {@link storedApiKeys}. */
export interface StoredApiKeysOptions {
  /** Where the keys live: `sqliteKeys`, `postgresKeys` or `memoryKeys`. */
  readonly store: KeyStore;
  /** Keys that are not stored, asked first: `apiKeys([...])`, such as the one that manages the others. Default: none. */
  readonly beside?: Authenticate | undefined;
  /**
   * Milliseconds for which a process goes by what it has read of a key. A revocation is seen by every instance after
   * this time at the latest, and by the one that revokes at once. Default 500.
   */
  readonly cacheMs?: number | undefined;
  /** Epoch milliseconds. Default: the system clock. */
  readonly now?: (() => number) | undefined;
}

const OPTIONS: OptionShape<StoredApiKeysOptions> = {
  store: anything,
  beside: callable,
  cacheMs: milliseconds,
  now: callable,
};

/** What a new key is made of. */
export interface NewKey {
  /** What `authenticate` gives for the key. */
  readonly account: Account;
  /** For people. Default: the id of the account. */
  readonly name?: string | undefined;
  /** Epoch milliseconds, or a date, from which on it is refused. Default: never. */
  readonly expiresAt?: number | Date | undefined;
}

/** What may be changed about a key; what is left out stays. */
export interface KeyChanges extends Partial<NewKey> {
  /** True: it is refused from now on. */
  readonly disabled?: boolean | undefined;
}

/** A key that was just made. It is shown this once. */
export interface CreatedKey {
  /** The key itself. */
  readonly key: string;
  readonly stored: StoredKey;
}

/** Authentication by stored keys, and their management. */
export interface StoredApiKeys extends Authenticate {
  readonly keys: KeyManagement;
}

/** Makes, lists, changes and revokes stored keys. */
export interface KeyManagement {
  /**
   * Makes a key.
   *
   * @throws {@link ConfigError} when something about its account is wrong.
   */
  create(wanted: NewKey): Promise<CreatedKey>;
  /** Keys of an account, or of all, in pages of up to 100. */
  list(options?: { readonly account?: string | undefined; readonly after?: string | undefined }): Promise<readonly StoredKey[]>;
  find(hash: string): Promise<StoredKey | undefined>;
  /**
   * Changes a key.
   *
   * @throws {@link RouterError} 404 when it is not there.
   */
  update(hash: string, changes: KeyChanges): Promise<StoredKey>;
  /**
   * Makes a key in the place of another one, which still works for a while.
   *
   * @param overlapMs - Milliseconds for which the old one works. Default 86,400,000 (a day).
   * @throws {@link RouterError} 404 when it is not there.
   */
  rotate(hash: string, overlapMs?: number): Promise<CreatedKey>;
  /**
   * Removes a key; it is refused from now on.
   *
   * @throws {@link RouterError} 404 when it is not there.
   */
  revoke(hash: string): Promise<void>;
}

const DAY_MS = 86_400_000;
const PAGE = 100;
/** Keys that are remembered at a time, also those that are not there. */
const MOST_CACHED = 10_000;
const SECRET_BYTES = 24;

/**
 * Authentication by keys in a store, which can be made and revoked while the router runs. With the scope `management`,
 * clients do that over HTTP: `GET` and `POST /keys`, and `GET`, `PATCH` and `DELETE /keys/{hash}`.
 *
 * @throws {@link ConfigError} when an option is wrong.
 */
export function storedApiKeys(options: StoredApiKeysOptions): StoredApiKeys {
  checkShape<StoredApiKeysOptions>(OPTIONS, options, 'storedApiKeys');
  const { store, beside, cacheMs = 500, now = Date.now } = options;
  const seen = new LRUCache<string, { readonly key: StoredKey | undefined; readonly at: number }>({ max: MOST_CACHED });

  function find(hash: string): MaybePromise<StoredKey | undefined> {
    const known = seen.get(hash);
    if (known !== undefined && now() - known.at < cacheMs) return known.key;
    return andThen(store.find(hash), (key) => {
      seen.set(hash, { key, at: now() });
      return key;
    });
  }

  function accountOf(key: StoredKey | undefined): Account | undefined {
    if (key === undefined || key.disabled || (key.expiresAt ?? Infinity) <= now()) return undefined;
    return key.account;
  }

  async function write(key: StoredKey): Promise<StoredKey> {
    await store.put(key);
    seen.set(key.hash, { key, at: now() });
    return key;
  }

  async function existing(hash: string): Promise<StoredKey> {
    const found = await store.find(hash);
    if (found === undefined) throw unknownKey();
    return found;
  }

  async function create({ account, name = account.id, expiresAt }: NewKey): Promise<CreatedKey> {
    checkAccount(account);
    const key = newKey();
    const hash = await sha256(key);
    const at = now();
    const stored: StoredKey = {
      hash,
      name,
      label: `${key.slice(0, 8)}…${key.slice(-4)}`,
      account: { ...account, keyId: account.keyId ?? `key_${hash.slice(0, 16)}` },
      disabled: false,
      createdAt: at,
      updatedAt: at,
      ...(expiresAt === undefined ? {} : { expiresAt: Number(expiresAt) }),
    };
    return { key, stored: await write(stored) };
  }

  const keys: KeyManagement = {
    create,
    list: async ({ account, after } = {}) => store.list(account, after, PAGE),
    find: async (hash) => store.find(hash),
    async update(hash, { account, name, expiresAt, disabled }) {
      const before = await existing(hash);
      if (account !== undefined) checkAccount(account);
      return write({
        ...before,
        name: name ?? before.name,
        disabled: disabled ?? before.disabled,
        account: account === undefined ? before.account : { ...account, keyId: before.account.keyId },
        expiresAt: expiresAt === undefined ? before.expiresAt : Number(expiresAt),
        updatedAt: now(),
      });
    },
    async rotate(hash, overlapMs = DAY_MS) {
      const { account, name, expiresAt } = await existing(hash);
      // The new key counts as another one, but what was spent with the old one still counts.
      const made = await create({ account, name, expiresAt });
      await keys.update(hash, { expiresAt: Math.min(now() + overlapMs, expiresAt ?? Infinity) });
      return made;
    },
    async revoke(hash) {
      if (!(await store.remove(hash))) throw unknownKey();
      seen.set(hash, { key: undefined, at: now() });
    },
  };

  const authenticate: Authenticate = (credentials) => {
    const known = beside?.(credentials);
    return andThen(known, (account) => {
      if (account !== undefined || credentials.key === undefined) return account;
      return andThen(sha256(credentials.key), (hash) => andThen(find(hash), accountOf));
    });
  };
  return Object.assign(authenticate, { keys });
}

const accountKinds = { ...ACCOUNT_OPTIONS, id: text };

function checkAccount(account: Account): void {
  const problems = [...optionProblems(accountKinds, account, 'account')];
  if (problems.length > 0) throw new ConfigError(problems);
}

/** A key that nobody can guess. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
  return `sk-sb-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

function unknownKey(): RouterError {
  return new RouterError({ status: 404, errorType: 'not_found', message: 'There is no API key with this hash here' });
}
