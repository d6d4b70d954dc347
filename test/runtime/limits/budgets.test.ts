import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Account } from '../../../src/contracts/account.ts';
import { turnAt } from '../../../src/core/limits/budget.ts';
import type { RouterError } from '../../../src/protocol/router-error.ts';
import type { BudgetsOptions } from '../../../src/config/limits.ts';
import { stateBudgets } from '../../../src/storage/state-limits.ts';
import { memoryStore } from '../../../src/storage/memory.ts';
import { apiKeys } from '../../../src/http/api-keys.ts';
import type { ChatRequest } from '../../../src/protocol/chat-request.ts';
import { batchProvider, batchScene, chatBatch } from '../../support/batches.ts';
import { type Bench, LONG_MS, ask, askAndWait, benchOf, statusOf } from '../../support/driving.ts';
import { chatBody, send } from '../../support/http-call.ts';
import { runs } from '../../support/properties.ts';
import type { Behaviour, StubOptions } from '../../support/stub-provider.ts';

/** USD per million tokens: a thousand and two thousand nano-dollars a token. */
const PRICE = { prompt: 1, completion: 2 };
const models: NonNullable<StubOptions['models']> = { 'acme/one': { price: PRICE } };
/** 10 + 2 × 20 = 50 millionths of a dollar. */
const USAGE = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
const ANSWER: Behaviour = { does: 'answer', usage: USAGE, reply: 'whole' };
const BODY: Partial<ChatRequest> = { max_tokens: 20 };
const COST_USD = 0.00005;

function bench(behaves: StubOptions['behaves'], budgets: BudgetsOptions = {}, more: object = {}): Bench {
  return benchOf({ p0: { behaves, models } }, { budgets, ...more });
}

function accountWith(limitUsd: number, more: Partial<Account> = {}): Account {
  return { id: 'a', budget: { limitUsd }, ...more };
}

async function statusesOf(
  own: Bench,
  count: number,
  asked: Parameters<typeof ask>[1],
): Promise<(number | undefined)[]> {
  const statuses = [];
  for (let index = 0; index < count; index += 1)
    statuses.push(statusOf(await askAndWait(own, { body: BODY, ...asked })));
  return statuses;
}

