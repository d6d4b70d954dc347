import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type CatalogFacts,
  compareFacts,
  formatLock,
  mergeFacts,
  NO_FACTS,
  onlyVendors,
} from '../../src/catalog/facts.ts';
import { runs } from '../support/properties.ts';
import type { FactName, FactOrigin } from '../../src/catalog/endpoint.ts';

const SLUGS = ['alpha', 'beta'] as const;
const NAMES = ['one', 'two', '__proto__', 'constructor'] as const;

/** What some sources know. A fact's value tells which origin it has, so that a wrong one shows. */
const facts: fc.Arbitrary<CatalogFacts> = fc
  .record({
    origins: fc.uniqueArray(fc.constantFrom('p', 'q', 'r', 's'), { minLength: 1, maxLength: 3 }),
    known: fc.uniqueArray(
      fc.record({
        slug: fc.constantFrom(...SLUGS),
        name: fc.constantFrom(...NAMES),
        described: fc.option(fc.nat(9), { nil: undefined }),
        priced: fc.option(fc.nat(9), { nil: undefined }),
        limited: fc.option(fc.nat(9), { nil: undefined }),
      }),
      { selector: ({ slug, name }) => `${slug}/${name}`, maxLength: 6 },
    ),
  })
  .map(({ origins, known }) => {
    const sourceOf = (pick: number): number => pick % origins.length;
    const nameOf = (pick: number): string => origins[sourceOf(pick)] ?? '';
    const entries = known.map(({ slug, name, described, priced, limited }) => {
      const info = described === undefined ? {} : { info: { name: nameOf(described) } };
      const endpoint = {
        ...(priced === undefined ? {} : { price: { prompt: nameOf(priced).charCodeAt(0), completion: priced } }),
        ...(limited === undefined ? {} : { contextLength: nameOf(limited).charCodeAt(0) }),
      };
      const from = {
        ...(described === undefined ? {} : { name: sourceOf(described) }),
        ...(priced === undefined ? {} : { price: sourceOf(priced) }),
        ...(limited === undefined ? {} : { contextLength: sourceOf(limited) }),
      };
      return {
        slug,
        entry: [name, { ...info, ...(Object.keys(endpoint).length > 0 ? { endpoint } : {}), from }] as const,
      };
    });
    const vendors = SLUGS.map((slug) => {
      const models = entries.filter((one) => one.slug === slug).map(({ entry }) => entry);
      return [slug, Object.fromEntries(models)] as const;
    });
    return {
      version: 1,
      origins: origins.map((source): FactOrigin => ({ source, date: '2026-11-20', licence: 'MIT' })),
      vendors: Object.fromEntries(vendors.filter(([, models]) => Object.keys(models).length > 0)),
    };
  });

/** Every fact with its origin, whatever the order in which origins are listed. */
function flat({ vendors, origins }: CatalogFacts): ReadonlyMap<string, { value: unknown; origin: string | undefined }> {
  const entries = Object.entries(vendors).flatMap(([slug, models]) =>
    Object.entries(models).flatMap(([name, { info, endpoint, from }]) =>
      Object.entries({ ...info, ...endpoint }).map(([field, value]) => {
        const origin = origins[from[field as FactName] ?? -1]?.source;
        return [`${slug} ${name} ${field}`, { value, origin }] as const;
      }),
    ),
  );
  return new Map(entries.sort(([left], [right]) => (left < right ? -1 : 1)));
}

