import { isJsonObject, type JsonObject, type JsonValue } from '../protocol/json.ts';
import { REASONING_EFFORTS } from '../protocol/reasoning.ts';
import { unixSecondsOfDay } from './price-at.ts';
import type { Abilities, EndpointFacts, KnownInfo } from './endpoint.ts';
import { type CatalogFacts, defined, factsOfSource, type SourcedFacts } from './facts.ts';
import type { Modality } from './model.ts';
import { VENDOR_IDS, vendorIdOf } from './vendor-ids.ts';
import type { LongPromptRates, Price, Rates } from './price.ts';
import * as read from '../platform/json.ts';

/** Name of the source, as origins show it. */
export const MODELS_DEV = 'models.dev';

/**
 * Reads facts about models from JSON in the form of models.dev's `api.json`. Whatever it is given, it never throws:
 * what it cannot read stays unknown, and unknown fields are passed over.
 *
 * @param date - Day on which the data was fetched, `YYYY-MM-DD`.
 * @param slugs - Vendors to read, by our slug; others go by the source's own names. Default: those we know.
 */
export function parseModelsDev(
  json: unknown,
  date: string,
  slugs: readonly string[] = Object.keys(VENDOR_IDS),
): CatalogFacts {
  const vendors = slugs.map((slug) => [slug, modelsOf(json, vendorIdOf(slug, 'modelsDev'))] as const);
  return factsOfSource({ source: MODELS_DEV, date, licence: 'MIT' }, vendors);
}

function modelsOf(json: unknown, id: string | undefined): readonly (readonly [string, SourcedFacts])[] {
  const models = objectAt(objectAt(json, id)?.['models'], undefined);
  return Object.entries(models ?? {}).flatMap(([name, model]) =>
    isJsonObject(model) && isModelName(name) ? [[name, factsOfModel(name, model)] as const] : [],
  );
}

/** A name that can be in a request. */
function isModelName(name: string): boolean {
  return /^[\x21-\x7e]{1,256}$/.test(name);
}

function factsOfModel(name: string, model: JsonObject): SourcedFacts {
  return { info: infoOf(model), endpoint: endpointOf(name, model) };
}

function infoOf(model: JsonObject): KnownInfo {
  const released = read.text(model['release_date']);
  const status = read.text(model['status']);
  return {
    name: read.text(model['name']),
    created: released === undefined ? undefined : unixSecondsOfDay(released),
    family: read.text(model['family']),
    knowledgeCutoff: read.text(model['knowledge']),
    status: STATUSES.find((one) => one === status),
  };
}

const STATUSES = ['alpha', 'beta', 'deprecated'] as const;

function endpointOf(name: string, model: JsonObject): EndpointFacts {
  const limit = objectAt(model, 'limit');
  const modalities = objectAt(model, 'modalities');
  const abilities = abilitiesOf(model);
  const efforts = effortsOf(model['reasoning_options']);
  // The source says "text" of what comes out of an embedding model, too.
  const embeds = /embed/i.test(`${name} ${read.text(model['family']) ?? ''}`);
  return {
    price: priceOfModelsDev(model),
    contextLength: limitOf(limit?.['context']),
    maxPromptTokens: limitOf(limit?.['input']),
    maxOutputTokens: embeds ? undefined : limitOf(limit?.['output']),
    abilities: Object.keys(abilities).length > 0 ? abilities : undefined,
    inputModalities: modalitiesOf(modalities?.['input']) ?? (model['attachment'] === false ? ['text'] : undefined),
    outputModalities: embeds ? ['embeddings'] : modalitiesOf(modalities?.['output']),
    reasoning: efforts && { efforts },
  };
}

/** What is said of single parameters. That something is missing also says that its details are. */
function abilitiesOf(model: JsonObject): Abilities {
  const calls = model['tool_call'];
  const tools = flag(isJsonObject(calls) ? calls['supported'] : calls);
  const reasoning = flag(model['reasoning']);
  const structured = flag(model['structured_output']);
  const entries = {
    tools,
    tool_choice: tools === false ? false : undefined,
    parallel_tool_calls: tools === false ? false : flag(isJsonObject(calls) ? calls['parallel'] : undefined),
    reasoning,
    reasoning_effort: reasoning === false ? false : undefined,
    include_reasoning: reasoning === false ? false : undefined,
    structured_outputs: structured,
    response_format: structured === true ? true : undefined,
    temperature: flag(model['temperature']),
  };
  return defined(entries);
}

