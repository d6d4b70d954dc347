/** Authentication by API keys in a store, and their management. */
import type { Authenticate } from '../contracts/authenticate.ts';
import type { CreatedKey, KeyChanges, KeyManagement, KeyStore, NewKey, StoredKey } from '../contracts/key-store.ts';
import type { Account } from '../contracts/account.ts';
import { sha256 } from '../platform/hash.ts';
import { callable, group, milliseconds, type OptionShape, withFunctions } from '../options/values.ts';
import { optionProblems, checkShape } from '../platform/check-options.ts';
import { andThen, type MaybePromise } from '../platform/wait.ts';
import { ConfigError, errorOf, type RouterError } from '../protocol/router-error.ts';
import { ACCOUNT } from '../options/accounts.ts';

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
  const recentKeys = new RecentKeys(store, cacheMs, now);
  const accountOf = (key: StoredKey | undefined): MaybePromise<Account | undefined> => {
    if (key === undefined || key.disabled || (key.expiresAt ?? Infinity) <= now()) return undefined;
    return completeAccount === undefined ? key.account : completeAccount(key.account);
  };
  const authenticate = (credentials: Parameters<Authenticate>[0]): MaybePromise<Account | undefined> =>
    andThen(beside?.(credentials), (account) => {
      if (account !== undefined || credentials.key === undefined) return account;
      return andThen(sha256(credentials.key), (hash) => andThen(recentKeys.find(hash), accountOf));
    });
  return Object.assign(authenticate, { keys: keyManagement(store, recentKeys, now) });
}

/** Keys as this process has read them from the store a moment ago. */
class RecentKeys {
  readonly #store: KeyStore;
  readonly #cacheMs: number;
  readonly #now: () => number;
  /** By hash, at most {@link MOST_CACHED}. */
  readonly #read = new Map<string, { readonly key: StoredKey; readonly readAt: number }>();
  /** Counts what this process has changed: what was read before a change must not be remembered after it. */
  #changes = 0;

  constructor(store: KeyStore, cacheMs: number, now: () => number) {
    this.#store = store;
    this.#cacheMs = cacheMs;
    this.#now = now;
  }

  find(hash: string): MaybePromise<StoredKey | undefined> {
    const readAt = this.#now();
    const known = this.#read.get(hash);
    if (known !== undefined && readAt - known.readAt < this.#cacheMs) return known.key;
    const before = this.#changes;
    return andThen(this.#store.find(hash), (key) => {
      if (key === undefined || before !== this.#changes) this.#read.delete(hash);
      else {
        if (this.#read.size >= MOST_CACHED) this.#read.clear();
        this.#read.set(hash, { key, readAt });
      }
      return key;
    });
  }

  forget(hash: string): void {
    this.#changes += 1;
    this.#read.delete(hash);
  }
}

/** The management of keys in a store, by the process that also reads them. */
function keyManagement(store: KeyStore, recentKeys: RecentKeys, now: () => number): KeyManagement {
  /** What is stored at this moment. */
  async function lookUp(hash: string): Promise<StoredKey | undefined> {
    return isHash(hash) ? store.find(hash) : undefined;
  }

  async function add(values: NewKeyValues): Promise<CreatedKey> {
    const made = await createKey(values, now());
    await store.add(made.stored);
    return made;
  }

  /** Changes what is stored at this moment, also when others change it at the same time. */
  async function change(hash: string, changed: (before: StoredKey) => Partial<StoredKey>): Promise<StoredKey> {
    for (let tried = 0; tried < TRIES; tried += 1) {
      const before = await lookUp(hash);
      if (before === undefined) throw unknownKey();
      const next = { ...before, ...changed(before), updatedAt: now(), revision: before.revision + 1 };
      const isWritten = await store.replace(next);
      recentKeys.forget(hash);
      if (isWritten) return next;
    }
    throw errorOf(409, 'Others change this API key at the same time; try again');
  }

  return {
    create: async ({ account, name, expiresAt }) => add({ account, name, expiresAt, disabled: false }),
    list: async ({ account, after } = {}) => store.list(account, after, PAGE),
    find: lookUp,
    async update(hash, changes) {
      if (changes.account !== undefined) checkAccount(changes.account);
      return change(hash, (before) => changedValues(before, changes));
    },
    async rotate(hash, overlapMs = DAY_MS) {
      const before = await lookUp(hash);
      if (before === undefined) throw unknownKey();
      if (before.successor !== undefined && (await lookUp(before.successor)) !== undefined) throw rotatedAlready();
      // It keeps the id of the old key, so that the budget of a key does not begin anew.
      const made = await add(before);
      const { expiresAt = Infinity, revision } = before;
      const rotated = {
        ...before,
        expiresAt: Math.min(now() + overlapMs, expiresAt),
        successor: made.stored.hash,
        updatedAt: now(),
        revision: revision + 1,
      };
      // Of several at once, only one is based on what is stored: the keys of the others were never shown.
      const isFirst = await store.replace(rotated);
      recentKeys.forget(hash);
      if (isFirst) return made;
      await store.remove(made.stored.hash);
      throw rotatedAlready();
    },
    async revoke(hash) {
      const wasThere = isHash(hash) && (await store.remove(hash));
      recentKeys.forget(hash);
      if (!wasThere) throw unknownKey();
    },
    close: async () => store.close?.(),
  };
}

function rotatedAlready(): RouterError {
  return errorOf(409, 'This API key was rotated or changed at the same time; GET /keys shows its successor');
}

/** What a new key is made with. */
type NewKeyValues = NewKey & Pick<StoredKey, 'disabled'>;

/** @throws {@link ConfigError} when its account must not be stored. */
async function createKey(
  { account, name = account.id, expiresAt, disabled }: NewKeyValues,
  at: number,
): Promise<CreatedKey> {
  checkAccount(account);
  const key = newKey();
  const hash = await sha256(key);
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
  return { key, stored };
}

/** The values of a key that change. */
function changedValues(before: StoredKey, { account, name, expiresAt, disabled }: KeyChanges): Partial<StoredKey> {
  return {
    ...(name === undefined ? {} : { name }),
    ...(disabled === undefined ? {} : { disabled }),
    ...(account === undefined ? {} : { account: { ...account, keyId: before.account.keyId } }),
    ...(expiresAt === undefined ? {} : { expiresAt: expiresAt === null ? undefined : Number(expiresAt) }),
  };
}

const accountSchema = group<Account>(ACCOUNT, ['id']);

/** @throws {@link ConfigError} when an account means nothing, or holds what must not be stored. */
function checkAccount(account: Account): void {
  const problems = [...optionProblems(accountSchema, account, 'account')];
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
