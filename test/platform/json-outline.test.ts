import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { outlineOf } from '../../src/platform/json-outline.ts';

/** Texts from which on only the beginning is kept, in bytes. */
const LONG = 4_096;

/** What a text may be made of, as JSON writes it. */
const piece = fc.constantFrom(
  'a',
  'é',
  '€',
  '👋',
  '\\n',
  '\\"',
  '\\\\',
  '\\u20ac',
  '\\ud83d\\udc4b',
  '\\ud83d',
  '"',
  '\\',
  '\\u12',
  '\\x',
  '\n',
);
const good = fc.constantFrom('a', 'é', '€', '👋', '\\n', '\\"', '\\\\', '\\u20ac', '\\ud83d\\udc4b', '\\ud83d');

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function outlined(text: string): unknown {
  try {
    return outlineOf(Buffer.from(text));
  } catch (error) {
    expect(error).toBeInstanceOf(SyntaxError);
    return undefined;
  }
}

/** A long text out of a few pieces, over and over, so that cuts fall on all of them. */
function longOf(pieces: readonly string[], repeats: number): string {
  return pieces.join('').repeat(repeats);
}

describe('the outline of a JSON text', () => {
  it('is what the engine reads, where no text is long', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), (text) => {
        expect(outlined(text)).toEqual(parsed(text));
      }),
      { numRuns: 500 },
    );
  });

  it('has the beginning of long texts, wherever they are cut', () => {
    fc.assert(
      fc.property(fc.array(good, { minLength: 1, maxLength: 7 }), fc.integer({ min: 0, max: 9 }), (pieces, shift) => {
        const long = 'x'.repeat(shift) + longOf(pieces, 9_000);
        const outline = outlined(`{"before":1,"text":"${long}","after":["${long}",2]}`) as Record<string, unknown>;
        expect(outline).toMatchObject({ before: 1, after: [expect.any(String), 2] });
        const kept = outline['text'] as string;
        expect((parsed(`"${long}"`) as string).startsWith(kept)).toBe(true);
        expect(kept.length).toBeGreaterThan(LONG / 12);
      }),
      { numRuns: 200 },
    );
  });

  it('is refused for exactly what the engine refuses, also in the middle of a long text', () => {
    fc.assert(
      fc.property(
        fc.array(good, { minLength: 1, maxLength: 5 }),
        fc.array(piece, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 0, max: 40_000 }),
        (before, middle, repeats) => {
          const text = `["${longOf(before, Math.ceil(repeats / before.length))}${middle.join('')}${longOf(before, 900)}"]`;
          expect(outlined(text) === undefined).toBe(parsed(text) === undefined);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('is refused for what is not UTF-8, in the part that is not kept too', () => {
    const bytes = Buffer.from(`"${'é'.repeat(20_000)}"`);
    bytes[30_000] = 0xff;
    expect(() => outlineOf(bytes)).toThrow(TypeError);
  });

  it('takes no longer for a text of nothing but backslashes', () => {
    const text = Buffer.from(`"${'\\\\'.repeat(4_000_000)}"`);
    const startedAt = process.cpuUsage();
    expect(outlineOf(text)).toMatch(/^\\+$/);
    const { user, system } = process.cpuUsage(startedAt);
    expect((user + system) / 1_000).toBeLessThan(5_000);
  });
});
