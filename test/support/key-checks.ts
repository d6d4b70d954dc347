import { expect } from 'vitest';
import type { KeyStore, StoredKey } from '../../src/contracts/key-store.ts';
import type { BatchStoreFaults } from '../../src/testing/batch-store-checks/check.ts';
import { expectReasons, outlasting } from './outages.ts';

/** A key as it is stored. */
export function storedKey(digit: string, more: Partial<StoredKey> = {}): StoredKey {
  return {
    hash: digit.repeat(64),
    name: 'One',
    label: 'sk-sb-ab…wxyz',
    account: { id: 'ada', keyId: `key_${digit}` },
    disabled: false,
    createdAt: 1,
    updatedAt: 1,
    revision: 0,
    ...more,
  };
}

async function hashes(store: KeyStore, account?: string, after?: string, limit = 100): Promise<string> {
  return (await store.list(account, after, limit)).map(({ hash }) => hash[0]).join('');
}

/** What every store of keys does. */
export const keyChecks: readonly { readonly name: string; readonly run: (store: KeyStore) => Promise<void> }[] = [
  {
    name: 'gives back what was written, with limits that are endless and names in every script',
    async run(store) {
      const key = storedKey('a', {
        name: 'Ключ\0 "1" \uD800',
        account: { id: 'ä\0', rateLimits: { requestsPerMinute: Infinity, tokensPerMinute: 5 }, scopes: ['management'] },
        expiresAt: 2 ** 41,
      });
      await store.add(key);
      expect(await store.find(key.hash)).toEqual(key);
      expect(await store.list('ä\0', undefined, 5)).toEqual([key]);
      expect(await store.find('b'.repeat(64))).toBeUndefined();
    },
  },
  {
    name: 'lists keys by account, in the order of their hashes, in pages',
    async run(store) {
      for (const digit of ['c', '1', 'f', '9']) await store.add(storedKey(digit));
      await store.add(storedKey('5', { account: { id: 'bob' } }));
      expect(await hashes(store)).toBe('159cf');
      expect(await hashes(store, 'ada')).toBe('19cf');
      expect(await hashes(store, 'bob')).toBe('5');
      expect(await hashes(store, 'ad')).toBe('');
      expect(await hashes(store, 'ada', undefined, 2)).toBe('19');
      expect(await hashes(store, 'ada', '9'.repeat(64), 2)).toBe('cf');
      // The beginning of a hash comes before it.
      expect(await hashes(store, undefined, '9999')).toBe('9cf');
    },
  },
  {
    name: 'changes a key that nobody else has changed, and brings none back that is gone',
    async run(store) {
      await store.add(storedKey('a'));
      expect(await store.replace(storedKey('a', { revision: 1, disabled: true }))).toBe(true);
      expect(await store.replace(storedKey('a', { revision: 1 }))).toBe(false);
      expect(await store.replace(storedKey('a', { revision: 3 }))).toBe(false);
      expect(await store.find('a'.repeat(64))).toMatchObject({ disabled: true, revision: 1 });
      expect(await store.remove('a'.repeat(64))).toBe(true);
      expect(await store.remove('a'.repeat(64))).toBe(false);
      expect(await store.replace(storedKey('a', { revision: 2 }))).toBe(false);
      expect(await store.find('a'.repeat(64))).toBeUndefined();
    },
  },
  {
    name: 'lets one of many changes at the same time through',
    async run(store) {
      await store.add(storedKey('a'));
      const written = await Promise.all(
        Array.from({ length: 10 }, async (_, index) =>
          store.replace(storedKey('a', { revision: 1, name: `${index}` })),
        ),
      );
      expect(written.filter(Boolean)).toHaveLength(1);
      expect((await store.find('a'.repeat(64)))?.name).toBe(String(written.indexOf(true)));
    },
  },
];

/** What every store of keys does while what is behind it is in trouble: a key that is written again is there once. */
export async function keysOutlast(store: KeyStore, faults: BatchStoreFaults): Promise<void> {
  await store.add(storedKey('0'));
  for (const [index, fault] of (Object.keys(faults) as (keyof BatchStoreFaults)[]).entries()) {
    const bring = faults[fault];
    if (bring === undefined) continue;
    const digit = String(index + 1);
    expectReasons(await outlasting(fault, bring, () => store.add(storedKey(digit))));
    await outlasting(
      fault,
      () => Promise.resolve(() => Promise.resolve()),
      async () => {
        expect(await store.find(digit.repeat(64)), fault).toEqual(storedKey(digit));
        expect(await hashes(store), fault).toBe('0123456789'.slice(0, index + 2));
      },
    );
  }
}
