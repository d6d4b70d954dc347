import { countTokens as countCl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { countTokens as countO200k } from 'gpt-tokenizer/encoding/o200k_base';
import * as fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { mostTokens } from '../../../src/core/tokens/token-ceiling.ts';
import { runs } from '../../support/properties.ts';
import { sourceFiles } from '../../support/source-files.ts';

const blocks = readFileSync(new URL('../../fixtures/tokens/samples.txt', import.meta.url), 'utf8').split(/^=== /m);
/** Texts in many languages and formats, written for this test. */
const SAMPLES: ReadonlyMap<string, string> = new Map(
  blocks.slice(1).map((block) => [block.slice(0, block.indexOf('\n')), block.slice(block.indexOf('\n') + 1)]),
);

const options = { disallowedSpecial: new Set<string>() };

/** The larger of the two vocabularies' counts. */
function counted(text: string): number {
  return Math.max(countO200k(text, options), countCl100k(text, options));
}

describe('the most tokens that a text has', () => {
  it.each([...SAMPLES])('are not fewer than there are in: %s', (_name, text) => {
    const most = mostTokens(text);
    expect(most).toBeGreaterThanOrEqual(counted(text));
    expect(most).toBeLessThanOrEqual(1.7 * counted(text));
  });

  it('are close for English, the most common case', () => {
    for (const [name, text] of SAMPLES) {
      if (name.startsWith('English')) expect([name, mostTokens(text) / counted(text)]).toEqual([name, within(1, 1.3)]);
    }
  });

  it('are not fewer in source code that the estimate was not made with', () => {
    // The weights of the classifier are no source code, but numbers packed into letters.
    const sources = sourceFiles('src').filter(({ path }) => !path.endsWith('/weights.ts'));
    const ratios = sources.map(({ path, text }) => ({ path, ratio: mostTokens(text) / counted(text) }));
    expect(ratios.filter(({ ratio }) => ratio < 0.95)).toEqual([]);
    expect(ratios.filter(({ ratio }) => ratio > 2)).toEqual([]);
    const documents = ['docs/decisions/plugins.md', 'docs/plugins.md', 'README.md', 'package-lock.json', 'LICENSE'];
    for (const path of documents) {
      const text = readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8').slice(0, 60_000);
      expect([path, mostTokens(text) / counted(text)]).toEqual([path, within(1, 1.6)]);
    }
  });

  it('are not fewer in texts put together from all of them', () => {
    const pieces = [...SAMPLES.values()].flatMap((text) => text.match(/[^]{1,80}/gu) ?? []);
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { minLength: 20, maxLength: 60 }), (chosen) => {
        const text = chosen.join(' ');
        expect(mostTokens(text) / counted(text)).toBeGreaterThan(0.98);
      }),
      runs(100),
    );
  });

  it('are those of all parts together, or nearly', () => {
    const text = [...SAMPLES.values()].join('\n');
    const middle = Math.floor(text.length / 2);
    const parts = mostTokens(text.slice(0, middle)) + mostTokens(text.slice(middle));
    expect(parts / mostTokens(text)).toEqual(within(0.9, 1.1));
  });

  it('are found in one pass over a text, whatever it consists of', () => {
    for (const piece of ['a', 'aB3', 'word ', '清晨', ' \n', '7', '{"', '👩‍💻', '\u0000', 'ě']) {
      const text = piece.repeat(1_000_000 / piece.length);
      const before = process.cpuUsage();
      expect(mostTokens(text)).toBeGreaterThan(0);
      expect([piece, process.cpuUsage(before).user / 1_000]).toEqual([piece, within(0, 500)]);
    }
    expect(mostTokens('')).toBe(0);
  });
});

function within(least: number, most: number): number {
  return expect.toSatisfy((value: number) => value >= least && value <= most, `from ${least} to ${most}`) as number;
}