describe('a budget', () => {
  it('lets requests through until one could cost more than is left', async () => {
    const own = bench(ANSWER);
    // A request may cost 92 millionths, and costs 50: after three, 50 are left.
    const account = accountWith(4 * COST_USD);
    expect(await statusesOf(own, 4, { account })).toEqual([200, 200, 200, 402]);
    expect(await statusesOf(own, 1, { account, stream: true })).toEqual([402]);
    expect(await statusesOf(own, 1, { account: { id: 'b' } })).toEqual([200]);
    // A shorter answer can still be paid.
    expect(statusOf(await askAndWait(own, { account, body: { max_tokens: 3 } }))).toBe(200);
    expect(own.stubs.calls).toHaveLength(5);
  });

  it('is charged for a stream that its provider broke after it had said something, and not before', async () => {
    const account = accountWith(2 * COST_USD);
    const once = { fallback: { maxAttempts: 1 } };
    const silent = bench({ does: 'break', kind: 'server', pieces: 0 }, {}, once);
    expect(await statusesOf(silent, 5, { account, stream: true })).not.toContain(402);
    const speaking = bench({ does: 'break', kind: 'server', pieces: 5 }, {}, once);
    expect(await statusesOf(speaking, 5, { account, stream: true })).toContain(402);
    const usage = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
    const telling = bench({ does: 'break', kind: 'server', pieces: 5, usage }, {}, once);
    expect(await statusesOf(telling, 5, { account, stream: true })).toContain(402);
  });

  it('may belong to a value of the metadata, or to a session, beside that of the account', async () => {
    const own = bench(ANSWER, { tags: { team: { limitUsd: 2 * COST_USD } }, session: { limitUsd: 2 * COST_USD } });
    const team = (name: string) => ({ body: { ...BODY, metadata: { team: name } } });
    expect(await statusesOf(own, 2, team('x'))).toEqual([200, 402]);
    expect(await statusesOf(own, 1, team('y'))).toEqual([200]);
    const { error } = await askAndWait(own, { body: { max_tokens: 10_000, metadata: { team: 'x' } } });
    expect(error).toMatchObject({ metadata: { limit_source: 'tag_budget' } });
    const session = { body: { ...BODY, session_id: 's' } };
    expect(await statusesOf(own, 2, session)).toEqual([200, 402]);
    expect(await statusesOf(own, 2, { body: { ...BODY, session_id: 't' }, account: { id: 'b' } })).toEqual([200, 402]);
    expect(await statusesOf(own, 3, {})).toEqual([200, 200, 200]);
    const both = bench(ANSWER, { tags: { team: { limitUsd: 1 } } });
    expect(await statusesOf(both, 2, { ...team('x'), account: accountWith(2 * COST_USD) })).toEqual([200, 402]);
  });

  it('says in its error what would help', async () => {
    const own = bench(ANSWER);
    const { error } = await askAndWait(own, { account: accountWith(0.00007), body: BODY });
    expect(error).toMatchObject({
      status: 402,
      errorType: 'payment_required',
      message: expect.stringMatching(
        /^This request requires more credits, or fewer max_tokens\. You requested up to 20 tokens, but can only afford \d+ of the budget of this account: \$0\.00007 of \$0\.00007 are left, and the cheapest endpoint may cost \$0\.0+\d+$/,
      ),
      metadata: { provider_name: null, limit_source: 'account_budget' },
    });
    const affordable = Number(/afford (\d+)/.exec((error as RouterError).message)?.[1]);
    const fits = { account: accountWith(0.00007), body: { max_tokens: affordable } };
    expect(statusOf(await askAndWait(own, { ...fits, body: { max_tokens: affordable + 1 } }))).toBe(402);
    expect(statusOf(await askAndWait(own, fits))).toBe(200);
    const empty = await askAndWait(own, { account: { id: 'c', budget: { limitUsd: 0, period: 'day' } }, body: BODY });
    expect(empty.error).toMatchObject({
      message: expect.stringMatching(
        /^Insufficient credits: the budget of this account, \$0 per day, has \$0 left, but this request may cost up to \$0\.0\d+ at the cheapest endpoint, of which \$0\.0\d+ for up to 20 tokens of output$/,
      ),
      metadata: { resets_at: Date.UTC(2026, 0, 2) },
    });
  });

  it('is told over HTTP, where a key may have one beside its account', async () => {
    const own = bench(
      ANSWER,
      {},
      {
        authenticate: apiKeys([
          { id: 'a', key: 'the first key of all', keyBudget: { limitUsd: 0.0001 } },
          { id: 'a', key: 'the second key of all', keyBudget: { limitUsd: 0.0001 } },
        ]),
      },
    );
    const call = async (key: string): Promise<Awaited<ReturnType<typeof send>>> => {
      const sent = send(own.router, { headers: { authorization: `Bearer ${key}` }, body: chatBody({ ...BODY }) });
      await own.environment.advance(100);
      return sent;
    };
    expect((await call('the first key of all')).status).toBe(200);
    const refused = await call('the first key of all');
    expect([refused.status, refused.error.code, refused.error.metadata]).toEqual([
      402,
      402,
      expect.objectContaining({ error_type: 'payment_required', limit_source: 'key_budget' }),
    ]);
    expect((await call('the second key of all')).status).toBe(200);
  });

  it('begins anew with its period', async () => {
    const own = bench(ANSWER);
    const account = accountWith(2 * COST_USD, { budget: { limitUsd: 2 * COST_USD, period: 'day' } });
    expect(await statusesOf(own, 2, { account })).toEqual([200, 402]);
    await own.environment.advance(86_400_000);
    expect(await statusesOf(own, 2, { account })).toEqual([200, 402]);
  });

  it('counts what failed attempts cost, and nothing that a provider did not bill', async () => {
    const broken: Behaviour = { does: 'break', kind: 'server', pieces: 0, usage: USAGE };
    const own = benchOf({ p0: { behaves: [broken, ANSWER], models }, p1: { behaves: ANSWER, models } });
    const failing = bench({ does: 'fail', kind: 'server' }, {}, { fallback: { triesPerEndpoint: 1 } });
    const account = accountWith(3 * COST_USD);
    const body = { ...BODY, provider: { order: ['p0', 'p1'] } };
    expect(statusOf(await askAndWait(own, { account, body, stream: true }))).toBe(200);
    expect(own.stubs.calls).toHaveLength(2);
    // Two calls were billed, so 50 are left.
    expect(statusOf(await askAndWait(own, { account, body }))).toBe(402);
    expect(await statusesOf(failing, 3, { account })).toEqual([502, expect.any(Number), expect.any(Number)]);
    expect(
      await failing.router.internals.services.spending.reserve({ account } as never, { byok: {} } as never, 1),
    ).toBeUndefined();
  });

  it('counts calls that plugins make, and what their services cost', async () => {
    const asks = {
      id: 'asks',
      whenItThrows: 'fail',
      async onRequest(
        _: unknown,
        __: unknown,
        context: { call(body: object): Promise<unknown>; used(use: object): void },
      ) {
        context.used({ cost: 0.0001 });
        await context.call({ model: 'acme/one', max_tokens: 20, messages: [{ role: 'user', content: 'Inner' }] });
        return { type: 'continue' };
      },
    };
    const own = bench(ANSWER, {}, { plugins: [asks] });
    const body = { ...BODY, plugins: [{ id: 'asks' }] };
    // 100 for the service, 50 for each of two calls.
    const account = accountWith(0.00027);
    expect(statusOf(await askAndWait(own, { account, body }))).toBe(200);
    expect(statusOf(await askAndWait(own, { account, body: BODY }))).toBe(402);
    expect(statusOf(await askAndWait(own, { account: accountWith(0.0003), body: BODY }))).toBe(200);
  });

  it('charges a stream that its caller leaves', async () => {
    const own = bench({ does: 'answer', pieces: 20, everyMs: 1 });
    const account = accountWith(0.00012);
    const statuses = [];
    for (let index = 0; index < 6; index += 1) {
      statuses.push((await askAndWait(own, { account, body: BODY, stream: true, leaveAfter: 12 })).status);
    }
    expect(statuses[0]).toBe('left');
    expect(statuses.at(-1)).toBe('failed');
  });

  it('holds embeddings, and requests of batches long after their caller is gone', async () => {
    const provider = batchProvider('up', undefined, {
      models: { 'acme/one': { price: PRICE }, 'acme/vectors': { price: PRICE, outputModalities: ['embeddings'] } },
      embed: () =>
        Promise.resolve({
          type: 'embedded',
          result: { vectors: [[1, 2]], usage: { prompt_tokens: 20, completion_tokens: 0, total_tokens: 20 } },
        }),
    });
    const scene = batchScene({ providers: [provider] });
    const embeds = { id: 'e', budget: { limitUsd: 0.00006 } };
    const embed = (): Promise<unknown> =>
      scene.router.embed({ model: 'acme/vectors', input: 'Hello' } as never, { account: embeds }).then(
        () => 200,
        (error: RouterError) => error.status,
      );
    expect([await embed(), await embed(), await embed()]).toEqual([200, 200, 402]);

    await scene.router.batches.start();
    const account = { id: 'b', budget: { limitUsd: 0.0001 } };
    const requests = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight'].map((content) => {
      return { custom_id: content, body: { max_tokens: 10, messages: [{ role: 'user', content }] } };
    });
    const { id } = await scene.router.batches.create(chatBatch(0, { requests: requests as never }), { account });
    let batch = await scene.router.batches.retrieve(id, { account });
    for (let turn = 0; turn < 100 && batch.finalized_at === null; turn += 1) {
      await scene.advance(1_000);
      batch = await scene.router.batches.retrieve(id, { account });
    }
    // Each is billed 20 millionths.
    expect(batch.request_counts.completed).toBeGreaterThan(0);
    expect(batch.request_counts.completed).toBeLessThanOrEqual(5);
    expect(batch.request_counts.failed).toBe(8 - batch.request_counts.completed);
    expect(provider.calls).toHaveLength(batch.request_counts.completed);
    await scene.router.close();
  });

  it('costs nothing where the account pays its provider itself', async () => {
    const own = bench(ANSWER);
    const providerKeys = { p0: { apiKey: 'its own' } };
    expect(await statusesOf(own, 3, { account: accountWith(0, { providerKeys }) })).toEqual([200, 200, 200]);
    expect(own.stubs.calls.map(({ apiKey }) => apiKey)).toEqual(['its own', 'its own', 'its own']);
  });

  it.each([
    ['refuse', [402, 402]],
    ['allow', [200, 200]],
  ] as const)('with a model whose price nobody knows: %s', async (unknownPrice, expected) => {
    const own = benchOf({ p0: { behaves: ANSWER } }, { budgets: { unknownPrice } });
    expect(await statusesOf(own, 2, { account: accountWith(1) })).toEqual(expected);
  });

  it('never lets concurrent requests spend more than there is', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 2_000 }),
        fc.array(fc.record({ tokens: fc.nat(40), after: fc.nat(20), stream: fc.boolean(), leave: fc.boolean() }), {
          minLength: 5,
          maxLength: 40,
        }),
        async (millionths, plans) => {
          const behaves = (call: number): Behaviour => {
            const { tokens = 0, after = 0, stream = false } = plans[call % plans.length] ?? {};
            const usage = { prompt_tokens: 10, completion_tokens: tokens, total_tokens: 10 + tokens };
            return { does: 'answer', usage, afterMs: after, ...(stream ? { pieces: 2 } : { reply: 'whole' }) };
          };
          const own = bench(behaves);
          const account = accountWith(millionths / 1e6);
          const running = plans.map(({ stream, leave }) =>
            ask(own, { account, stream, body: { max_tokens: 40 }, leaveAfter: leave ? 2 : undefined }),
          );
          await own.environment.advance(LONG_MS);
          const outcomes = running.map(({ outcome }) => outcome);
          expect(outcomes.map((outcome) => outcome && (statusOf(outcome) ?? 'left'))).not.toContain(undefined);
          const spent = outcomes.reduce((sum, outcome) => {
            const usage = outcome?.result?.usage ?? outcome?.chunks.at(-1)?.usage;
            return sum + Math.round((usage?.cost ?? 0) * 1e9);
          }, 0);
          expect(spent).toBeLessThanOrEqual(millionths * 1_000);
          // Everything that was reserved is settled: what is left can be spent by a request that fits exactly.
          const count = own.stubs.calls.length;
          expect(count).toBe(outcomes.filter((outcome) => outcome && statusOf(outcome) !== 402).length);
        },
      ),
      runs(60),
    );
  });
});

