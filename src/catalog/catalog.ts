import { completeDeclarations } from './apply-facts.ts';
import type { CatalogProvider } from './catalog-provider.ts';
import { type Endpoint, type EndpointOwner, declareEndpoint } from './endpoint.ts';
import { type CatalogFacts, type KnownInfo, NO_FACTS } from './facts.ts';
import { defined } from './defined.ts';
import type { Model, ModelInfo } from './model.ts';
import { isFree } from './price.ts';
import { authorOf, foldSlug } from './slug.ts';
import { linkTierPrices } from './tier-prices.ts';

/** Models and endpoints as data. Immutable; every look-up is one step. */
export interface Catalog {
  readonly models: ReadonlyMap<string, Model>;
  readonly providers: ReadonlyMap<string, EndpointOwner>;
  /** Endpoints of a model id, in the order of declaration; empty when nobody serves it. */
  endpoints(model: string): readonly Endpoint[];
  /** The id under which a slug is known: itself, an alias, or a spelling that differs in case or in dots. */
  find(slug: string): string | undefined;
  /** Models or lists of models behind the aliases of the configuration. */
  alias(name: string): readonly string[] | undefined;
  /** Endpoints that cost nothing. */
  readonly freeEndpoints: readonly Endpoint[];
}

/** Models that are asked for but not declared are remembered up to this many. */
const MAX_UNDECLARED_MODELS = 1_000;

/** Builds the tables that every request reads. What sources know is put under what the program declares. */
export function buildCatalog(
  providers: readonly CatalogProvider[],
  models: Readonly<Record<string, ModelInfo>> = {},
  aliases: Readonly<Record<string, string | readonly string[]>> = {},
  facts: CatalogFacts = NO_FACTS,
): Catalog {
  const endpointsByModel = new Map<string, readonly Endpoint[]>();
  const knownInfo = new Map<string, KnownInfo>();
  const modelById = new Map<string, Model>();
  const spellings = new Map<string, string>();
  for (const provider of providers) {
    for (const { model, declaration, origins, info } of completeDeclarations(provider, facts)) {
      if (info !== undefined && !knownInfo.has(model)) knownInfo.set(model, info);
      addEndpoint(withScores(declareEndpoint(provider, model, declaration, origins), models[model]));
    }
  }
  for (const [model, endpoints] of endpointsByModel) endpointsByModel.set(model, linkTierPrices(endpoints));
  for (const [id, info] of knownInfo) if (modelById.has(id)) modelById.set(id, { ...info, id });
  for (const [id, info] of Object.entries(models)) modelById.set(id, { ...knownInfo.get(id), ...defined(info), id });
  for (const { id, aliases: others = [] } of modelById.values()) {
    for (const alias of others) spellings.set(foldSlug(alias), id);
  }
  // Ids come last: no alias may take another model's name away.
  for (const id of modelById.keys()) spellings.set(foldSlug(id), id);
  const undeclared = new Map<string, readonly Endpoint[]>();
  const open = new Map(providers.filter((one) => one.acceptsAnyModel).map((one) => [one.slug, one]));
  const freeEndpoints = [...endpointsByModel.values()]
    .flat()
    .filter((one) => isFree(one.price) && one.variant !== 'batch' && one.outputModalities?.has('text') !== false);

  function addEndpoint(endpoint: Endpoint): void {
    const known = endpointsByModel.get(endpoint.model) ?? [];
    const id = known.some((one) => one.id === endpoint.id) ? `${endpoint.id}#${known.length}` : endpoint.id;
    endpointsByModel.set(endpoint.model, [...known, { ...endpoint, id }]);
    if (!modelById.has(endpoint.model)) modelById.set(endpoint.model, { id: endpoint.model });
  }

  function endpointsOf(model: string): readonly Endpoint[] {
    return endpointsByModel.get(model) ?? undeclared.get(model) ?? [];
  }

  function find(slug: string): string | undefined {
    if (endpointsByModel.has(slug) || undeclared.has(slug)) return slug;
    const known = spellings.get(foldSlug(slug));
    if (known !== undefined) return known;
    const provider = open.get(authorOf(slug));
    if (provider === undefined) return undefined;
    if (undeclared.size >= MAX_UNDECLARED_MODELS) undeclared.clear();
    undeclared.set(slug, [declareEndpoint(provider, slug, {})]);
    return slug;
  }

  return {
    models: modelById,
    providers: new Map(providers.map((provider) => [provider.slug, provider])),
    endpoints: endpointsOf,
    find,
    alias: (name) => (Object.hasOwn(aliases, name) ? [aliases[name] ?? []].flat() : undefined),
    freeEndpoints,
  };
}

function withScores(endpoint: Endpoint, info: ModelInfo | undefined): Endpoint {
  return endpoint.scores === undefined && info?.scores !== undefined ? { ...endpoint, scores: info.scores } : endpoint;
}
