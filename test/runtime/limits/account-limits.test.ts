import { type Account, type RouterConfig, createRouter } from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { answer, batchProvider, batchScene, chatBatch } from '../../support/batches.ts';
import { chatBody, send } from '../../support/http-call.ts';
import { ask, instant } from '../../support/simulated.ts';

const REQUEST = ask('Hello');

/** A router whose accounts come from elsewhere, with limits that no type has checked. */
function bench(limits: object, more: Partial<RouterConfig> = {}) {
  const account = { id: 'acme', ...limits } as Account;
  const warnings: string[] = [];
  let asked = 0;
  const environment = fakeEnvironment();
  const router = createRouter({
    providers: [instant({ environment })],
    environment,
    authenticate: () => account,
    on: { warning: ({ code, message }) => warnings.push(`${code}: ${message}`), attempt: () => (asked += 1) },
    ...more,
  });
  return { router, account, environment, warnings, asked: () => asked };
}

describe('an account whose limits mean nothing', () => {
  it.each<[string, object, string]>([
    [
      'NaN requests',
      { rateLimits: { requestsPerMinute: Number.NaN } },
      'rateLimits.requestsPerMinute must be a non-negative number',
    ],
    [
      'fewer than no tokens',
      { rateLimits: { tokensPerMinute: -1 } },
      'rateLimits.tokensPerMinute must be a non-negative number',
    ],
    ['requests as text', { rateLimits: { requestsPerMinute: '60' } }, 'negative number, not a string'],
    ['a misspelt limit', { rateLimits: { requestPerMinute: 6 } }, 'did you mean "requestsPerMinute"?'],
    ['NaN dollars', { budget: { limitUsd: Number.NaN } }, 'budget.limitUsd must be US dollars from 0'],
    ['fewer than no dollars', { budget: { limitUsd: -1 } }, 'budget.limitUsd must be US dollars from 0'],
    ['endless dollars', { budget: { limitUsd: Infinity } }, 'budget.limitUsd must be US dollars from 0'],
    ['a budget of null', { budget: null }, 'budget must be an object, not null'],
    ['a period that is none', { keyId: 'k', keyBudget: { limitUsd: 1, period: 'hour' } }, 'keyBudget.period must be'],
  ])('gets a 503 and a warning that says why: %s', async (_name, limits, why) => {
    const { router, account, warnings, asked } = bench(limits);
    const refused = await send(router, { body: chatBody({ model: 'simulated/small' }) });
    expect([refused.status, refused.headers['x-should-retry']]).toEqual([503, 'false']);
    expect(refused.text).toContain('only the operator of this router can mend');
    expect(refused.text).not.toContain('US dollars');
    await expect(router.chat(REQUEST, { account })).rejects.toMatchObject({ status: 503, errorType: 'server' });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^account: The limits of the account "acme" cannot be used/);
    expect(warnings[0]).toContain(why);
    expect(asked()).toBe(0);
  });

  it('is told of again after a minute, and served as soon as its limits are right', async () => {
    const limits: { rateLimits: object } = { rateLimits: { requestsPerMinute: Number.NaN } };
    const { router, environment, warnings } = bench({}, { authenticate: () => ({ id: 'acme', ...limits }) });
    const status = async () => (await send(router, { body: chatBody({ model: 'simulated/small' }) })).status;
    expect([await status(), await status(), warnings.length]).toEqual([503, 503, 1]);
    await environment.advance(60_000);
    expect([await status(), warnings.length]).toEqual([503, 2]);
    limits.rateLimits = { requestsPerMinute: 1 };
    expect([await status(), await status(), warnings.length]).toEqual([200, 429, 2]);
  });

  it('creates no batch', async () => {
    const { router, account, warnings } = bench({ budget: { limitUsd: -1 } });
    const requests = [{ custom_id: 'a', body: { messages: [{ role: 'user', content: 'Hello' }] } }];
    const batch = { endpoint: '/v1/chat/completions', model: 'simulated/small', requests };
    expect((await send(router, { path: '/batches', body: batch })).status).toBe(503);
    expect((await router.batches.list({ account })).data).toEqual([]);
    expect(warnings.filter((text) => text.startsWith('account:'))).toHaveLength(1);
  });
});

describe('an account that a running batch finds', () => {
  it('keeps the batch waiting while its limits mean nothing, and runs it when they are right', async () => {
    const warnings: string[] = [];
    let found: Account = { id: 'anonymous', budget: { limitUsd: Number.NaN } };
    let calls = 0;
    const scene = batchScene({
      providers: [batchProvider('up', () => ((calls += 1), answer('ok')))],
      on: { warning: ({ code, message }) => warnings.push(`${code}: ${message}`) },
      budgets: { unknownPrice: 'allow' },
      batches: { accountOf: () => found },
    });
    const { id } = await scene.router.batches.create(chatBatch(2));
    await scene.router.batches.start();
    await scene.advance(60_000);
    expect(calls).toBe(0);
    expect(warnings.find((text) => text.startsWith('account:'))).toContain('budget.limitUsd');
    expect((await scene.router.batches.retrieve(id)).finalized_at).toBeNull();
    found = { id: 'anonymous', budget: { limitUsd: 1 } };
    const done = await scene.ended(id);
    expect([done.status, done.request_counts, calls]).toEqual(['completed', { total: 2, completed: 2, failed: 0 }, 2]);
    await scene.router.close();
  });
});

describe('an account whose limits mean something', () => {
  it.each([
    {},
    { rateLimits: {} },
    { rateLimits: { requestsPerMinute: Infinity, tokensPerMinute: undefined, freeModels: { requestsPerDay: 0 } } },
    { budget: { limitUsd: 1, period: 'day' }, keyId: 'k', keyBudget: { limitUsd: 1.5 } },
  ])('is served: %o', async (limits) => {
    const { router, warnings } = bench(limits, { budgets: { unknownPrice: 'allow' } });
    expect((await send(router, { body: chatBody({ model: 'simulated/small' }) })).status).toBe(200);
    expect(warnings).toEqual([]);
  });
});
