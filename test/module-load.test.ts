import { afterEach, describe, expect, it, vi } from 'vitest';

/** What Cloudflare Workers refuse while a module loads: anything that is random, timed, or I/O. */
const REFUSED = ['AbortController', 'fetch', 'setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask'] as const;

function refused(name: string): () => never {
  return function refuse() {
    throw new Error(`"${name}" was used while a module was loaded`);
  };
}

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

describe('the modules of the package', () => {
  it.each([
    ['index', () => import('../src/index.ts')],
    ['fetch', () => import('../adapters/fetch.ts')],
  ])('do nothing while they are loaded that Cloudflare Workers refuse: %s', async (_, load) => {
    // Packages are loaded once; what they do then is not ours.
    await load();
    vi.resetModules();
    for (const name of REFUSED) vi.stubGlobal(name, refused(name));
    vi.spyOn(Math, 'random').mockImplementation(refused('Math.random'));
    vi.spyOn(crypto, 'getRandomValues').mockImplementation(refused('getRandomValues'));
    vi.spyOn(crypto, 'randomUUID').mockImplementation(refused('randomUUID'));
    vi.spyOn(AbortSignal, 'timeout').mockImplementation(refused('AbortSignal.timeout'));
    await expect(load()).resolves.toBeDefined();
  });
});
