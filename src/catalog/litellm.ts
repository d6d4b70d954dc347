import { isJsonObject, type JsonObject } from '../protocol/json.ts';
import type { Abilities, EndpointFacts } from './endpoint.ts';
import { type CatalogFacts, defined, factsOfSource, type SourcedFacts } from './facts.ts';
import type { Modality } from './model.ts';
import type { LongPromptRates, Price, Rates } from './price.ts';
import { VENDOR_IDS, vendorIdOf } from './vendor-ids.ts';
import * as read from '../platform/json.ts';

/** Name of the source, as origins show it. */
export const LITELLM = 'litellm';

/**
 * Reads facts about models from JSON in the form of LiteLLM's `model_prices_and_context_window.json`. Whatever it is
 * given, it never throws: what it cannot read stays unknown, and unknown fields are passed over. Models that answer
 * with neither text nor embeddings are left out.
 *
 * @param date - Day on which the data was fetched, `YYYY-MM-DD`.
 * @param slugs - Vendors to read, by our slug; others go by the source's own names. Default: those we know.
 */
export function parseLiteLlm(
  json: unknown,
  date: string,
  slugs: readonly string[] = Object.keys(VENDOR_IDS),
): CatalogFacts {
  const byVendor = new Map<string, (readonly [string, JsonObject])[]>();
  for (const [key, model] of Object.entries(read.object(json))) {
    const vendor = isJsonObject(model) && MODES.has(model['mode']) ? read.text(model['litellm_provider']) : undefined;
    const name = vendor !== undefined && key.startsWith(`${vendor}/`) ? key.slice(vendor.length + 1) : key;
    if (vendor === undefined || !isJsonObject(model) || !/^[\x21-\x7e]{1,256}$/.test(name)) continue;
    const models = byVendor.get(vendor) ?? [];
    // Of two keys for one name, the one that names the vendor is about that vendor's own offer.
    if (name === key) models.unshift([name, model]);
    else models.push([name, model]);
    byVendor.set(vendor, models);
  }
  const vendors = slugs.map((slug) => {
    const models = byVendor.get(vendorIdOf(slug, 'liteLlm') ?? '') ?? [];
    return [slug, models.map(([name, model]) => [name, factsOfModel(model, date)] as const)] as const;
  });
  return factsOfSource({ source: LITELLM, date, licence: 'MIT' }, vendors);
}

/** Kinds of models that can be called here. */
const MODES: ReadonlySet<unknown> = new Set(['chat', 'completion', 'responses', 'embedding']);

function factsOfModel(model: JsonObject, date: string): SourcedFacts {
  const ends = read.text(model['deprecation_date']);
  const isOver = ends !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(ends) && ends <= date;
  return { info: { status: isOver ? 'deprecated' : undefined }, endpoint: endpointOf(model) };
}

function endpointOf(model: JsonObject): EndpointFacts {
  const abilities = abilitiesOf(model);
  const embeds = model['mode'] === 'embedding';
  return {
    price: priceOf(model),
    // The source has one word for the context and for what may be in the prompt; that much may be in the prompt.
    maxPromptTokens: limitOf(model['max_input_tokens']),
    maxOutputTokens: embeds ? undefined : limitOf(model['max_output_tokens']),
    abilities: Object.keys(abilities).length > 0 ? abilities : undefined,
    inputModalities: modalitiesOf(model['supported_modalities'], model['supports_pdf_input']),
    outputModalities: embeds ? ['embeddings'] : modalitiesOf(model['supported_output_modalities'], undefined),
  };
}

/** What is said of single parameters. That something is missing also says that its details are. */
function abilitiesOf(model: JsonObject): Abilities {
  const tools = flag(model['supports_function_calling']);
  const reasoning = flag(model['supports_reasoning']);
  const structured = flag(model['supports_response_schema']);
  return defined({
    tools,
    tool_choice: tools === false ? false : flag(model['supports_tool_choice']),
    parallel_tool_calls: tools === false ? false : flag(model['supports_parallel_function_calling']),
    reasoning,
    reasoning_effort: reasoning === false ? false : undefined,
    include_reasoning: reasoning === false ? false : undefined,
    structured_outputs: structured,
    response_format: structured === true ? true : undefined,
  });
}

const MODALITIES: readonly Modality[] = ['text', 'image', 'audio', 'video'];

