import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { heal } from '../../../src/plugins/response-healing/heal.ts';
import type { JsonObject, JsonValue } from '../../../src/protocol/json.ts';
import { brokenAnswers } from '../../support/broken-answers.ts';
import { type HealingCase, healingCases } from '../../support/healing-cases.ts';

function outcomeOf({ text, schema, finish }: HealingCase): unknown {
  const healed = heal(text, { schema, complete: finish === 'stop' });
  return healed.type === 'healed' ? JSON.parse(healed.json) : 'unchanged';
}

describe('healing broken answers', () => {
  it.each(healingCases('development').map((one) => [one.name, one] as const))('does right by %s', (_name, one) => {
    expect(outcomeOf(one)).toEqual(one.expected);
  });

  it('does right by the answers that the code was not written with', () => {
    const cases = healingCases('held-back');
    const wrong = cases.filter((one) => !isDeepStrictEqual(outcomeOf(one), one.expected));
    expect(cases).toHaveLength(91);
    // The first run, before anything was learned from it, had 86 right.
    expect(wrong.map((one) => one.name)).toEqual([]);
  });

  it('does right by 98 of 100 answers that are broken by a seed, and changes the meaning of less than one', () => {
    const { right, wrong } = sharesOf(2_026, false);
    expect(right).toBeGreaterThanOrEqual(0.98);
    expect(wrong).toBeLessThanOrEqual(0.01);
  });

  it('changes the meaning of less than one in 200 where a schema is given', () => {
    expect(sharesOf(2_027, true).wrong).toBeLessThanOrEqual(0.005);
  });

  it('does as other libraries do where their tests expect an object or a list, with exceptions that are listed', () => {
    const { same, different } = JSON.parse(
      readFileSync(new URL('../../fixtures/healing/libraries.json', import.meta.url), 'utf8'),
    ) as LibraryCases;
    expect(same.length).toBeGreaterThan(2 * different.length);
    for (const [text, expected] of same) expect([text, valueOf(text)]).toEqual([text, expected]);
    for (const { text, here } of different) expect([text, valueOf(text)]).toEqual([text, here]);
  });
});

/** What comes out of a text; undefined for one that is left alone. */
function valueOf(text: string, schema?: JsonObject): JsonValue | undefined {
  const healed = heal(text, { schema });
  return healed.type === 'healed' ? (JSON.parse(healed.json) as JsonValue) : undefined;
}

/** How many broken answers came out as they were meant, and how many as something else. */
function sharesOf(seed: number, withSchema: boolean): { readonly right: number; readonly wrong: number } {
  const count = 3_000;
  let right = 0;
  let refused = 0;
  for (const { text, meant, schema } of brokenAnswers(seed, count)) {
    const value = valueOf(text, withSchema ? schema : undefined);
    if (value === undefined) refused += 1;
    else if (isDeepStrictEqual(value, meant)) right += 1;
  }
  return { right: right / count, wrong: (count - right - refused) / count };
}

interface LibraryCases {
  readonly same: readonly (readonly [text: string, expected: JsonValue])[];
  readonly different: readonly { readonly text: string; readonly here?: JsonValue }[];
}

describe('answers that should be neither object nor list', () => {
  it.each<[text: string, schema: JsonObject, expected: JsonValue | undefined]>([
    ['```json\n42\n```', { type: 'integer' }, 42],
    ['True', { type: 'boolean' }, true],
    ['None', { type: ['string', 'null'] }, null],
    ["'yes'", { type: 'string' }, 'yes'],
    ['positive', { enum: ['positive', 'negative'] }, 'positive'],
    ['The review is positive.', { enum: ['positive', 'negative'] }, undefined],
    ['Well, that depends.', { type: 'string' }, undefined],
    ['42', { type: 'object' }, undefined],
    ['True', { type: 'integer' }, undefined],
  ])('%s', (text, schema, expected) => {
    expect(valueOf(text, schema)).toEqual(expected);
  });

  it('are left alone without a schema', () => {
    expect(valueOf('True')).toBeUndefined();
  });
});
