import { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import { durableObjectStore, StateObject } from 'signalbox/durable-objects';
import { type StateStoreHarness, stateStoreChecksFor } from 'signalbox/testing';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

/** The storage of an object, over the SQLite of Node. The object in workerd is in test/runtimes. */
function objectOver(database: DatabaseSync) {
  const alarms: number[] = [];
  const exec = (query: string, ...values: (string | number)[]) => {
    const rows = query.trim() === '' ? [] : database.prepare(query).all(...values);
    return { toArray: () => rows };
  };
  const object = new StateObject({ storage: { sql: { exec }, setAlarm: async (at) => void alarms.push(at) } });
  const ask = async (question: object) => {
    const request = new Request('https://state.test/', { method: 'POST', body: JSON.stringify(question) });
    return (await object.fetch(request)).json();
  };
  return { object, ask, alarms };
}

describe('state in a Durable Object whose answers get lost', () => {
  const databases: DatabaseSync[] = [];
  afterAll(() => databases.map((database) => database.close()));
  let object: StateObject | undefined;
  let areLost = false;
  let said: string[] = [];
  const open = (warn: (message: string) => unknown = () => undefined) =>
    durableObjectStore({
      namespace: {
        idFromName: String,
        get: () => ({
          async fetch(url, init) {
            const reply = await object?.fetch(new Request(url, init));
            if (reply === undefined || areLost) throw new Error('The connection was lost');
            return reply;
          },
        }),
      },
      restMs: 100,
      warn,
    });
  const harness: StateStoreHarness = {
    create() {
      const database = new DatabaseSync(':memory:');
      databases.push(database);
      ({ object } = objectOver(database));
      said = [];
      return open((message) => said.push(message));
    },
    attach: () => open(),
    pass: (ms) => setTimeout(ms),
    faults: {
      loseAnswers() {
        areLost = true;
        return Promise.resolve(() => {
          areLost = false;
          return Promise.resolve();
        });
      },
    },
  };

  it.each(stateStoreChecksFor(harness))('$name', async ({ run, needsFault }) => {
    await run(harness);
    expect(said).toHaveLength(needsFault === undefined ? 0 : 2);
  });

  it('keeps the numbers of few changes', async () => {
    const store = await harness.create();
    for (let turn = 0; turn < 20; turn += 1) await store.change([{ key: 'spent', by: 1, ttlMs: 60_000 }]);
    const rows = databases.at(-1)?.prepare(`SELECT value FROM state WHERE key LIKE '%changes%'`).all();
    expect(rows).toEqual([{ value: '{"20":"made"}' }]);
  });
});

describe('the object behind state in Durable Objects', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 }));
  afterEach(() => void vi.useRealTimers());

  it('removes what has expired a minute later, and is not woken again when nothing is left', async () => {
    using database = new DatabaseSync(':memory:');
    const { object, ask, alarms } = objectOver(database);
    const rows = () => database.prepare('SELECT key FROM state ORDER BY key').all().length;
    await ask({ ask: 'set', key: 'short', value: 1, ttlMs: 1_000 });
    await ask({ ask: 'set', key: 'long', value: 1, ttlMs: 100_000 });
    expect(alarms).toEqual([1_060_000]);
    vi.setSystemTime(1_060_000);
    expect(await ask({ ask: 'get', key: 'short' })).toEqual({});
    await object.alarm();
    expect([rows(), alarms]).toEqual([1, [1_060_000, 1_120_000]]);
    vi.setSystemTime(1_120_000);
    await object.alarm();
    expect([rows(), alarms]).toEqual([0, [1_060_000, 1_120_000]]);
    await ask({ ask: 'increment', key: 'count', by: 1, ttlMs: 1_000 });
    expect(alarms.at(-1)).toBe(1_180_000);
  });
});