/** A list says what there is and what there is not; single flags are left out for both "no" and "unknown". */
function modalitiesOf(names: unknown, pdf: unknown): readonly Modality[] | undefined {
  const said = new Set(read.list(names));
  const known = MODALITIES.filter((one) => said.has(one));
  if (known.length === 0) return undefined;
  return pdf === true ? [...known, 'file'] : known;
}

/** A limit of zero is no limit that anybody has. */
function limitOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

function flag(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

/** Rates by the beginning of the fields' names, in USD per token. What follows the name says when the rate holds. */
const TOKEN_RATES = {
  prompt: 'input_cost_per_token',
  completion: 'output_cost_per_token',
  cacheRead: 'cache_read_input_token_cost',
  cacheWrite: 'cache_creation_input_token_cost',
  cacheWrite1h: 'cache_creation_input_token_cost_above_1hr',
  reasoning: 'output_cost_per_reasoning_token',
  audioPrompt: 'input_cost_per_audio_token',
  imagePrompt: 'input_cost_per_image_token',
  audioCompletion: 'output_cost_per_audio_token',
  imageCompletion: 'output_cost_per_image_token',
} as const satisfies Partial<Record<keyof Rates, string>>;

/** Charges that usage reports do not count, or that are not the same for all tokens: a price would charge wrongly. */
const NOT_COUNTED = ['citation_cost_per_token', 'tiered_pricing'] as const;

/** Endings of the fields' names by the tier that serves. */
const TIERS = { priority: '_priority', flex: '_flex', batch: '_batches' } as const;

/**
 * The price of a model, in USD per million tokens; undefined when input or output has none, or when something is billed
 * that cannot be counted: half a price would charge too little.
 */
function priceOf(model: JsonObject): Price | undefined {
  if (NOT_COUNTED.some((name) => model[name] !== undefined && model[name] !== 0)) return undefined;
  const price = priceWith(model, '');
  if (price === undefined) return undefined;
  const tiers = Object.entries(TIERS).flatMap(([tier, ending]) => {
    const own = priceWith(model, ending);
    return own === undefined ? [] : [[tier, own] as const];
  });
  const perUnit = defined({
    cacheRead: price.cacheRead ?? perMillion(model['input_cost_per_token_cache_hit']),
    request: amount(model['input_cost_per_request']),
    image: amount(model['input_cost_per_image']),
    webSearch: searchPrice(model['search_context_cost_per_query']),
  });
  return { ...price, ...perUnit, ...(tiers.length > 0 ? { serviceTiers: Object.fromEntries(tiers) } : {}) };
}

function priceWith(model: JsonObject, ending: string): Price | undefined {
  const { prompt, completion, ...rest } = ratesOf(model, ending);
  if (prompt === undefined || completion === undefined) return undefined;
  const above = longPromptRates(model, ending);
  return { prompt, completion, ...rest, ...(above.length > 0 ? { above } : {}) };
}

function ratesOf(model: JsonObject, ending: string): Partial<Rates> {
  const entries = Object.entries(TOKEN_RATES).map(([rate, name]) => [rate, perMillion(model[name + ending])] as const);
  return defined(Object.fromEntries(entries));
}

/** Rates of fields such as `input_cost_per_token_above_200k_tokens`. */
function longPromptRates(model: JsonObject, ending: string): readonly LongPromptRates[] {
  const bounds = Object.keys(model).flatMap((name) => {
    const [, thousands, rest] = /_above_(\d{1,6})k_tokens(\w*)$/.exec(name) ?? [];
    return rest === ending ? [Number(thousands)] : [];
  });
  return [...new Set(bounds)]
    .sort((left, right) => left - right)
    .map((bound) => ({ promptTokens: bound * 1_000, ...ratesOf(model, `_above_${bound}k_tokens${ending}`) }));
}

/** A search has one price here; where the source has several, by how much is read, none of them is it. */
function searchPrice(costs: unknown): number | undefined {
  const prices = new Set(Object.values(read.object(costs)));
  const [price] = prices;
  return prices.size === 1 ? amount(price) : undefined;
}

/** Digits of a rate: what is more comes from the conversion. */
const DIGITS = 12;

function perMillion(value: unknown): number | undefined {
  const perToken = amount(value);
  return perToken === undefined ? undefined : Number((perToken * 1_000_000).toPrecision(DIGITS));
}

function amount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}
