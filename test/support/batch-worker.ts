import { createRouter, localQueue } from 'signalbox';
import { sqliteStorage } from 'signalbox/sqlite';
import { answer, batchProvider } from './batches.ts';

/** A process that runs batches of a file until it is killed. Prints the text of every request that it sends. */
const [, , file = ''] = process.argv;

const provider = batchProvider('up', async ({ text }) => {
  process.stdout.write(`${text}\n`);
  await new Promise((resolve) => setTimeout(resolve, 80));
  return answer(`answer to ${text}`);
});
const router = createRouter({
  providers: [provider],
  on: { warning: () => {} },
  batches: {
    storage: sqliteStorage({ file }),
    queue: localQueue({ leaseMs: 300, pollMs: 50 }),
    limits: { leaseMs: 300, perBatch: 4 },
  },
});
await router.batches.start();
