import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PartialArguments } from '../../../src/providers/google/partial-arguments.ts';
import { runs } from '../../support/properties.ts';

type Value = Readonly<Record<string, string | number | boolean | null>>;

function collected(...values: readonly Value[]): unknown {
  const args = new PartialArguments({});
  for (const value of values) args.add([value]);
  return args.whole;
}

describe('arguments that come value by value', () => {
  it('are put together by their paths', () => {
    expect(
      collected(
        { jsonPath: '$.items[0].name', stringValue: 'a' },
        { jsonPath: '$.items[0].count', numberValue: 2 },
        { jsonPath: '$.items[1]', boolValue: false },
        { jsonPath: '$["odd key"].deep', nullValue: 'NULL_VALUE' },
      ),
    ).toEqual({ items: [{ name: 'a', count: 2 }, false], 'odd key': { deep: null } });
  });

  it('have texts of several pieces, and of one again where the first had ended', () => {
    expect(
      collected(
        { jsonPath: '$.a', stringValue: 'one ', willContinue: true },
        { jsonPath: '$.a', stringValue: 'two', willContinue: false },
      ),
    ).toEqual({ a: 'one two' });
    expect(collected({ jsonPath: '$.a', stringValue: 'one' }, { jsonPath: '$.a', stringValue: 'two' })).toEqual({
      a: 'two',
    });
  });

  it('are added to those that came whole', () => {
    const whole = new PartialArguments({ a: 1 });
    whole.add([{ jsonPath: '$.b', numberValue: 2 }]);
    // oxlint-disable-next-line unicorn/no-array-fill-with-reference-type -- it is no list
    whole.fill({ c: 3 });
    expect(whole.whole).toEqual({ a: 1, b: 2, c: 3 });
  });

  it.each(['', 'a', '$', '$.', '$[', '$.a[999999999]', `$${'.a'.repeat(65)}`])(
    'are left out without a place: %s',
    (jsonPath) => {
      expect(collected({ jsonPath, numberValue: 1 })).toEqual({});
    },
  );

  it('reach nothing but themselves, whatever they are called', () => {
    const whole = collected({ jsonPath: '$.__proto__.polluted', boolValue: true });
    expect(JSON.stringify(whole)).toBe('{"__proto__":{"polluted":true}}');
    expect('polluted' in {}).toBe(false);
  });

  it('are what was said, in any order of places', () => {
    const name = fc.stringMatching(/^[a-z]{1,5}$/);
    fc.assert(
      fc.property(fc.dictionary(name, fc.dictionary(name, fc.string())), (said) => {
        const values = Object.entries(said).flatMap(([outer, inner]) =>
          Object.entries(inner).map(([key, text]) => ({ jsonPath: `$.${outer}.${key}`, stringValue: text })),
        );
        const expected = Object.fromEntries(Object.entries(said).filter(([, inner]) => Object.keys(inner).length > 0));
        expect(collected(...values.toReversed())).toEqual(expected);
      }),
      runs(200),
    );
  });
});
