import type { Alias } from '../options/rules.ts';
import {
  declareEndpoint,
  type Endpoint,
  type EndpointDeclaration,
  type EndpointOwner,
  type CatalogProvider,
  type EndpointFacts,
  type FactName,
  type FactOrigin,
  type FactOrigins,
  type KnownInfo,
  type Model,
} from './endpoint.ts';
import { type CatalogFacts, defined, type ModelFacts, NO_FACTS } from './facts.ts';
import type { ModelInfo } from './model.ts';
import { isFree, type Price, type BilledTier } from './price.ts';
import { authorOf, foldSlug } from './slug.ts';
import { multipliedPrice } from './price-at.ts';
import { endpointsPerKey } from './endpoint-keys.ts';

/** Models and endpoints as data. Immutable; every look-up is one step. */
export interface Catalog {
  readonly models: ReadonlyMap<string, Model>;
  readonly providers: ReadonlyMap<string, EndpointOwner>;
  /** Endpoints of a model id, in the order of declaration; empty when nobody serves it. */
  endpoints(model: string): readonly Endpoint[];
  /** The id under which a slug is known: itself, an alias, or a spelling that differs in case or in dots. */
  find(slug: string): string | undefined;
  /** What an alias of the configuration stands for; one model as a list of one. */
  alias(name: string): Exclude<Alias, string> | undefined;
  /** Endpoints that cost nothing. */
  readonly freeEndpoints: readonly Endpoint[];
}

/** Models that are requested but not declared are remembered up to this many. */
const MAX_UNDECLARED_MODELS = 1_000;

/** Builds the tables that every request reads. What sources have is put under what the program declares. */
export function buildCatalog(
  providers: readonly CatalogProvider[],
  models: Readonly<Record<string, ModelInfo>> = {},
  aliases: Readonly<Record<string, Alias>> = {},
  facts: CatalogFacts = NO_FACTS,
): Catalog {
  const endpointsByModel = new Map<string, readonly Endpoint[]>();
  const knownInfo = new Map<string, KnownInfo>();
  const modelById = new Map<string, Model>();
  for (const provider of providers) {
    for (const { model, declaration, origins, info } of completeDeclarations(provider, facts)) {
      if (info !== undefined && !knownInfo.has(model)) knownInfo.set(model, info);
      const declared = withScores(declareEndpoint(provider, model, declaration, origins), models[model]);
      endpointsPerKey(declared, provider).forEach(addEndpoint);
    }
  }
  for (const [model, endpoints] of endpointsByModel) endpointsByModel.set(model, linkTiers(endpoints));
  for (const [id, info] of knownInfo) if (modelById.has(id)) modelById.set(id, { ...info, id });
  for (const [id, info] of Object.entries(models)) modelById.set(id, { ...knownInfo.get(id), ...defined(info), id });
  const spellings = spellingsOf(modelById);
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
    undeclared.set(slug, endpointsPerKey(declareEndpoint(provider, slug, {}), provider));
    return slug;
  }

  return {
    models: modelById,
    providers: new Map(providers.map((provider) => [provider.slug, provider])),
    endpoints: endpointsOf,
    find,
    alias(name) {
      const alias = Object.hasOwn(aliases, name) ? aliases[name] : undefined;
      return typeof alias === 'string' ? [alias] : alias;
    },
    freeEndpoints,
  };
}

/** Ids of models by the other names that they have. */
function spellingsOf(models: ReadonlyMap<string, Model>): ReadonlyMap<string, string> {
  const spellings = new Map<string, string>();
  for (const { id, aliases = [] } of models.values()) for (const alias of aliases) spellings.set(foldSlug(alias), id);
  // Ids come last: no alias may take another model's name away.
  for (const id of models.keys()) spellings.set(foldSlug(id), id);
  return spellings;
}

function withScores(endpoint: Endpoint, info: ModelInfo | undefined): Endpoint {
  if (endpoint.scores !== undefined || info?.scores === undefined) return endpoint;
  return { ...endpoint, scores: info.scores, scoreCounts: info.scoreCounts };
}

/** A declaration of an endpoint after the facts of the sources were put under it. */
interface CompletedDeclaration {
  readonly model: string;
  readonly declaration: EndpointDeclaration;
  /** Origins of the fields that the program did not declare. */
  readonly origins?: FactOrigins | undefined;
  readonly info?: KnownInfo | undefined;
}

/**
 * The endpoints that a provider offers: those that the program declared, completed with what sources know, and, where
 * it takes any model, all models of the vendor that sources know. What the program declares always wins.
 */
function completeDeclarations(
  provider: CatalogProvider,
  { vendors, origins }: CatalogFacts,
): readonly CompletedDeclaration[] {
  const { vendor = provider.slug } = provider;
  const known = Object.hasOwn(vendors, vendor) ? (vendors[vendor] ?? {}) : {};
  const declared = Object.entries(provider.models).flatMap(([model, offers]) =>
    [offers].flat().map((offer: EndpointDeclaration) => {
      const facts = findFacts(known, vendor, model, offer);
      return facts === undefined ? { model, declaration: offer } : completed(model, offer, facts, origins);
    }),
  );
  if (provider.acceptsAnyModel !== true) return declared;
  const taken = new Set(Object.keys(provider.models));
  const discovered = Object.entries(known)
    .filter(([name]) => !taken.has(`${provider.slug}/${name}`))
    .flatMap(([name, facts]) =>
      offersOf(facts).map((offer) => completed(`${provider.slug}/${name}`, offer, facts, origins)),
    );
  return [...declared, ...discovered];
}

