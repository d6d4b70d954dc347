import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/storage/memory.ts';
import { stateBudgets, stateRateLimiter } from '../../src/storage/state-limits.ts';
import { TimedCounters } from '../../src/storage/timed-counters.ts';
import type { HeldBudget } from '../../src/contracts/account-limits.ts';
import { turnAt } from '../../src/core/limits/budget.ts';
import { memoryHeld } from '../support/memory.ts';
import { runs } from '../support/properties.ts';

const step = fc.oneof(
  fc.record({ does: fc.constant('add' as const), key: fc.nat(9), ttlMs: fc.integer({ min: 1, max: 40_000 }) }),
  fc.record({ does: fc.constant('replace' as const), key: fc.nat(9), value: fc.nat(100) }),
  fc.record({ does: fc.constant('delete' as const), key: fc.nat(9) }),
  fc.record({ does: fc.constant('pass' as const), ms: fc.oneof(fc.nat(20_000), fc.nat(1e9)) }),
);

describe('counters in memory', () => {
  it('live exactly as long as they were told, like a plain list of times', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let now = 0;
        const counters = new TimedCounters(() => now);
        const model = new Map<string, { value: number; until: number }>();
        for (const one of steps) {
          const key = 'key' in one ? `k${one.key}` : '';
          const alive = (model.get(key)?.until ?? 0) > now;
          if (one.does === 'pass') now += one.ms;
          else if (one.does === 'delete') {
            counters.delete(key);
            model.delete(key);
          } else if (one.does === 'replace') {
            expect(counters.replace(key, one.value)).toBe(alive);
            if (alive) model.set(key, { value: one.value, until: model.get(key)?.until ?? 0 });
          } else {
            counters.add(key, 1, one.ttlMs);
            model.set(key, { value: 1, until: now + one.ttlMs });
          }
          for (const [known, { value, until }] of model) {
            expect(counters.get(known)).toBe(until > now ? value : undefined);
          }
        }
        // What is dead goes with the next that is added.
        now += 2e9;
        counters.add('last', 1, 1_000);
        expect(counters.size).toBe(1);
      }),
      runs(1_000),
    );
  });

  it('take no more room however often the same one is made and deleted', async () => {
    let now = 0;
    const counters = new TimedCounters(() => now);
    const before = (await memoryHeld()).used;
    for (let turn = 0; turn < 200_000; turn += 1) {
      counters.add('same', 1, 3e11);
      counters.delete('same');
      now += 1;
    }
    expect(counters.size).toBe(1);
    expect((await memoryHeld()).used - before).toBeLessThan(2e6);
  });
});

/** Both clocks of a router: that of its counters is never set back, the other may be. */
class TwoClocks {
  monotonic = 1_000;
  wall = Date.UTC(2026, 0, 30, 22);

  pass(ms: number): void {
    this.monotonic += ms;
    this.wall += ms;
  }
}

const PERIODS = ['day', 'week', 'month', 'total'] as const;
const HOUR_MS = 3_600_000;

