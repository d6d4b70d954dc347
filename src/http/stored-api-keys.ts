/** Authentication by API keys in a store, and their management. */
import type { Authenticate } from '../contracts/authenticate.ts';
import type { CreatedKey, KeyManagement, KeyStore, NewKey, StoredKey } from '../contracts/key-store.ts';
import type { Account } from '../contracts/account.ts';
import { sha256 } from '../platform/hash.ts';
import {
  callable,
  checkShape,
  group,
  milliseconds,
  type OptionShape,
  withFunctions,
} from '../platform/option-kinds.ts';
import { andThen, type MaybePromise } from '../platform/wait.ts';
import { ConfigError, errorOf, type RouterError } from '../protocol/router-error.ts';
import { ACCOUNT_OPTIONS } from '../runtime/limits/accounts.ts';

/** Options of {@link storedApiKeys}. */
export interface StoredApiKeysOptions {
  /** Where the keys live: `sqliteKeys`, `postgresKeys` or `memoryKeys`. */
  readonly store: KeyStore;
  /**
   * Called first, for keys that are not stored: `apiKeys([...])`, such as the one that manages the others. Default:
   * none.
   */
  readonly beside?: Authenticate | undefined;
  /**
   * Gives the account that a stored key stands for, from what is stored: the place for what should not be stored, such
   * as `providerKeys`, and for what changes. Undefined refuses the key. Default: the account as it is stored.
   */
  readonly completeAccount?: ((stored: Account) => MaybePromise<Account | undefined>) | undefined;
  /**
   * Milliseconds for which a process goes by what it has read of a key. A revocation is seen by every instance after
   * this time at the latest, and by the one that revokes at once. Default 500.
   */
  readonly cacheMs?: number | undefined;
  /** Epoch milliseconds. Default: the system clock. */
  readonly now?: (() => number) | undefined;
}

/** Authentication by stored keys, and their management. */
export interface StoredApiKeys extends Authenticate {
  readonly keys: KeyManagement;
}

const OPTIONS: OptionShape<StoredApiKeysOptions> = {
  store: withFunctions('a store of keys', 'find', 'list', 'add', 'replace', 'remove'),
  beside: callable,
  completeAccount: callable,
  cacheMs: milliseconds,
  now: callable,
};

const DAY_MS = 86_400_000;
const PAGE = 100;
/** Keys that are remembered at a time. */
const MOST_CACHED = 10_000;
const SECRET_BYTES = 24;
/** How often a change is tried when others change the same key. */
const TRIES = 8;

/**
 * Authentication by keys in a store, which can be made and revoked while the router runs. With the scope `management`,
 * clients do that over HTTP: `GET` and `POST /keys`, `GET`, `PATCH` and `DELETE /keys/{hash}`, and
 * `POST /keys/{hash}/rotate`.
 *
 * @throws {@link ConfigError} when an option is wrong.
 *
 * @example
 * ```ts
 * const authenticate = storedApiKeys({
 *   store: sqliteKeys({ file: 'keys.db' }),
 *   beside: apiKeys([{ key: process.env.ADMIN_KEY, id: 'acme', scopes: ['management'] }]),
 * });
 * const router = createRouter({ authenticate });
 * ```
 */
