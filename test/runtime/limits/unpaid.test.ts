import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Account } from '../../../src/contracts/account.ts';
import type { ChatRequest } from '../../../src/protocol/chat-request.ts';
import { type Bench, askAndWait, benchOf, statusOf } from '../../support/driving.ts';
import { runs } from '../../support/properties.ts';
import type { Behaviour, StubOptions } from '../../support/stub-provider.ts';

const USAGE = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
const ANSWER: Behaviour = { does: 'answer', usage: USAGE, reply: 'whole' };
const models = (completion: number | undefined): NonNullable<StubOptions['models']> => ({
  'acme/one': completion === undefined ? {} : { price: { prompt: completion / 2, completion } },
});
/** 90 millionths of a dollar at most for 20 tokens at the price of 2, none at 0. */
const BODY: Partial<ChatRequest> = { max_tokens: 20 };

function benchWith(behaves: readonly Behaviour[], prices: readonly (number | undefined)[], more: object = {}): Bench {
  const stubs = prices.map((price, index) => [
    `p${index}`,
    { behaves: behaves[index] ?? ANSWER, models: models(price) },
  ]);
  return benchOf(Object.fromEntries(stubs) as Record<string, StubOptions>, more);
}

const called = (own: Bench): readonly string[] => own.stubs.calls.map(({ provider }) => provider);

describe('an endpoint that a budget cannot pay', () => {
  const poor: Account = { id: 'a', budget: { limitUsd: 0.00001 } };
  const order = ['p0', 'p1', 'p2'];

  it.each([true, false])('is passed over for one that costs less, streaming: %s', async (stream) => {
    const own = benchWith([], [1_000, 0]);
    const body = { ...BODY, provider: { order } };
    const outcome = await askAndWait(own, { account: poor, body, stream });
    expect([statusOf(outcome), called(own)]).toEqual([200, ['p1']]);
    const explained = await own.router.explain(
      { model: 'acme/one', ...body, messages: [{ role: 'user', content: 'x' }] },
      { account: poor },
    );
    expect(explained.steps.map(({ provider }) => provider)).toEqual(['p1']);
    expect(explained.rejected).toEqual([
      expect.objectContaining({
        provider: 'p0',
        reason: 'budget',
        detail: expect.stringMatching(/^may cost \$.*, \$0\.00001 left of the account budget$/),
      }),
    ]);
  });

  it('is passed over when an earlier attempt has used up what was left', async () => {
    const broken: Behaviour = { does: 'break', kind: 'server', pieces: 0, usage: USAGE };
    const own = benchWith([broken, ANSWER, ANSWER], [2, 2, 0], { fallback: { triesPerEndpoint: 1 } });
    const account = { id: 'a', budget: { limitUsd: 0.0001 } };
    expect(statusOf(await askAndWait(own, { account, body: { ...BODY, provider: { order } }, stream: true }))).toBe(
      200,
    );
    expect(called(own)).toEqual(['p0', 'p2']);
  });

  it('leaves a 402 where none is left, which says what the cheapest would have needed', async () => {
    const own = benchWith([], [1_000, 2, 10]);
    const account: Account = { id: 'a', budget: { limitUsd: 0.00008, period: 'day' } };
    const body = { ...BODY, provider: { order } };
    const { error } = await askAndWait(own, { account, body });
    expect(error).toMatchObject({
      status: 402,
      message: expect.stringMatching(
        /afford \d+ of the budget of this account: \$0\.00008 of \$0\.00008 per day are left, and the cheapest endpoint may cost \$0\.0000\d+$/,
      ),
      metadata: {
        limit_source: 'account_budget',
        period: 'day',
        limit_usd: 0.00008,
        spent_usd: 0,
        reserved_usd: 0,
        resets_at: Date.UTC(2026, 0, 2),
      },
      routerMetadata: {
        endpoints: { available: [], excluded: [{ reason: 'budget' }, { reason: 'budget' }, { reason: 'budget' }] },
      },
    });
    expect(called(own)).toEqual([]);
  });

  it('is never one that costs nothing, however empty the budget is', async () => {
    const own = benchWith([], [0]);
    const account: Account = { id: 'a', budget: { limitUsd: 0 } };
    expect(statusOf(await askAndWait(own, { account, body: BODY }))).toBe(200);
    expect(statusOf(await askAndWait(benchWith([], [2]), { account, body: BODY }))).toBe(402);
  });

  it('does not turn the failure of one that can be paid into a 402', async () => {
    const own = benchWith([{ does: 'fail', kind: 'server' }], [0, 1_000], { fallback: { triesPerEndpoint: 1 } });
    const { error } = await askAndWait(own, { account: poor, body: { ...BODY, provider: { order } } });
    expect(error).toMatchObject({ status: 502 });
  });
});

describe('a dry run', () => {
  it('leaves out what the call passes over, whatever was spent before', async () => {
    let passedOver = 0;
    let refused = 0;
    const price = fc.option(fc.constantFrom(0, 0.5, 1, 2, 4, 50), { nil: undefined, freq: 8 });
    const budget = fc.record({ limitUsd: fc.integer({ min: 0, max: 500 }).map((value) => value / 1e6) });
    const earlier = fc.record({ tokens: fc.nat(60), other: fc.boolean() });
    const history = fc.record({
      prices: fc.array(price, { minLength: 1, maxLength: 4 }),
      budgets: fc.record({ default: budget, tags: fc.record({ team: budget }), session: budget }, { requiredKeys: [] }),
      account: fc.record({ budget, keyBudget: budget }, { requiredKeys: [] }),
      unknownPrice: fc.constantFrom('refuse' as const, 'allow' as const),
      earlier: fc.array(earlier, { maxLength: 4 }),
      tokens: fc.nat(60),
      stream: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        history,
        async ({ prices, budgets, unknownPrice, earlier: before, tokens, stream, ...given }) => {
          const own = benchWith([], prices, { budgets: { ...budgets, unknownPrice } });
          const account: Account = { id: 'a', keyId: 'k', ...given.account };
          const bodyOf = (most: number, other = false): Partial<ChatRequest> => ({
            max_tokens: most,
            provider: { order: prices.map((_, index) => `p${index}`) },
            session_id: other ? 'another' : 'session',
            metadata: { team: other ? 'y' : 'x' },
          });
          for (const one of before) await askAndWait(own, { account, body: bodyOf(one.tokens + 1, one.other) });
          const { length } = own.stubs.calls;
          const body = bodyOf(tokens + 1);
          const messages = [{ role: 'user' as const, content: 'Hello' }];
          const explained = await own.router.explain({ model: 'acme/one', messages, ...body }, { account });
          const outcome = await askAndWait(own, { account, body: { messages, ...body }, stream });
          const unpaid = explained.rejected.filter(({ reason }) => reason === 'budget').map(({ provider }) => provider);
          passedOver += unpaid.length > 0 && explained.steps.length > 0 ? 1 : 0;
          const [first] = explained.steps;
          if (first === undefined) {
            refused += 1;
            expect([statusOf(outcome), unpaid.length]).toEqual([402, prices.length]);
          } else expect([statusOf(outcome), called(own).slice(length)]).toEqual([200, [first.provider]]);
        },
      ),
      runs(2_000),
    );
    // Both happen often enough to mean something.
    expect(passedOver).toBeGreaterThan(20);
    expect(refused).toBeGreaterThan(20);
  }, 120_000);
});
