import { isDrawn } from '../../../src/core/normalize/mirror.ts';
import { chooseShare } from '../../../src/core/normalize/split.ts';
import { describe, expect, it } from 'vitest';

const KEYS = 100_000;

function drawn(share: number, alias = 'fast'): ReadonlySet<number> {
  const mirror = { model: 'acme/new', share, budget: { limitUsd: 1 } };
  const keys = Array.from({ length: KEYS }, (_, key) => key);
  return new Set(keys.filter((key) => isDrawn(alias, mirror, `session:user-${key}`)));
}

describe('the draw of a mirror', () => {
  it.each([0, 0.01, 0.05, 0.5, 0.9, 1])('copies a share of %d within 1 % of all keys', (share) => {
    expect(Math.abs(drawn(share).size / KEYS - share)).toBeLessThan(share === 0 || share === 1 ? 1e-9 : 0.01);
  });

  it('copies with a larger share all that it copied with a smaller one', () => {
    const [few, many] = [drawn(0.05), drawn(0.2)];
    expect([...few].every((key) => many.has(key))).toBe(true);
  });

  it('is independent of other aliases, and of splits', () => {
    const [one, other] = [drawn(0.5), drawn(0.5, 'another')];
    expect([...one].filter((key) => other.has(key)).length / KEYS).toBeCloseTo(0.25, 2);
    const split = {
      split: [
        { model: 'acme/new', weight: 1 },
        { model: 'acme/old', weight: 1 },
      ],
    };
    const both = [...one].filter((key) => chooseShare('fast', split, `session:user-${key}`)?.model === 'acme/new');
    expect(both.length / KEYS).toBeCloseTo(0.25, 2);
  });
});
