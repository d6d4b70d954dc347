import { Redis } from 'ioredis';
import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Router, type RouterConfig, apiKeys, createRouter, openaiCompatible } from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { redisStore } from 'signalbox/redis';
import { systemEnvironment } from '../../../src/platform/environment.ts';
import { type Mounted, listen } from '../../support/mounts.ts';
import { type RedisServer, startRedis } from '../../support/redis.ts';

const KEY = 'a key for the two of them';
/** What the upstream says that it used: 10 + 2 × 20 millionths of a dollar. */
const USAGE = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
const COST_USD = 0.00005;
/** Limits count by the minute and the day, and neither must end in the middle of a test. */
const STANDING_CLOCK = Date.now();

let server: RedisServer;
let admin: Redis;

beforeAll(async () => {
  server = await startRedis();
  admin = new Redis(server.url);
});

afterAll(async () => {
  admin.disconnect();
  await server[Symbol.asyncDispose]();
});

/** An upstream over a real socket, whose status can be changed. */
async function upstream(): Promise<Mounted & { calls: number; status: number }> {
  const state = { calls: 0, status: 200 };
  const mounted = await listen(
    createServer((request, response) => {
      request.resume().on('end', () => {
        state.calls += 1;
        const { status } = state;
        response.writeHead(status, {
          'content-type': 'application/json',
          ...(status === 429 ? { 'retry-after': '30' } : {}),
        });
        const message = { role: 'assistant', content: `Answer ${state.calls}` };
        const choices = [{ index: 0, finish_reason: 'stop', message }];
        response.end(JSON.stringify(status === 200 ? { choices, usage: USAGE } : { error: { message: 'No' } }));
      });
    }),
  );
  return Object.assign(state, mounted);
}

interface Scene extends AsyncDisposable {
  readonly upstreams: readonly Awaited<ReturnType<typeof upstream>>[];
  readonly routers: readonly Router[];
  readonly said: readonly string[];
  /** Asks one of the instances. */
  readonly ask: (instance: number, body?: object, headers?: Record<string, string>) => Promise<Response>;
}

type Limits = Pick<Parameters<typeof apiKeys>[0][number], 'budget' | 'rateLimits'>;

/** Two instances with three upstreams, over real sockets and one Redis, which may be slow where the machine is busy. */
async function scene(
  prefix: string,
  limits: Limits = {},
  url = server.url,
  options: RouterConfig = {},
): Promise<Scene> {
  const upstreams = [await upstream(), await upstream(), await upstream()];
  const said: string[] = [];
  const routers = [0, 1].map(() =>
    createRouter({
      providers: upstreams.map(({ baseURL }, index) =>
        openaiCompatible({
          slug: `p${index}`,
          baseURL,
          apiKey: 'none',
          models: { 'acme/one': { price: { prompt: 1, completion: 2 } } },
        }),
      ),
      authenticate: apiKeys([{ id: 'a', key: KEY, ...limits }]),
      environment: { ...systemEnvironment(), wallClock: () => STANDING_CLOCK },
      state: redisStore({ url, prefix, timeoutMs: 5_000, warn: (message) => said.push(message) }),
      on: { warning: ({ message }) => void said.push(message) },
      ...options,
    }),
  );
  const mounts = await Promise.all(
    routers.map((router) => listen(createServer(nodeRouter(router, { basePath: '/v1' })))),
  );
  return {
    upstreams,
    routers,
    said,
    ask: (instance, body = {}, headers = {}) =>
      fetch(`${mounts[instance]?.baseURL}/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}`, ...headers },
        body: JSON.stringify({
          model: 'acme/one',
          max_tokens: 20,
          messages: [{ role: 'user', content: 'Hello' }],
          ...body,
        }),
      }),
    async [Symbol.asyncDispose]() {
      for (const one of mounts) await one[Symbol.asyncDispose]();
      for (const router of routers) await router.close();
      for (const one of upstreams) await one[Symbol.asyncDispose]();
    },
  };
}

const statusOf = async (answer: Promise<Response>): Promise<number> => {
  const { status, body } = await answer;
  await body?.cancel();
  return status;
};

/** Calls of all upstreams together. */
const callsOf = ({ upstreams }: Scene): number => upstreams.reduce((sum, { calls }) => sum + calls, 0);

