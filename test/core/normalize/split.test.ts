import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { chooseShare } from '../../../src/core/normalize/split.ts';
import { describe, expect, it } from 'vitest';

const split = (...weights: readonly number[]) => ({
  split: weights.map((weight, index) => ({ model: `acme/model-${index}`, weight })),
});

const KEYS = 100_000;

function sharesOf(...weights: readonly number[]): readonly number[] {
  const counts = weights.map(() => 0);
  for (let key = 0; key < KEYS; key += 1) {
    const index = Number(/\d+$/.exec(chooseShare('fast', split(...weights), `session:user-${key}`)?.model ?? '')?.[0]);
    counts[index] = (counts[index] ?? 0) + 1;
  }
  return counts.map((count) => count / KEYS);
}

describe('an alias that divides its requests', () => {
  it.each([[[95, 5]], [[50, 50]], [[1, 1, 1]], [[70, 20, 10]], [[99, 1]], [[1, 0, 3]]])(
    'gives shares of %j within 1 % of all keys',
    (weights) => {
      const sum = weights.reduce((all, one) => all + one, 0);
      for (const [index, share] of sharesOf(...weights).entries()) {
        expect(Math.abs(share - (weights[index] ?? 0) / sum)).toBeLessThan(0.01);
      }
    },
  );

  it('gives each of 100,000 keys the same model in three processes, which share nothing', async () => {
    const program = `
      import { createHash } from 'node:crypto';
      import { chooseShare } from ${JSON.stringify(new URL('../../../src/core/normalize/split.ts', import.meta.url))};
      const hash = createHash('sha256');
      for (let key = 0; key < ${KEYS}; key += 1) {
        hash.update(chooseShare('fast', ${JSON.stringify(split(95, 5))}, 'session:user-' + key).model);
      }
      console.log(hash.digest('hex'));`;
    const run = promisify(execFile);
    const processes = [1, 2, 3].map(() => run(process.execPath, ['--input-type=module', '--eval', program]));
    const digests = (await Promise.all(processes)).map(({ stdout }) => stdout.trim());
    expect(digests[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(new Set(digests).size).toBe(1);
  });

  it('moves only the keys that a change of weights must move', () => {
    let moved = 0;
    let back = 0;
    for (let key = 0; key < KEYS; key += 1) {
      const before = chooseShare('fast', split(95, 5), `k${key}`)?.model;
      const after = chooseShare('fast', split(90, 10), `k${key}`)?.model;
      if (before !== after) moved += 1;
      if (before === 'acme/model-1' && after === 'acme/model-0') back += 1;
    }
    expect(back).toBe(0);
    expect(moved / KEYS).toBeCloseTo(0.05, 2);
  });

  it('chooses independently for each alias', () => {
    let same = 0;
    for (let key = 0; key < KEYS; key += 1) {
      const [one, two] = ['a', 'b'].map((alias) => chooseShare(alias, split(1, 1), `k${key}`)?.model);
      if (one === two) same += 1;
    }
    expect(same / KEYS).toBeCloseTo(0.5, 1);
  });

  it('has nothing to give where every weight is 0', () => {
    expect(chooseShare('fast', split(0, 0), 'k')).toBeUndefined();
  });
});
