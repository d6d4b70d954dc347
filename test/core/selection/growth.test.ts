import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../../src/providers/simulated/chance.ts';
import {
  type Growth,
  growthAfter,
  growthFactor,
  expectedMs,
  isKnownStill,
  timingOf,
} from '../../../src/core/selection/adaptive/speed.ts';
import { chargedNow, chargesAfter, type Charges } from '../../../src/core/selection/adaptive/charges.ts';
import { mayRescue, NO_RESCUES, rescuesNow } from '../../../src/core/selection/adaptive/hedge.ts';

const chance = seededRandom(5);
const noise = (): number => Math.exp(0.35 * (chance() + chance() + chance() - 1.5) * 2);

function learnt(calls: number, msOf: (tokens: number) => number): Growth | undefined {
  let growth: Growth | undefined;
  for (let call = 0; call < calls; call += 1) {
    const tokens = 500 + 20_000 * chance() ** 2;
    growth = growthAfter(growth, tokens, msOf(tokens) * noise());
  }
  return growth;
}

describe('how times grow with tokens', () => {
  it('is found where there is a line', () => {
    const growth = learnt(200, (tokens) => 100 + tokens / 7);
    expect(growth?.perTokenMs).toBeGreaterThan(1 / 9);
    expect(growth?.perTokenMs).toBeLessThan(1 / 5.5);
    const typical = growth?.tokens ?? 0;
    expect(growthFactor(growth, typical)).toBeCloseTo(1, 6);
    expect(growthFactor(growth, 4 * typical)).toBeGreaterThan(3);
    expect(growthFactor(growth, 0)).toBeLessThan(0.3);
  });

  it('is not found in times that have nothing to do with tokens', () => {
    for (let run = 0; run < 20; run += 1) {
      const growth = learnt(300, () => 600);
      expect(growthFactor(growth, 20_000)).toBeLessThan(1.5);
      expect(growthFactor(growth, 500)).toBeGreaterThan(0.7);
    }
  });

  it('refers to the same number of tokens after the first calls', () => {
    let growth = learnt(100, (tokens) => 100 + tokens / 7);
    const { tokens } = growth ?? { tokens: 0 };
    for (let call = 0; call < 100; call += 1) growth = growthAfter(growth, 90_000, 13_000);
    expect(growth?.tokens).toBe(tokens);
  });

  it('is not known of a few calls', () => {
    expect(
      growthFactor(
        learnt(5, (tokens) => tokens),
        10,
      ),
    ).toBe(1);
    expect(growthFactor(undefined, 10)).toBe(1);
  });

  it('is not moved far by calls of an outage', () => {
    let growth = learnt(200, (tokens) => 100 + tokens / 7);
    const before = growthFactor(growth, 30_000);
    for (let call = 0; call < 5; call += 1) growth = growthAfter(growth, 600, 300_000);
    expect(growthFactor(growth, 30_000) / before).toBeGreaterThan(0.6);
  });
});

describe('what a call takes at the moment', () => {
  it('is longer for each token that waits before it', () => {
    const growth = learnt(200, (tokens) => 100 + tokens / 7);
    const usual = { calls: 50, mean: Math.log(100 + (growth?.tokens ?? 0) / 7), variance: 0.1, growth };
    const free = timingOf(usual, 0, 0);
    const busy = timingOf(usual, 2, 28_000);
    expect(expectedMs(busy, 1_000) - expectedMs(free, 1_000)).toBeGreaterThan(3_000);
  });

  it('is longer with calls under way, also where tokens do not matter', () => {
    const usual = { calls: 50, mean: Math.log(500), variance: 0.1 };
    expect(expectedMs(timingOf(usual, 10, 0), 1_000)).toBeCloseTo(550, 6);
  });

  it('is not what it was after two hours', () => {
    expect(isKnownStill(0, 7_200_000)).toBe(true);
    expect(isKnownStill(0, 7_200_001)).toBe(false);
  });
});

describe('second calls', () => {
  it('may be a tenth of the calls of about the last minute, and a few', () => {
    let known = NO_RESCUES;
    for (let request = 0; request < 1_000; request += 1) known = rescuesNow(known, request * 10, 1);
    let made = 0;
    while (mayRescue(known)) {
      known = { ...known, rescues: known.rescues + 1 };
      made += 1;
    }
    expect(made).toBeGreaterThan(80);
    expect(made).toBeLessThan(110);
    expect(mayRescue(rescuesNow(known, 10_000 + 300_000))).toBe(true);
  });
});

describe('what an endpoint charges', () => {
  it('is learnt from a few answers, and forgotten after an hour', () => {
    let charges: Charges | undefined;
    for (let answer = 0; answer < 6; answer += 1) charges = chargesAfter(charges, 4, answer);
    expect(chargedNow(charges, 10)).toBeGreaterThan(3.8);
    expect(chargedNow(charges, 3_600_010)).toBe(1);
    for (let answer = 0; answer < 12; answer += 1) charges = chargesAfter(charges, 1, answer);
    expect(charges).toBeUndefined();
  });

  it('is not learnt from what cannot be a price', () => {
    expect(chargesAfter(undefined, 1_000, 0)).toBeUndefined();
    expect(chargesAfter(undefined, Number.NaN, 0)).toBeUndefined();
    expect(chargesAfter(undefined, 1.01, 0)).toBeUndefined();
  });
});
