import type { Account } from '../core/account.ts';
import { budgetProblems, rateLimitProblems } from '../core/limits/limit-problems.ts';
import { ConfigError, type ConfigProblem } from '../errors.ts';
import { sha256 } from '../runtime/hash.ts';
import type { MaybePromise } from '../storage/state-store.ts';
import type { Authenticate } from './authenticate.ts';

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

/**
 * Authentication by a list of keys. Only hashes are kept, and a key is found by its hash: how much of a wrong key is
 * right makes no difference in time.
 *
 * @param now - Epoch milliseconds. Default: the system clock.
 * @throws {@link ConfigError} when a key is too short, given twice, or missing.
 */
export function apiKeys(keys: readonly ApiKey[], now: () => number = Date.now): Authenticate {
  const problems = keys.flatMap(checkKey);
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

  return ({ key }): MaybePromise<Account | undefined> => {
    if (key === undefined) return undefined;
    const hash = sha256(key);
    if (ready === undefined && typeof hash === 'string') return find(hash);
    return Promise.all([hash, ready]).then(([digest]) => {
      ready = undefined;
      return find(digest);
    });
  };
}

function checkKey(given: ApiKey, index: number): ConfigProblem[] {
  const path = `apiKeys[${index}]`;
  return [
    ...keyProblems(given, path),
    ...rateLimitProblems(`${path}.rateLimits`, given.rateLimits),
    ...budgetProblems(`${path}.budget`, given.budget),
    ...budgetProblems(`${path}.keyBudget`, given.keyBudget),
  ];
}

function keyProblems({ id, key, sha256: digest }: ApiKey, path: string): ConfigProblem[] {
  if (!id) return [{ path: `${path}.id`, problem: 'must name the account that the key belongs to' }];
  if (digest !== undefined) {
    return /^[0-9a-f]{64}$/i.test(digest) ? [] : [{ path: `${path}.sha256`, problem: 'must be 64 hexadecimal digits' }];
  }
  if (key === undefined) return [{ path: `${path}.key`, problem: 'is missing: give key or sha256' }];
  if (key.length >= MIN_KEY_LENGTH) return [];
  return [{ path: `${path}.key`, problem: `must have at least ${MIN_KEY_LENGTH} characters` }];
}
