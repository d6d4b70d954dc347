import { isJsonObject, type JsonObject, type JsonValue } from '../protocol/json.ts';
import { type CatalogFacts, factsOfSource, type SourcedFacts } from './facts.ts';
import { VENDOR_IDS, vendorIdOf } from './vendor-ids.ts';
import { minuteOfTime, unixSecondsOfDay } from './price-at.ts';
import type { LongPromptRates, Price, PriceChange, Rates } from './price.ts';
import * as read from '../platform/json.ts';

/** Name of the package, as origins show it. */
export const GENAI_PRICES = '@pydantic/genai-prices';

/**
 * Reads facts about models from the providers of `@pydantic/genai-prices`: prices with their tiers, start dates and
 * hours, and context lengths. Whatever it is given, it never throws; what it cannot read stays unknown.
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
  return factsOfSource({ source: GENAI_PRICES, date: latestChange(providers, today), licence: 'MIT' }, vendors);
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
      name: read.string(name),
      description: read.string(description),
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

/** Units of genai-prices that have a place in a {@link Rates}, and what a unit of theirs is in units of ours. */
const RATE_OF_UNIT: Readonly<Record<string, readonly [keyof Rates, number]>> = {
  input_mtok: ['prompt', 1],
  output_mtok: ['completion', 1],
  cache_read_mtok: ['cacheRead', 1],
  cache_write_mtok: ['cacheWrite', 1],
  cache_write_5m_mtok: ['cacheWrite', 1],
  cache_write_1h_mtok: ['cacheWrite1h', 1],
  output_reasoning_mtok: ['reasoning', 1],
  input_audio_mtok: ['audioPrompt', 1],
  input_image_mtok: ['imagePrompt', 1],
  input_video_mtok: ['videoPrompt', 1],
  output_audio_mtok: ['audioCompletion', 1],
  output_image_mtok: ['imageCompletion', 1],
  requests_kcount: ['request', 1_000],
  web_searches_kcount: ['webSearch', 1_000],
};

/**
 * The price of a model of genai-prices. Undefined when input or output has none, and when something is billed that
 * usage reports do not count, such as citations: a price without it would charge too little.
 */
function priceOfGenai(prices: JsonValue | undefined): Price | undefined {
  if (!Array.isArray(prices)) return flatPrice(prices);
  const entries: readonly JsonValue[] = prices;
  // The last entry in force counts, so nothing before the last one that is always in force ever does.
  const start = entries.findLastIndex((entry) => isJsonObject(entry) && entry['constraint'] === undefined);
  const [base, ...later] = entries.slice(Math.max(0, start));
  const price = isJsonObject(base) ? flatPrice(base['prices']) : undefined;
  const changes = later.map(changeOf);
  if (price === undefined || changes.includes(undefined)) return undefined;
  return changes.length === 0 ? price : { ...price, changes: changes.filter((change) => change !== undefined) };
}

function changeOf(entry: JsonValue): PriceChange | undefined {
  if (!isJsonObject(entry)) return undefined;
  const { constraint, prices } = entry;
  const price = flatPrice(prices);
  if (price === undefined || !isJsonObject(constraint)) return undefined;
  if (constraint['type'] === 'start_date') {
    const from = typeof constraint['start_date'] === 'string' ? unixSecondsOfDay(constraint['start_date']) : undefined;
    return from === undefined ? undefined : { from, price };
  }
  const [from, to] = [minute(constraint['start_time']), minute(constraint['end_time'])];
  return from === undefined || to === undefined ? undefined : { hours: { from, to }, price };
}

function minute(time: JsonValue | undefined): number | undefined {
  return typeof time === 'string' ? minuteOfTime(time) : undefined;
}

/** A rate, or one with others for long prompts. */
interface TieredRate {
  readonly base: number;
  readonly tiers: readonly { readonly start: number; readonly price: number }[];
}

function flatPrice(prices: JsonValue | undefined): Price | undefined {
  if (!isJsonObject(prices)) return undefined;
  const rates = new Map<keyof Rates, TieredRate>();
  for (const [unit, value] of Object.entries(prices)) {
    if (value === undefined) continue;
    const known = Object.hasOwn(RATE_OF_UNIT, unit) ? RATE_OF_UNIT[unit] : undefined;
    if (known === undefined) {
      if (/^(?:input|output)_/.test(unit)) return undefined;
      continue;
    }
    const rate = tieredRate(value, known[1]);
    if (rate === undefined) return undefined;
    rates.set(known[0], rate);
  }
  const { prompt, completion, ...rest } = ratesFor(rates, 0);
  if (prompt === undefined || completion === undefined) return undefined;
  const bounds = new Set([...rates.values()].flatMap(({ tiers }) => tiers.map(({ start }) => start)));
  const above = [...bounds]
    .sort((left, right) => left - right)
    .map((promptTokens): LongPromptRates => ({ promptTokens, ...ratesFor(rates, promptTokens + 1) }));
  return { prompt, completion, ...rest, ...(above.length > 0 ? { above } : {}) };
}

function ratesFor(rates: ReadonlyMap<keyof Rates, TieredRate>, promptTokens: number): Partial<Rates> {
  const entries = [...rates].map(([name, { base, tiers }]) => {
    const tier = tiers.findLast(({ start }) => promptTokens > start);
    return [name, tier?.price ?? base] as const;
  });
  return Object.fromEntries(entries);
}

function tieredRate(value: JsonValue, perUnits: number): TieredRate | undefined {
  const base = amount(isJsonObject(value) ? value['base'] : value, perUnits);
  const list: unknown = isJsonObject(value) ? value['tiers'] : [];
  if (base === undefined || !Array.isArray(list)) return undefined;
  const tiers = list.map((tier: unknown) => tierOf(tier, perUnits));
  if (tiers.includes(undefined)) return undefined;
  const known = tiers.filter((tier) => tier !== undefined).sort((left, right) => left.start - right.start);
  return { base, tiers: known };
}

function tierOf(tier: unknown, perUnits: number): TieredRate['tiers'][number] | undefined {
  const fields: JsonObject = read.object(tier);
  const [start, price] = [amount(fields['start'], 1), amount(fields['price'], perUnits)];
  return start === undefined || price === undefined ? undefined : { start, price };
}

function amount(value: unknown, perUnits: number): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value / perUnits : undefined;
}
