import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildCatalog } from '../../../../src/catalog/catalog.ts';
import type { EndpointDeclaration } from '../../../../src/catalog/endpoint.ts';
import type { NormalizedRequest } from '../../../../src/contracts/request.ts';
import {
  ECONOMICAL,
  type ModelRule,
  SMALL,
  STRONG,
  rankModels,
} from '../../../../src/plugins/services/inner-call/rank-models.ts';
import { sceneOf } from '../../../support/requests.ts';

const normalized = (): NormalizedRequest => sceneOf({ providers: { p: { 'a/b': {} } } }).request({ model: 'a/b' });
const request = (more: Partial<NormalizedRequest> = {}): NormalizedRequest => ({ ...normalized(), ...more });

function ranked(
  models: Readonly<Record<string, EndpointDeclaration>>,
  rule: ModelRule,
  asked = request(),
  needsTools = false,
): readonly string[] {
  return rankModels(buildCatalog([{ slug: 'p', name: 'P', models }]), asked, rule, { needsTools });
}

const priced = (price: number, more: EndpointDeclaration = {}): EndpointDeclaration => ({
  price: { prompt: price, completion: price },
  ...more,
});

const TEN = Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8, 9, 500].map((price) => [`a${price}/m`, priced(price)]));

describe('ranking models of the catalog', () => {
  it('finds strong, economical and small ones by price, and leaves the absurdly dear one for last', () => {
    expect(ranked(TEN, STRONG).slice(0, 3)).toEqual(['a9/m', 'a8/m', 'a7/m']);
    expect(ranked(TEN, ECONOMICAL).slice(0, 3)).toEqual(['a5/m', 'a4/m', 'a3/m']);
    expect(ranked(TEN, SMALL).slice(0, 3)).toEqual(['a1/m', 'a2/m', 'a3/m']);
    expect(ranked(TEN, SMALL).at(-1)).toBe('a500/m');
  });

  it('puts scores above prices within the band', () => {
    const scored = { ...TEN, 'a6/m': priced(6, { scores: { code: 0.9, text: 0.7 } }) };
    expect(ranked(scored, STRONG).slice(0, 2)).toEqual(['a6/m', 'a9/m']);
  });

  it('takes one model of each author before a second', () => {
    const models = { 'a/x': priced(8), 'a/y': priced(9), 'b/x': priced(7), 'c/x': priced(1), 'd/x': priced(1) };
    expect(ranked(models, STRONG).slice(0, 3)).toEqual(['a/y', 'b/x', 'c/x']);
  });

  it('has nothing that cannot answer: no embeddings, no images alone, no variants, nothing the request forbids', () => {
    const models = {
      'a/embeds': priced(5, { outputModalities: ['embeddings'] }),
      'a/paints': priced(5, { outputModalities: ['image'] }),
      'a/free': priced(0, { variant: 'free' as const }),
      'a/deaf': priced(5, { inputModalities: ['text'] }),
      'a/keeps': priced(5, { dataCollection: true }),
      'a/clumsy': priced(5, { parameters: ['temperature'] }),
      'a/good': priced(5, { inputModalities: ['text', 'image'], parameters: ['tools'] }),
    };
    const base = normalized();
    const asked = request({
      preferences: { ...base.preferences, denyDataCollection: true },
      needs: { ...base.needs, inputModalities: ['image'] },
    });
    expect(ranked(models, STRONG, asked, true)).toEqual(['a/good']);
    expect(ranked(models, STRONG).toSorted()).toEqual(['a/clumsy', 'a/deaf', 'a/good', 'a/keeps']);
  });

  it('gives every usable model exactly once, however it is priced', () => {
    const price = fc.option(fc.double({ min: 0, max: 1_000, noNaN: true }), { nil: undefined });
    const catalog = fc.dictionary(fc.stringMatching(/^[a-c]\/[a-z]{1,3}$/), price, { maxKeys: 12 });
    fc.assert(
      fc.property(catalog, fc.constantFrom(STRONG, ECONOMICAL, SMALL), (prices, rule) => {
        const models = Object.fromEntries(
          Object.entries(prices).map(([id, one]) => [id, one === undefined ? {} : priced(one)]),
        );
        const found = ranked(models, rule);
        expect(found.toSorted()).toEqual(Object.keys(models).toSorted());
        const known = found.filter((id) => prices[id] !== undefined);
        const authors = new Set(found.map((id) => id.slice(0, 1)));
        expect(new Set(found.slice(0, authors.size).map((id) => id.slice(0, 1)))).toEqual(authors);
        expect(known.length).toBeLessThanOrEqual(found.length);
      }),
      { numRuns: 200 },
    );
  });
});