/** Every tier with a price of its own is an endpoint of its own, so that tiers can be requested. */
function offersOf({ endpoint }: ModelFacts): readonly EndpointDeclaration[] {
  const tiers = (['priority', 'flex'] as const).filter((tier) => endpoint?.price?.serviceTiers?.[tier] !== undefined);
  return [{}, ...tiers.map((tier) => ({ tier }))];
}

/** Facts by what the provider calls the model, or, where that is a name of the program's own, by the model's id. */
function findFacts(
  known: Readonly<Record<string, ModelFacts>>,
  slug: string,
  model: string,
  { upstreamModel }: EndpointDeclaration,
): ModelFacts | undefined {
  const own = model.startsWith(`${slug}/`) ? model.slice(slug.length + 1) : model;
  const names = [upstreamModel, own, model.slice(model.indexOf('/') + 1)];
  const name = names.find((one) => one !== undefined && Object.hasOwn(known, one));
  return name === undefined ? undefined : known[name];
}

function completed(
  model: string,
  declared: EndpointDeclaration,
  facts: ModelFacts,
  origins: readonly FactOrigin[],
): CompletedDeclaration {
  const stated = defined(declared);
  const { price, abilities, ...rest } = defined(facts.endpoint);
  const added: EndpointFacts = {
    ...rest,
    ...(stated.parameters === undefined && abilities !== undefined
      ? { abilities: { ...abilities, ...stated.abilities } }
      : {}),
    ...defined({ price: priceOf(stated, price) }),
  };
  const names = (Object.keys(added) as FactName[]).filter((name) => !Object.hasOwn(stated, name));
  const sourced = names.flatMap((name) => {
    const origin = origins[facts.from[name] ?? -1];
    return origin === undefined ? [] : [[name, origin] as const];
  });
  const declaration = { ...added, ...stated, ...(added.abilities === undefined ? {} : { abilities: added.abilities }) };
  return { model, declaration, origins: Object.fromEntries(sourced), info: facts.info };
}

/**
 * The price of a vendor's plain offer. Regions, tags and variants of an offer may cost something else, so that their
 * price stays unknown; a tier has the price of the tier, where that is known.
 */
function priceOf(
  { tier = 'default', variant, region, tag }: EndpointDeclaration,
  price: Price | undefined,
): Price | undefined {
  if (price === undefined || region !== undefined || tag !== undefined) return undefined;
  if (variant !== undefined && variant !== 'batch') return undefined;
  const wanted = variant ?? tier;
  if (wanted === 'default') return price;
  const other = price.serviceTiers?.[wanted];
  return typeof other === 'number' ? multipliedPrice(price, other) : other;
}

/**
 * Tells the endpoints of a model which tiers are endpoints too, so that the others are not called for them, and what
 * their provider's other tiers cost: a provider may serve a request in another tier than requested, and charges that
 * one (gaps 2.7).
 */
export function linkTiers(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  if (endpoints.every(({ tier }) => tier === 'default')) return endpoints;
  const declaredTiers = new Set(endpoints.map(({ tier }) => tier));
  return endpoints.map((declared) => {
    const endpoint = { ...declared, declaredTiers };
    const { price } = endpoint;
    const others = price === undefined ? [] : endpoints.filter((other) => isOtherTier(endpoint, other));
    if (price === undefined || others.length === 0) return endpoint;
    const serviceTiers: Partial<Record<BilledTier, number | Price>> = { ...price.serviceTiers };
    for (const { tier, price: own } of others) if (own !== undefined) serviceTiers[tier] ??= own;
    return { ...endpoint, price: { ...price, serviceTiers } };
  });
}

function isOtherTier(endpoint: Endpoint, other: Endpoint): boolean {
  const { provider, region, tier } = other;
  return provider === endpoint.provider && region === endpoint.region && tier !== endpoint.tier;
}

/**
 * The newest model that `~author/family-latest` means: of all models of that author and family, the one with the
 * latest `created` that somebody serves. Undefined when there is none.
 */
export function latestOfFamily(catalog: Catalog, slug: string): string | undefined {
  const match = /^~([^/]+)\/(.+)-latest$/.exec(slug);
  const [, author = '', family = ''] = match ?? [];
  if (match === null) return undefined;
  let newest: Model | undefined;
  for (const model of catalog.models.values()) {
    if (!belongsTo(model, author, family) || catalog.endpoints(model.id).length === 0) continue;
    if (newest === undefined || (model.created ?? 0) > (newest.created ?? 0)) newest = model;
  }
  return newest?.id;
}

/** Static variants such as `:free`, and models on their way out, are never the latest model. */
function belongsTo(model: Model, author: string, family: string): boolean {
  if (authorOf(model.id) !== author || model.id.includes(':') || model.status === 'deprecated') return false;
  if (model.family !== undefined) return model.family === family;
  return foldSlug(model.id).startsWith(`${foldSlug(author)}/${foldSlug(family)}`);
}
