import { isJsonObject, type JsonObject, type JsonValue } from '../protocol/json.ts';
import { defined } from './defined.ts';
import type { LongPromptRates, Price, Rates } from './price.ts';

/** Bound of the older way to write rates for long prompts. */
const LONG_PROMPT = 200_000;

/**
 * The price of a model in the form of models.dev, in USD per million tokens; undefined when input or output has none,
 * or when something about it makes no sense: half a price would bill too little.
 */
export function priceOfModelsDev(model: JsonObject): Price | undefined {
  const price = priceOf(model['cost']);
  if (price === undefined) return undefined;
  const serviceTiers = tiersOf(model['experimental']);
  return Object.keys(serviceTiers).length > 0 ? { ...price, serviceTiers } : price;
}

function priceOf(cost: JsonValue | undefined): Price | undefined {
  if (!isJsonObject(cost)) return undefined;
  const { prompt, completion, ...rest } = ratesOf(cost);
  if (prompt === undefined || completion === undefined) return undefined;
  const above = longPromptRates(cost);
  return { prompt, completion, ...rest, ...(above.length > 0 ? { above } : {}) };
}

function ratesOf(cost: JsonObject): Partial<Rates> {
  return defined({
    prompt: amountOf(cost['input']),
    completion: amountOf(cost['output']),
    cacheRead: amountOf(cost['cache_read']),
    cacheWrite: amountOf(cost['cache_write']),
    reasoning: amountOf(cost['reasoning']),
    audioPrompt: amountOf(cost['input_audio']),
    audioCompletion: amountOf(cost['output_audio']),
  });
}

/** `tiers` says the bounds itself and wins; `context_over_200k` is the older form of the same rates. */
function longPromptRates(cost: JsonObject): readonly LongPromptRates[] {
  const { tiers, context_over_200k: over } = cost;
  if (Array.isArray(tiers)) {
    return tiers.flatMap((entry: JsonValue) => {
      const tier = isJsonObject(entry) ? entry['tier'] : undefined;
      const size = isJsonObject(tier) && tier['type'] === 'context' ? amountOf(tier['size']) : undefined;
      return size === undefined || !isJsonObject(entry) ? [] : [{ promptTokens: size, ...ratesOf(entry) }];
    });
  }
  return isJsonObject(over) ? [{ promptTokens: LONG_PROMPT, ...ratesOf(over) }] : [];
}

/** Modes of a model that are service tiers: those whose requests carry one. */
function tiersOf(experimental: JsonValue | undefined): Readonly<Partial<Record<'priority' | 'flex', Price>>> {
  const modes = isJsonObject(experimental) ? experimental['modes'] : undefined;
  const tiers: Partial<Record<'priority' | 'flex', Price>> = {};
  for (const mode of Object.values(isJsonObject(modes) ? modes : {})) {
    const provider = isJsonObject(mode) ? mode['provider'] : undefined;
    const body = isJsonObject(provider) ? provider['body'] : undefined;
    const tier = isJsonObject(body) ? body['service_tier'] : undefined;
    const price = isJsonObject(mode) ? priceOf(mode['cost']) : undefined;
    if ((tier === 'priority' || tier === 'flex') && price !== undefined) tiers[tier] = price;
  }
  return tiers;
}

function amountOf(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}
