import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import * as fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  likelyTextTokens,
  calibrate,
  calibrated,
  UNCALIBRATED,
  wantsReport,
} from '../../../src/core/normalize/likely-tokens.ts';
import { mostTokens } from '../../../src/core/normalize/token-ceiling.ts';
import { fewestTokens, surveyPrompt } from '../../../src/core/normalize/token-estimate.ts';
import { runs } from '../../support/properties.ts';

const blocks = readFileSync(new URL('../../fixtures/tokens/likely.txt', import.meta.url), 'utf8').split(/^=== /m);
/** Texts that the rates were not fitted to, by language or format; those of Russian and Korean were corrected by them. */
const TEXTS = new Map<string, string[]>();
for (const block of blocks.slice(1)) {
  const end = block.indexOf('\n');
  const kind = block.slice(0, end);
  TEXTS.set(kind, [...(TEXTS.get(kind) ?? []), block.slice(end + 1)]);
}

const counted = (text: string): number => countTokens(text, { disallowedSpecial: new Set<string>() });

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((left, right) => left - right);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

describe('the likely tokens of a text', () => {
  it.each([...TEXTS.keys()])('lie within 15 of 100 of the count, in the middle, for %s', (kind) => {
    const ratios = (TEXTS.get(kind) ?? []).map((text) => likelyTextTokens([text]) / counted(text));
    expect(Math.abs(median(ratios) - 1)).toBeLessThanOrEqual(0.15);
  });

  it('lie between the fewest and the most', () => {
    for (const text of [...TEXTS.values()].flat()) {
      const { characters, dense } = surveyPrompt([{ role: 'user', content: text }]);
      const fewest = fewestTokens(characters, dense);
      expect(fewest).toBeLessThanOrEqual(counted(text));
      expect(fewest).toBeLessThanOrEqual(likelyTextTokens([text]));
      expect(likelyTextTokens([text])).toBeLessThanOrEqual(mostTokens(text) * 1.1);
    }
  });

  it('are estimated from samples of long texts, nearly the same and in a moment', () => {
    for (const [kind, [text = '']] of TEXTS) {
      const times = Math.ceil(100_000 / text.length);
      const ratio = likelyTextTokens([text.repeat(times)]) / (likelyTextTokens([text]) * times);
      expect([kind, Math.abs(ratio - 1) < 0.08]).toEqual([kind, true]);
    }
    const before = process.cpuUsage();
    likelyTextTokens(['The committee met again. '.repeat(1_000_000)]);
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(60);
    expect(likelyTextTokens([])).toBe(0);
    expect(likelyTextTokens([''])).toBe(0);
  });
});

describe('the likely tokens of many texts', () => {
  const kinds = [...TEXTS.values()].map(([text = '']) => text);
  const each = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + likelyTextTokens([text]), 0);

  it('are those of each, give or take a tenth, also where only samples are read', () => {
    const conversation = Array.from({ length: 60 }, (_, at) => (kinds[at % kinds.length] ?? '').slice(0, 200 + 9 * at));
    expect(conversation.join('').length).toBeGreaterThan(8_000);
    expect(Math.abs(likelyTextTokens(conversation) / each(conversation) - 1)).toBeLessThan(0.1);
  });

  it('take no longer where the texts are short', () => {
    const texts = Array.from({ length: 100_000 }, (_, at) => `Item ${at}: yes`);
    const before = process.cpuUsage();
    const tokens = likelyTextTokens(texts);
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(60);
    expect(Math.abs(tokens / 400 / likelyTextTokens(texts.slice(50_000, 50_250)) - 1)).toBeLessThan(0.1);
  });
});

describe('words that are in nearly every text', () => {
  const tokens = (word: string): number => likelyTextTokens([`${word} `.repeat(20)]);

  it.each(['is', 'before', 'default', 'undefined', 'implements'])('cost a token each: %s', (word) => {
    expect(tokens(word)).toBe(20);
    expect(tokens(word.toUpperCase())).toBe(20);
    expect(tokens(`${word}Error`)).toBe(40);
    // The last capital belongs to the next word.
    expect(tokens(`${word.toUpperCase()}Error`)).toBe(40);
  });

  it.each(['befor', 'beforf', 'undefinez', 'implementz', 'implementsx', 'andimplements', 'über'])(
    'are known by all of their letters, unlike %s',
    (word) => {
      expect(tokens(word)).toBeGreaterThan(20);
    },
  );
});

describe('calibration by reported usage', () => {
  it('comes near to what an endpoint counts, and follows a change', () => {
    let known = UNCALIBRATED;
    for (let report = 0; report < 30; report += 1) known = calibrate(known, 1_000, 1_300 + (report % 3) * 20, report);
    expect(known.factor).toBeCloseTo(1.32, 2);
    expect(calibrated(2_000, known)).toBeGreaterThan(2_600);
    for (let report = 0; report < 100; report += 1) known = calibrate(known, 1_000, 900, report);
    expect(known.factor).toBeCloseTo(0.9, 2);
    expect(calibrated(1_000, undefined)).toBe(1_000);
  });

  it('learns nothing from short prompts, nonsense, and prompts that are not the same', () => {
    for (const [estimated, reported] of [
      [20, 60],
      [1_000, 0],
      [1_000, -5],
      [1_000, Number.NaN],
      [1_000, 9_000],
      [1_000, 100],
    ] as const) {
      expect(calibrate(UNCALIBRATED, estimated, reported, 0)).toMatchObject({ factor: 1, reports: 0 });
    }
  });

  it('stays between the least and the greatest ratio that was reported', () => {
    const report = fc.tuple(fc.integer({ min: 64, max: 100_000 }), fc.double({ min: 0.4, max: 2.5, noNaN: true }));
    fc.assert(
      fc.property(fc.array(report, { minLength: 1 }), (reports) => {
        const known = reports.reduce((sum, [tokens, ratio]) => calibrate(sum, tokens, tokens * ratio, 0), UNCALIBRATED);
        const ratios = reports.map(([, ratio]) => ratio);
        expect(known.factor).toBeGreaterThanOrEqual(Math.min(...ratios) * 0.999);
        expect(known.factor).toBeLessThanOrEqual(Math.max(...ratios) * 1.001);
      }),
      runs(200),
    );
  });

  it('wants twenty reports at once, and later one every ten seconds', () => {
    let known = UNCALIBRATED;
    for (let report = 0; report < 20; report += 1) {
      expect(wantsReport(known, 1_000)).toBe(true);
      known = calibrate(known, 1_000, 1_100, 1_000);
    }
    expect(wantsReport(known, 10_999)).toBe(false);
    expect(wantsReport(known, 11_000)).toBe(true);
  });
});
