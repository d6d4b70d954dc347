import type { CatalogFacts, ModelFacts } from './facts.ts';
import type { Price } from './price.ts';

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
