import { defined } from './defined.ts';
import type { FactOrigin } from './fact-origin.ts';
import { type CatalogFacts, type ModelFacts, NO_FACTS } from './facts.ts';

/**
 * Merges what several sources know, field by field: the first one that knows a field wins, and every field keeps its
 * origin. A price is one field: rates of different sources never mix.
 */
export function mergeFacts(sources: readonly CatalogFacts[]): CatalogFacts {
  const [only] = sources;
  if (only !== undefined && sources.length === 1) return only;
  const origins = new OriginTable();
  const vendors = new Map<string, Map<string, ModelFacts>>();
  for (const source of sources) {
    for (const [slug, models] of Object.entries(source.vendors)) {
      const known = vendors.get(slug) ?? new Map<string, ModelFacts>();
      vendors.set(slug, known);
      for (const [name, facts] of Object.entries(models)) {
        const added = { ...facts, from: origins.renumber(facts.from, source.origins) };
        const before = known.get(name);
        known.set(name, before === undefined ? added : overlaid(before, added));
      }
    }
  }
  const entries = [...vendors].map(([slug, models]) => [slug, Object.fromEntries(models)] as const);
  return { version: 1, origins: origins.list, vendors: Object.fromEntries(entries) };
}

/** Facts of only these vendors, with the origins that are still needed. */
export function onlyVendors(facts: CatalogFacts, wanted: (slug: string) => boolean): CatalogFacts {
  const vendors = Object.entries(facts.vendors).filter(([slug]) => wanted(slug));
  return mergeFacts([{ ...facts, vendors: Object.fromEntries(vendors) }, NO_FACTS]);
}

function overlaid(winner: ModelFacts, other: ModelFacts): ModelFacts {
  const info = { ...other.info, ...defined(winner.info) };
  const endpoint = { ...other.endpoint, ...defined(winner.endpoint) };
  return {
    ...(Object.keys(info).length > 0 ? { info } : {}),
    ...(Object.keys(endpoint).length > 0 ? { endpoint } : {}),
    from: { ...other.from, ...winner.from },
  };
}

/** Origins without repetition. */
class OriginTable {
  readonly list: FactOrigin[] = [];
  readonly #positions = new Map<string, number>();

  renumber(from: ModelFacts['from'], origins: readonly FactOrigin[]): ModelFacts['from'] {
    const entries = Object.entries(from).flatMap(([name, position]) => {
      const origin = origins[position];
      return origin === undefined ? [] : [[name, this.#positionOf(origin)] as const];
    });
    return Object.fromEntries(entries);
  }

  #positionOf(origin: FactOrigin): number {
    const key = JSON.stringify([origin.source, origin.date, origin.licence]);
    const known = this.#positions.get(key);
    if (known !== undefined) return known;
    this.#positions.set(key, this.list.length);
    this.list.push(origin);
    return this.list.length - 1;
  }
}
