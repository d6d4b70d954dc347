import { describe, expect, it } from 'vitest';
import { UsualTokens } from '../../src/runtime/endpoints/usual-times.ts';
import { boundedMap } from '../../src/storage/memory.ts';

const answerTokens = (usual: UsualTokens, account: string, model: string): number | undefined =>
  usual.of(account, model).usualAnswerTokens;

describe('the usual lengths of an account', () => {
  it('are known for each of its models, and of no other account', () => {
    const usual = new UsualTokens(boundedMap(10));
    usual.note('acme', 'one', 100, undefined);
    usual.note('acme', 'two', 300, { reported: 30, rough: 20 });
    usual.note('acme', 'one', 200, undefined);
    expect(answerTokens(usual, 'acme', 'one')).toBeCloseTo(105, 9);
    expect(usual.of('acme', 'two')).toEqual({ usualAnswerTokens: 300, promptRatio: 1.5 });
    expect([usual.of('acme', 'three'), usual.of('other', 'one'), usual.of('acme', undefined)]).toEqual([{}, {}, {}]);
  });

  it('are kept of twenty models: those that were not answered for the longest time go', () => {
    const usual = new UsualTokens(boundedMap(10));
    for (let model = 0; model < 20; model += 1) usual.note('acme', `${model}`, model, undefined);
    usual.note('acme', '0', 0, undefined);
    usual.note('acme', '20', 20, undefined);
    const known = Array.from({ length: 21 }, (_, model) => answerTokens(usual, 'acme', `${model}`) !== undefined);
    expect(known.flatMap((isKnown, model) => (isKnown ? [] : [model]))).toEqual([1]);
  });
});
