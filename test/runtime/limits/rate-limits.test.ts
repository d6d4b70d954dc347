import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../../src/storage/memory.ts';
import { stateRateLimiter } from '../../../src/storage/state-limits.ts';
import { runs } from '../../support/properties.ts';
import type { Account } from '../../../src/contracts/account.ts';
import { RouterError } from '../../../src/protocol/router-error.ts';
import type { RouterConfig } from '../../../src/config/router.ts';
import { apiKeys } from '../../../src/http/api-keys.ts';
import { resolveConfig } from '../../../src/config/resolve-config.ts';
import { createRouter } from '../../../src/index.ts';
import { batchProvider, batchScene, chatBatch } from '../../support/batches.ts';
import { type Bench, askAndWait, benchOf, statusOf } from '../../support/driving.ts';
import { chatBody, send } from '../../support/http-call.ts';
import type { Behaviour } from '../../support/stub-provider.ts';
import { fakeEnvironment } from '../../../src/testing/fake-environment.ts';
import { instant } from '../../support/simulated.ts';

const MINUTE = 60_000;
/** What was used is forgotten in steps. */
const SLOT = 5_000;
const USAGE = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
const ANSWER: Behaviour = { does: 'answer', usage: USAGE, reply: 'whole', everyMs: 0 };

function bench(config: Partial<RouterConfig>, behaves: Behaviour | readonly Behaviour[] = ANSWER): Bench {
  return benchOf({ p0: { behaves, models: { 'acme/one': {}, 'acme/two': [{}, { variant: 'free' }] } } }, config);
}

/** Makes a request that takes no time of the fake clock. */
async function statusNow({ router, environment }: Bench, account: string | Account = 'a', fields: object = {}) {
  const request = { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }], ...fields } as const;
  const asked = router.chat(request, { account: typeof account === 'string' ? { id: account } : account }).then(
    () => 200,
    (error: unknown) => (RouterError.isInstance(error) ? error : 500),
  );
  await environment.advance(0);
  return asked;
}

describe('requests per minute', () => {
  it('are counted for each account, and are free again after a minute', async () => {
    const own = bench({ rateLimits: { default: { requestsPerMinute: 2 } } });
    await own.environment.advance(20_000);
    expect([await statusNow(own), await statusNow(own), await statusNow(own, 'b')]).toEqual([200, 200, 200]);
    const refused = await statusNow(own);
    expect(refused).toMatchObject({
      status: 429,
      errorType: 'rate_limit_exceeded',
      retryAfterMs: 65_000,
      metadata: {
        headers: {
          'X-RateLimit-Limit': '2',
          'X-RateLimit-Remaining': '0',
          'X-RateLimit-Reset': String(Date.UTC(2026, 0, 1) + 85_000),
        },
      },
    });
    await own.environment.advance(64_999);
    expect(await statusNow(own)).toBeInstanceOf(RouterError);
    await own.environment.advance(1);
    expect(await statusNow(own)).toBe(200);
    expect(own.stubs.calls).toHaveLength(4);
  });

  it('are those of the account where it brings its own', async () => {
    const own = bench({ rateLimits: { default: { requestsPerMinute: 1 } } });
    const account = { id: 'a', rateLimits: { requestsPerMinute: 3 } };
    // What is refused because it is wrong has not been counted.
    expect(await statusNow(own, account, { messages: [] })).toMatchObject({ status: 400 });
    const statuses = [];
    for (let index = 0; index < 4; index += 1) statuses.push(await statusNow(own, account));
    expect(statuses.map((status) => (typeof status === 'number' ? status : status.status))).toEqual([
      200, 200, 200, 429,
    ]);
  });

  it.each([
    ['whole', '/chat/completions', chatBody()],
    ['streamed', '/chat/completions', chatBody({ stream: true })],
    ['of messages', '/messages', chatBody({ max_tokens: 10 })],
    ['of responses', '/responses', { model: 'acme/one', input: 'Hello' }],
    ['of responses in a stream', '/responses', { model: 'acme/one', input: 'Hello', stream: true }],
    ['of embeddings', '/embeddings', { model: 'acme/vectors', input: 'Hello' }],
  ])('are told over HTTP with their headers: %s', async (_, path, body) => {
    const environment = fakeEnvironment();
    const models = { 'acme/one': {}, 'acme/vectors': { outputModalities: ['embeddings'] as const } };
    const router = createRouter({
      providers: [instant({ environment, models })],
      environment,
      rateLimits: { default: { requestsPerMinute: 0 } },
    });
    const answer = await send(router, { path, body });
    expect([answer.status, answer.headers['retry-after'], answer.headers['x-ratelimit-limit']]).toEqual([
      429,
      '65',
      '0',
    ]);
    expect(answer.headers['x-ratelimit-remaining']).toBe('0');
    expect(answer.headers['x-ratelimit-reset']).toBe(String(Date.UTC(2026, 0, 1) + 65_000));
    expect(answer.text).toContain('requests-per-min');
    await router.close();
  });

  it('do not hold calls that a plugin makes', async () => {
    const own = bench({
      rateLimits: { default: { requestsPerMinute: 1 } },
      plugins: [
        {
          id: 'asks',
          whenItThrows: 'fail',
          onRequest: async (
            _request: unknown,
            _options: unknown,
            context: { call(body: unknown): PromiseLike<unknown> },
          ) => {
            await context.call({ model: 'acme/one', messages: [{ role: 'user', content: 'Inner' }] });
            return { type: 'continue' };
          },
        } as never,
      ],
    });
    expect(statusOf(await askAndWait(own, { body: { plugins: [{ id: 'asks' }] } }))).toBe(200);
    expect(own.stubs.calls).toHaveLength(2);
  });
});

