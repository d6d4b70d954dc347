import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { frozenCopy } from '../../../src/core/pipeline/frozen.ts';

/** True when nothing in a value can be changed. */
function isFrozenThrough(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return Object.isFrozen(value) && Object.values(value).every(isFrozenThrough);
}

describe('a frozen copy', () => {
  it('equals its original, is frozen through and through, and leaves the original alone', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        const copy = frozenCopy(value);
        expect(copy).toEqual(value);
        expect(isFrozenThrough(copy)).toBe(true);
        expect(JSON.stringify(value)).toBe(text);
        if (typeof value === 'object' && value !== null) expect(Object.isFrozen(value)).toBe(false);
      }),
    );
  });

  it('of a copy is the copy itself, and so are the parts that were copied before', () => {
    const inner = frozenCopy({ a: [1] });
    expect(frozenCopy(inner)).toBe(inner);
    expect(frozenCopy({ inner }).inner).toBe(inner);
  });

  it('copies what somebody else froze, whose insides may not be frozen', () => {
    const shallow = Object.freeze({ list: [1] });
    const copy = frozenCopy(shallow);
    expect(copy).not.toBe(shallow);
    expect(Object.isFrozen(copy.list)).toBe(true);
  });

  it('keeps sets and other objects that are not plain', () => {
    const set = new Set([1]);
    expect(frozenCopy({ set }).set).toBe(set);
  });
});
