import { describe, expect, it } from 'vitest';
import { Shares } from '../../../src/runtime/limits/shares.ts';

/** Takes one after the other; gives how many there were. */
function fill(shares: Shares, owner: string): number {
  let taken = 0;
  for (; shares.verdict(owner, 1) === 'granted'; taken += 1) shares.change(owner, 1);
  return taken;
}

describe('shares', () => {
  it('are half for one account where there can be several', () => {
    const shares = new Shares(100);
    expect(fill(shares, 'a')).toBe(50);
    expect(shares.verdict('a', 1)).toBe('share');
    expect(fill(shares, 'b')).toBeGreaterThanOrEqual(25);
    expect(shares.verdict('c', 1)).toBe('granted');
  });

  it('are everything where there is one account, until a second one is seen', () => {
    const shares = new Shares(100);
    shares.divide('one');
    expect([fill(shares, 'a'), shares.share, shares.verdict('a', 1)]).toEqual([100, 100, 'full']);
    shares.change('a', -60);
    expect(shares.verdict('b', 1)).toBe('granted');
    expect([fill(shares, 'a'), shares.share]).toEqual([10, 50]);
  });

  it('count what others would give up as free', () => {
    const shares = new Shares(10);
    shares.change('a', 5);
    shares.change('b', 5);
    expect(shares.verdict('c', 2)).toBe('full');
    expect(shares.verdict('c', 2, 4)).toBe('granted');
  });

  it('forget who has nothing, and follow a limit that changes', () => {
    const shares = new Shares(4);
    shares.change('a', 2);
    shares.change('a', -2);
    expect([shares.of('a'), shares.held]).toEqual([0, 0]);
    shares.resize(40);
    expect(fill(shares, 'a')).toBe(20);
  });
});
