import { isJsonObject, type JsonObject, type JsonValue } from '../protocol/json.ts';
import { minuteOfTime, unixSecondsOfDay } from './calendar.ts';
import type { LongPromptRates, Price, PriceChange, Rates } from './price.ts';

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
 * usage reports do not count, such as citations: a price without it would bill too little.
 */
export function priceOfGenai(prices: JsonValue | undefined): Price | undefined {
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
  const [from, to] = [minuteOf(constraint['start_time']), minuteOf(constraint['end_time'])];
  return from === undefined || to === undefined ? undefined : { hours: { from, to }, price };
}

function minuteOf(time: JsonValue | undefined): number | undefined {
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
  const base = amountOf(isJsonObject(value) ? value['base'] : value, perUnits);
  const list: unknown = isJsonObject(value) ? value['tiers'] : [];
  if (base === undefined || !Array.isArray(list)) return undefined;
  const tiers = list.map((tier: unknown) => tierOf(tier, perUnits));
  if (tiers.includes(undefined)) return undefined;
  const known = tiers.filter((tier) => tier !== undefined).sort((left, right) => left.start - right.start);
  return { base, tiers: known };
}

function tierOf(tier: unknown, perUnits: number): TieredRate['tiers'][number] | undefined {
  const fields: JsonObject = isJsonObject(tier) ? tier : {};
  const [start, price] = [amountOf(fields['start'], 1), amountOf(fields['price'], perUnits)];
  return start === undefined || price === undefined ? undefined : { start, price };
}

function amountOf(value: unknown, perUnits: number): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value / perUnits : undefined;
}
