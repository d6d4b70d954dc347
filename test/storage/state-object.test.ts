import { DatabaseSync } from 'node:sqlite';
import { StateObject } from 'signalbox/durable-objects';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

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
