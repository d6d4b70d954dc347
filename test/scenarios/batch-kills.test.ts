import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { createRouter } from 'signalbox';
import { seededRandom } from 'signalbox/testing';
import { sqliteStorage } from 'signalbox/sqlite';
import { describe, expect, it } from 'vitest';
import { all, batchProvider, chatBatch } from '../support/batches.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const WORKER = fileURLToPath(new URL('../support/batch-worker.ts', import.meta.url));
const REQUESTS = 360;
const KILLS = 6;
const PAUSES = 4;
/** Requests of one worker at a time. */
const PER_WORKER = 4;

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Workers on one file, and every request that any of them sent. */
function workersOf(file: string) {
  const sent: string[] = [];
  const alive = new Set<ChildProcess>();
  function begin(): ChildProcess {
    const child = spawn(process.execPath, [WORKER, file], { stdio: ['ignore', 'pipe', 'inherit'] });
    child.stdout
      .setEncoding('utf8')
      .on('data', (text: string) => sent.push(...text.split('\n').filter((line) => line !== '')));
    alive.add(child);
    child.on('exit', () => alive.delete(child));
    return child;
  }
  return {
    sent,
    begin,
    any: (roll: number): ChildProcess | undefined => [...alive][Math.floor(roll * alive.size)],
    end() {
      for (const child of alive) child.kill('SIGKILL');
    },
  };
}

describe('workers that are killed and paused at any moment', () => {
  it('lose no request and double no outcome', async () => {
    using folder = temporaryFolder();
    const file = folder.file('batches.db');
    const chance = seededRandom(7);
    const router = createRouter({
      providers: [batchProvider('up')],
      batches: { storage: sqliteStorage({ file }) },
    });
    const { id } = await router.batches.create(chatBatch(REQUESTS));
    const workers = workersOf(file);
    try {
      workers.begin();
      workers.begin();
      let disturbed = 0;
      const ended = async () => (await router.batches.retrieve(id)).finalized_at !== null;
      for (let turn = 0; turn < 400 && !(await ended()); turn += 1) {
        await wait(40);
        // Only what works can be disturbed at work.
        if (workers.sent.length < disturbed * 8 + 4 || disturbed >= KILLS + PAUSES) continue;
        const victim = workers.any(chance());
        disturbed += 1;
        if (disturbed % 5 < 3) {
          victim?.kill('SIGKILL');
          workers.begin();
        } else {
          victim?.kill('SIGSTOP');
          await wait(450);
          victim?.kill('SIGCONT');
        }
      }
      const batch = await router.batches.retrieve(id);
      expect(batch).toMatchObject({
        status: 'completed',
        request_counts: { total: REQUESTS, completed: REQUESTS, failed: 0 },
      });
      const results = await all(router.batches.results(id));
      expect(results.map(({ custom_id: name }) => name)).toEqual(
        Array.from({ length: REQUESTS }, (_, index) => `r${index}`),
      );
      for (const { custom_id: name, response } of results) {
        expect(response?.body).toMatchObject({ choices: [{ message: { content: `answer to ${name}` } }] });
      }
      expect(disturbed).toBe(KILLS + PAUSES);
      expect(workers.sent.length).toBeLessThanOrEqual(REQUESTS + disturbed * PER_WORKER);
    } finally {
      workers.end();
      await router.close();
    }
  }, 60_000);
});