describe('two instances over one Redis', () => {
  it('keep a session with one provider', async () => {
    // An endpoint that a busy machine makes slow is rightly left, and so is none here.
    await using own = await scene('sticky:', {}, server.url, { strategy: 'balanced', hedge: false });
    expect(await statusOf(own.ask(0, { session_id: 'one' }))).toBe(200);
    // The other instance knows when it is written, which no answer waits for.
    await expect.poll(async () => (await admin.keys('sticky:sticky*')).length).toBe(1);
    for (let index = 1; index < 24; index += 1) {
      expect(await statusOf(own.ask(index % 2, { session_id: 'one' }))).toBe(200);
    }
    expect(own.upstreams.map(({ calls }) => calls).sort((a, b) => a - b)).toEqual([0, 0, 24]);
  });

  it('count requests together', async () => {
    await using own = await scene('rate:', { rateLimits: { requestsPerMinute: 10 } });
    const statuses = await Promise.all(Array.from({ length: 30 }, (_, index) => statusOf(own.ask(index % 2))));
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(20);
    expect(callsOf(own)).toBe(10);
  });

  it('spend one budget, and never more', async () => {
    await using own = await scene('budget:', { budget: { limitUsd: 10 * COST_USD, period: 'day' } });
    let served = 0;
    for (let round = 0; round < 6; round += 1) {
      const statuses = await Promise.all(Array.from({ length: 8 }, (_, index) => statusOf(own.ask(index % 2))));
      served += statuses.filter((status) => status === 200).length;
      expect(statuses.every((status) => status === 200 || status === 402)).toBe(true);
    }
    // The last one does not fit any more: it could cost more than it does.
    expect(served).toBe(9);
    expect(callsOf(own)).toBe(9);
  });

  it('answer from one cache', async () => {
    await using own = await scene('cache:');
    const asked = { 'x-router-cache': 'true' };
    const first = await own.ask(0, {}, asked);
    await first.text();
    await expect.poll(async () => (await admin.keys('cache:response*')).length).toBe(1);
    let hits = 0;
    for (let index = 0; index < 20; index += 1) {
      const answer = await own.ask(index % 2, {}, asked);
      if (answer.headers.get('x-router-cache-status') === 'HIT') hits += 1;
      expect(await answer.json()).toMatchObject({
        choices: [{ message: { content: 'Answer 1' } }],
        usage: { total_tokens: 0 },
      });
    }
    expect([hits, callsOf(own)]).toEqual([20, 1]);
  });

  it('leave a provider alone that turned one of them away', async () => {
    await using own = await scene('cool:');
    for (const one of own.upstreams.slice(0, 2)) one.status = 429;
    const only = (slug: string) => ({ provider: { only: [slug] } });
    expect(await statusOf(own.ask(0, only('p0')))).toBe(429);
    expect(await statusOf(own.ask(0, only('p1')))).toBe(429);
    const before = own.upstreams.slice(0, 2).map(({ calls }) => calls);
    await expect.poll(async () => (await admin.keys('cool:cooldowns*')).length).toBe(3);
    for (let index = 0; index < 20; index += 1) expect(await statusOf(own.ask(1))).toBe(200);
    expect(own.upstreams.slice(0, 2).map(({ calls }) => calls)).toEqual(before);
    expect(own.upstreams[2]?.calls).toBe(20);
  });

  it('go on with what each knows when Redis is killed, and say so once', async () => {
    const redis = await startRedis();
    if (redis.signal === undefined) return;
    await using own = await scene(
      'killed:',
      { rateLimits: { requestsPerMinute: 1_000 }, budget: { limitUsd: 1 } },
      redis.url,
    );
    const asked = { 'x-router-cache': 'true' };
    const round = async (count: number): Promise<number[]> =>
      Promise.all(
        Array.from({ length: count }, (_, index) =>
          statusOf(own.ask(index % 2, { session_id: `s${index}`, user: `u${index}` }, asked)),
        ),
      );
    expect(new Set(await round(20))).toEqual(new Set([200]));
    expect(own.said).toEqual([]);
    const during = round(40);
    redis.signal('SIGKILL');
    expect(new Set(await during)).toEqual(new Set([200]));
    expect(new Set(await round(40))).toEqual(new Set([200]));
    expect(own.said).toHaveLength(2);
    expect(own.said.every((message) => message.includes('each process keeps its own'))).toBe(true);
    await redis[Symbol.asyncDispose]();
  });
});
