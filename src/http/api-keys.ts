/** Authentication by a fixed list of API keys. */
import { checked } from '../schema/modifiers.ts';
import { optionProblems } from '../platform/check-options.ts';
import type { Account } from '../contracts/account.ts';
import { ACCOUNT } from '../options/accounts.ts';
import { group, valueThat, type OptionShape, stringThat } from '../options/values.ts';
import { array } from '../schema/collections.ts';
import { ConfigError } from '../protocol/router-error.ts';
import { sha256 } from '../platform/hash.ts';
import type { MaybePromise } from '../platform/wait.ts';
import type { Authenticate, Credentials } from '../contracts/authenticate.ts';

/** A key and whose it is. */
export interface ApiKey extends Account {
  /** The key itself. Or give {@link ApiKey.sha256} and keep the key out of the configuration. */
  readonly key?: string | undefined;
  /** SHA-256 of the key, as 64 hexadecimal digits. */
  readonly sha256?: string | undefined;
  /** Epoch milliseconds, or a date, from which on the key is refused. */
  readonly expiresAt?: number | Date | undefined;
}

/** Shortest key that is accepted: shorter ones can be guessed. */
const MIN_KEY_LENGTH = 16;

/** What can come in a header: callers with any other key would always get a 401. */
const SENDABLE = /^[\x21-\x7e]+(?: +[\x21-\x7e]+)*$/;

const KEY_OPTIONS: OptionShape<ApiKey> = {
  ...ACCOUNT,
  key: stringThat(
    `one line of at least ${MIN_KEY_LENGTH} visible ASCII characters, without white space around them, as they come in a header`,
    (value) => value.length >= MIN_KEY_LENGTH && SENDABLE.test(value),
  ),
  sha256: stringThat('64 hexadecimal digits', (value) => /^[0-9a-f]{64}$/i.test(value)),
  expiresAt: valueThat(
    'epoch milliseconds or a date',
    (value) => (typeof value === 'number' || value instanceof Date) && !Number.isNaN(Number(value)),
  ),
};

const members = group(KEY_OPTIONS, ['id']);

const keyEntries = array(
  checked(members, function* check(value, path) {
    const { key, sha256: digest } = Object(value) as Partial<ApiKey>;
    if (key === undefined && digest === undefined)
      yield { path: `${path}.key`, problem: 'is missing: give key or sha256' };
  }),
);

/**
 * Authentication by a list of keys. Only hashes are kept, and a key is found by its hash: how much of a wrong key is
 * right makes no difference in time.
 *
 * @param now - Epoch milliseconds. Default: the system clock.
 * @throws {@link ConfigError} when a key is too short, given twice, or missing, or something else of it is wrong.
 */
export function apiKeys(keys: readonly ApiKey[], now: () => number = Date.now): Authenticate {
  const problems = optionProblems(keyEntries, keys, 'apiKeys');
  if (problems.length > 0) throw new ConfigError(problems);
  const accounts = new Map<string, { readonly account: Account; readonly expiresAt: number }>();
  const hashing = keys.map(({ key, sha256: digest, expiresAt, ...account }, index) => {
    const add = (hash: string): void => {
      if (accounts.has(hash)) throw new ConfigError([{ path: `apiKeys[${index}]`, problem: 'is there twice' }]);
      // Two keys are never one because nobody named them.
      const keyId = account.keyId ?? (account.keyBudget && `key_${hash.slice(0, 16)}`);
      const own = keyId === undefined ? account : { ...account, keyId };
      accounts.set(hash, { account: own, expiresAt: expiresAt === undefined ? Infinity : Number(expiresAt) });
    };
    const hash = digest?.toLowerCase() ?? sha256(key ?? '');
    return typeof hash === 'string' ? add(hash) : hash.then(add);
  });
  const pending = hashing.filter((one) => one instanceof Promise);
  let ready: Promise<unknown> | undefined = pending.length > 0 ? Promise.all(pending) : undefined;

  function find(hash: string): Account | undefined {
    const found = accounts.get(hash);
    return found !== undefined && now() < found.expiresAt ? found.account : undefined;
  }

  const authenticate = ({ key }: Credentials): MaybePromise<Account | undefined> => {
    if (key === undefined) return undefined;
    const hash = sha256(key);
    if (ready === undefined && typeof hash === 'string') return find(hash);
    return Promise.all([hash, ready]).then(([digest]) => {
      ready = undefined;
      return find(digest);
    });
  };
  return Object.assign(authenticate, { accounts: new Set(keys.map(({ id }) => id)).size });
}