describe('merged facts', () => {
  it('are those of the first source that knows them, each with its origin', () => {
    fc.assert(
      fc.property(facts, facts, (first, second) => {
        const merged = flat(mergeFacts([first, second]));
        const [winner, other] = [flat(first), flat(second)];
        expect([...merged.keys()].sort()).toEqual([...new Set([...winner.keys(), ...other.keys()])].sort());
        for (const [fact, known] of merged) expect(known).toEqual(winner.get(fact) ?? other.get(fact));
      }),
      runs(1_000),
    );
  });

  it('are the same in whichever groups they are merged, and merging them again changes nothing', () => {
    fc.assert(
      fc.property(facts, facts, facts, (a, b, c) => {
        const together = flat(mergeFacts([a, b, c]));
        expect(flat(mergeFacts([mergeFacts([a, b]), c]))).toEqual(together);
        expect(flat(mergeFacts([a, mergeFacts([b, c])]))).toEqual(together);
        expect(flat(mergeFacts([a, a]))).toEqual(flat(a));
        expect(flat(mergeFacts([NO_FACTS, a, NO_FACTS]))).toEqual(flat(a));
      }),
      runs(1_000),
    );
  });

  it('name each origin once, and none that is not needed any more', () => {
    fc.assert(
      fc.property(facts, facts, (first, second) => {
        const { origins, vendors } = onlyVendors(mergeFacts([first, second]), (slug) => slug === 'alpha');
        expect(Object.keys(vendors).filter((slug) => slug !== 'alpha')).toEqual([]);
        const used = Object.values(vendors).flatMap((models) =>
          Object.values(models).flatMap(({ from }) => Object.values(from)),
        );
        expect(new Set(used)).toEqual(new Set(origins.keys()));
        expect(new Set(origins.map(({ source }) => source)).size).toBe(origins.length);
      }),
      runs(500),
    );
  });

  it('never mix the rates of two sources', () => {
    const sourced = (
      source: string,
      price: { prompt: number; completion: number; cacheRead?: number },
    ): CatalogFacts => ({
      version: 1,
      origins: [{ source, date: '2026-11-20', licence: 'MIT' }],
      vendors: { alpha: { one: { endpoint: { price }, from: { price: 0 } } } },
    });
    const merged = mergeFacts([
      sourced('p', { prompt: 1, completion: 2 }),
      sourced('q', { prompt: 9, completion: 9, cacheRead: 9 }),
    ]);
    expect(merged.vendors['alpha']?.['one']?.endpoint?.price).toEqual({ prompt: 1, completion: 2 });
  });
});

describe('a lock file', () => {
  it('says the same after it was written and read', () => {
    fc.assert(
      fc.property(facts, (known) => {
        expect(JSON.parse(formatLock(known))).toEqual(known);
      }),
      runs(500),
    );
    expect(JSON.parse(formatLock(NO_FACTS))).toEqual(NO_FACTS);
  });

  it('has a line for each model, in order of name', () => {
    const models = { zeta: { from: {} }, alef: { from: {} } };
    const text = formatLock({ version: 1, origins: [], vendors: { two: models, one: models } });
    expect(text.match(/"(?:one|two|zeta|alef)"/g)).toEqual(['"one"', '"alef"', '"zeta"', '"two"', '"alef"', '"zeta"']);
    expect(text.split('\n').filter((line) => line.includes('from'))).toHaveLength(4);
  });
});

describe('a comparison', () => {
  it('of facts with themselves finds nothing, and one with nothing finds everything', () => {
    fc.assert(
      fc.property(facts, (known) => {
        expect(compareFacts(known, known)).toEqual({ added: [], removed: [], prices: [] });
        const count = Object.values(known.vendors).reduce((sum, models) => sum + Object.keys(models).length, 0);
        expect(compareFacts(NO_FACTS, known).added).toHaveLength(count);
        expect(compareFacts(known, NO_FACTS).removed).toHaveLength(count);
      }),
      runs(300),
    );
  });

  it('finds prices that changed, that are new and that are gone', () => {
    const priced = (prices: Readonly<Record<string, object | undefined>>): CatalogFacts => {
      const models = Object.entries(prices).map(([name, price]) => [name, { endpoint: { price }, from: {} }] as const);
      return { version: 1, origins: [], vendors: { alpha: Object.fromEntries(models) } } as CatalogFacts;
    };
    const before = { same: { prompt: 1 }, dearer: { prompt: 1, cacheRead: 3 }, gone: { prompt: 1 }, told: undefined };
    const after = { same: { prompt: 1 }, dearer: { prompt: 2, cacheRead: 3 }, gone: undefined, told: { prompt: 4 } };
    expect(compareFacts(priced(before), priced(after)).prices).toEqual([
      { model: 'alpha/dearer', before: before.dearer, after: after.dearer, fields: ['prompt'] },
      { model: 'alpha/gone', before: before.gone, after: undefined, fields: ['prompt'] },
      { model: 'alpha/told', before: undefined, after: after.told, fields: ['prompt'] },
    ]);
  });
});
