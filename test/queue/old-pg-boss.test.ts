/** Runs in a process of its own: it replaces modules. */
import { createRouter, simulated } from 'signalbox';
import { pgBossQueue } from 'signalbox/pg-boss';
import { expect, it, vi } from 'vitest';

// As pg-boss 11 is: its class is the default export.
vi.mock('pg-boss', () => ({ default: () => undefined, PgBoss: undefined }));

it('says which pg-boss is needed where the host has an older one', async () => {
  const router = createRouter({
    providers: [simulated()],
    on: { warning: () => undefined },
    batches: { queue: pgBossQueue({ connectionString: 'postgres://nobody@127.0.0.1:1/none' }) },
  });
  await expect(router.batches.start()).rejects.toThrow(
    'batches.queue is pgBossQueue, which needs pg-boss 12 or newer, and an older one is installed: npm install pg-boss@latest',
  );
  await router.close();
});
