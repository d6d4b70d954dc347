import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { startPostgres } from '../support/postgres.ts';
import { inlineBatch, measureUpload } from '../support/upload.ts';

const SERVER = fileURLToPath(new URL('../../bench/servers/batches.ts', import.meta.url));
const MEGABYTE = 1e6;

describe('a large batch goes to PostgreSQL without being held in memory', () => {
  it.each([2_500, 90])('in %i requests', { timeout: 60_000 }, async (count) => {
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
