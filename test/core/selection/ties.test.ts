import { describe, expect, it } from 'vitest';
import { addQueues, bestOf, breakTie, cheapestOf, type Timed } from '../../../src/core/selection/adaptive/ties.ts';
import { DEFAULT_ADAPTIVE_POLICY } from '../../../src/core/selection/adaptive/policy.ts';
import type { Timing } from '../../../src/core/selection/adaptive/speed.ts';

interface Case {
  readonly cost?: number;
  readonly late?: number;
  readonly warmth?: number;
  readonly queueMs?: number;
  readonly perTokenMs?: number;
}

/** Endpoints that take 100 ms and, as a rule, a seventh of a millisecond for each token. */
function timed(...cases: readonly Case[]): { readonly all: Timed[]; readonly timing: (endpoint: object) => Timing } {
  const times = new Map<object, Timing>();
  const all = cases.map(({ cost = 1, late = 1, warmth = 0, queueMs = 0, perTokenMs = 1 / 7 }, index): Timed => {
    const endpoint = { id: String(index) } as Timed['endpoint'];
    times.set(endpoint, { baseMs: 100, perTokenMs, queueMs });
    const figures = { warmth, headroom: 1, health: 1 };
    const unknown = { isRefused: false, isTimed: false, ms: undefined, queueMs: 0, slower: 1, known: 0 };
    return { endpoint, figures, ...unknown, cost, late, value: cost * late };
  });
  const timing = (endpoint: object): Timing => times.get(endpoint) ?? { baseMs: 0, perTokenMs: 0, queueMs: 0 };
  return { all, timing };
}

/** Compares them for a prompt, and gives the number of the one that comes first. */
function first(prompt: number, ...cases: readonly Case[]): number {
  const { all, timing } = timed(...cases);
  addQueues(all, 1, { prompt, answer: 0, timing }, DEFAULT_ADAPTIVE_POLICY);
  breakTie(cheapestOf(all));
  const order = all.toSorted((left, right) => left.value * left.slower - right.value * right.slower);
  return order[0] === undefined ? -1 : all.indexOf(order[0]);
}

describe('endpoints that cost the same', () => {
  it('are compared by what they have to compute and the queue before it', () => {
    expect(first(20_000, {}, { warmth: 0.9 })).toBe(1);
    // The queue is longer than what is left to compute, and still shorter than to compute all of it elsewhere.
    expect(first(20_000, {}, { warmth: 0.9, queueMs: 2_000 })).toBe(1);
    expect(first(20_000, {}, { warmth: 0.9, queueMs: 12_000 })).toBe(0);
  });

  it('are compared by time also where one is a little late, or all have queues', () => {
    expect(first(1_000, { queueMs: 20_000 }, { late: 1.2 })).toBe(1);
    expect(first(1_000, { queueMs: 20_000 }, { queueMs: 5_000 }, { queueMs: 40_000 })).toBe(1);
    expect(first(1_000, {}, { late: 200 })).toBe(0);
  });

  it('cost the same also where the sums differ by rounding', () => {
    expect(first(20_000, { cost: 1 + 1e-15 }, { warmth: 0.9 }, {})).toBe(1);
    expect(first(20_000, { warmth: 0.9, queueMs: 60_000 }, { cost: 1 + 1e-15 })).toBe(1);
  });

  it('hold a session for whom one is cheaper, however little that is', () => {
    const { all, timing } = timed({ warmth: 0.9, queueMs: 1_000 }, { cost: 1.01 });
    addQueues(all, 1, { prompt: 100, answer: 0, timing }, DEFAULT_ADAPTIVE_POLICY);
    breakTie(bestOf(all, 1));
    expect(all[1]?.value).toBe(1.01);
  });

  it('hold a session also where nothing is cheaper, unless others answer clearly sooner', () => {
    // Three times as long, but a tenth of a second is less than a prompt cache is worth.
    expect(first(100, {}, { warmth: 0.9, queueMs: 60 })).toBe(1);
    expect(first(100, {}, { warmth: 0.9, queueMs: 400 })).toBe(0);
  });
});
