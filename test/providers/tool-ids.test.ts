import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ToolIds, WORD_CHARACTERS } from '../../src/providers/tool-ids.ts';
import { runs } from '../support/properties.ts';

describe('ids of tool calls', () => {
  it('stay as they are where the rule allows it', () => {
    const ids = new ToolIds(WORD_CHARACTERS);
    expect([ids.call('toolu_01-A'), ids.result('toolu_01-A'), ids.original('toolu_01-A')]).toEqual(
      Array(3).fill('toolu_01-A'),
    );
  });

  it('are replaced where it does not, and can be turned back', () => {
    const ids = new ToolIds(WORD_CHARACTERS);
    expect([ids.call('call.1'), ids.call('call:1'), ids.call('call_1')]).toEqual(['call_1', 'call_1_1', 'call_1_2']);
    expect(['call_1', 'call_1_1', 'call_1_2'].map((id) => ids.original(id))).toEqual(['call.1', 'call:1', 'call_1']);
    expect(ids.original('toolu_new')).toBe('toolu_new');
  });

  it('of two calls under one id differ, and results belong to the calls in order', () => {
    const ids = new ToolIds(WORD_CHARACTERS);
    expect([ids.call('x'), ids.result('x'), ids.call('x'), ids.result('x')]).toEqual(['x', 'x', 'x_1', 'x_1']);
    expect([ids.call('x'), ids.call('x'), ids.result('x'), ids.result('x'), ids.result('x')]).toEqual([
      'x_2',
      'x_3',
      'x_2',
      'x_3',
      'x_3',
    ]);
    expect(ids.result('unknown')).toBeUndefined();
  });

  it('are allowed, unique and reversible, and those of a conversation do not change when it grows', () => {
    const someIds = fc.array(fc.oneof(fc.string(), fc.constantFrom('a', 'a_1', 'a.', 'ä', '_', '__proto__')));
    fc.assert(
      fc.property(someIds, (all) => {
        const ids = new ToolIds(WORD_CHARACTERS);
        const known = all.filter((id) => id !== '');
        const onWire = known.map((id) => ids.call(id));
        expect(onWire.every((id) => WORD_CHARACTERS.allowed.test(id))).toBe(true);
        expect(new Set(onWire).size).toBe(onWire.length);
        expect(onWire.map((id) => ids.original(id))).toEqual(known);
        const shorter = new ToolIds(WORD_CHARACTERS);
        const half = known.slice(0, known.length >> 1);
        expect(half.map((id) => shorter.call(id))).toEqual(onWire.slice(0, half.length));
      }),
      runs(200),
    );
  });
});
