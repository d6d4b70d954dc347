import { expect } from 'vitest';
import * as fc from 'fast-check';
import type { Ledger, LedgerCostKey, LedgerFilter, LedgerRecord } from '../../src/contracts/ledger.ts';
import { knownCost, matchesFilter } from '../../src/core/ledger/sum-costs.ts';
import { memoryLedger } from '../../src/storage/memory-ledger.ts';
import type { BatchStoreFaults } from '../../src/testing/batch-store-checks/check.ts';
import { expectReasons, outlasting } from './outages.ts';
import { ledgerAttempt, ledgerRecord, NOON } from './ledger-records.ts';

/** What every ledger must do, whatever it keeps its records in. */
export interface LedgerCheck {
  readonly name: string;
  readonly run: (ledger: Ledger) => Promise<void>;
}

const DAY_MS = 86_400_000;

async function idsOf(ledger: Ledger, query: Parameters<Ledger['read']>[0]): Promise<readonly string[]> {
  return (await ledger.read(query)).records.map(({ id }) => id);
}

/** Names that databases may stumble over. */
const ODD = ['', 'any', "it's", '"quoted"', 'a\0b', 'half \ud800', 'ünï', '日本', '%', '$.tags', '__proto__'];

const randomRecord = fc
  .record({
    account: fc.constantFrom('ada', 'bob', ...ODD),
    at: fc.integer({ min: NOON - 3 * DAY_MS, max: NOON + 3 * DAY_MS }),
    team: fc.option(fc.constantFrom('search', ...ODD), { nil: undefined }),
    failed: fc.boolean(),
    services: fc.integer({ min: 0, max: 2_000_000_000 }),
    attempts: fc.array(
      fc.record({
        endpoint: fc.constantFrom('acme#acme/one', 'acme/eu#acme/one', 'beta#acme/two:free', 'beta#acme/one@ada'),
        cost: fc.option(fc.integer({ min: 0, max: 9_000_000_000 }), { nil: undefined }),
        tokens: fc.integer({ min: 0, max: 100_000 }),
      }),
      { maxLength: 4 },
    ),
  })
  .map(({ account, at, team, failed, services, attempts }) => (id: string): LedgerRecord => {
    const made = attempts.map(({ endpoint, cost, tokens }, index) =>
      ledgerAttempt({
        number: index + 1,
        endpoint,
        usage: { prompt_tokens: tokens, completion_tokens: 2 * tokens, cached_tokens: Math.floor(tokens / 3) },
        cost_nano_usd: cost === 0 ? undefined : cost,
        ...(cost === undefined ? { unpriced: true } : {}),
      }),
    );
    const isPriced = made.every(({ unpriced }) => unpriced !== true);
    const cost = made.reduce((sum, one) => sum + (one.cost_nano_usd ?? 0), services);
    const plugin = { id: 'web', hook: 'onRequest', outcome: 'changed', start_ms: 0, end_ms: 1 } as const;
    return ledgerRecord({
      id,
      account,
      at,
      attempts: made,
      cost_nano_usd: isPriced ? cost : undefined,
      ...(services === 0 ? {} : { plugins: [{ ...plugin, cost_nano_usd: services }] }),
      ...(team === undefined ? {} : { tags: { team } }),
      ...(failed ? { status: 502, error_type: 'provider_unavailable' } : {}),
    });
  });

