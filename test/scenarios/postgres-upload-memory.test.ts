import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { startPostgres } from '../support/postgres.ts';
import { someOf } from '../support/storms.ts';
import { inlineBatch, measureUpload } from '../support/upload.ts';

const SERVER = fileURLToPath(new URL('../../bench/servers/batches.ts', import.meta.url));
const MEGABYTE = 1e6;

describe('a large batch goes to PostgreSQL without being held in memory', () => {
  // Large requests tell more: so many at once would be too much, where so many small ones are not.
  it.each(someOf([90, 2_500], { every: 2 }))('in %i requests', { timeout: 60_000 }, async (count) => {
    await using server = await startPostgres();
    const { status, megabytes, grownBytes } = await measureUpload(
      [process.execPath, SERVER, 'postgres', server.connectionString],
      [inlineBatch(2 * MEGABYTE, 50), inlineBatch(90 * MEGABYTE, count)],
    );
    expect(status).toBe(202);
    expect(megabytes).toBeGreaterThan(90);
    expect(grownBytes).toBeLessThan(80 * MEGABYTE);
  });
});
