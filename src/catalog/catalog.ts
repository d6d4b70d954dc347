import { type Endpoint, type EndpointDeclaration, type EndpointOwner, declareEndpoint } from './endpoint.ts';
import type { Model, ModelInfo } from './model.ts';
import { isFree } from './price.ts';
import { authorOf, foldSlug } from './slug.ts';

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

/** A provider as the catalog sees it. */
export interface CatalogProvider extends EndpointOwner {
  readonly models: Readonly<Record<string, EndpointDeclaration | readonly EndpointDeclaration[]>>;
  /** True when any model under the provider's own slug may be asked for, declared or not. */
  readonly acceptsAnyModel?: boolean | undefined;
}

/** Models that are asked for but not declared are remembered up to this many. */
const MAX_UNDECLARED_MODELS = 1_000;

/** Builds the tables that every request reads. */
export function buildCatalog(
  providers: readonly CatalogProvider[],
  models: Readonly<Record<string, ModelInfo>> = {},
  aliases: Readonly<Record<string, string | readonly string[]>> = {},
): Catalog {
  const endpointsByModel = new Map<string, Endpoint[]>();
  const modelById = new Map<string, Model>();
  const spellings = new Map<string, string>();
  for (const provider of providers) {
    for (const [model, declared] of Object.entries(provider.models)) {
      for (const declaration of Array.isArray(declared) ? declared : [declared]) {
        addEndpoint(withScores(declareEndpoint(provider, model, declaration), models[model]));
      }
    }
  }
  for (const [id, info] of Object.entries(models)) modelById.set(id, { ...info, id });
  for (const { id, aliases: others = [] } of modelById.values()) {
    for (const alias of others) spellings.set(foldSlug(alias), id);
  }
  // Ids come last: no alias may take another model's name away.
  for (const id of modelById.keys()) spellings.set(foldSlug(id), id);
  const undeclared = new Map<string, readonly Endpoint[]>();
  const open = new Map(providers.filter((one) => one.acceptsAnyModel).map((one) => [one.slug, one]));
  const freeEndpoints = [...endpointsByModel.values()]
    .flat()
    .filter((one) => isFree(one.price) && one.variant !== 'batch');

  function addEndpoint(endpoint: Endpoint): void {
    const known = endpointsByModel.get(endpoint.model);
    if (known === undefined) endpointsByModel.set(endpoint.model, [endpoint]);
    else
      known.push({
        ...endpoint,
        id: known.some((one) => one.id === endpoint.id) ? `${endpoint.id}#${known.length}` : endpoint.id,
      });
    if (!modelById.has(endpoint.model)) modelById.set(endpoint.model, { id: endpoint.model });
  }

  function endpoints(model: string): readonly Endpoint[] {
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
    endpoints,
    find,
    alias: (name) => (Object.hasOwn(aliases, name) ? [aliases[name] ?? []].flat() : undefined),
    freeEndpoints,
  };
}

function withScores(endpoint: Endpoint, info: ModelInfo | undefined): Endpoint {
  return endpoint.scores === undefined && info?.scores !== undefined ? { ...endpoint, scores: info.scores } : endpoint;
}
