import { describe, expect, it } from 'vitest';
import { describeOption } from '../../scripts/configuration/describe-option.ts';
import { configurationPage } from '../../scripts/configuration/page.ts';
import { tablesOf } from '../../scripts/configuration/read-words.ts';
import { type Option, computed, option, required } from '../../src/options/option.ts';
import { readProjectFile } from '../support/source-files.ts';

describe('docs/configuration.md', () => {
  it('is what the tables of options say; `npm run docs:configuration` writes it', async () => {
    expect(readProjectFile('docs/configuration.md')).toBe(await configurationPage());
  });
});

describe('an option on the page', () => {
  it.each<[Option, string, readonly string[]]>([
    [option.ms({ default: 5_000 }), 'To connect. Default 5,000.', ['`number`, ≥ 0', '5,000', 'milliseconds']],
    [
      option.ms({ default: 3_600_000 }),
      'A. B. Default 3,600,000 (1 hour).',
      ['`number`, ≥ 0', '3,600,000 (1 hour)', 'milliseconds'],
    ],
    [option.integer(1, { default: 2, unit: 'bytes' }), 'A. Default 2.', ['`number`, whole, ≥ 1', '2', 'bytes']],
    [option.share({ default: 0.5 }), 'A. Default 0.5.', ['`number`, 0 to 1', '0.5']],
    [option.boolean({ default: false }), 'A. Default false.', ['`boolean`', 'false']],
    [option.enum(['a', 'b'], { default: 'b' }), 'A. Default `b`.', ["`'a' \\| 'b'`", '`b`']],
    [option.array(option.enum(['a', 'b'])), 'A.', ["`('a' \\| 'b')[]`", '']],
    [option.array(option.integer(1), { default: [80, 8_443] }), 'A. Default 80, 8443.', ['`number[]`', '80, 8443']],
    [option.record(option.string(), { default: {} }), 'A. Default: none.', ['`Record<string, string>`', 'none']],
    [option.union(option.amount(), option.string()), 'A.', ['`number \\| string`', '']],
    [required(option.string()), 'A.', ['`string`', 'required']],
    [computed(option.callable<() => void>('Maker')), 'A. Default: one.', ['`Maker`', 'one']],
  ])('has its type, default and unit', (one, comment, [type, usual, unit = '']) => {
    const { words, ...rest } = describeOption('x', one, comment);
    expect(rest).toEqual({ type, usual, unit });
    expect(words).not.toContain('Default');
    expect(comment.startsWith(words)).toBe(true);
  });

  it.each<[string, Option, string, string]>([
    ['has no comment', option.string(), '', 'x.y has no comment'],
    ['names another default', option.ms({ default: 1_000 }), 'A. Default 2,000.', 'must end with "Default 1,000."'],
    ['names no default', option.ms({ default: 1_000 }), 'A.', 'must end with "Default 1,000."'],
    ['names a default that is none', option.ms(), 'A. Default 2,000.', 'has no fixed default'],
    ['does not say what is computed', computed(option.integer(0)), 'A.', 'computed default'],
  ])('is refused when its comment %s', (_name, one, comment, expected) => {
    expect(() => describeOption('x.y', one, comment)).toThrow(expected);
  });

  it('is read from the comment above it, in one line', () => {
    const source = [
      '/** What it is. */',
      'export const SOME = {',
      '  /** First. */',
      '  one: option.text(),',
      '  ...OTHERS,',
      '  /**',
      '   * Second, in',
      '   * two lines.',
      '   */',
      '  two: option.number(',
      '    { right: 1 },',
      '  ),',
      '  three: option.flag(),',
      '} satisfies OptionTable;',
      '',
    ].join('\n');
    const [table] = tablesOf(source);
    expect(table).toMatchObject({ name: 'SOME', about: 'What it is.' });
    expect([...(table?.options ?? [])]).toEqual([
      ['one', 'First.'],
      ['two', 'Second, in two lines.'],
      ['three', ''],
    ]);
  });
});