export function storedApiKeys(options: StoredApiKeysOptions): StoredApiKeys {
  checkShape<StoredApiKeysOptions>(OPTIONS, options, 'storedApiKeys', ['store']);
  const { store, beside, completeAccount, cacheMs = 500, now = Date.now } = options;
  const seen = new Map<string, { readonly key: StoredKey; readonly readAt: number }>();
  /** Counts what this process has changed: what was read before a change must not be remembered after it. */
  let changes = 0;

  function find(hash: string): MaybePromise<StoredKey | undefined> {
    const readAt = now();
    const known = seen.get(hash);
    if (known !== undefined && readAt - known.readAt < cacheMs) return known.key;
    const before = changes;
    return andThen(store.find(hash), (key) => {
      if (key === undefined || before !== changes) seen.delete(hash);
      else {
        if (seen.size >= MOST_CACHED) seen.clear();
        seen.set(hash, { key, readAt });
      }
      return key;
    });
  }

  function accountOf(key: StoredKey | undefined): MaybePromise<Account | undefined> {
    if (key === undefined || key.disabled || (key.expiresAt ?? Infinity) <= now()) return undefined;
    return completeAccount === undefined ? key.account : completeAccount(key.account);
  }

  /** What is stored at this moment. */
  async function lookUp(hash: string): Promise<StoredKey | undefined> {
    return isHash(hash) ? store.find(hash) : undefined;
  }

  function forget(hash: string): void {
    changes += 1;
    seen.delete(hash);
  }

  async function make({ account, name = account.id, expiresAt }: NewKey, disabled: boolean): Promise<CreatedKey> {
    checkAccount(account);
    const key = newKey();
    const hash = await sha256(key);
    const at = now();
    const stored: StoredKey = {
      hash,
      name,
      label: `${key.slice(0, 8)}…${key.slice(-4)}`,
      account: { ...account, keyId: account.keyId ?? `key_${hash.slice(0, 16)}` },
      disabled,
      createdAt: at,
      updatedAt: at,
      revision: 0,
      ...(expiresAt === undefined ? {} : { expiresAt: Number(expiresAt) }),
    };
    await store.add(stored);
    return { key, stored };
  }

  /** Changes what is stored at this moment, also when others change it at the same time. */
  async function change(hash: string, changed: (before: StoredKey) => Partial<StoredKey>): Promise<StoredKey> {
    for (let tried = 0; tried < TRIES; tried += 1) {
      const before = await lookUp(hash);
      if (before === undefined) throw unknownKey();
      const next = { ...before, ...changed(before), updatedAt: now(), revision: before.revision + 1 };
      const isWritten = await store.replace(next);
      forget(hash);
      if (isWritten) return next;
    }
    throw errorOf(409, 'Others change this API key at the same time; try again');
  }

  const keys: KeyManagement = {
    create: async (wanted) => make(wanted, false),
    list: async ({ account, after } = {}) => store.list(account, after, PAGE),
    find: lookUp,
    async update(hash, { account, name, expiresAt, disabled }) {
      if (account !== undefined) checkAccount(account);
      return change(hash, (before) => ({
        ...(name === undefined ? {} : { name }),
        ...(disabled === undefined ? {} : { disabled }),
        ...(account === undefined ? {} : { account: { ...account, keyId: before.account.keyId } }),
        ...(expiresAt === undefined ? {} : { expiresAt: expiresAt === null ? undefined : Number(expiresAt) }),
      }));
    },
    async rotate(hash, overlapMs = DAY_MS) {
      const before = await lookUp(hash);
      if (before === undefined) throw unknownKey();
      // It keeps the id of the old key, so that the budget of a key does not begin anew.
      const made = await make(before, before.disabled);
      const endsAt = now() + overlapMs;
      await change(hash, ({ expiresAt = Infinity }) => ({ expiresAt: Math.min(endsAt, expiresAt) }));
      return made;
    },
    async revoke(hash) {
      const wasThere = isHash(hash) && (await store.remove(hash));
      forget(hash);
      if (!wasThere) throw unknownKey();
    },
    close: async () => store.close?.(),
  };

  const authenticate = (credentials: Parameters<Authenticate>[0]): MaybePromise<Account | undefined> =>
    andThen(beside?.(credentials), (account) => {
      if (account !== undefined || credentials.key === undefined) return account;
      return andThen(sha256(credentials.key), (hash) => andThen(find(hash), accountOf));
    });
  return Object.assign(authenticate, { keys });
}

const accountKind = group<Account>(ACCOUNT_OPTIONS, ['id']);

/** @throws {@link ConfigError} when an account means nothing, or holds what must not be stored. */
function checkAccount(account: Account): void {
  const problems = [...accountKind(account, 'account')];
  if (account.providerKeys !== undefined) {
    const problem = 'must not be stored with a key; add it in completeAccount of storedApiKeys';
    problems.push({ path: 'account.providerKeys', problem });
  }
  if (problems.length > 0) throw new ConfigError(problems);
}

/** Stores need not expect anything else where clients may write what they want. */
function isHash(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

/** A key that nobody can guess. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
  return `sk-sb-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

function unknownKey(): RouterError {
  return errorOf(404, 'There is no API key with this hash here; GET /keys lists them');
}
