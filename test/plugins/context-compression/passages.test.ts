import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { passagesOf, withPassages } from '../../../src/plugins/context-compression/passages.ts';
import { runs } from '../../support/properties.ts';

const line = fc.constantFrom(
  '# Heading',
  '## Another',
  'Results:',
  '<document index="1">',
  'Some words about it. And some more!',
  'words without an end '.repeat(40),
  '| a | b |',
  '|---|---|',
  '| 1 | 2 |',
  '```ts',
  '```',
  'const a = 1;',
  '',
  '',
  '日本語の文章です。'.repeat(30),
  '{"rows":[{"a":1},{"a":2},{"a":3}]}',
  '😀'.repeat(400),
);
const texts = fc.array(line, { maxLength: 40 }).map((lines) => lines.join('\n'));

function every(text: string): ReadonlySet<number> {
  return new Set(passagesOf(text, 300).keys());
}

describe('passages of a text', () => {
  it('are all of it, in order, none of them too long, and no character is cut', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const passages = passagesOf(text, 300);
        expect(passages.map(({ from, to }) => text.slice(from, to)).join('')).toBe(text);
        for (const { from, to } of passages) {
          expect(to).toBeGreaterThan(from);
          expect(text.slice(from, to).trimEnd().length).toBeLessThanOrEqual(300);
          expect(text.slice(from, to)).not.toMatch(/^[\udc00-\udfff]|[\ud800-\udbff]$/);
        }
        expect(withPassages(text, passages, every(text))).toBe(text);
      }),
      runs(300),
    );
  });

  it('stay in order, with a mark wherever some were left out', () => {
    fc.assert(
      fc.property(texts, fc.array(fc.nat(30), { minLength: 1, maxLength: 8 }), (text, drawn) => {
        const passages = passagesOf(text, 300);
        const chosen = new Set(drawn.filter((place) => place < passages.length));
        fc.pre(chosen.size > 0 && chosen.size < passages.length);
        const short = withPassages(text, passages, chosen);
        expect(short).toContain('[…]');
        let at = 0;
        for (const place of [...chosen].sort((left, right) => left - right)) {
          const { from = 0, to = 0 } = passages[place] ?? {};
          const found = short.indexOf(text.slice(from, to).trim(), at);
          expect(found).toBeGreaterThanOrEqual(at);
          at = found;
        }
      }),
      runs(300),
    );
  });

  it('keep the head of a table, the heading above it, and both ends of a block of code', () => {
    const rows = Array.from({ length: 60 }, (_, index) => `| town ${index} | ${index * 7} |`).join('\n');
    const code = Array.from({ length: 60 }, (_, index) => `const value${index} = ${index * 3};`).join('\n');
    const text = `## Towns\n\n| Name | Size |\n|---|---|\n${rows}\n\n## Code\n\n\`\`\`ts\n${code}\n\`\`\`\n\nThe end.\n`;
    const passages = passagesOf(text, 300);
    const placeOf = (words: string): number =>
      passages.findIndex(({ from, to }) => text.slice(from, to).includes(words));
    const short = withPassages(text, passages, new Set([placeOf('| town 40 |'), placeOf('const value30 =')]));
    expect(short).toMatch(
      /^\[…\]\n## Towns\n\| Name \| Size \|\n\|---\|---\|\n[^]*town 40[^]*\n\[…\]\n## Code\n```ts\n[^]*value30 = 90;[^]*\n\[…\]\n```\n\[…\]$/,
    );
  });
});