function effortsOf(options: JsonValue | undefined): (typeof REASONING_EFFORTS)[number][] | undefined {
  if (!Array.isArray(options)) return undefined;
  const named = options.flatMap((option: JsonValue) =>
    isJsonObject(option) && option['type'] === 'effort' && Array.isArray(option['values']) ? option['values'] : [],
  );
  const values = new Set(named);
  const known = REASONING_EFFORTS.filter((effort) => values.has(effort));
  return known.length > 0 ? known : undefined;
}

const MODALITIES: ReadonlyMap<unknown, Modality> = new Map<unknown, Modality>([
  ['text', 'text'],
  ['image', 'image'],
  ['audio', 'audio'],
  ['video', 'video'],
  ['pdf', 'file'],
  ['file', 'file'],
]);

function modalitiesOf(names: JsonValue | undefined): readonly Modality[] | undefined {
  if (!Array.isArray(names)) return undefined;
  const known = names.map((name: JsonValue) => MODALITIES.get(name)).filter((one) => one !== undefined);
  return known.length > 0 ? [...new Set(known)] : undefined;
}

/** A limit of zero is how the source writes that it knows none. */
function limitOf(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

function flag(value: JsonValue | undefined): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

/** A member that is an object, or the value itself when no member is named. */
function objectAt(value: unknown, name: string | undefined): JsonObject | undefined {
  if (!isJsonObject(value)) return undefined;
  if (name === undefined) return value;
  const member = Object.hasOwn(value, name) ? value[name] : undefined;
  return isJsonObject(member) ? member : undefined;
}

/** Bound of the older way to write rates for long prompts. */
const LONG_PROMPT = 200_000;

/**
 * The price of a model in the form of models.dev, in USD per million tokens; undefined when input or output has none,
 * or when something about it makes no sense: half a price would charge too little.
 */
function priceOfModelsDev(model: JsonObject): Price | undefined {
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
    prompt: amount(cost['input']),
    completion: amount(cost['output']),
    cacheRead: amount(cost['cache_read']),
    cacheWrite: amount(cost['cache_write']),
    reasoning: amount(cost['reasoning']),
    audioPrompt: amount(cost['input_audio']),
    audioCompletion: amount(cost['output_audio']),
  });
}

/** `tiers` says the bounds itself and wins; `context_over_200k` is the older form of the same rates. */
function longPromptRates(cost: JsonObject): readonly LongPromptRates[] {
  const { tiers, context_over_200k: over } = cost;
  if (Array.isArray(tiers)) {
    return tiers.flatMap((entry: JsonValue) => {
      const tier = isJsonObject(entry) ? entry['tier'] : undefined;
      const size = isJsonObject(tier) && tier['type'] === 'context' ? amount(tier['size']) : undefined;
      return size === undefined || !isJsonObject(entry) ? [] : [{ promptTokens: size, ...ratesOf(entry) }];
    });
  }
  return isJsonObject(over) ? [{ promptTokens: LONG_PROMPT, ...ratesOf(over) }] : [];
}

/** Modes of a model that are service tiers: those whose requests carry one. */
function tiersOf(experimental: JsonValue | undefined): Readonly<Partial<Record<'priority' | 'flex', Price>>> {
  const modes = isJsonObject(experimental) ? experimental['modes'] : undefined;
  const tiers: Partial<Record<'priority' | 'flex', Price>> = {};
  for (const mode of Object.values(read.object(modes))) {
    const provider = isJsonObject(mode) ? mode['provider'] : undefined;
    const body = isJsonObject(provider) ? provider['body'] : undefined;
    const tier = isJsonObject(body) ? body['service_tier'] : undefined;
    const price = isJsonObject(mode) ? priceOf(mode['cost']) : undefined;
    if ((tier === 'priority' || tier === 'flex') && price !== undefined) tiers[tier] = price;
  }
  return tiers;
}

function amount(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}
