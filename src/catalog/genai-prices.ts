import { isJsonObject, type JsonObject } from '../protocol/json.ts';
import { type CatalogFacts, type SourcedFacts, factsOf } from './facts.ts';
import { priceOfGenai } from './genai-price.ts';
import { VENDOR_IDS, vendorIdOf } from './vendor-ids.ts';

/** Name of the package, as origins show it. */
export const GENAI_PRICES = '@pydantic/genai-prices';

/**
 * Reads facts about models from the providers of `@pydantic/genai-prices`: prices with their tiers, start dates and
 * hours, and context lengths. Whatever it is given, it never throws; what it does not understand stays unknown.
 *
 * @param today - `YYYY-MM-DD`. The data carries no date of its own, so that it counts as being from the day of the
 * latest price change up to today that it knows.
 * @param slugs - Vendors to read, by our slug; others go by the source's own names. Default: those we know.
 */
export function parseGenaiPrices(
  providers: readonly unknown[],
  today: string,
  slugs: readonly string[] = Object.keys(VENDOR_IDS),
): CatalogFacts {
  const byId = new Map(providers.filter(isJsonObject).map((provider) => [provider['id'], provider]));
  const vendors = slugs.map((slug) => [slug, modelsOf(byId.get(vendorIdOf(slug, 'genaiPrices')))] as const);
  return factsOf({ source: GENAI_PRICES, date: latestChange(providers, today), licence: 'MIT' }, vendors);
}

function modelsOf(provider: JsonObject | undefined): readonly (readonly [string, SourcedFacts])[] {
  const models: unknown = provider?.['models'];
  if (!Array.isArray(models)) return [];
  return models.filter(isJsonObject).flatMap((model) => {
    const { id } = model;
    return typeof id === 'string' && /^[\x21-\x7e]{1,256}$/.test(id) ? [[id, factsOfModel(model)] as const] : [];
  });
}

function factsOfModel(model: JsonObject): SourcedFacts {
  const { name, description, context_window: context, deprecated, prices } = model;
  return {
    info: {
      name: typeof name === 'string' ? name : undefined,
      description: typeof description === 'string' ? description : undefined,
      status: deprecated === true ? 'deprecated' : undefined,
    },
    endpoint: {
      contextLength: typeof context === 'number' && Number.isSafeInteger(context) && context > 0 ? context : undefined,
      price: priceOfGenai(prices),
    },
  };
}

/** The latest day up to today on which a price changed; the beginning of time when there is none. */
function latestChange(providers: readonly unknown[], today: string): string {
  let latest = '1970-01-01';
  for (const provider of providers) {
    const models: unknown = isJsonObject(provider) ? provider['models'] : undefined;
    for (const day of Array.isArray(models) ? models.flatMap(startDays) : []) {
      if (day > latest && day <= today) latest = day;
    }
  }
  return latest;
}

function startDays(model: unknown): readonly string[] {
  const prices: unknown = isJsonObject(model) ? model['prices'] : undefined;
  if (!Array.isArray(prices)) return [];
  return prices.flatMap((entry: unknown) => {
    const constraint = isJsonObject(entry) ? entry['constraint'] : undefined;
    const day = isJsonObject(constraint) ? constraint['start_date'] : undefined;
    return typeof day === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(day) ? [day] : [];
  });
}
