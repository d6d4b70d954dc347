/** Words the warning about preferences that name unknown providers. */
import type { Catalog } from '../../catalog/catalog.ts';
import { nearNames } from '../../protocol/near-name.ts';
import { shortened } from '../../protocol/fault.ts';
import type { Preferences } from '../../contracts/request.ts';
import { keyVariableOf, listed } from './unknown-model.ts';

/** Names that are proposed for one. */
const MOST_NAMES = 3;

/** Lists of preferences that name providers. */
export type ProviderLists = Pick<Preferences, 'order' | 'only' | 'ignore'>;

/**
 * A sentence for each provider that preferences name and that the router does not have. Such a name has no effect (gaps
 * 11, row 43), so a misspelt one would otherwise go unnoticed.
 */
export function unknownProviders({ order, only, ignore }: ProviderLists, catalog: Catalog): readonly string[] {
  if (order.length + only.length + ignore.length === 0) return NONE;
  const known = namesIn(catalog);
  return Object.entries({ order, only: only.flat(), ignore }).flatMap(([list, names]) =>
    [...new Set(names)]
      // Vendors that are not here are ignored all the same.
      .filter((name) => !known.has(name.toLowerCase()) && (list !== 'ignore' || keyVariableOf(name) === undefined))
      .map((name) => `"${shortened(name)}" in ${list} is no provider of this router${hintFor(name, catalog, known)}`),
  );
}

const NONE: readonly string[] = Object.freeze([]);

function hintFor(name: string, { providers }: Catalog, known: ReadonlyMap<string, string>): string {
  const candidates = [...known].map(([folded, as]) => ({ name: as, as: folded }));
  const near = nearNames(name, candidates, MOST_NAMES);
  if (near.length > 0) return `; did you mean ${listed(near)}?`;
  const variable = keyVariableOf(name);
  if (variable !== undefined) return `; set ${variable}, or add ${name}() to its providers`;
  const slugs = [...providers.keys()];
  return slugs.length <= MOST_NAMES ? `, which has ${listed(slugs)}` : '';
}

/** Everything that means a provider or one of its endpoints, by its lower case. */
function namesIn(catalog: Catalog): ReadonlyMap<string, string> {
  let names = NAMES.get(catalog);
  if (names === undefined) {
    const endpoints = [...catalog.models.keys()].flatMap((model) => catalog.endpoints(model));
    const owners = [...catalog.providers.values()];
    const all = [
      ...owners.map(({ name }) => name),
      ...endpoints.map(({ tag }) => tag),
      // Last, because where names differ only by case it is the slug that is proposed.
      ...owners.map(({ slug }) => slug),
    ];
    names = new Map(all.map((name) => [name.toLowerCase(), name]));
    NAMES.set(catalog, names);
  }
  return names;
}

/** Of catalogs, which never change. */
const NAMES = new WeakMap<Catalog, ReadonlyMap<string, string>>();
