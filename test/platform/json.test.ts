import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as read from '../../src/platform/json.ts';
import type { JsonValue } from '../../src/protocol/json.ts';

const NOTHING = [undefined, null];
const SCALARS = [true, false, 0, 1.5, -1, '', ' ', 'text'];
const COLLECTIONS = [[], [1, { a: 1 }], {}, { a: 1 }];
const ALL: readonly unknown[] = [...NOTHING, ...SCALARS, ...COLLECTIONS];

/** The values of {@link ALL} that a reader does not take for something that is not there. */
function accepted(reader: (value: unknown) => unknown): readonly unknown[] {
  return ALL.filter((value) => reader(value) !== undefined);
}

describe('readers of JSON of which nothing is known', () => {
  it('read texts that are not empty', () => {
    expect(accepted(read.text)).toEqual([' ', 'text']);
    expect(ALL.filter((value) => read.isText(value))).toEqual([' ', 'text']);
    expect(read.text(' text ')).toBe(' text ');
  });

  it('read strings that may be empty', () => {
    expect(accepted(read.string)).toEqual(['', ' ', 'text']);
    expect(read.string('')).toBe('');
  });

  it('read numbers as they are', () => {
    expect(accepted(read.number)).toEqual([0, 1.5, -1]);
    expect(read.number(-1.5)).toBe(-1.5);
  });

  it('read counts, which are whole and not negative', () => {
    expect(accepted(read.count)).toEqual([0, 1.5]);
    expect([0.4, 1.5, 7, 1e9].map((value) => read.count(value))).toEqual([0, 2, 7, 1e9]);
    expect([NaN, -0.1, Infinity, 1e9 + 1, '7'].map((value) => read.count(value))).toEqual(Array(5).fill(undefined));
  });

  it('read amounts of US dollars, which no answer costs a million of', () => {
    expect(accepted(read.usd)).toEqual([0, 1.5]);
    expect([0, 0.0000001, 1e6].map((value) => read.usd(value))).toEqual([0, 0.0000001, 1e6]);
    expect([NaN, -0.1, Infinity, 1e6 + 1, '7'].map((value) => read.usd(value))).toEqual(Array(5).fill(undefined));
  });

  it('read the items of lists, and none from anything else', () => {
    const items = [1, { a: 1 }];
    expect(read.list(items)).toBe(items);
    expect(ALL.map((value) => read.list(value)).filter((one) => one.length > 0)).toEqual([[1, { a: 1 }]]);
  });

  it('read the objects in lists, without anything else', () => {
    expect(read.objects([{ a: 1 }, null, [], 'text', { b: 2 }])).toEqual([{ a: 1 }, { b: 2 }]);
    expect(read.objects({ a: 1 })).toEqual([]);
  });

  it('read objects, and empty ones from anything else', () => {
    const members = { a: 1 };
    expect(read.object(members)).toBe(members);
    for (const other of [...NOTHING, ...SCALARS, [], [1]]) expect(read.object(other)).toEqual({});
  });

  it('parse every JSON text, and give undefined for anything else', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const json = JSON.stringify(value);
        expect(JSON.stringify(read.parse(json))).toBe(json);
      }),
    );
    expect(['', '{', 'undefined', '{"a":1}}'].map((json) => read.parse(json))).toEqual(Array(4).fill(undefined));
  });

  it('parse objects only where an object is asked for', () => {
    expect(read.parseObject('{"a":1}')).toEqual({ a: 1 });
    expect(['[{}]', 'null', '"text"', '1', '{'].map((json) => read.parseObject(json))).toEqual(
      Array(5).fill(undefined),
    );
  });
});

describe('canonical', () => {
  it('is the same for equal values in whatever order, and JSON that says the same', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (members) => {
        const value = { ...members } as { [key: string]: JsonValue };
        // V8 takes the name `"` for `\` when it has parsed an object with that name at the same place before.
        fc.pre(!JSON.stringify(value).includes('\\\\'));
        const turned = Object.fromEntries(Object.entries(value).toReversed());
        expect(read.canonical(turned)).toBe(read.canonical(value));
        expect(read.parse(read.canonical(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('differs for values that differ', () => {
    const values: readonly JsonValue[] = [null, 0, '0', [], {}, [[]], [{}], { a: 0 }, { a: [0] }, { b: 0 }, ['a', 0]];
    expect(new Set(values.map((value) => read.canonical(value))).size).toBe(values.length);
  });
});
