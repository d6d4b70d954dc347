import type { KeyStore, StoredKey } from '../contracts/key-store.ts';

/** API keys in the memory of this process: for tests, and for programs that fill it at start. */
export function memoryKeys(): KeyStore {
  const keys = new Map<string, StoredKey>();
  return {
    find: (hash) => keys.get(hash),
    list: (account, after = '', limit) =>
      [...keys.values()]
        .filter(({ hash, account: { id } }) => hash > after && (account === undefined || id === account))
        .toSorted((left, right) => (left.hash < right.hash ? -1 : 1))
        .slice(0, limit),
    add: (key) => void keys.set(key.hash, key),
    replace(key) {
      if (keys.get(key.hash)?.revision !== key.revision - 1) return false;
      keys.set(key.hash, key);
      return true;
    },
    remove: (hash) => keys.delete(hash),
  };
}
