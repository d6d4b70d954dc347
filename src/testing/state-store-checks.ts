/** The checks for authors of state stores. */
import type { JsonValue } from '../protocol/json.ts';
import type { StateStore } from '../contracts/state-store.ts';
import { expectHolds, expectSame } from './provider-checks/harness.ts';
import { LONG_MS, type StateStoreCheck, type StateStoreHarness } from './state-store-checks/check.ts';
import { stateFaultChecks } from './state-store-checks/fault-checks.ts';
import { textChecks } from './state-store-checks/text-checks.ts';

export type { StateStoreCheck, StateStoreFaults, StateStoreHarness } from './state-store-checks/check.ts';

type Pass = StateStoreHarness['pass'];

const SHORT_MS = 40;
const PAST_SHORT_MS = 60;

function check(name: string, body: (store: StateStore, pass: Pass) => Promise<void>): StateStoreCheck {
  const run = async ({ create, pass }: StateStoreHarness): Promise<void> => {
    const store = await create();
    try {
      await body(store, pass);
    } finally {
      await store.close?.();
    }
  };
  return { name, needsSharing: false, run };
}

/**
 * Counts twice within the time that the first one set, waits until that is over, and gives the counter's name. Where the
 * clock is real and the machine slow, it may be over before the second: then again, with more of it.
 */
async function countedTwice(
  pass: Pass,
  count: (key: string, ttlMs: number) => Promise<number | undefined>,
): Promise<string> {
  for (let ttlMs = 300; ttlMs < 10_000; ttlMs *= 2) {
    const key = `counted for ${ttlMs}`;
    await count(key, ttlMs);
    await pass((2 * ttlMs) / 3);
    if ((await count(key, LONG_MS)) === 1) continue;
    await pass((2 * ttlMs) / 3);
    return key;
  }
  throw new Error('a counter is counted on for the time it was given, but began anew each time');
}

function sharedCheck(name: string, body: (store: StateStore, other: StateStore) => Promise<void>): StateStoreCheck {
  const run = async ({ create, attach }: StateStoreHarness): Promise<void> => {
    if (attach === undefined) throw new Error('this check needs a harness with attach()');
    const [store, other] = [await create(), await attach()];
    try {
      await body(store, other);
    } finally {
      await Promise.all([store.close?.(), other.close?.()]);
    }
  };
  return { name, needsSharing: true, run };
}

const VALUES: Readonly<Record<string, JsonValue>> = {
  'a string': 'Grüße 👋 "quoted"\n\u0000',
  'no text': '',
  'a number': -12.5,
  zero: 0,
  'a large number': 1_767_225_600_123,
  truth: true,
  falsehood: false,
  null: null,
  'a list': [1, 'two', [null]],
  'an object': { a: { b: [1] }, 'ä\n': '' },
  'a large text': 'x'.repeat(100_000),
};

const valueChecks = Object.entries(VALUES).map(([what, value]) =>
  check(`keeps ${what}`, async (store) => {
    await store.set('key', value, LONG_MS);
    expectSame(await store.get('key'), value, 'the value');
  }),
);

/**
 * The checks for authors of stores for small state. They need no test runner: each is a name and a function.
 *
 * @example
 * ```ts
 * for (const { name, run } of stateStoreChecksFor(harness)) it(name, () => run(harness));
 * ```
 */
