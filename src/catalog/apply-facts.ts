import type { CatalogProvider } from './catalog-provider.ts';
import type { EndpointDeclaration } from './endpoint.ts';
import type { FactOrigin, FactOrigins } from './fact-origin.ts';
import type { CatalogFacts, EndpointFacts, FactName, KnownInfo, ModelFacts } from './facts.ts';
import { defined } from './defined.ts';
import type { Price } from './price.ts';
import { multipliedPrice } from './price-at.ts';

/** A declaration of an endpoint after the facts of the sources were put under it. */
export interface CompletedDeclaration {
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
export function completeDeclarations(
  provider: CatalogProvider,
  { vendors, origins }: CatalogFacts,
): readonly CompletedDeclaration[] {
  const known = Object.hasOwn(vendors, provider.slug) ? (vendors[provider.slug] ?? {}) : {};
  const declared = Object.entries(provider.models).flatMap(([model, offers]) =>
    [offers].flat().map((offer: EndpointDeclaration) => {
      const facts = findFacts(known, provider.slug, model, offer);
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

/** Every tier with a price of its own is an endpoint of its own, so that tiers can be asked for. */
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
  const told = defined(declared);
  const { price, abilities, ...rest } = defined(facts.endpoint);
  const added: EndpointFacts = {
    ...rest,
    ...(told.parameters === undefined && abilities !== undefined
      ? { abilities: { ...abilities, ...told.abilities } }
      : {}),
    ...defined({ price: priceOf(told, price) }),
  };
  const names = (Object.keys(added) as FactName[]).filter((name) => !Object.hasOwn(told, name));
  const sourced = names.flatMap((name) => {
    const origin = origins[facts.from[name] ?? -1];
    return origin === undefined ? [] : [[name, origin] as const];
  });
  const declaration = { ...added, ...told, ...(added.abilities === undefined ? {} : { abilities: added.abilities }) };
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
