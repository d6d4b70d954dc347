import { describe, expect, it } from 'vitest';
import { retry } from '../../src/platform/retry.ts';

/** Fails so many times, with what is given, and says how often it was tried. */
function failing(times: number, thrown: unknown) {
  const work = {
    tried: 0,
    run: (): string => {
      work.tried += 1;
      if (work.tried <= times) throw thrown;
      return 'done';
    },
  };
  return work;
}

/** A policy whose waits double from one millisecond, with a record of them. */
function doubling(tries?: number) {
  const waits: number[] = [];
  return {
    waits,
    tries,
    waitAfter: (_thrown: unknown, tried: number) => 2 ** (tried - 1),
    wait: (ms: number) => {
      waits.push(ms);
      return Promise.resolve();
    },
  };
}

describe('retry', () => {
  it('begins at once, and does not wait when the first try succeeds', async () => {
    const work = failing(0, undefined);
    const policy = doubling();
    const running = retry(work.run, policy);
    expect(work.tried).toBe(1);
    expect(await running).toBe('done');
    expect(policy.waits).toEqual([]);
  });

  it('tries again after the waits of its policy', async () => {
    const policy = doubling();
    expect(await retry(failing(4, new Error('busy')).run, policy)).toBe('done');
    expect(policy.waits).toEqual([1, 2, 4, 8]);
  });

  it.each([
    ['an error', new Error('busy')],
    ['a TypeError', new TypeError('busy')],
    ['what is no error', 'busy'],
    ['nothing', undefined],
  ])('gives up after its most tries with %s, as it was thrown', async (_what, thrown) => {
    const work = failing(9, thrown);
    const policy = doubling(3);
    await expect(retry(work.run, policy)).rejects.toBe(thrown);
    expect([work.tried, policy.waits]).toEqual([3, [1, 2]]);
  });

  it('ends when the policy has no wait, with what was thrown', async () => {
    const work = failing(9, 'final');
    const policy = { ...doubling(), waitAfter: (thrown: unknown) => (thrown === 'final' ? undefined : 1) };
    await expect(retry(work.run, policy)).rejects.toBe('final');
    expect(work.tried).toBe(1);
  });

  it('ends with what the policy throws', async () => {
    const given = new Error('No answer for 10 minutes');
    const policy = {
      ...doubling(),
      waitAfter: (): number => {
        throw given;
      },
    };
    await expect(retry(failing(9, new Error('busy')).run, policy)).rejects.toBe(given);
  });

  it('waits with a timer when nothing else is given', async () => {
    const work = failing(1, new Error('busy'));
    const begun = performance.now();
    expect(await retry(work.run, { waitAfter: () => 30 })).toBe('done');
    // Timers may fire up to a millisecond early.
    expect(performance.now() - begun).toBeGreaterThan(28);
  });
});