export const stateStoreChecks: readonly StateStoreCheck[] = [
  check('has nothing at first', async (store) => {
    expectSame(await store.get('key'), undefined, 'the value');
  }),

  ...valueChecks,

  check('replaces a value', async (store) => {
    await store.set('key', { old: true }, LONG_MS);
    await store.set('key', 'new', LONG_MS);
    expectSame(await store.get('key'), 'new', 'the value');
  }),

  check('keeps keys apart, whatever is in them', async (store) => {
    const keys = ['a', 'A', 'a ', 'a\n', 'a\nb', 'a:b', 'ä', '*', 'a\u0000b', '', 'k'.repeat(5_000)];
    for (const [index, key] of keys.entries()) await store.set(key, index, LONG_MS);
    for (const [index, key] of keys.entries()) expectSame(await store.get(key), index, `the value of key ${index}`);
  }),

  check('deletes a value, and what is not there', async (store) => {
    await store.set('key', 1, LONG_MS);
    await store.delete('key');
    await store.delete('key');
    expectSame(await store.get('key'), undefined, 'the value');
  }),

  check('forgets a value after its time, not before', async (store, pass) => {
    await store.set('short', 1, SHORT_MS);
    await store.set('long', 2, LONG_MS);
    await pass(PAST_SHORT_MS);
    expectSame([await store.get('short'), await store.get('long')], [undefined, 2], 'the values');
  }),

  check('gives a value that is replaced a new time', async (store, pass) => {
    await store.set('key', 1, SHORT_MS);
    await store.set('key', 2, LONG_MS);
    await pass(PAST_SHORT_MS);
    expectSame(await store.get('key'), 2, 'the value');
  }),

  check('takes times with fractions, and less than a millisecond', async (store, pass) => {
    await store.set('long', 1, 10_000.5);
    await store.set('short', 1, 0.25);
    expectSame(await store.increment('count', 1, 10_000.5), 1, 'the counter');
    await pass(PAST_SHORT_MS);
    expectSame([await store.get('long'), await store.get('short')], [1, undefined], 'the values');
  }),

  check('counts from nothing', async (store) => {
    const counted = [1, 5, -2, 0].map(async (by) => store.increment('key', by, LONG_MS));
    expectSame(await Promise.all(counted), [1, 6, 4, 4], 'the values');
    expectSame(await store.get('key'), 4, 'the value that is read');
  }),

  check('counts fractions', async (store) => {
    await store.increment('key', 0.25, LONG_MS);
    expectSame(await store.increment('key', 0.5, LONG_MS), 0.75, 'the value');
  }),

  check('goes on counting from a number that was set', async (store) => {
    await store.set('key', 40, LONG_MS);
    expectSame(await store.increment('key', 2, LONG_MS), 42, 'the value');
  }),

  check('counts from nothing where something else was', async (store) => {
    await store.set('key', { a: 1 }, LONG_MS);
    expectSame(await store.increment('key', 2, LONG_MS), 2, 'the value');
  }),

  check('does not prolong the time of a counter by counting', async (store, pass) => {
    const key = await countedTwice(pass, async (name, ttlMs) => store.increment(name, 1, ttlMs));
    expectSame(await store.get(key), undefined, 'the value');
    expectSame(await store.increment(key, 1, LONG_MS), 1, 'the value that is counted anew');
  }),

  check('never gives two callers the same count', async (store) => {
    const counts = await Promise.all(Array.from({ length: 100 }, async () => store.increment('key', 1, LONG_MS)));
    expectSame(new Set(counts).size, 100, 'how many different counts there are');
    expectHolds(Math.max(...counts) === 100, 'the largest is 100');
  }),

  check('changes several counters at once', async (store) => {
    const first = await store.change([
      { key: 'a', by: 5, ttlMs: LONG_MS },
      { key: 'b', by: 9_007_199_254_740_000, ttlMs: LONG_MS },
    ]);
    expectSame(first, { applied: true, sums: [5, 9_007_199_254_740_000] }, 'the first change');
    const second = await store.change([
      { key: 'a', by: -2, ttlMs: LONG_MS },
      { key: 'b', by: 991, ttlMs: LONG_MS },
    ]);
    expectSame(second, { applied: true, sums: [3, 9_007_199_254_740_991] }, 'the second change');
    expectSame([await store.get('a'), await store.get('b')], [3, 9_007_199_254_740_991], 'what is read');
    expectSame(await store.increment('a', 1, LONG_MS), 4, 'what is counted on');
  }),

  check('changes nothing when one change breaks its maximum', async (store) => {
    await store.change([{ key: 'b', by: 7, ttlMs: LONG_MS }]);
    const changes = [
      { key: 'a', by: 1, ttlMs: LONG_MS },
      { key: 'b', by: 4, ttlMs: LONG_MS, max: 10 },
    ];
    expectSame(await store.change(changes), { applied: false, sums: [0, 7] }, 'the refusal');
    expectSame([await store.get('a'), await store.get('b')], [undefined, 7], 'the counters');
    const fits = await store.change([{ key: 'b', by: 3, ttlMs: LONG_MS, max: 10 }]);
    expectSame(fits, { applied: true, sums: [10] }, 'a change up to the maximum');
  }),

  check('counts what is beside a counter under its maximum', async (store) => {
    await store.change([{ key: 'spent', by: 6, ttlMs: LONG_MS }]);
    const claim = { key: 'held', by: 3, ttlMs: LONG_MS, max: 10, beside: ['spent', 'missing'] };
    expectSame(await store.change([claim]), { applied: true, sums: [9] }, 'the first claim');
    expectSame(await store.change([claim]), { applied: false, sums: [9] }, 'the second claim');
    expectSame([await store.get('held'), await store.get('spent')], [3, 6], 'the counters');
  }),

  check('never lets a counter fall below zero by a change', async (store) => {
    await store.change([{ key: 'key', by: 2, ttlMs: LONG_MS }]);
    expectSame(await store.change([{ key: 'key', by: -5, ttlMs: LONG_MS }]), { applied: true, sums: [0] }, 'the count');
    expectSame(await store.change([{ key: 'none', by: -5, ttlMs: LONG_MS }]), { applied: true, sums: [0] }, 'another');
  }),

  check('does not prolong the time of a counter by changing it', async (store, pass) => {
    const key = await countedTwice(pass, async (name, ttlMs) => {
      return (await store.change([{ key: name, by: 1, ttlMs }])).sums[0];
    });
    expectSame(await store.get(key), undefined, 'the counter');
  }),

  check('never lets callers together come above a maximum', async (store) => {
    const change = { key: 'key', by: 3, ttlMs: LONG_MS, max: 100 };
    const changed = await Promise.all(Array.from({ length: 60 }, async () => store.change([change])));
    expectSame(changed.filter(({ applied }) => applied).length, 33, 'how many were let through');
    expectSame(await store.get('key'), 99, 'the counter');
  }),

  sharedCheck('never lets callers in two places come above a maximum', async (store, other) => {
    const change = { key: 'key', by: 3, ttlMs: LONG_MS, max: 100 };
    const changed = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => (index % 2 === 0 ? store : other).change([change])),
    );
    expectSame(changed.filter(({ applied }) => applied).length, 33, 'how many were let through');
  }),

  sharedCheck('shows elsewhere what was set here', async (store, other) => {
    await store.set('key', 'value', LONG_MS);
    expectSame(await other.get('key'), 'value', 'the value');
    await other.delete('key');
    expectSame(await store.get('key'), undefined, 'the value then');
  }),

  sharedCheck('never gives callers in two places the same count', async (store, other) => {
    const counts = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => (index % 2 === 0 ? store : other).increment('key', 1, LONG_MS)),
    );
    expectSame(new Set(counts).size, 100, 'how many different counts there are');
  }),

  ...textChecks,

  ...stateFaultChecks,
];

/** The checks that mean something for this store. */
export function stateStoreChecksFor({
  attach,
  faults,
}: Pick<StateStoreHarness, 'attach' | 'faults'>): readonly StateStoreCheck[] {
  return stateStoreChecks.filter(
    ({ needsSharing, needsFault }) =>
      (!needsSharing || attach !== undefined) && (needsFault === undefined || faults?.[needsFault] !== undefined),
  );
}