describe('a minute', () => {
  it('never has more than the limit, whenever it begins, and the time that a refusal tells is enough', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20 }),
        fc.array(fc.integer({ min: 0, max: 9_000 }), { minLength: 1, maxLength: 200 }),
        (limit, gaps) => {
          let now = Date.UTC(2026, 0, 1);
          const limiter = stateRateLimiter(memoryStore({ now: () => now }), () => now);
          const limits = { requestsPerMinute: limit };
          const claim = { account: 'a', limits, tokens: 1, isFree: false };
          const granted: number[] = [];
          for (const gap of gaps) {
            now += gap;
            const decision = limiter.take(claim);
            // A refusal looks up when it ends; what is granted is decided at once.
            if (!(decision instanceof Promise)) granted.push(now);
          }
          for (const from of granted) {
            expect(granted.filter((at) => at >= from && at < from + MINUTE).length).toBeLessThanOrEqual(limit);
          }
          // And no less than the limit in a window and the slot that has begun.
          const busy = granted.length >= limit || granted.length === gaps.length;
          expect(busy).toBe(true);
        },
      ),
      runs(200),
    );
  });

  it('is over when the refusal says', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.integer({ min: 0, max: 20_000 }), { minLength: 1, maxLength: 40 }),
        async (limit, gaps) => {
          let now = Date.UTC(2026, 0, 1);
          const limiter = stateRateLimiter(memoryStore({ now: () => now }), () => now);
          const claim = { account: 'a', limits: { requestsPerMinute: limit }, tokens: 1, isFree: false };
          for (const gap of gaps) {
            now += gap;
            const decision = await limiter.take(claim);
            if (decision.granted) continue;
            now = decision.broken.resetsAt - 1;
            expect((await limiter.take(claim)).granted).toBe(false);
            now = decision.broken.resetsAt;
            expect((await limiter.take(claim)).granted).toBe(true);
          }
        },
      ),
      runs(200),
    );
  });
});

describe('values of metadata and sessions', () => {
  it('have limits of their own beside those of their account', async () => {
    const own = bench({ rateLimits: { default: { requestsPerMinute: 4 }, tags: { team: { requestsPerMinute: 1 } } } });
    const team = (name: string) => ({ metadata: { team: name } });
    expect([await statusNow(own, 'a', team('x')), await statusNow(own, 'a', team('y'))]).toEqual([200, 200]);
    expect(await statusNow(own, 'a', team('x'))).toMatchObject({
      status: 429,
      message: expect.stringContaining('requests-per-min of metadata.team "x". At most 1'),
    });
    expect([await statusNow(own), await statusNow(own, 'b', team('x'))]).toEqual([200, 200]);
    expect(await statusNow(own)).toBe(200);
    expect(await statusNow(own, 'a', team('z'))).toMatchObject({ message: expect.not.stringContaining('metadata') });
  });

  it('are sessions too', async () => {
    const own = bench({ rateLimits: { session: { tokensPerMinute: 1_100 } } });
    const session = { session_id: 's1', max_tokens: 1_000 };
    const both = await Promise.all([statusNow(own, 'a', session), statusNow(own, 'a', session)]);
    expect(both).toEqual([200, expect.objectContaining({ message: expect.stringContaining('of this session') })]);
    expect(await statusNow(own, 'a', session)).toBe(200);
    expect(await statusNow(own, 'a', { ...session, session_id: 's2' })).toBe(200);
    expect(await statusNow(own, 'a', { max_tokens: 5_000 })).toBe(200);
  });
});

