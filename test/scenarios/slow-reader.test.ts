/** Runs in a process of its own: it measures memory. */
import { request as httpRequest } from 'node:http';
import type { Fault } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { UNKNOWN_HEALTH } from '../../src/core/fallback/health.ts';
import { BACKED, type FaultCell, MAIN_MOUNTS, ask, recordOf, startFaultCell } from '../support/fault-cell.ts';
import { checkError } from '../support/fault-checks.ts';
import { type LeavingClient, openClient } from '../support/leaving-client.ts';
import { memoryHeld } from '../support/memory.ts';
import { readStream } from '../support/sse-client.ts';
import { standsStill } from '../support/watched-cell.ts';
import { until } from '../support/until.ts';
import { someOf, storm, STORMS_ARE_FULL } from '../support/storms.ts';

const MEGABYTE = 1024 * 1024;
/** Ten kilobytes of text. */
const LONG_WORD = 'word '.repeat(2_048);

/** How often eight clients leave while they read. */
const ROUNDS = STORMS_ARE_FULL ? 5 : 2;

/** A long answer, as fast as it is taken. */
function bulk(bytes: number): Fault {
  return {
    does: 'answers well and at length',
    async play(exchange) {
      await exchange.begin();
      const chunk = exchange.chunk(LONG_WORD);
      for (let sent = 0; sent < bytes && !exchange.socket.destroyed; sent += LONG_WORD.length) {
        await exchange.write(chunk);
      }
      exchange.response.end(exchange.ending);
    },
  };
}

const STREAM = { model: BACKED, stream: true };

/** A client that has begun to read and then stops. */
async function stalledClient(cell: FaultCell, forgets = false): Promise<LeavingClient> {
  const client = openClient(cell.mounted, STREAM, forgets);
  await client.readUntil(forgets ? 'word' : '"content":"word');
  await client.pause();
  return client;
}

/** Mounts on which the most bytes are sent: one that writes to Node's own response, one that gives a stream. */
const LARGEST = someOf(MAIN_MOUNTS, { every: 3 });
/** Mounts on which something is tried that depends little on the mount. */
const SOME = someOf(MAIN_MOUNTS, { every: 2 });
const OTHERS = someOf(MAIN_MOUNTS, { every: 2, from: 1 });

