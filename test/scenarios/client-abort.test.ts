import { request as httpRequest } from 'node:http';
import { type Fault, blackHole } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { BACKED, recordOf } from '../support/fault-cell.ts';
import { type LeavingClient, openClient, socketOf } from '../support/leaving-client.ts';
import { MOUNTS } from '../support/mounts.ts';
import { type Watched, checkNothingStays, standsStill, startWatched, timeUntil } from '../support/watched-cell.ts';
import { until } from '../support/until.ts';

/** Milliseconds in which the provider must notice that nobody listens any more. */
const NOTICE_MS = 100;

/** All content and its end, but not the end mark. */
const WITHOUT_END_MARK: Fault = {
  does: 'says everything but the end mark',
  async play(exchange) {
    await exchange.begin();
    await exchange.write(exchange.wire.ending(exchange).slice(0, -1).join(''));
    await exchange.silence();
  },
};

/** A stream that never ends and is faster than any reader. */
const FLOOD: Fault = {
  does: 'says the same long word for ever',
  async play(exchange) {
    await exchange.begin();
    const long = exchange.chunk('word '.repeat(2_000));
    while (!exchange.socket.destroyed) await exchange.write(long);
  },
};

/** The client leaves; the provider notices at once, and nothing else happens. */
async function leaveAndCheck(client: LeavingClient, cell: Watched, committed: boolean): Promise<void> {
  client.leave();
  expect(await timeUntil(() => cell.faulty.openConnections === 0)).toBeLessThan(NOTICE_MS);
  await checkNothingStays(cell);
  expect(cell.errors).toEqual([expect.objectContaining({ status: 499, committed, attempts: 1 })]);
  expect(cell.faulty.requests).toHaveLength(1);
  expect(cell.faulty.requests[0]?.closedAfterMs).toBeDefined();
}

describe.each(Object.keys(MOUNTS))('a client that leaves %s', (mount) => {
  it.each([false, true])('while a connection to the provider is made (AB-01, streamed: %s)', async (stream) => {
    await using hole = await blackHole();
    await using cell = await startWatched(mount, { baseURL: hole.baseURL });
    using client = openClient(cell.mounted, { model: BACKED, stream });
    await until(() => cell.router.internals.admission.inside === 1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    client.leave();
    await checkNothingStays(cell);
    expect(cell.errors).toEqual([expect.objectContaining({ status: 499, committed: false })]);
  });

  it.each([false, true])('before the headers of an answer (AB-01, AB-06, streamed: %s)', async (stream) => {
    await using cell = await startWatched(mount, { upstream: { fault: 'U-17-endless' } });
    using client = openClient(cell.mounted, { model: BACKED, stream });
    await until(() => cell.faulty.requests.length === 1);
    await leaveAndCheck(client, cell, false);
  });

  it('before the first token (AB-01)', async () => {
    await using cell = await startWatched(mount, { upstream: { fault: 'U-20' } });
    using client = openClient(cell.mounted, { model: BACKED, stream: true });
    await until(() => cell.faulty.requests[0]?.body !== undefined);
    await leaveAndCheck(client, cell, false);
  });

  it('in the middle of a stream (AB-01, AB-08)', async () => {
    await using cell = await startWatched(mount, { upstream: { fault: 'U-20', afterChunks: 2 } });
    using client = openClient(cell.mounted, { model: BACKED, stream: true });
    await client.readUntil('quick ');
    await leaveAndCheck(client, cell, true);
  });

  it('between the last content and the end mark (AB-01)', async () => {
    await using cell = await startWatched(mount, { upstream: { fault: WITHOUT_END_MARK, afterChunks: 9 } });
    using client = openClient(cell.mounted, { model: BACKED, stream: true });
    await client.readUntil('dog');
    await leaveAndCheck(client, cell, true);
  });

  it('while it had stopped reading (AB-03)', async () => {
    await using cell = await startWatched(mount, { upstream: { fault: FLOOD } });
    using client = openClient(cell.mounted, { model: BACKED, stream: true });
    await client.readUntil('word ');
    await client.pause();
    await standsStill(() => cell.faulty.bytesSent);
    await leaveAndCheck(client, cell, true);
  });

  it('at the error chunk (AB-01)', async () => {
    await using cell = await startWatched(mount, { upstream: { fault: 'U-14', afterChunks: 2 } });
    using client = openClient(cell.mounted, { model: BACKED, stream: true });
    await client.readUntil('"error"');
    client.leave();
    await until(() => cell.router.internals.admission.inside === 0);
    expect(cell.errors).toEqual([expect.objectContaining({ status: 502, committed: true })]);
    expect(cell.healthy.requests).toEqual([]);
  });

  it('after the end mark (AB-01)', async () => {
    await using cell = await startWatched(mount, {});
    using client = openClient(cell.mounted, { model: BACKED, stream: true });
    await client.readUntil('data: [DONE]');
    client.leave();
    await until(() => cell.router.internals.admission.inside === 0);
    expect(cell.results).toHaveLength(1);
    expect(cell.errors).toEqual([]);
    expect(recordOf(cell, BACKED)?.health.consecutiveFailures).toBe(0);
  });

  it('in the middle of its own request', async () => {
    await using cell = await startWatched(mount, {});
    const request = httpRequest(`${cell.mounted.baseURL}/chat/completions`, {
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'application/json', 'content-length': '1000' },
    });
    request.on('error', () => {});
    request.write('{"model":');
    const socket = await socketOf(request);
    await new Promise((resolve) => setTimeout(resolve, 20));
    request.destroy();
    await until(() => socket.destroyed);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(cell.router.internals.admission.inside).toBe(0);
    expect(cell.faulty.connections).toBe(0);
    expect(cell.errors).toEqual([]);
  });
});
