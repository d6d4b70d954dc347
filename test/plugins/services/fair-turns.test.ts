import { describe, expect, it } from 'vitest';
import { FairTurns } from '../../../src/plugins/services/fair-turns.ts';

const SIGNAL = new AbortController().signal;

/** Work that the test ends, in the order in which it begins. */
function workshop(turns: FairTurns) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const work = (account: string | undefined, name: string, signal = SIGNAL): Promise<void> =>
    turns.take(account, signal, () => {
      begun.push(name);
      return new Promise((resolve) => ends.set(name, resolve));
    });
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await new Promise(setImmediate);
  };
  return { begun, work, end };
}

describe('fair turns', () => {
  it('leave half of the places to others', async () => {
    const { begun, work, end } = workshop(new FairTurns(4));
    for (const name of ['a1', 'a2', 'a3']) void work('a', name);
    void work('b', 'b1');
    await end('');
    expect(begun).toEqual(['a1', 'a2', 'b1']);
    await end('a1');
    expect(begun).toEqual(['a1', 'a2', 'b1', 'a3']);
  });

  it('are taken by one account after the other, however many wait', async () => {
    const { begun, work, end } = workshop(new FairTurns(1));
    for (let each = 1; each <= 5; each += 1) void work('a', `a${each}`);
    void work('b', 'b1');
    void work('b', 'b2');
    void work('c', 'c1');
    await end('');
    for (const name of ['a1', 'a2', 'b1', 'c1', 'a3', 'b2']) await end(name);
    expect(begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
  });

  it('are all for who is nobody in particular, and where work fails', async () => {
    const turns = new FairTurns(2);
    const { begun, work, end } = workshop(turns);
    await expect(turns.take('a', SIGNAL, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    for (const name of ['1', '2', '3']) void work(undefined, name);
    await end('');
    await end('1');
    expect(begun).toEqual(['1', '2', '3']);
  });

  it('are left by who does not want to wait any more', async () => {
    const { begun, work, end } = workshop(new FairTurns(1));
    void work('a', 'a1');
    const leaving = new AbortController();
    const left = work('b', 'b1', leaving.signal);
    void work('c', 'c1');
    leaving.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    await expect(work('b', 'b2', AbortSignal.abort(new Error('late')))).rejects.toThrow('late');
    await end('a1');
    expect(begun).toEqual(['a1', 'c1']);
  });
});
