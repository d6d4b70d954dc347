/** Runs in a process of its own: it starts instances, kills them, and waits for what happens. */
import { writeSync } from 'node:fs';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/providers/simulated/chance.ts';
import { startRedis } from '../support/redis.ts';
import { STORMS_ARE_FULL, storm } from '../support/storms.ts';
import { runStreamStorm } from '../support/stream-arena.ts';

/** Milliseconds that streams are kept. */
const KEEP_MS = 10_000;
/** Milliseconds that what belongs to a stream may outlive twice that. */
const SLACK_MS = 20_000;

describe('streams that are kept in Redis by three instances', () => {
  it.each([
    ['end with one clear error', false],
    ['go on at another one', true],
  ])(
    'lose and double no byte under kills, pauses and reloads, and %s',
    { timeout: 900_000 },
    async (_, isContinued) => {
      await using server = await startRedis();
      const report = await runStreamStorm({
        redis: server.url,
        blows: storm(500),
        keepMs: KEEP_MS,
        random: seededRandom(7),
        isContinued,
      });
      if (STORMS_ARE_FULL) writeSync(2, `${JSON.stringify(report)}\n`);
      expect(report.faults).toEqual([]);
      expect(report.whole).toBeGreaterThan(report.streams / 10);
      if (isContinued) expect(report.continued).toBeGreaterThan(0);
      else expect(report.continued).toBe(0);
      const client = new Redis(server.url);
      const keys = await client.keys('*');
      const lives = await Promise.all(keys.map((key) => client.pttl(key)));
      // Every key that is left goes by itself.
      expect(lives.filter((ms) => ms < 0 || ms > 2 * KEEP_MS + SLACK_MS)).toEqual([]);
      if (STORMS_ARE_FULL) await expect.poll(() => client.dbsize(), { timeout: 60_000, interval: 500 }).toBe(0);
      client.disconnect();
    },
  );
});
