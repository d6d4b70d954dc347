/** Runs in a process of its own: it loads the package without the hashes of Node, and the copies would stay. */
import { describe, expect, it, vi } from 'vitest';
import { hmacSha256, sha256 } from '../../src/platform/hash.ts';

const KEY = 'key-of-ada-0123456789';

/** What a module exports where Node's own hashes are missing. */
async function withoutNode<Exports>(load: () => Promise<Exports>): Promise<Exports> {
  const builtin = vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined);
  vi.resetModules();
  try {
    return await load();
  } finally {
    builtin.mockRestore();
  }
}

describe('where only Web Crypto is there', () => {
  it('hashes are the same as elsewhere, but come later', async () => {
    const web = await withoutNode(() => import('../../src/platform/hash.ts'));
    expect(web.sha256('text')).toBeInstanceOf(Promise);
    expect(await web.sha256('täxt')).toBe(await sha256('täxt'));
    expect(await web.hmacSha256('kéy', 'text')).toBe(await hmacSha256('kéy', 'text'));
  });

  it('keys are found and refused as elsewhere', async () => {
    const { apiKeys } = await withoutNode(() => import('signalbox'));
    const authenticate = apiKeys([{ key: KEY, id: 'ada' }]);
    const look = async (key: string | undefined): Promise<unknown> => authenticate({ key, header: () => undefined });
    expect(await Promise.all([look(KEY), look(KEY), look('wrong'), look(undefined)])).toEqual([
      { id: 'ada' },
      { id: 'ada' },
      undefined,
      undefined,
    ]);
    expect(await look(KEY)).toEqual({ id: 'ada' });
  });
});
