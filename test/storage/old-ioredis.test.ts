/** Runs in a process of its own: it replaces modules. */
import { redisStore } from 'signalbox/redis';
import { expect, it, vi } from 'vitest';

// As ioredis 4 is: its class is the default export.
vi.mock('ioredis', () => ({ default: () => undefined, Redis: undefined }));

it('says which ioredis is needed where the host has an older one', async () => {
  const store = redisStore({ url: 'redis://127.0.0.1:1', required: true });
  await expect(store.open?.()).rejects.toThrow(
    'redisStore needs ioredis 5 or newer, and an older one is installed; run: npm install ioredis@latest',
  );
});