describe('what was spent', () => {
  it('is what a model of it says, whoever else comes by, on both clocks', async () => {
    const spend = fc.record({
      account: fc.nat(4),
      period: fc.constantFrom(...PERIODS),
      scope: fc.constantFrom('account' as const, 'key' as const, 'tag' as const, 'session' as const),
      nanoUsd: fc.integer({ min: 1, max: 400 }),
      neighbours: fc.nat(30),
      passMs: fc.oneof(fc.constant(0), fc.nat(60_000), fc.nat(3 * HOUR_MS), fc.nat(40 * HOUR_MS)),
      wallBackMs: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, fc.nat(HOUR_MS)),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(spend, { maxLength: 30 }), async (spends) => {
        const clocks = new TwoClocks();
        const state = memoryStore({ maxEntries: 10, now: () => clocks.monotonic });
        const budgets = stateBudgets(state, { holdMs: 900_000, wallClock: () => clocks.wall });
        const limiter = stateRateLimiter(state, () => clocks.wall);
        const spent = new Map<string, number>();
        let name = 0;
        for (const { account, period, scope, nanoUsd, neighbours, passMs, wallBackMs } of spends) {
          clocks.pass(passMs);
          clocks.wall -= wallBackMs;
          for (let index = 0; index < neighbours; index += 1) {
            name += 1;
            const limits = { requestsPerMinute: 1_000, tokensPerMinute: 1e6 };
            await limiter.take({ account: `n${name % 50}`, limits, tokens: 5, isFree: false });
            const other = {
              scope: 'session',
              tag: { key: undefined, value: `s${name}` },
              limitNanoUsd: 9,
              period: 'day',
            } as const;
            await budgets.reserve({ account: `n${name % 3}`, budgets: [other], nanoUsd: 1 });
            await state.set(`sticky\n${name}`, name, 60_000);
          }
          const tag = scope === 'tag' ? { key: 'team', value: 'x' } : { key: undefined, value: 's' };
          const owner = scope === 'tag' || scope === 'session' ? { tag } : scope === 'key' ? { key: 'k' } : {};
          const budget: HeldBudget = { scope, ...owner, period, limitNanoUsd: 1_000 };
          const turn = `${account} ${scope} ${turnAt(period, clocks.wall).id}`;
          const before = spent.get(turn) ?? 0;
          const decision = await budgets.reserve({ account: `a${account}`, budgets: [budget], nanoUsd });
          expect(decision.granted).toBe(before + nanoUsd <= 1_000);
          if (!decision.granted) {
            expect(decision.short.remainingNanoUsd).toBe(1_000 - before);
            continue;
          }
          await budgets.settle(decision.ticket, nanoUsd);
          spent.set(turn, before + nanoUsd);
          expect(await budgets.spentUnder?.(`a${account}`, [budget])).toEqual([before + nanoUsd]);
        }
      }),
      runs(300),
    );
  });

  it('is remembered of 100,000 accounts, at less than 1 kB each, and their dead windows are not', async () => {
    const clocks = new TwoClocks();
    const state = memoryStore({ now: () => clocks.monotonic });
    const budgets = stateBudgets(state, { holdMs: 900_000, wallClock: () => clocks.wall });
    const limiter = stateRateLimiter(state, () => clocks.wall);
    const budget: HeldBudget = { scope: 'account', period: 'total', limitNanoUsd: 100 };
    const before = (await memoryHeld()).used;
    for (let index = 0; index < 100_000; index += 1) {
      const account = `account-of-a-tenant-${index}`;
      await limiter.take({ account, limits: { requestsPerMinute: 60 }, tokens: 5, isFree: false });
      const decision = await budgets.reserve({ account, budgets: [budget], nanoUsd: 100 });
      if (decision.granted) await budgets.settle(decision.ticket, 100);
      clocks.pass(1);
    }
    const each = Math.round(((await memoryHeld()).used - before) / 100_000);
    console.log(`${each} bytes for each account that has spent and sent lately`);
    expect(each).toBeLessThan(1_024);
    clocks.pass(8 * HOUR_MS);
    for (let index = 0; index < 100_000; index += 997) {
      const decision = await budgets.reserve({
        account: `account-of-a-tenant-${index}`,
        budgets: [budget],
        nanoUsd: 1,
      });
      expect(decision).toMatchObject({ granted: false, short: { remainingNanoUsd: 0 } });
    }
    console.log(`${Math.round(((await memoryHeld()).used - before) / 100_000)} bytes eight hours later`);
  }, 60_000);
});

describe('values that a client makes up', () => {
  it('have counters up to a share of their account, and push nobody out', async () => {
    const clocks = new TwoClocks();
    const state = memoryStore({ now: () => clocks.monotonic });
    const budgets = stateBudgets(state, { holdMs: 900_000, wallClock: () => clocks.wall });
    const session = (value: string): HeldBudget => ({
      scope: 'session',
      tag: { key: undefined, value },
      period: 'day',
      limitNanoUsd: 100,
    });
    const ask = async (account: string, budget: HeldBudget) => {
      const decision = await budgets.reserve({ account, budgets: [budget], nanoUsd: 100 });
      if (decision.granted) await budgets.settle(decision.ticket, 100);
      return decision;
    };
    expect(await ask('quiet', session('mine'))).toMatchObject({ granted: true });
    let granted = 0;
    for (let index = 0; index < 51_000; index += 1) {
      if ((await ask('loud', session(`made up ${index}`))).granted) granted += 1;
    }
    expect(granted).toBe(50_000);
    expect(await ask('loud', session('one more'))).toMatchObject({ granted: false, short: { mostNames: 50_000 } });
    // What was spent is remembered of everybody, and others have a share of their own.
    expect(await ask('loud', session('made up 0'))).toMatchObject({ short: { remainingNanoUsd: 0 } });
    expect(await ask('quiet', session('mine'))).toMatchObject({ short: { remainingNanoUsd: 0 } });
    expect(await ask('quiet', session('another'))).toMatchObject({ granted: true });
    clocks.pass(24 * HOUR_MS);
    expect(await ask('loud', session('tomorrow'))).toMatchObject({ granted: true });
  }, 60_000);

  it('have counters of free models per day up to a share too', async () => {
    const clocks = new TwoClocks();
    const limiter = stateRateLimiter(memoryStore({ now: () => clocks.monotonic }), () => clocks.wall);
    let granted = 0;
    let last;
    for (let index = 0; index < 50_100; index += 1) {
      const tags = [{ key: 'user', value: `u${index}`, limits: { freeModels: { requestsPerDay: 5 } } }];
      last = await limiter.take({ account: 'a', limits: {}, tags, tokens: 1, isFree: true });
      if (last.granted) granted += 1;
    }
    expect([granted, last]).toMatchObject([50_000, { broken: { isOfNames: true } }]);
  }, 60_000);
});
