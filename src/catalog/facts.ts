/** Facts about models from several sources: how they are merged, compared and locked. */
import type { EndpointFacts, KnownInfo, FactName, FactOrigin } from './endpoint.ts';
import type { Price } from './price.ts';

/** What is known of one vendor's offer of one model. Fields that are unknown are absent. */
export interface ModelFacts {
  readonly info?: KnownInfo | undefined;
  readonly endpoint?: EndpointFacts | undefined;
  /** For each field of the two, the position of its origin in {@link CatalogFacts.origins}. */
  readonly from: Readonly<Partial<Record<FactName, number>>>;
}

/**
 * What sources have of the models of vendors: the content of a lock file, and what every source of facts gives. Plain
 * data, so that it can be stored, compared and merged.
 */
export interface CatalogFacts {
  /** Version of this form. */
  readonly version: 1;
  readonly origins: readonly FactOrigin[];
  /** By slug of the vendor, then by what the vendor calls the model. */
  readonly vendors: Readonly<Record<string, Readonly<Record<string, ModelFacts>>>>;
}

/** Nothing is known. */
export const NO_FACTS: CatalogFacts = { version: 1, origins: [], vendors: {} };

/** What one source has of a model, before it is put under the source's name. */
export type SourcedFacts = Pick<ModelFacts, 'info' | 'endpoint'>;

/** Puts the models of one source under its name. What is empty is left out: fields, and vendors without models. */
export function factsOfSource(
  origin: FactOrigin,
  vendors: Iterable<readonly [string, Iterable<readonly [string, SourcedFacts]>]>,
): CatalogFacts {
  const entries = [...vendors].map(([slug, models]) => {
    const named = [...models].map(([name, facts]) => [name, factsOfFirst(facts)] as const);
    return [slug, Object.fromEntries(named)] as const;
  });
  const known = entries.filter(([, models]) => Object.keys(models).length > 0);
  return { version: 1, origins: [origin], vendors: Object.fromEntries(known) };
}

/** The facts that are there, all from the first origin. */
function factsOfFirst(facts: SourcedFacts): ModelFacts {
  const [info, endpoint] = [defined(facts.info), defined(facts.endpoint)];
  const names = [...Object.keys(info), ...Object.keys(endpoint)];
  return {
    ...(Object.keys(info).length > 0 ? { info } : {}),
    ...(Object.keys(endpoint).length > 0 ? { endpoint } : {}),
    from: Object.fromEntries(names.map((name) => [name, 0])),
  };
}

/** What changed between two states of the facts. Models are named `vendor/name`. */
export interface FactChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly prices: readonly PriceDifference[];
}

/** A price that is not what it was. */
export interface PriceDifference {
  readonly model: string;
  /** Undefined when the price was unknown, or has become so. */
  readonly before: Price | undefined;
  readonly after: Price | undefined;
  /** Parts of the price that differ, for example `prompt` or `above`. */
  readonly fields: readonly (keyof Price)[];
}

/** Compares the facts of a lock before and after it was refreshed. */
export function compareFacts(before: CatalogFacts, after: CatalogFacts): FactChanges {
  const [old, current] = [modelsByName(before), modelsByName(after)];
  const added = [...current.keys()].filter((name) => !old.has(name));
  const removed = [...old.keys()].filter((name) => !current.has(name));
  const prices = [...current].flatMap(([model, facts]) => {
    const known = old.get(model);
    return known === undefined ? [] : priceDifference(model, known.endpoint?.price, facts.endpoint?.price);
  });
  return { added, removed, prices };
}

function modelsByName({ vendors }: CatalogFacts): ReadonlyMap<string, ModelFacts> {
  const entries = Object.entries(vendors).flatMap(([slug, models]) =>
    Object.entries(models).map(([name, facts]) => [`${slug}/${name}`, facts] as const),
  );
  return new Map(entries.sort(([left], [right]) => (left < right ? -1 : 1)));
}

function priceDifference(
  model: string,
  before: Price | undefined,
  after: Price | undefined,
): readonly PriceDifference[] {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})] as (keyof Price)[]);
  const fields = [...names].filter((name) => JSON.stringify(before?.[name]) !== JSON.stringify(after?.[name]));
  return fields.length === 0 ? [] : [{ model, before, after, fields }];
}

/**
 * Merges what several sources have, field by field: the first one that has a field wins, and every field keeps its
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

/** Fields of which those that are there have a value. */
type Defined<Fields> = { readonly [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };

/** The fields that have a value: one that is there and undefined says nothing. */
export function defined<Fields extends object>(fields: Fields | undefined): Defined<Fields> {
  return Object.fromEntries(Object.entries(fields ?? {}).filter(([, value]) => value !== undefined)) as Defined<Fields>;
}

/** A catalog lock as text: one model a line, in order of name, so that two of them can be compared line by line. */
export function formatLock({ version, origins, vendors }: CatalogFacts): string {
  const text = byName(vendors).map(([slug, models]) => {
    const lines = byName(models).map(([name, facts]) => `      ${JSON.stringify(name)}: ${JSON.stringify(facts)}`);
    return `    ${JSON.stringify(slug)}: {\n${lines.join(',\n')}\n    }`;
  });
  const sources = origins.map((origin) => `    ${JSON.stringify(origin)}`);
  return `{
  "version": ${version},
  "origins": [
${sources.join(',\n')}
  ],
  "vendors": {
${text.join(',\n')}
  }
}
`;
}

function byName<Value>(table: Readonly<Record<string, Value>>): readonly (readonly [string, Value])[] {
  return Object.entries(table).sort(([left], [right]) => (left < right ? -1 : 1));
}
