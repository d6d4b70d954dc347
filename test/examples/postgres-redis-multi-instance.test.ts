import { describe, expect, it } from 'vitest';
import { startPostgres } from '../support/postgres.ts';
import { startRedis } from '../support/redis.ts';
import { runProgram } from '../support/run-program.ts';

describe('the example of several instances', () => {
  it('shares the work of batches between two processes', async () => {
    await using postgres = await startPostgres();
    await using redis = await startRedis();
    const environment = { DATABASE_URL: postgres.connectionString, REDIS_URL: redis.url };
    const { stdout } = await runProgram('examples/multi-instance/main.ts', environment);
    expect(stdout).toContain('The second instance says: completed (25)\n');
    const answered = [...stdout.matchAll(/Instance \d answered (\d+)/g)].map((match) => Number(match[1]));
    expect(answered).toHaveLength(2);
    expect(Math.min(...answered)).toBeGreaterThan(0);
    expect(answered.reduce((sum, count) => sum + count, 0)).toBe(200);
  });
});
