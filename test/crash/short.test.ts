import { sqliteStorage } from 'signalbox/sqlite';
import { seededRandom } from 'signalbox/testing';
import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { type ArenaOptions, runArena } from './arena.ts';

const SEED = 1;

/** Two processes on one file; the long version with PostgreSQL is `npm run test:crash`. */
async function runShort(
  isUnfenced: boolean,
  options: Pick<ArenaOptions, 'kills' | 'pauses' | 'points' | 'drainMs' | 'patient'>,
) {
  using folder = temporaryFolder();
  const file = folder.file('batches.db');
  const store = sqliteStorage({ file });
  try {
    return await runArena({
      setup: { store: 'sqlite', where: file, unfenced: isUnfenced },
      store,
      workers: 2,
      leaseMs: 500,
      blind: 0,
      strikeMs: 80_000,
      random: seededRandom(SEED),
      ...options,
    });
  } finally {
    await store.close();
  }
}

describe('processes that are killed and paused while they work on the same batches', () => {
  it('lose nothing and do nothing twice', { timeout: 200_000 }, async () => {
    const { findings, kills, pauses, points, looks } = await runShort(false, {
      kills: 6,
      pauses: 3,
      points: ['create.published', 'run.claimed', 'run.answered', 'stop.started', 'finalize.done', 'notify.sent'],
      drainMs: 60_000,
    });
    expect(findings).toMatchObject({ lost: [], doubled: [], exits: [], givenUp: 0 });
    expect(findings).toMatchObject({ unexplained: [], late: [], early: [] });
    expect(looks).toBeGreaterThan(0);
    expect([kills, pauses]).toEqual([6, 3]);
    expect(points.get('notify.sent')?.reached).toBeGreaterThan(0);
  });

  it('would store outcomes twice without fencing, and that would be found', { timeout: 200_000 }, async () => {
    const { findings } = await runShort(true, {
      kills: 0,
      pauses: 1,
      points: ['run.answered'],
      patient: true,
      drainMs: 4_000,
    });
    expect(findings.doubled.join('\n')).toContain('was stored 2 times');
    expect(findings.exits).toEqual([]);
  });

  it('end the test at once, with what they said, when they cannot start', async () => {
    using folder = temporaryFolder();
    const program = folder.file('worker.mjs');
    writeFileSync(program, "import 'package-that-nobody-built';");
    const store = sqliteStorage({ file: folder.file('batches.db') });
    const run = runArena({
      setup: { store: 'sqlite', where: folder.file('batches.db') },
      store,
      program,
      workers: 2,
      kills: 1,
      pauses: 1,
      leaseMs: 500,
      blind: 0,
      strikeMs: 80_000,
      drainMs: 60_000,
      random: seededRandom(SEED),
    });
    await expect(run).rejects.toThrow(
      /^Workers cannot start: it ended with 1\..*npm run build.*package-that-nobody-built/s,
    );
    await store.close();
  });
});
