import { DatabaseSync } from 'node:sqlite';
import { memoryStore, type StateStore } from 'signalbox';
import { durableObjectStore, StateObject } from 'signalbox/durable-objects';
import { afterAll, describe, expect, it } from 'vitest';
import { systemEnvironment } from '../../../src/platform/environment.ts';
import type { StreamStore } from '../../../src/runtime/streams/stream-layout.ts';
import { KeptStreams } from '../../../src/runtime/streams/kept-streams.ts';

const database = new DatabaseSync(':memory:');
afterAll(() => database.close());

/** A Durable Object over the SQLite of Node, behind its binding. */
function durableObject(): StateStore {
  const exec = (query: string, ...values: (string | number)[]) => {
    const rows = query.trim() === '' ? [] : database.prepare(query).all(...values);
    return { toArray: () => rows };
  };
  const object = new StateObject({ storage: { sql: { exec }, setAlarm: () => Promise.resolve() } });
  const namespace = {
    idFromName: String,
    get: () => ({ fetch: (url: string, init: RequestInit) => object.fetch(new Request(url, init)) }),
  };
  return durableObjectStore({ namespace, timeoutMs: 10_000, warn: (message) => expect.unreachable(message) });
}

const STORES: Readonly<Record<string, () => StateStore>> = {
  memory: memoryStore,
  'a Durable Object': durableObject,
};

describe.each(Object.entries(STORES))('streams that are kept in %s', (_name, make) => {
  const store = make() as StreamStore;
  const instance = (): KeptStreams =>
    new KeptStreams({
      store,
      keepMs: 60_000,
      leaveAfterMs: 0,
      maxTotalBytes: 16_000_000,
      environment: systemEnvironment(),
      warn: (message) => expect.unreachable(message),
    });
  const read = async (streams: KeptStreams, from = 0): Promise<string> => {
    const { text } = await streams.read({ id: 'me' }, 'one', { from, hasIds: false }, new AbortController().signal);
    let all = '';
    for await (const frames of text) all += frames;
    return all;
  };

  it('are the same at every instance, while they go on and after', async () => {
    const [here, there] = [instance(), instance()];
    const events = Array.from(
      { length: 300 },
      (_, index) => `data: {"grün":"${'👋'.repeat(index % 40)} ${index}"}\n\n`,
    );
    const all = events.join('');
    const keeper = (await here.begin('me', 'one', { format: 'text' })) ?? expect.unreachable('the store takes nothing');
    const early = [read(here), read(there)];
    for (const [index, event] of events.entries()) {
      keeper.push(event);
      if (index % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await keeper.end();
    expect(await Promise.all(early)).toEqual([all, all]);
    const half = Buffer.byteLength(events.slice(0, 150).join(''));
    for (const streams of [here, there]) {
      expect(await read(streams)).toBe(all);
      expect(await read(streams, half)).toBe(events.slice(150).join(''));
    }
    const asked = there.read({ id: 'you' }, 'one', { from: 0, hasIds: false }, new AbortController().signal);
    await expect(asked).rejects.toMatchObject({ status: 404 });
    expect(await there.stop('me', 'one')).toBe('deleted');
    await expect(read(here)).rejects.toMatchObject({ status: 404 });
  });
});