/** The checks; each gets a ledger with nothing in it. */
export const ledgerChecks: readonly LedgerCheck[] = [
  {
    name: 'gives back what it was given, byte by byte',
    async run(ledger) {
      const records = ODD.map((account, index) =>
        ledgerRecord({
          id: `gen-${index}`,
          account,
          tags: { [account]: account, roll: '0.1' },
          duration_ms: 0.1 + 0.2,
        }),
      );
      await ledger.append(records);
      const { records: read } = await ledger.read();
      expect(read.map((record) => JSON.stringify(record))).toEqual(records.map((record) => JSON.stringify(record)));
      expect(JSON.stringify(await ledger.one('gen-3'))).toBe(JSON.stringify(records[3]));
      expect(await ledger.one('gen-unknown')).toBeUndefined();
    },
  },
  {
    name: 'keeps the first of two records of the same id, also where a batch comes again',
    async run(ledger) {
      const [first, second] = [ledgerRecord({ id: 'gen-1' }), ledgerRecord({ id: 'gen-2' })];
      await ledger.append([first, second]);
      await ledger.append([{ ...first, account: 'eve' }, second, ledgerRecord({ id: 'gen-3' })]);
      expect(await idsOf(ledger, {})).toEqual(['gen-1', 'gen-2', 'gen-3']);
      expect((await ledger.one('gen-1'))?.account).toBe('ada');
      expect((await ledger.costs({ by: 'account' })).map((cost) => [cost.key, cost.cost_nano_usd])).toEqual([
        ['ada', 300],
      ]);
    },
  },
  {
    name: 'is read page by page, from both ends, and goes on where records came meanwhile',
    async run(ledger) {
      await ledger.append(Array.from({ length: 5 }, (_, index) => ledgerRecord({ id: `gen-${index}` })));
      const first = await ledger.read({ limit: 2 });
      expect(first.records.map(({ id }) => id)).toEqual(['gen-0', 'gen-1']);
      const second = await ledger.read({ limit: 3, after: first.next });
      expect(second.records.map(({ id }) => id)).toEqual(['gen-2', 'gen-3', 'gen-4']);
      expect(second.next).toBeUndefined();
      await ledger.append([ledgerRecord({ id: 'gen-5' })]);
      expect(await idsOf(ledger, { after: second.last })).toEqual(['gen-5']);
      const latest = await ledger.read({ limit: 4, order: 'latest' });
      expect(latest.next).toMatch(/^\d+\.\d+$/);
      expect(latest.records.map(({ id }) => id)).toEqual(['gen-5', 'gen-4', 'gen-3', 'gen-2']);
      expect(await idsOf(ledger, { order: 'latest', after: latest.next })).toEqual(['gen-1', 'gen-0']);
      expect(await ledger.read({ after: '999999' })).toEqual({ records: [] });
    },
  },
  {
    name: 'finds records by account, model, provider, endpoint, error, tag and time',
    async run(ledger) {
      const beta = ledgerAttempt({ endpoint: 'beta#acme/two' });
      await ledger.append([
        ledgerRecord({ id: 'gen-1', tags: { team: 'search' } }),
        ledgerRecord({ id: 'gen-2', account: 'bob', attempts: [beta] }),
        ledgerRecord({
          id: 'gen-3',
          status: 429,
          error_type: 'rate_limit_exceeded',
          at: NOON + 1,
          tags: { team: 'x' },
        }),
        ledgerRecord({ id: 'gen-4', status: 502, error_type: 'provider_unavailable', attempts: [] }),
      ]);
      expect(await idsOf(ledger, { account: 'bob' })).toEqual(['gen-2']);
      expect(await idsOf(ledger, { model: 'acme/one' })).toEqual(['gen-1', 'gen-3']);
      expect(await idsOf(ledger, { provider: 'beta' })).toEqual(['gen-2']);
      expect(await idsOf(ledger, { endpoint: 'acme#acme/one', account: 'ada' })).toEqual(['gen-1', 'gen-3']);
      expect(await idsOf(ledger, { error: 'any' })).toEqual(['gen-3', 'gen-4']);
      expect(await idsOf(ledger, { error: 'provider_unavailable' })).toEqual(['gen-4']);
      expect(await idsOf(ledger, { tag: ['team', 'search'] })).toEqual(['gen-1']);
      expect(await idsOf(ledger, { tag: ['toString', 'search'] })).toEqual([]);
      expect(await idsOf(ledger, { from: NOON + 1 })).toEqual(['gen-3']);
      expect(await idsOf(ledger, { to: NOON + 1, account: 'ada' })).toEqual(['gen-1', 'gen-4']);
    },
  },
  {
    name: 'sums the same costs as any other, whatever they are by, to the nano-dollar',
    async run(ledger) {
      const makers = fc.sample(randomRecord, { numRuns: 300, seed: 7 });
      const records = makers.map((make, index) => make(`gen-${index}`));
      const model = memoryLedger(records.length);
      await ledger.append(records);
      await model.append(records);
      const total = records.reduce((sum, record) => sum + BigInt(knownCost(record)), 0n);
      const unpriced = records.flatMap(({ attempts }) => attempts.filter((one) => one.unpriced === true)).length;
      expect(unpriced).toBeGreaterThan(10);
      const span = { from: NOON - DAY_MS, to: NOON + DAY_MS };
      for (const by of ['account', 'model', 'provider', 'endpoint', 'day', 'tag'] as LedgerCostKey[]) {
        const query = by === 'tag' ? { by, tag: 'team' } : { by };
        const sums = await ledger.costs(query);
        expect(sums).toEqual(await model.costs(query));
        expect(sums.reduce((sum, cost) => sum + BigInt(cost.cost_nano_usd), 0n)).toBe(total);
        expect(sums.reduce((sum, { requests }) => sum + requests, 0)).toBe(records.length);
        expect(sums.reduce((sum, one) => sum + one.unpriced, 0)).toBe(unpriced);
        expect(await ledger.costs({ ...query, ...span, account: 'ada' })).toEqual(
          await model.costs({ ...query, ...span, account: 'ada' }),
        );
      }
    },
  },
  {
    name: 'gives the latest by the time at which requests began, page by page, by any filter and span',
    async run(ledger) {
      const records = Array.from({ length: 60 }, (_, index) =>
        ledgerRecord({
          id: `gen-${index}`,
          // Those of a batch may come long after they began.
          at: NOON + ((index * 37) % 60) * 1_000,
          account: index % 7 === 0 ? 'rare' : 'ada',
          stream: index % 2 === 0,
          duration_ms: index * 10 + 0.5,
          attempts:
            index % 6 === 0 ? [ledgerAttempt({ endpoint: 'beta#acme/one' }), ledgerAttempt()] : [ledgerAttempt()],
          ...(index % 3 === 0 ? { session: 's_0123456789abcdef0123' } : {}),
          ...(index % 5 === 0 ? { batch: true as const } : {}),
          ...(index % 4 === 0 ? { tags: { team: 'search' } } : {}),
        }),
      );
      await ledger.append(records);
      const model = memoryLedger();
      await model.append(records);
      const filters: readonly LedgerFilter[] = [
        {},
        { account: 'rare' },
        { session: 's_0123456789abcdef0123' },
        { batch: true, stream: false },
        { batch: false, stream: true },
        { longerThanMs: 300.5 },
        { tag: ['team', 'search'] },
        { from: NOON + 10_000, to: NOON + 20_000 },
        { account: 'nobody' },
        { called: 'acme#acme/one', stream: true },
        { called: 'beta#acme/one' },
      ];
      for (const filter of filters) {
        const expected = records
          .filter((record) => matchesFilter(record, filter))
          .sort((left, right) => right.at - left.at)
          .map(({ id }) => id);
        for (const one of [ledger, model]) {
          const found: string[] = [];
          let after: string | undefined;
          for (let pages = 0; pages < 30; pages += 1) {
            const page = await one.read({ ...filter, order: 'latest', limit: 7, after });
            found.push(...page.records.map(({ id }) => id));
            after = page.next;
            if (after === undefined) break;
          }
          expect([filter, found]).toEqual([filter, expected]);
        }
        expect((await idsOf(ledger, { ...filter, limit: 100 })).toSorted()).toEqual(expected.toSorted());
      }
    },
  },
  {
    name: 'counts requests over time and failures by endpoint and type as any other does',
    async run(ledger) {
      const makers = fc.sample(randomRecord, { numRuns: 200, seed: 11 });
      const records = makers.map((make, index) => ({ ...make(`gen-${index}`), stream: index % 2 === 0 }));
      const timed = records.map((record, index) => (index % 3 === 0 ? record : { ...record, first_token_ms: index }));
      const model = memoryLedger(records.length);
      await ledger.append(timed);
      await model.append(timed);
      for (const [slotMs, days] of [
        [60_000, 1],
        [900_000, 1],
        [DAY_MS, 8],
      ] as const) {
        const query = { from: NOON - 4 * DAY_MS - (NOON % slotMs), to: NOON + days * DAY_MS, slotMs };
        const slots = await ledger.timeline?.(query);
        const expected = await model.timeline?.(query);
        const rounded = (list = expected) =>
          list?.map(({ first_token_ms: ms, ...slot }) => [slot, ms === undefined ? ms : Math.round(ms * 1e6)]);
        expect(rounded(slots)).toEqual(rounded());
        expect(slots?.length).toBeGreaterThan(3);
      }
      const failures = await ledger.failures?.({ from: NOON - DAY_MS });
      expect(failures).toEqual(await model.failures?.({ from: NOON - DAY_MS }));
      expect(failures?.[0]).toMatchObject({ error_type: 'provider_unavailable', requests: expect.any(Number) });
    },
  },
];

/** What every ledger does while what is behind it is in trouble: records that are written again are there once. */
export async function ledgerOutlasts(ledger: Ledger, faults: BatchStoreFaults): Promise<void> {
  await ledger.append([ledgerRecord({ id: 'gen-before' })]);
  const ids = ['gen-before'];
  for (const [fault, bring] of Object.entries(faults) as [
    keyof BatchStoreFaults,
    () => Promise<() => Promise<void>>,
  ][]) {
    const records = [0, 1].map((part) => ledgerRecord({ id: `gen-${fault}-${part}` }));
    ids.push(...records.map(({ id }) => id));
    expectReasons(await outlasting(fault, bring, () => ledger.append(records)));
    await outlasting(
      fault,
      () => Promise.resolve(() => Promise.resolve()),
      async () => {
        expect(await idsOf(ledger, {}), fault).toEqual(ids);
        expect((await ledger.costs({ by: 'account' }))[0]?.requests, fault).toBe(ids.length);
      },
    );
  }
}
