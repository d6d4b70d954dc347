import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { redisStore } from '../../src/storage/redis/redis-store.ts';
import type { StateStore } from '../../src/contracts/state-store.ts';
import { type StateStoreHarness, stateStoreChecksFor } from '../../src/testing/state-store-checks.ts';
import { type RedisPair, type RedisServer, startRedis, startRedisPair } from '../support/redis.ts';

let server: RedisServer;
let client: Redis;
let stores = 0;

beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.url);
});

afterAll(async () => {
  client.disconnect();
  await server[Symbol.asyncDispose]();
});

/** Milliseconds that are enough on a busy machine: a failure must be one, and not a late answer. */
const PATIENT = { timeoutMs: 10_000, warn: (message: string) => expect.unreachable(message) };

function pass(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

/** A prefix of its own stands for an empty Redis. */
function fresh(open: (prefix: string) => StateStore) {
  let prefix = '';
  return {
    create() {
      stores += 1;
      prefix = `test-${process.pid}-${stores}:`;
      return open(prefix);
    },
    attach: () => open(prefix),
    pass,
  };
}

const byUrl = fresh((prefix) => redisStore({ url: server.url, prefix, ...PATIENT }));
const byClient = fresh((prefix) => redisStore({ client, prefix, ...PATIENT }));
const bySendCommand = fresh((prefix) =>
  redisStore({
    client: { sendCommand: ([name = '', ...values]: string[]) => client.call(name, ...values) },
    prefix,
    ...PATIENT,
  }),
);

describe('state in Redis by its URL', () => {
  it.each(stateStoreChecksFor(byUrl))('$name', ({ run }) => run(byUrl));
});

describe('state in Redis by a client of ioredis', () => {
  it.each(stateStoreChecksFor(byClient))('$name', ({ run }) => run(byClient));
});

describe('state in Redis by a client that sends commands', () => {
  it.each(stateStoreChecksFor(bySendCommand))('$name', ({ run }) => run(bySendCommand));
});

describe('state in a Redis that fails', { timeout: 60_000 }, () => {
  let pair: RedisPair | undefined;
  let said: string[] = [];
  beforeEach(async () => {
    [pair, said] = [await startRedisPair(), []];
  });
  afterEach(async () => pair?.[Symbol.asyncDispose]());

  const options = { timeoutMs: 300, restMs: 200 };
  const faulty: StateStoreHarness = {
    create: () => redisStore({ url: pair?.url ?? '', ...options, warn: (message) => said.push(message) }),
    attach: () => redisStore({ url: pair?.url ?? '', ...options, warn: () => {} }),
    pass,
    faults: {
      freeze() {
        pair?.signal('SIGSTOP');
        return Promise.resolve(() => Promise.resolve(pair?.signal('SIGCONT')));
      },
      async refuseWrites() {
        await pair?.refuseWrites(true);
        return async () => pair?.refuseWrites(false);
      },
      loseAnswers() {
        pair?.loseAnswers(true);
        return Promise.resolve(() => Promise.resolve(pair?.loseAnswers(false)));
      },
      async failOver() {
        await pair?.failOver();
        return () => Promise.resolve();
      },
    },
  };

  it.each(stateStoreChecksFor(faulty).filter(({ needsFault }) => needsFault !== undefined))(
    '$name',
    async ({ run }) => {
      if (pair === undefined) return;
      await run(faulty);
      expect(said).toEqual([expect.stringContaining('each process keeps its own'), expect.stringContaining('again')]);
    },
  );

  it('says once that it is lost and once that it is back where it reads and takes no changes', async () => {
    if (pair === undefined) return;
    await using store = closing(await faulty.create());
    await store.set('key', 1, 60_000);
    await pair.refuseWrites(true);
    for (let turn = 0; turn < 40; turn += 1) {
      if (turn % 8 === 0) await store.set('key', turn, 60_000);
      expect(await store.get('key')).toBe(turn - (turn % 8));
      await pass(50);
    }
    expect(said).toEqual([
      'Shared state cannot be reached, each process keeps its own: Redis: the server takes no changes; connect to the one that does (READONLY).',
    ]);
    await pair.refuseWrites(false);
    await expect.poll(() => store.get('key'), { timeout: 20_000 }).toBe(1);
    expect(said.slice(1)).toEqual(['Shared state can be reached again.']);
  });

  it('is refused at the start by a program that requires it to take changes', async () => {
    if (pair === undefined) return;
    await pair.refuseWrites(true);
    await using store = closing(redisStore({ url: pair.url, required: true }));
    await expect(store.open?.()).rejects.toMatchObject({ name: 'StorageError', reason: 'read_only' });
    await pair.refuseWrites(false);
    await using other = closing(redisStore({ url: pair.url, required: true }));
    await other.open?.();
  });
});

function closing(store: StateStore): StateStore & AsyncDisposable {
  return { ...store, [Symbol.asyncDispose]: async () => store.close?.() };
}

describe('a store in Redis', () => {
  it('keeps what belongs to other prefixes apart', async () => {
    const [one, two] = [redisStore({ client, prefix: 'one:' }), redisStore({ client, prefix: 'two:' })];
    await one.set('key', 1, 60_000);
    expect(await two.get('key')).toBeUndefined();
    expect(await client.get('one:key')).toBe('1');
    expect(await client.pttl('one:key')).toBeGreaterThan(50_000);
  });

  it('takes what somebody else wrote for nothing', async () => {
    await client.set('signalbox:strange', 'not json');
    expect(await redisStore({ client }).get('strange')).toBeUndefined();
  });

  it('keeps the numbers of few changes, and gives them a time', async () => {
    const store = redisStore({ client, prefix: 'few:' });
    const changes = ['{ada}', '{bob}'].map((account) => [{ key: `spent ${account}`, by: 1, ttlMs: 60_000 }]);
    for (let turn = 0; turn < 20; turn += 1) for (const one of changes) await store.change(one);
    const kept = await client.keys('few:changes*');
    expect(kept).toHaveLength(2);
    for (const key of kept) {
      expect(await client.hlen(key)).toBe(1);
      expect(await client.pttl(key)).toBeGreaterThan(80_000_000);
    }
  });

  it('makes a change that a client sends again by itself once', async () => {
    const repeating = {
      async call(name: string, ...values: string[]) {
        await client.call(name, ...values);
        return client.call(name, ...values);
      },
    };
    const store = redisStore({ client: repeating, prefix: 'again:', ...PATIENT });
    const claim = { key: 'held', by: 5, ttlMs: 60_000, max: 10 };
    expect(await store.change([claim])).toEqual({ applied: true, sums: [5] });
    expect(await store.change([{ key: 'held', by: -2, ttlMs: 60_000 }])).toEqual({ applied: true, sums: [3] });
    expect(await client.get('again:held')).toBe('3');
  });

  it('leaves a client open that it was given', async () => {
    await redisStore({ client }).close?.();
    expect(await client.ping()).toBe('PONG');
  });

  it('goes on with local state while Redis is stopped, and comes back to it', async () => {
    await using own = await startRedis();
    if (own.signal === undefined) return;
    const said: string[] = [];
    const store = redisStore({ url: own.url, timeoutMs: 150, restMs: 50, warn: (message) => said.push(message) });
    await store.set('key', 'shared', 60_000);
    own.signal('SIGSTOP');
    const before = performance.now();
    expect(await store.get('key')).toBeUndefined();
    expect(performance.now() - before).toBeLessThan(2_000);
    await store.set('key', 'local', 60_000);
    expect(await store.get('key')).toBe('local');
    own.signal('SIGCONT');
    await expect.poll(() => store.get('key'), { timeout: 60_000 }).toBe('shared');
    expect(said).toEqual([expect.stringContaining('each process keeps its own'), expect.stringContaining('again')]);
    await store.close?.();
  });
});
