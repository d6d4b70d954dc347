import { describe, expect, it } from 'vitest';
import type { Account } from '../../src/core/account.ts';
import { RouterError } from '../../src/protocol/router-error.ts';
import type { RouterConfig } from '../../src/config/router.ts';
import { apiKeys } from '../../src/http/api-keys.ts';
import { resolveConfig } from '../../src/config/resolve-config.ts';
import { createRouter } from '../../src/index.ts';
import { batchProvider, batchScene, chatBatch } from '../support/batches.ts';
import { type Bench, askAndWait, benchOf, statusOf } from '../support/driving.ts';
import { chatBody, send } from '../support/http-call.ts';
import type { Behaviour } from '../support/stub-provider.ts';
import { fakeEnvironment } from '../../src/testing/fake-environment.ts';
import { instant } from '../support/simulated.ts';

const MINUTE = 60_000;
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
  it('are counted for each account, and begin anew with the minute', async () => {
    const own = bench({ rateLimits: { requestsPerMinute: 2 } });
    await own.environment.advance(20_000);
    expect([await statusNow(own), await statusNow(own), await statusNow(own, 'b')]).toEqual([200, 200, 200]);
    const refused = await statusNow(own);
    expect(refused).toMatchObject({
      status: 429,
      errorType: 'rate_limit_exceeded',
      retryAfterMs: 40_000,
      metadata: {
        headers: {
          'X-RateLimit-Limit': '2',
          'X-RateLimit-Remaining': '0',
          'X-RateLimit-Reset': String(Date.UTC(2026, 0, 1) + MINUTE),
        },
      },
    });
    await own.environment.advance(39_999);
    expect(await statusNow(own)).toBeInstanceOf(RouterError);
    await own.environment.advance(1);
    expect(await statusNow(own)).toBe(200);
    expect(own.stubs.calls).toHaveLength(4);
  });

  it('are those of the account where it brings its own', async () => {
    const own = bench({ rateLimits: { requestsPerMinute: 1 } });
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
      rateLimits: { requestsPerMinute: 0 },
    });
    const answer = await send(router, { path, body });
    expect([answer.status, answer.headers['retry-after'], answer.headers['x-ratelimit-limit']]).toEqual([
      429,
      '60',
      '0',
    ]);
    expect(answer.headers['x-ratelimit-remaining']).toBe('0');
    expect(answer.headers['x-ratelimit-reset']).toBe(String(Date.UTC(2026, 0, 1) + MINUTE));
    expect(answer.text).toContain('requests-per-min');
    await router.close();
  });

  it('do not hold calls that a plugin makes', async () => {
    const own = bench({
      rateLimits: { requestsPerMinute: 1 },
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

describe('tokens per minute', () => {
  it('are estimated first and corrected when the usage is known', async () => {
    const own = bench({ rateLimits: { tokensPerMinute: 1_100 } });
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
    const own = bench({ rateLimits: { tokensPerMinute: 100 } });
    expect(await statusNow(own, 'a', { max_tokens: 5_000 })).toBe(200);
    expect(await statusNow(own, 'a', { max_tokens: 5_000 })).toMatchObject({ status: 429 });
    await own.environment.advance(MINUTE);
    expect(await statusNow(own, 'a', { max_tokens: 5_000 })).toBe(200);
  });

  it('are given back by a request that failed', async () => {
    const own = bench({ rateLimits: { tokensPerMinute: 1_100 } }, { does: 'fail', kind: 'invalid_request' });
    for (let index = 0; index < 3; index += 1) {
      expect(await statusNow(own, 'a', { max_tokens: 1_000 })).toMatchObject({ status: 400 });
    }
  });

  it('count streams, and what a stream that was left was expected to use', async () => {
    const own = bench({ rateLimits: { tokensPerMinute: 1_100 } }, { does: 'answer', pieces: 3, usage: USAGE });
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
    const own = bench({ rateLimits: { freeModels: { requestsPerMinute: 2, requestsPerDay: 3 } } });
    const free = { model: 'acme/two:free' };
    expect([await statusNow(own, 'a', free), await statusNow(own, 'a', free)]).toEqual([200, 200]);
    expect(await statusNow(own, 'a', free)).toMatchObject({ message: expect.stringContaining('free-models-per-min') });
    expect(await statusNow(own, 'a', { model: 'acme/two' })).toBe(200);
    await own.environment.advance(MINUTE);
    expect(await statusNow(own, 'a', free)).toBe(200);
    const refused = await statusNow(own, 'a', free);
    expect(refused).toMatchObject({ message: expect.stringContaining('free-models-per-day') });
    expect((refused as RouterError).retryAfterMs).toBe(1_440 * MINUTE - MINUTE);
  });
});

describe('requests of batches', () => {
  it('wait for their turn, more often than an error would be tried again', async () => {
    const provider = batchProvider('up');
    const starts: number[] = [];
    const scene = batchScene({
      providers: [provider],
      rateLimits: { requestsPerMinute: 2 },
      batches: { limits: { itemTries: 2 } },
      on: { attempt: () => void starts.push(Math.floor(scene.environment.now() / MINUTE)) },
    });
    await scene.router.batches.start();
    const { id } = await scene.router.batches.create(chatBatch(9));
    const done = await scene.ended(id);
    expect([done.status, done.request_counts]).toEqual(['completed', { total: 9, completed: 9, failed: 0 }]);
    expect(starts).toHaveLength(9);
    for (const minute of new Set(starts)) expect(starts.filter((one) => one === minute).length).toBeLessThan(3);
    await scene.router.close();
  });
});

describe('the configuration', () => {
  it('names everything that is wrong by its path', () => {
    const config = { rateLimits: { requestsPerMinute: -1, freeModels: { requestsPerDay: Number.NaN } } };
    const budgets = { default: { limitUsd: -1, period: 'days' as 'day' }, holdMs: 1, unknownPrice: 'maybe' as 'allow' };
    const providers = [instant()];
    expect(() => resolveConfig({ ...config, budgets, providers })).toThrow(
      [
        'rateLimits.requestsPerMinute must be a number that is not negative, not -1.',
        'rateLimits.freeModels.requestsPerDay must be a number that is not negative, not NaN.',
        'budgets.default.limitUsd must be US dollars from 0 to 9000000, not -1.',
        'budgets.default.period must be "day" or "week" or "month" or "total", did you mean "day"?',
        'budgets.holdMs must be a number of at least 1,000 milliseconds, not 1.',
        'budgets.unknownPrice must be "refuse" or "allow", not a text.',
      ].join('\n'),
    );
    expect(() =>
      apiKeys([
        { id: 'a', key: 'a key that is long enough', keyBudget: { limitUsd: -5 }, rateLimits: { tokensPerMinute: -1 } },
      ]),
    ).toThrow(/apiKeys\[0\]\.keyBudget\.limitUsd.*\n.*apiKeys\[0\]\.rateLimits\.tokensPerMinute/);
  });
});
