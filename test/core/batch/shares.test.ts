import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ClaimedShare, Turns } from '../../../src/core/batch/shares.ts';

/** Who gets so many places, when all of them wait all the time. */
function places(weights: Readonly<Record<string, number>>, count: number, turns = new Turns()): Record<string, number> {
  const got = Object.fromEntries(Object.keys(weights).map((account) => [account, 0]));
  for (const account of Object.keys(weights)) turns.join(account);
  for (let place = 0; place < count; place += 1) {
    const [next = ''] = Object.keys(weights).toSorted((left, right) => turns.had(left) - turns.had(right));
    turns.served(next, weights[next] ?? 1);
    got[next] = (got[next] ?? 0) + 1;
  }
  return got;
}

describe('turns of accounts', () => {
  it.each([
    [{ a: 1, b: 1 }, 100, { a: 50, b: 50 }],
    [{ a: 3, b: 1 }, 100, { a: 75, b: 25 }],
    [{ a: 7, b: 2, c: 1 }, 1_000, { a: 700, b: 200, c: 100 }],
  ])('are given by weight: %j', (weights, count, expected) => {
    for (const [account, got] of Object.entries(places(weights, count))) {
      expect(Math.abs(got - (expected[account as keyof typeof expected] ?? 0))).toBeLessThanOrEqual(1);
    }
  });

  it('come soon for whoever comes late, and make up for nothing', () => {
    const turns = new Turns();
    places({ a: 1 }, 500, turns);
    const got = places({ a: 1, b: 1 }, 100, turns);
    expect(got['b']).toBeGreaterThanOrEqual(50);
    expect(got['b']).toBeLessThanOrEqual(51);
  });

  it('are not won by whoever waits with one request at a time', () => {
    const turns = new Turns();
    turns.join('many');
    let few = 0;
    for (let place = 0; place < 400; place += 1) {
      // It queues anew each time.
      turns.join('few');
      const next = turns.had('few') < turns.had('many') ? 'few' : 'many';
      turns.served(next, next === 'many' ? 3 : 1);
      if (next === 'few') few += 1;
    }
    expect(few).toBeLessThanOrEqual(101);
  });

  it('keep little of accounts that are gone', () => {
    const turns = new Turns();
    turns.join('stays');
    for (let index = 0; index < 5_000; index += 1) {
      turns.join(`account-${index}`);
      turns.served(`account-${index}`, 1);
      if (index % 10 === 0) turns.served('stays', 1);
    }
    expect(turns.had('account-7')).toBe(turns.had('nobody'));
  });
});

/** Indexes from one to before another. */
function indexes(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from }, (_, place) => from + place);
}

describe('the share of a batch that a process has claimed', () => {
  it('is all of it before the first claim, and for one that runs it alone', () => {
    const share = new ClaimedShare();
    expect(share.ofRest(1_000)).toBe(1_000);
    share.claimed(indexes(0, 100));
    share.claimed(indexes(100, 300));
    expect(share.ofRest(1_000)).toBe(700);
    share.claimed(indexes(300, 1_000));
    expect(share.ofRest(1_000)).toBe(0);
  });

  it('does not count what was claimed before it began', () => {
    const share = new ClaimedShare();
    share.claimed(indexes(600, 700));
    expect(share.ofRest(1_000)).toBe(300);
  });

  it('leaves others what they will take meanwhile, down to nothing, whatever was claimed', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 8 }), fc.integer({ min: 1, max: 128 }), (processes, slice) => {
        const total = 10_000;
        const share = new ClaimedShare();
        let claims = 0;
        for (let from = 0; from + slice * processes <= total; from += slice * processes) {
          share.claimed(indexes(from, from + slice));
          claims += 1;
          const own = share.ofRest(total);
          expect(own).toBeGreaterThanOrEqual(0);
          // After its first claim it cannot know of the others.
          if (claims > 1) expect(own).toBeLessThanOrEqual(Math.ceil((total - from - slice) / processes));
        }
        share.claimed(indexes(total - 1, total));
        expect(share.ofRest(total)).toBe(0);
      }),
    );
  });
});
