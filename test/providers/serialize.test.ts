import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { serialize } from '../../src/providers/serialize.ts';
import { runs } from '../support/properties.ts';
import { cpuClock } from '../support/cpu-clock.ts';

const anyText = fc.string({
  unit: fc.oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
    fc.constantFrom('\\', '"', '\ud800', '\udbff', '\udc00', '\udfff', 'ud800', '\\ud800', '🚦', '\n', '\u0000'),
  ),
});
const anyBody = fc.dictionary(
  anyText,
  fc.jsonValue().chain((value) => fc.constantFrom(value)),
);

describe('a request body', () => {
  it('is what JSON.stringify makes of it when all its text is well-formed', () => {
    const wellFormed = fc.string({ unit: 'grapheme' });
    const value = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        wellFormed,
        fc.double({ noNaN: true }),
        fc.boolean(),
        fc.constantFrom(null, 'C:\\udder\\ud800', '\\\\ud83d'),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(wellFormed, tie('value'), { maxKeys: 3 }),
      ),
    })).value;
    fc.assert(
      fc.property(fc.dictionary(wellFormed, value), (body) => {
        expect(serialize(body)).toBe(JSON.stringify(body));
      }),
      runs(1_000),
    );
  });

  it('is always valid JSON without halves of characters, and says the same apart from them', () => {
    fc.assert(
      fc.property(fc.array(anyText), anyBody, (texts, body) => {
        const parsed = JSON.parse(serialize({ ...body, texts })) as { texts: string[] };
        expect(parsed.texts).toEqual(texts.map(repaired));
        expect(/[\ud800-\udfff]/u.test(JSON.stringify(parsed))).toBe(false);
        expect(JSON.stringify(parsed)).not.toMatch(/(?<!\\)(?:\\\\)*\\ud[89a-f]/);
      }),
      runs(1_000),
    );
  });

  it.each([
    ['a half alone', '\ud83d', '\uFFFD'],
    ['the second half alone', 'x\udea6y', 'x\uFFFDy'],
    ['halves in the wrong order', '\udea6\ud83d', '\uFFFD\uFFFD'],
    ['a whole character', '🚦', '🚦'],
    ['a half behind a backslash', '\\\ud83d', '\\\uFFFD'],
    ['a half behind two backslashes', '\\\\\ud83d', '\\\\\uFFFD'],
    ['what only looks like an escape', '\\ud83d', '\\ud83d'],
    ['what looks like one behind a backslash', '\\\\ud83d \ud83d', '\\\\ud83d \uFFFD'],
  ])('with %s is sent with it replaced', (_name, text, expected) => {
    expect(JSON.parse(serialize({ text }))).toEqual({ text: expected });
  });

  it('takes no longer for a megabyte of backslashes', () => {
    const text = '\\'.repeat(1_000_000);
    const cpuMs = cpuClock();
    expect(JSON.parse(serialize({ text: `${text}\ud800` }))).toEqual({ text: `${text}\uFFFD` });
    expect(cpuMs()).toBeLessThan(5_000);
  });
});

/** The text with each lone half replaced, found the slow way. */
function repaired(text: string): string {
  return Array.from(text, (character) => (/^[\ud800-\udfff]$/.test(character) ? '\uFFFD' : character)).join('');
}

describe('a large body', () => {
  it('with half a character is serialised as fast as any other, however many escapes are in it', () => {
    const body = { text: `${'"'.repeat(8_000_000)}\ud800` };
    const before = process.threadCpuUsage();
    const text = serialize(body);
    const { user, system } = process.threadCpuUsage(before);
    expect(text.endsWith('\\"\uFFFD"}')).toBe(true);
    // Seconds where it is not: each escape costs as much as all of them.
    expect((user + system) / 1_000).toBeLessThan(1_500);
  });
});
