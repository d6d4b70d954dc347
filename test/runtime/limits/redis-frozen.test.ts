import { createServer, type ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { type Account, type Router, createRouter, openaiCompatible } from 'signalbox';
import { redisStore } from 'signalbox/redis';
import { type Mounted, listen } from '../../support/mounts.ts';
import { startRedis } from '../../support/redis.ts';

/** 10 + 30 × 20 millionths of a dollar. */
const USAGE = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
/** Each request reserves a little more than 3 dollars of 10. */
const MODELS = { 'acme/one': { price: { prompt: 1, completion: 30 } } };
const REQUEST = { model: 'acme/one', max_tokens: 100_000, messages: [{ role: 'user', content: 'Hello' }] } as const;
const COST = 610_000;
const ACCOUNT: Account = { id: 'a', budget: { limitUsd: 10 }, rateLimits: { tokensPerMinute: 100_000_000 } };

/** An upstream that answers when it is told to. */
async function upstream(): Promise<Mounted & { readonly open: number; answer(): void }> {
  const waiting = new Set<ServerResponse>();
  const mounted = await listen(
    createServer((request, response) => {
      request.resume().on('end', () => waiting.add(response));
    }),
  );
  return {
    ...mounted,
    get open() {
      return waiting.size;
    },
    answer() {
      for (const response of waiting) {
        const message = { role: 'assistant', content: 'Hello' };
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ choices: [{ index: 0, finish_reason: 'stop', message }], usage: USAGE }));
      }
      waiting.clear();
    },
  };
}

function routerOf(baseURL: string, url: string, said: string[] = []): Router {
  return createRouter({
    providers: [openaiCompatible({ slug: 'up', baseURL, apiKey: 'none', models: MODELS })],
    state: redisStore({ url, timeoutMs: 150, restMs: 100, warn: (message) => said.push(message) }),
    on: { warning: () => {} },
  });
}

/** What is in the counters of a Redis, by what they count. */
async function counters(admin: Redis): Promise<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const key of await admin.keys('signalbox:*')) {
    // Names of changes are kept beside the counters.
    if ((await admin.type(key)) !== 'string') continue;
    const [purpose = '', , ...rest] = key.slice('signalbox:'.length).split('\n');
    const name = `${purpose} ${rest.join(' ').replace(/ ?\d+$/, '')}`.trim();
    sums[name] = (sums[name] ?? 0) + Number(await admin.get(key));
  }
  return sums;
}

const HELD = 'budget account held';
const SPENT = 'budget account spent in total';
const TOKENS = 'rate tokens-per-min';

/** Sends requests at the same time, and gives what came of them. */
async function statuses(requests: readonly Promise<unknown>[]): Promise<readonly unknown[]> {
  return Promise.all(
    requests.map((one) =>
      one.then(
        () => 200,
        (error: { status?: number }) => error.status,
      ),
    ),
  );
}

describe('budgets in a Redis that stands still for a while', { timeout: 60_000 }, () => {
  it('keep nothing of a reservation that was made while it stood still', async () => {
    await using redis = await startRedis();
    const { signal } = redis;
    if (signal === undefined) return;
    await using up = await upstream();
    const [router, admin] = [routerOf(up.baseURL, redis.url), new Redis(redis.url)];
    // So that it is connected.
    const first = router.chat(REQUEST, { account: ACCOUNT });
    await expect.poll(() => up.open).toBe(1);
    up.answer();
    await first;
    // A write whose reply is lost may be counted twice: this one is over before it stands still.
    await expect.poll(() => counters(admin)).toMatchObject({ [HELD]: 0, [SPENT]: COST });
    signal('SIGSTOP');
    const asked = [1, 2, 3].map(() => router.chat(REQUEST, { account: ACCOUNT }));
    await expect.poll(() => up.open).toBe(3);
    await setTimeout(3_000);
    up.answer();
    expect(await statuses(asked)).toEqual([200, 200, 200]);
    signal('SIGCONT');
    await expect.poll(() => counters(admin), { timeout: 20_000 }).toMatchObject({ [HELD]: 0, [SPENT]: 4 * COST });
    await expect.poll(() => counters(admin)).toMatchObject({ [TOKENS]: 30 });
    const more = [1, 2, 3].map(() => router.chat(REQUEST, { account: ACCOUNT }));
    await expect.poll(() => up.open).toBe(3);
    up.answer();
    expect(await statuses(more)).toEqual([200, 200, 200]);
    await router.close();
    admin.disconnect();
  });

  it('give back what was reserved before, however long it stands still, and charge what was spent', async () => {
    await using redis = await startRedis();
    const { signal } = redis;
    if (signal === undefined) return;
    await using up = await upstream();
    const said: string[] = [];
    const [router, other] = [routerOf(up.baseURL, redis.url, said), routerOf(up.baseURL, redis.url)];
    const admin = new Redis(redis.url);
    const asked = [1, 2, 3].map(() => router.chat(REQUEST, { account: ACCOUNT }));
    await expect.poll(() => up.open).toBe(3);
    expect((await counters(admin))[HELD]).toBeGreaterThan(9e9);
    signal('SIGSTOP');
    up.answer();
    expect(await statuses(asked)).toEqual([200, 200, 200]);
    await setTimeout(3_000);
    signal('SIGCONT');
    // By itself: nothing is sent through this router any more.
    await expect.poll(() => counters(admin), { timeout: 20_000 }).toMatchObject({ [HELD]: 0, [SPENT]: 3 * COST });
    await expect.poll(() => counters(admin)).toMatchObject({ [TOKENS]: 90 });
    const elsewhere = [1, 2, 3].map(() => other.chat(REQUEST, { account: ACCOUNT }));
    await expect.poll(() => up.open).toBe(3);
    up.answer();
    expect(await statuses(elsewhere)).toEqual([200, 200, 200]);
    expect(said).toEqual([expect.stringContaining('each process keeps its own'), expect.stringContaining('again')]);
    await Promise.all([router.close(), other.close()]);
    admin.disconnect();
  });

  it('settle here what was reserved here, and there what was reserved there', async () => {
    await using redis = await startRedis();
    const { signal } = redis;
    if (signal === undefined) return;
    await using up = await upstream();
    const [router, admin] = [routerOf(up.baseURL, redis.url), new Redis(redis.url)];
    const before = router.chat(REQUEST, { account: ACCOUNT });
    await expect.poll(() => up.open).toBe(1);
    signal('SIGSTOP');
    const during = router.chat(REQUEST, { account: ACCOUNT });
    await expect.poll(() => up.open).toBe(2);
    signal('SIGCONT');
    await setTimeout(500);
    const after = router.chat(REQUEST, { account: ACCOUNT });
    await expect.poll(() => up.open).toBe(3);
    up.answer();
    expect(await statuses([before, during, after])).toEqual([200, 200, 200]);
    await expect.poll(() => counters(admin), { timeout: 20_000 }).toMatchObject({ [HELD]: 0, [SPENT]: 3 * COST });
    await router.close();
    admin.disconnect();
  });
});