describe.each(MAIN_MOUNTS)('%s, with clients that read slowly', (mount) => {
  it.runIf(LARGEST.includes(mount))('holds the provider back instead of filling its memory (BP-01)', async () => {
    const readers = Math.max(2, storm(6));
    const bytes = 40 * MEGABYTE;
    await using cell = await startFaultCell({ mount, upstream: { fault: bulk(bytes) } });
    // What a process takes once for its work is no growth.
    await openClient(cell.mounted, STREAM, true).readAll();
    const before = await memoryHeld();
    const sentBefore = cell.faulty.bytesSent;
    const clients = await Promise.all(Array.from({ length: readers }, () => stalledClient(cell, true)));
    await standsStill(() => cell.faulty.bytesSent);
    const after = await memoryHeld();
    // What is on its way fills the buffers of the system between them, and nothing else.
    expect(cell.faulty.bytesSent - sentBefore).toBeLessThan((readers * bytes) / 2);
    expect(after.used - before.used).toBeLessThan((readers * bytes) / 8);
    // What the system takes for the process is more than what it holds: half of what was to be sent is far from it.
    expect(after.resident - before.resident).toBeLessThan(Math.max(50 * MEGABYTE, (readers * bytes) / 2));
    await Promise.all(clients.map((client) => client.readAll()));
    for (const client of clients) {
      expect(client.received).toBeGreaterThan(bytes);
      expect(client.text.endsWith('data: [DONE]\n\n')).toBe(true);
    }
  });

  it.runIf(SOME.includes(mount))(
    'closes the connection of one who has stopped, and the provider’s (BP-02)',
    async () => {
      const limits = { writeStallMs: 1_000 };
      await using cell = await startFaultCell({ mount, upstream: { fault: bulk(50 * MEGABYTE) }, config: { limits } });
      const openedAt = performance.now();
      using client = await stalledClient(cell, true);
      await until(() => cell.faulty.openConnections === 0);
      expect(performance.now() - openedAt).toBeGreaterThan(limits.writeStallMs - 1);
      await until(() => cell.router.internals.admission.inside === 0);
      expect(await client.readAll()).not.toContain('[DONE]');
      expect((await client.response).complete).toBe(false);
      expect(cell.healthy.requests).toEqual([]);
      expect(recordOf(cell, BACKED)?.health ?? UNKNOWN_HEALTH).toEqual(UNKNOWN_HEALTH);
    },
  );

  it.runIf(OTHERS.includes(mount))(
    'does not blame the provider for the time in which nobody reads (BP-03)',
    async () => {
      const timeouts = { connectMs: 5_000, firstTokenMs: 5_000, answerMs: 5_000, idleMs: 300, totalMs: 10_000 };
      const bytes = 20 * MEGABYTE;
      await using cell = await startFaultCell({ mount, upstream: { fault: bulk(bytes) }, config: { timeouts } });
      using client = await stalledClient(cell, true);
      await standsStill(() => cell.faulty.bytesSent);
      expect(cell.faulty.bytesSent).toBeLessThan(bytes);
      await new Promise((resolve) => setTimeout(resolve, 700));
      expect((await client.readAll()).endsWith('data: [DONE]\n\n')).toBe(true);
      expect(client.received).toBeGreaterThan(bytes);
      expect(recordOf(cell, BACKED)?.health.consecutiveFailures).toBe(0);
      expect(recordOf(cell, BACKED)?.health.lastFailureAt).toBe(UNKNOWN_HEALTH.lastFailureAt);
    },
  );

  it('does not hang when a client reads on and leaves at the same moment (BP-04)', async () => {
    await using cell = await startFaultCell({ mount, upstream: { fault: bulk(20 * MEGABYTE) } });
    for (let round = 0; round < ROUNDS; round += 1) {
      const clients = await Promise.all(Array.from({ length: 8 }, () => stalledClient(cell, true)));
      await Promise.all(
        clients.map(async (client, index) => {
          (await client.response).resume();
          await new Promise((resolve) => setTimeout(resolve, index));
          client.leave();
        }),
      );
    }
    await until(() => cell.router.internals.admission.inside === 0);
    await until(() => cell.faulty.openConnections === 0);
  });

  it.runIf(SOME.includes(mount))('does not queue comments for a client that does not read (BP-07)', async () => {
    const keepAlive = { firstMs: 20, everyMs: 20 };
    const bytes = 24 * MEGABYTE;
    await using cell = await startFaultCell({ mount, upstream: { fault: bulk(bytes) }, config: { keepAlive } });
    using client = await stalledClient(cell);
    await standsStill(() => cell.faulty.bytesSent);
    expect(cell.faulty.bytesSent).toBeLessThan(bytes);
    await new Promise((resolve) => setTimeout(resolve, 600));
    const text = await client.readAll();
    const { content, done } = readStream(text);
    expect(done).toBe(true);
    expect(content.length).toBeGreaterThanOrEqual(bytes);
    // In that time, thirty comments were due. Those before the first word do not count.
    const { comments } = readStream(text.slice(text.indexOf('\n\n', text.indexOf('word')) + 2));
    expect(comments.length).toBeLessThan(10);
  });

  it.runIf(SOME.includes(mount))(
    'answers 408 to a body that comes too slowly, and holds no place for it (BP-06)',
    async () => {
      const limits = { bodyTimeoutMs: 400, concurrentRequests: 1 };
      await using cell = await startFaultCell({ mount, config: { limits } });
      const request = httpRequest(`${cell.mounted.baseURL}/chat/completions`, {
        method: 'POST',
        agent: false,
        headers: { 'content-type': 'application/json', 'content-length': '10000' },
      });
      request.on('error', () => {});
      const drip = setInterval(() => request.write(' '), 20);
      const answered = new Promise<Response>((resolve) => {
        request.on('response', (message) => {
          const { statusCode: status = 0, headers } = message;
          let text = '';
          message.on('data', (chunk: Buffer) => (text += chunk.toString()));
          message.on('end', () => resolve(new Response(text, { status, headers: headers as Record<string, string> })));
        });
      });
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(cell.router.internals.admission.inside).toBe(0);
      expect((await ask(cell.mounted)).status).toBe(200);
      await checkError(await answered, 408, null);
      clearInterval(drip);
      request.destroy();
      expect(cell.faulty.requests).toHaveLength(1);
    },
  );
});
