import { describe, expect, it } from 'vitest';
import {
  evidenceAfterAcceptance,
  evidenceAfterRefusal,
  isExhausted,
  NONE_BESIDE,
  type RefusalEvidence,
} from '../../../src/core/fallback/refusal-evidence.ts';
import { seededRandom } from '../../../src/providers/simulated/chance.ts';

const refusedAt = (known: RefusalEvidence | undefined, now: number): RefusalEvidence =>
  evidenceAfterRefusal(known, NONE_BESIDE, now);

/** Refusals in a row until they are evident. */
function refusalsUntilEvident(known: RefusalEvidence | undefined, from: number): number {
  let evidence = known;
  for (let refusals = 1; refusals <= 1_000; refusals += 1) {
    evidence = refusedAt(evidence, from + refusals);
    if (isExhausted(evidence)) return refusals;
  }
  return Infinity;
}

/** What calls say that are refused by the same chance. */
function afterChance(share: number, calls: number, seed: number): { known: RefusalEvidence; alarms: number } {
  const chance = seededRandom(seed);
  let known = refusedAt(undefined, 0);
  let alarms = 0;
  for (let call = 1; call <= calls; call += 1) {
    const isRefused = chance() < share;
    known = isRefused ? refusedAt(known, call) : evidenceAfterAcceptance(known, call, call);
    // The first calls are judged by what nothing is known of.
    if (isRefused && isExhausted(known)) alarms += 1;
  }
  return { known, alarms };
}

describe('refusals of an endpoint', () => {
  it.each([0.001, 0.01, 0.05, 0.2, 0.5])('by chance, %d of all, are not evident in 100,000 calls', (share) => {
    const alarms = [1, 2, 3, 4, 5].map((seed) => afterChance(share, 100_000, seed).alarms);
    expect(alarms.filter((count) => count > 0).length).toBeLessThanOrEqual(2);
  });

  it.each([
    [0.001, 3],
    [0.05, 6],
    [0.2, 12],
    [0.5, 30],
  ])('that refuses %d by chance are evident after %d in a row', (share, most) => {
    const { known } = afterChance(share, 10_000, 1);
    const settled = evidenceAfterAcceptance(evidenceAfterAcceptance(known, 1e5, 1e5), 1e5, 1e5);
    expect(refusalsUntilEvident(settled, 2e5)).toBeLessThanOrEqual(most);
  });

  it('are evident after six from the first call on, and no longer after one answer that was sent since', () => {
    expect(refusalsUntilEvident(undefined, 0)).toBe(6);
    let known: RefusalEvidence | undefined;
    for (let now = 10; now < 20; now += 1) known = refusedAt(known, now);
    if (known === undefined) throw new Error('it refused');
    expect(isExhausted(evidenceAfterAcceptance(known, 5, 30))).toBe(true);
    expect(isExhausted(evidenceAfterAcceptance(known, 25, 30))).toBe(false);
  });

  it('say nothing while as many calls are under way that may be accepted', () => {
    let known: RefusalEvidence | undefined;
    for (let now = 1; now < 8; now += 1) known = evidenceAfterRefusal(known, { ...NONE_BESIDE, undecided: 30 }, now);
    expect(isExhausted(known)).toBe(false);
  });

  it('say nothing of what comes a minute later', () => {
    let known: RefusalEvidence | undefined;
    for (let now = 0; now < 10; now += 1) known = refusedAt(known, now * 61_000);
    expect(isExhausted(known)).toBe(false);
  });
});

describe('a limit that is exceeded', () => {
  /** Folds in calls of which some are refused, by turns, after so many answers. */
  function after(answered: number, calls: number, refusedOfTen: number) {
    let known = evidenceAfterRefusal(undefined, { ...NONE_BESIDE, answered }, 0);
    let time = 0;
    for (let call = 0; call < calls; call += 1) {
      time += 10;
      known =
        call % 10 < refusedOfTen
          ? evidenceAfterRefusal(known, { ...NONE_BESIDE, answered }, time)
          : evidenceAfterAcceptance(known, time, time);
    }
    return known;
  }

  it('is evident where clearly more is refused than usual, also between answers', () => {
    expect(after(200, 40, 6).isOverloaded).toBe(true);
    expect(isExhausted(after(200, 40, 6))).toBe(true);
  });

  it('is not where so much is refused from the first call on, or little', () => {
    expect(after(0, 60, 5).isOverloaded).toBe(false);
    expect(after(200, 400, 2).isOverloaded).toBe(false);
  });

  it('is over once little is refused', () => {
    let known = after(200, 40, 6);
    for (let call = 0; call < 80; call += 1) known = evidenceAfterAcceptance(known, 1_000 + call, 1_000 + call);
    expect(known.isOverloaded).toBe(false);
  });
});
