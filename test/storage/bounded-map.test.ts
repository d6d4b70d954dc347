import { describe, expect, it } from 'vitest';
import { boundedMap } from '../../src/storage/memory.ts';
import { cpuClock } from '../support/cpu-clock.ts';

const value = (of: number): { readonly of: number } => ({ of });

describe('a bounded map', () => {
  it.each([1, 5, 100])(
    'of %i never holds more, and forgets first what was not written for the longest time',
    (most) => {
      const map = boundedMap<{ readonly of: number }>(most);
      for (let key = 0; key < 3 * most; key += 1) {
        map.set('kept', value(-1));
        map.set(`${key}`, value(key));
        const held = Array.from({ length: key + 1 }, (_, index) => map.get(`${index}`) !== undefined);
        expect(held.at(-1)).toBe(true);
        expect(held.filter(Boolean).length).toBeLessThanOrEqual(most);
        // Those that are held are the last ones.
        expect(held.lastIndexOf(false)).toBeLessThan(held.indexOf(true));
        if (most > 1) expect(map.get('kept')).toEqual(value(-1));
      }
    },
  );

  it('takes no longer for a new key when it is full', () => {
    const map = boundedMap<{ readonly of: number }>(10_000);
    const cpuMs = cpuClock();
    for (let key = 0; key < 300_000; key += 1) map.set(`${key}`, value(key));
    expect(cpuMs()).toBeLessThan(800);
  });
});
