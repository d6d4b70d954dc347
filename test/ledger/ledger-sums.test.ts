import { describe, expect, it } from 'vitest';
import { createRouter, type LedgerContent, type Router, type WarningEvent } from 'signalbox';
import { fakeEnvironment, simulateTraffic } from 'signalbox/testing';
import type { BudgetClaim } from '../../src/contracts/budget-keeper.ts';
import { seededRandom } from '../../src/platform/seeded-random.ts';
import { ledgerRecord } from '../support/ledger-records.ts';
import { ask, instant } from '../support/simulated.ts';

/** A keeper that grants everything and adds up what was spent. */
function addingKeeper() {
  const spent = { nanoUsd: 0n };
  return {
    spent,
    reserve: ({ nanoUsd }: BudgetClaim) => ({ granted: true as const, ticket: { nanoUsd, holds: [] } as never }),
    settle: (_: unknown, nanoUsd: number) => void (spent.nanoUsd += BigInt(nanoUsd)),
  };
}

describe('the sums of a ledger', () => {
  it.each([1, 2, 3])(
    'are those of the events and of the budgets, with hedges, fallbacks and streams that are left: %i',
    async (seed) => {
      const keeper = addingKeeper();
      let told = 0n;
      let hedges = 0;
      let router: Router | undefined;
      const chance = seededRandom(seed);
      await simulateTraffic(
        {
          seed,
          endpoints: [
            { name: 'a', price: { prompt: 0.2, completion: 0.8 }, latency: { medianMs: 500 }, tokensPerSecond: 50 },
            { name: 'b', price: { prompt: 0.3, completion: 1.2 }, latency: { medianMs: 400 }, tokensPerSecond: 50 },
          ],
          outages: { share: 0.2, meanMs: 20_000 },
          traffic: { requests: 500, streaming: 0.7 },
        },
        (setup) => {
          const made = createRouter({
            ...setup,
            budgets: { default: { limitUsd: 1e6 }, keeper },
            ledger: { keep: 5_000 },
            on: {
              attempt: ({ costNanoUsd = 0, hedge }) => {
                told += BigInt(costNanoUsd);
                if (hedge === true) hedges += 1;
              },
            },
          });
          router = made;
          return {
            chat: (body, options) => made.chat(body, options),
            async *stream(body, options) {
              const leaves = chance() < 0.2;
              for await (const chunk of made.stream(body, options)) {
                yield chunk;
                if (leaves && chunk.choices[0]?.delta.content) return;
              }
            },
          };
        },
      );
      const { records = [] } = (await router?.ledger?.read({ limit: 5_000 })) ?? {};
      const kept = records.reduce((sum, record) => sum + BigInt(record.cost_nano_usd), 0n);
      expect(records.some(({ status }) => status === 499)).toBe(true);
      expect(records.some(({ attempts }) => attempts.length > 1)).toBe(true);
      expect(hedges).toBeGreaterThan(0);
      expect([kept, told]).toEqual([keeper.spent.nanoUsd, keeper.spent.nanoUsd]);
      expect(kept).toBeGreaterThan(0n);
      const costs = (await router?.ledger?.costs({ by: 'endpoint' })) ?? [];
      expect(costs.reduce((sum, { cost_nano_usd: cost }) => sum + BigInt(cost), 0n)).toBe(kept);
    },
  );
});

describe('a store that is slow or away', () => {
  it('neither delays nor fails a request, gets its records later, and what is beyond the buffer is told once', async () => {
    const environment = fakeEnvironment();
    const warnings: WarningEvent[] = [];
    const kept: string[] = [];
    let isAway = true;
    const store = {
      append(records: readonly { readonly id: string }[]) {
        if (isAway) throw new Error('away');
        kept.push(...records.map(({ id }) => id));
      },
      read: () => ({ records: [] }),
      one: () => ledgerRecord({ id: 'gen-1' }),
      costs: () => [],
    };
    const router = createRouter({
      providers: [instant()],
      environment,
      ledger: { store, bufferRecords: 3 },
      on: { warning: (warning) => warnings.push(warning) },
    });
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) ids.push((await router.chat(ask('Hi'))).id);
    expect(warnings.map(({ code }) => code)).toEqual(['ledger_dropped']);
    await router.ledger?.one('gen-1');
    expect(warnings.map(({ code }) => code)).toEqual(['ledger_dropped', 'ledger']);
    isAway = false;
    await router.close();
    expect(kept).toEqual(ids.slice(0, 3));
  });
});

describe('prompts and answers', () => {
  it('are given to a program that opted in, redacted, and to nobody else', async () => {
    const kept: LedgerContent[] = [];
    const router = createRouter({
      providers: [instant({ answer: () => 'An answer' })],
      environment: fakeEnvironment(),
      ledger: {
        content: (content) => void kept.push(content),
        redact: (content) => ({ ...content, messages: [{ role: 'user', content: 'redacted' }] }),
      },
    });
    const { id } = await router.chat(ask('A secret'));
    for await (const _ of router.stream(ask('A secret'))) continue;
    expect(kept.map(({ choices, messages }) => [choices[0]?.message.content, messages])).toEqual([
      ['An answer', [{ role: 'user', content: 'redacted' }]],
      ['An answer', [{ role: 'user', content: 'redacted' }]],
    ]);
    expect(kept[0]?.id).toBe(id);
    expect(JSON.stringify(await router.ledger?.read())).not.toMatch(/secret|An answer/);
    expect(() => createRouter({ providers: [instant()], ledger: { content: () => {} } })).toThrow('ledger.redact');
  });
});