describe('tokens per minute', () => {
  it('are estimated first and corrected when the usage is known', async () => {
    const own = bench({ rateLimits: { default: { tokensPerMinute: 1_100 } } });
    const estimate = { max_tokens: 1_000 };
    // Each holds 1,000 at first and uses 30, so one after the other fit and two at once do not.
    expect([await statusNow(own, 'a', estimate), await statusNow(own, 'a', estimate)]).toEqual([200, 200]);
    const both = await Promise.all([statusNow(own, 'a', estimate), statusNow(own, 'a', estimate)]);
    expect(both).toEqual([
      200,
      expect.objectContaining({ status: 429, message: expect.stringContaining('tokens-per-min') }),
    ]);
    // 90 are used: 1,000 more fit, 1,011 do not.
    expect(await statusNow(own, 'a', { max_tokens: 1_011 })).toMatchObject({ status: 429 });
    expect(await statusNow(own, 'a', estimate)).toBe(200);
  });

  it('let a request that is larger than the limit have a minute of its own', async () => {
    const own = bench({ rateLimits: { default: { tokensPerMinute: 100 } } });
    expect(await statusNow(own, 'a', { max_tokens: 5_000 })).toBe(200);
    expect(await statusNow(own, 'a', { max_tokens: 5_000 })).toMatchObject({ status: 429 });
    await own.environment.advance(MINUTE + SLOT);
    expect(await statusNow(own, 'a', { max_tokens: 5_000 })).toBe(200);
  });

  it('are given back by a request that failed', async () => {
    const own = bench(
      { rateLimits: { default: { tokensPerMinute: 1_100 } } },
      { does: 'fail', kind: 'invalid_request' },
    );
    for (let index = 0; index < 3; index += 1) {
      expect(await statusNow(own, 'a', { max_tokens: 1_000 })).toMatchObject({ status: 400 });
    }
  });

  it('count streams, and what a stream that was left was expected to use', async () => {
    const own = bench(
      { rateLimits: { default: { tokensPerMinute: 1_100 } } },
      { does: 'answer', pieces: 3, usage: USAGE },
    );
    const stream = async (leave: boolean): Promise<void> => {
      const chunks = own.router.stream({ ...chatBody(), max_tokens: 1_000 } as never, { account: { id: 'a' } });
      for await (const _ of chunks) if (leave) return;
    };
    const run = async (leave: boolean): Promise<unknown> => {
      const running = stream(leave).catch((error: unknown) => error);
      await own.environment.advance(100);
      return running;
    };
    expect([await run(false), await run(false), await run(true)]).toEqual([undefined, undefined, undefined]);
    expect(await run(false)).toMatchObject({ status: 429 });
  });
});

describe('models that cost nothing', () => {
  it('have limits of their own by the minute and by the day', async () => {
    const own = bench({ rateLimits: { default: { freeModels: { requestsPerMinute: 2, requestsPerDay: 3 } } } });
    const free = { model: 'acme/two:free' };
    expect([await statusNow(own, 'a', free), await statusNow(own, 'a', free)]).toEqual([200, 200]);
    expect(await statusNow(own, 'a', free)).toMatchObject({ message: expect.stringContaining('free-models-per-min') });
    expect(await statusNow(own, 'a', { model: 'acme/two' })).toBe(200);
    await own.environment.advance(MINUTE + SLOT);
    expect(await statusNow(own, 'a', free)).toBe(200);
    const refused = await statusNow(own, 'a', free);
    expect(refused).toMatchObject({ message: expect.stringContaining('free-models-per-day') });
    expect((refused as RouterError).retryAfterMs).toBe(1_440 * MINUTE - MINUTE - SLOT);
  });
});

describe('requests of batches', () => {
  it('wait for their turn, more often than an error would be tried again', async () => {
    const provider = batchProvider('up');
    const starts: number[] = [];
    const scene = batchScene(
      {
        providers: [provider],
        rateLimits: { default: { requestsPerMinute: 2 } },
        on: { attempt: () => void starts.push(scene.environment.now()) },
      },
      {},
      { batches: { itemTries: 2 } },
    );
    await scene.router.batches.start();
    const { id } = await scene.router.batches.create(chatBatch(9));
    const done = await scene.ended(id);
    expect([done.status, done.request_counts]).toEqual(['completed', { total: 9, completed: 9, failed: 0 }]);
    expect(starts).toHaveLength(9);
    for (const from of starts) {
      expect(starts.filter((one) => one >= from && one < from + MINUTE).length).toBeLessThan(3);
    }
    await scene.router.close();
  });
});

describe('the configuration', () => {
  it('names everything that is wrong by its path', () => {
    const config = { rateLimits: { default: { requestsPerMinute: -1, freeModels: { requestsPerDay: Number.NaN } } } };
    const budgets = { default: { limitUsd: -1, period: 'days' as 'day' }, unknownPrice: 'maybe' as 'allow' };
    const providers = [instant()];
    expect(() => resolveConfig({ ...config, budgets, providers })).toThrow(
      [
        'rateLimits.default.requestsPerMinute must be a non-negative number, not -1.',
        'rateLimits.default.freeModels.requestsPerDay must be a non-negative number, not NaN.',
        'budgets.default.limitUsd must be US dollars from 0 to 9000000, not -1.',
        'budgets.default.period must be "day" or "week" or "month" or "total", did you mean "day"?',
        'budgets.unknownPrice must be "refuse" or "allow", not a string.',
      ].join('\n'),
    );
    expect(() =>
      apiKeys([
        { id: 'a', key: 'a key that is long enough', keyBudget: { limitUsd: -5 }, rateLimits: { tokensPerMinute: -1 } },
      ]),
    ).toThrow(/apiKeys\[0\]\.keyBudget\.limitUsd.*\n.*apiKeys\[0\]\.rateLimits\.tokensPerMinute/);
  });
});
