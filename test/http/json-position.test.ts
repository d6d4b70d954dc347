import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mistakeInJson } from '../../src/http/json-position.ts';
import { runs } from '../support/properties.ts';

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe('the mistake in a text that is not JSON', () => {
  it.each([
    ['{"a": x}', 'mistake at line 1, column 7'],
    ['[1,]', 'mistake at line 1, column 4'],
    ['{a:1}', 'mistake at line 1, column 2'],
    ["{'a':1}", 'mistake at line 1, column 2'],
    ['{"a" 1}', 'mistake at line 1, column 6'],
    ['{"a":01}', 'mistake at line 1, column 6'],
    ['{"a":tru}', 'mistake at line 1, column 6'],
    ['{"a":"b\nc"}', 'mistake at line 1, column 6'],
    ['{"a":"\\x"}', 'mistake at line 1, column 6'],
    ['{\r\n"a":\r\n  1 2}', 'mistake at line 3, column 5'],
    ['[}', 'mistake at line 1, column 2'],
    ['{]', 'mistake at line 1, column 2'],
    ['{}{}', 'mistake at line 1, column 3'],
    ['NaN', 'mistake at line 1, column 1'],
    ['{', 'it ends too early'],
    ['[1,', 'it ends too early'],
    ['{"a"', 'it ends too early'],
    ['{"a":', 'it ends too early'],
    ['', 'it ends too early'],
  ])('is found: %j', (text, expected) => {
    expect(mistakeInJson(text)).toBe(expected);
  });

  it('is not looked for in a megabyte', () => {
    expect(mistakeInJson('x'.repeat(1_000_001))).toBeUndefined();
    expect(mistakeInJson(`[${'1,'.repeat(400_000)}x]`)).toBe('mistake at line 1, column 800002');
  });

  it('is found in nested brackets and long strings without overflowing', () => {
    expect(mistakeInJson(`${'['.repeat(400_000)}x`)).toBe('mistake at line 1, column 400001');
    expect(mistakeInJson(`["${'a\\n'.repeat(300_000)}" x`)).toBe('mistake at line 1, column 900005');
  });

  it('stands where everything before it could still have become JSON, and nothing longer could', () => {
    const broken = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom('x', ',', ':', '}', ']', '{', '[', '"', '\\', '0', '-', ''))
      .map(([text, at, insert]) => {
        const position = at % (text.length + 1);
        return text.slice(0, position) + insert + text.slice(position + (insert === '' ? 1 : 0));
      })
      .filter((text) => !isJson(text) && !text.includes('\n'));
    fc.assert(
      fc.property(broken, (text) => {
        const column = /column (\d+)$/.exec(mistakeInJson(text) ?? '')?.[1];
        if (column === undefined) return;
        // A text that is wrong from there on is not cured by anything that follows.
        const before = text.slice(0, Number(column) - 1);
        expect(mistakeInJson(before) ?? 'it ends too early').toBe('it ends too early');
      }),
      runs(1_000),
    );
  });
});
