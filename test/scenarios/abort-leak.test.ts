/** Runs in a process of its own: it measures memory, and listens for rejections of the whole process. */
import { type Fault, seededRandom } from 'signalbox/testing';
import { expect, it, vi } from 'vitest';
import { ALONE, recordOf, startFaultCell } from '../support/fault-cell.ts';
import { openClient } from '../support/leaving-client.ts';
import { memoryHeld } from '../support/memory.ts';
import { storm } from '../support/storms.ts';

const WARM_UP = storm(2_000);
const STREAMS = storm(10_000);
const AT_A_TIME = 50;
const LONGEST_STAY_MS = 30;
const MEGABYTE = 1024 * 1024;

/** A stream that takes about as long as a client stays, on a connection that nobody uses again. */
const UNHURRIED: Fault = {
  does: 'answers well, with a few milliseconds before each word',
  async play(exchange) {
    await exchange.wait(3);
    await exchange.begin({ connection: 'close' });
    for (const word of exchange.text.split(' ')) {
      await exchange.wait(3);
      await exchange.write(exchange.chunk(word));
    }
    exchange.response.end(exchange.ending);
  },
};

it('leaves nothing behind of thousands of streams that were left at any moment', async () => {
  const outcomes: Record<string, number> = { left: 0, 'left after content': 0, answered: 0 };
  await using cell = await startFaultCell({
    upstream: { fault: UNHURRIED, timeScale: 1 },
    config: {
      on: {
        error: ({ status, committed }) => {
          const name = status === 499 ? (committed ? 'left after content' : 'left') : String(status);
          outcomes[name] = (outcomes[name] ?? 0) + 1;
        },
        result: () => (outcomes['answered'] = (outcomes['answered'] ?? 0) + 1),
      },
    },
  });
  const random = seededRandom(20_260_101);
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
  process.on('unhandledRejection', onUnhandled);

  async function visit(): Promise<void> {
    using client = openClient(cell.mounted, { model: ALONE, stream: true });
    // With so many at a time, most would leave before anything happens if the time always ran from the start.
    if (random() < 0.6) await client.response;
    await new Promise((resolve) => setTimeout(resolve, random() * LONGEST_STAY_MS));
    client.leave();
  }

  async function visitors(count: number): Promise<void> {
    let left = count;
    const queue = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        await visit();
      }
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, queue));
    await vi.waitFor(() => {
      expect(cell.router.internals.admission.inside).toBe(0);
      expect(cell.faulty.openConnections).toBe(0);
    }, 20_000);
  }

  await visitors(WARM_UP);
  cell.faulty.forget();
  const before = await memoryHeld();
  await visitors(STREAMS);
  const connections = cell.faulty.requests.length;
  cell.faulty.forget();
  const after = await memoryHeld();
  process.off('unhandledRejection', onUnhandled);
  const growth = (after.used - before.used) / MEGABYTE;
  console.info(
    `${STREAMS} streams, ${connections} reached the provider; ${JSON.stringify(outcomes)}; ` +
      `memory held ${growth.toFixed(2)} MB more, resident ${((after.resident - before.resident) / MEGABYTE).toFixed(1)} MB more`,
  );

  expect(unhandled).toEqual([]);
  expect(outcomes['left']).toBeGreaterThan(STREAMS / 20);
  expect(outcomes['left after content']).toBeGreaterThan(STREAMS / 20);
  expect(Object.keys(outcomes)).toEqual(['left', 'left after content', 'answered']);
  expect(recordOf(cell)?.health.consecutiveFailures ?? 0).toBe(0);
  // Of 10,000 streams, about 300 bytes each would show.
  expect(growth).toBeLessThan(3);
}, 300_000);
