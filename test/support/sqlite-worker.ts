import { sqliteStorage } from '../../src/storage/sqlite/sqlite-storage.ts';

/**
 * A process that opens the file named by its first argument, says `open`, and then works off the batch `batch_1` of the
 * account `acme`, saying the index of each request whose outcome it stored. Its second argument names it.
 */
const [file = '', name = ''] = process.argv.slice(2);
const LEASE_MS = 300;

const storage = sqliteStorage({ file });
try {
  await storage.open();
  console.log('open');
  for (let turn = 0; ; turn += 1) {
    const token = `${name}-${turn}`;
    const claimed = await storage.claimItems('acme', 'batch_1', { limit: 3, leaseMs: LEASE_MS, token });
    const outcomes = claimed.map(({ index }) => ({
      index,
      resultId: `batch_req_${index}`,
      response: { statusCode: 200, requestId: token, body: { said: index } },
    }));
    for (const index of await storage.storeOutcomes('acme', 'batch_1', token, outcomes)) console.log(index);
    const { completed = 0, total = 0 } = (await storage.find('acme', 'batch_1'))?.counts ?? {};
    if (claimed.length === 0 && completed === total) break;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await storage.close();
} catch (error) {
  console.log(error instanceof Error && 'reason' in error ? String(error.reason) : String(error));
}
