import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { storedApiKeys } from 'signalbox';
import { sqliteKeys } from 'signalbox/sqlite';
import { type Ran, runIn } from '../support/command.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts';

/** A configuration that stores keys in a file of the folder. */
function configure(folder: TemporaryFolder): (...args: string[]) => Promise<Ran> {
  const source = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
  writeFileSync(
    folder.file('signalbox.config.mjs'),
    `import { sqliteKeys } from ${source('storage/sqlite/sqlite-keys.ts')};
import { storedApiKeys } from ${source('http/stored-api-keys.ts')};
export default { authenticate: storedApiKeys({ store: sqliteKeys({ file: ${JSON.stringify(folder.file('keys.db'))} }) }) };
`,
  );
  return (...args) => runIn(folder, 'keys', ...args);
}

describe('signalbox keys', () => {
  it('makes, lists, rotates and revokes keys of the store that a configuration names', async () => {
    using folder = temporaryFolder();
    const keys = configure(folder);
    const made = await keys('create', '--account', 'acme', '--name', 'Build', '--limit', '5', '--limit-reset', 'daily');
    expect(made.code).toBe(0);
    const [key = ''] = made.printed;
    expect(made.printed).toEqual([expect.stringMatching(/^sk-sb-[0-9a-f]{48}$/)]);
    await keys('create', '--account', 'other', '--scope', 'management', '--expires', '2026-01-01T00:00:00Z');

    const listed = await keys('list');
    expect(listed.printed).toHaveLength(3);
    expect(listed.printed.join('\n')).toMatch(/sk-sb-\w\w…\w{4}\s+acme\s+Build\s+works/);
    expect(listed.printed.join('\n')).toContain('expired 2026-01-01T00:00:00.000Z');
    expect(listed.printed.join('\n')).not.toContain(key);
    const [line = ''] = (await keys('list', '--account', 'acme', '--json')).printed;
    const { hash, account } = JSON.parse(line) as { hash: string; account: object };
    expect(account).toMatchObject({ id: 'acme', keyBudget: { limitUsd: 5, period: 'day' } });

    const [rotated = ''] = (await keys('rotate', hash.slice(0, 10), '--overlap', '0')).printed;
    const store = sqliteKeys({ file: folder.file('keys.db') });
    const authenticate = storedApiKeys({ store, cacheMs: 0 });
    const header = (): undefined => undefined;
    try {
      expect(await authenticate({ key: rotated, header })).toMatchObject(account);
      const revoked = await keys('revoke', hash);
      expect(revoked.printed).toEqual([`Revoked ${hash}`]);
      expect(await authenticate({ key, header })).toBeUndefined();
      expect(await authenticate({ key: rotated, header })).toMatchObject(account);
      expect((await keys('list', '--account', 'acme')).printed).toHaveLength(2);
    } finally {
      await store.close?.();
    }
  });

  it('says what is wrong', async () => {
    using folder = temporaryFolder();
    const keys = configure(folder);
    const said = async (...args: string[]): Promise<string> => {
      const { code, complained } = await keys(...args);
      const text = complained.join('\n');
      expect(code).toBe(text.includes('--help"') ? 2 : 1);
      return text;
    };
    expect(await said('create')).toContain('Name the account of the key with --account');
    expect(await said('create', '--account', 'a', '--scope', 'all')).toContain('account.scopes');
    expect(await said('create', '--account', 'a', '--limit', 'much')).toContain(
      '--limit must be a non-negative number',
    );
    expect(await said('create', '--account', 'a', '--limit-reset', 'daily')).toContain('--limit-reset needs a --limit');
    expect(await said('create', '--account', 'a', '--expires', 'soon')).toContain('--expires must be a time');
    expect(await said('revoke')).toContain('Name one key by its hash');
    expect(await said('rotate', 'sk-sb-0123')).toContain('Name one key by its hash');
    expect(await said('revoke', '01234567')).toContain('There is no API key whose hash begins with 01234567');
    expect(await said('revoke', '0'.repeat(64))).toContain('There is no API key with this hash here');
    writeFileSync(folder.file('plain.json'), '{}');
    expect(await said('list', '--config', 'plain.json')).toContain('plain.json stores no API keys');
  });
});