describe('reservations', () => {
  const budgets = [{ scope: 'account', limitNanoUsd: 100, period: 'total' }] as const;

  it('of a process that died are free again after their time, and no other', async () => {
    let now = 0;
    const wallClock = (): number => now;
    const keeper = stateBudgets(memoryStore({ now: wallClock }), { holdMs: 1_000, wallClock });
    const claim = { account: 'a', budgets, nanoUsd: 60 };
    expect(await keeper.reserve(claim)).toMatchObject({ granted: true });
    expect(await keeper.reserve(claim)).toMatchObject({ granted: false, short: { remainingNanoUsd: 40 } });
    now = 1_999;
    expect(await keeper.reserve(claim)).toMatchObject({ granted: false });
    now = 2_000;
    const late = await keeper.reserve(claim);
    expect(late).toMatchObject({ granted: true });
    if (late.granted) await keeper.settle(late.ticket, 55);
    expect(await keeper.reserve({ ...claim, nanoUsd: 45 })).toMatchObject({ granted: true });
    expect(await keeper.reserve({ ...claim, nanoUsd: 1 })).toMatchObject({ granted: false });
  });

  it('add up exactly, however small the amounts are', async () => {
    const keeper = stateBudgets(memoryStore(), { holdMs: 1_000_000, wallClock: () => 0 });
    const all = [{ scope: 'account', limitNanoUsd: 1_000_000, period: 'total' }] as const;
    for (let index = 0; index < 9_999; index += 1) {
      const decision = await keeper.reserve({ account: 'a', budgets: all, nanoUsd: 101 });
      if (decision.granted) await keeper.settle(decision.ticket, 100);
    }
    expect(await keeper.reserve({ account: 'a', budgets: all, nanoUsd: 101 })).toMatchObject({ granted: false });
    expect(await keeper.reserve({ account: 'a', budgets: all, nanoUsd: 100 })).toMatchObject({ granted: true });
  });
});

describe('the turns of periods', () => {
  it('end with the day, the week and the month of the calendar', () => {
    fc.assert(
      fc.property(fc.date({ min: new Date(0), max: new Date('2199-12-30'), noInvalidDate: true }), (date) => {
        const now = date.getTime();
        const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
        const toMonday = 7 - ((date.getUTCDay() + 6) % 7);
        expect(turnAt('day', now).endsAt).toBe(Date.UTC(year, month, day + 1));
        expect(turnAt('week', now).endsAt).toBe(Date.UTC(year, month, day + toMonday));
        expect(turnAt('month', now).endsAt).toBe(Date.UTC(year, month + 1, 1));
        expect(turnAt('month', now).id).toBe(`month ${date.toISOString().slice(0, 7)}`);
        expect(turnAt('total', now)).toEqual({ id: 'total' });
      }),
      runs(2_000),
    );
  });
});
