/** Finds the models of a catalog that fulfil conditions. */
import type { Catalog } from '../../catalog/catalog.ts';
import type { Endpoint, Model } from '../../catalog/endpoint.ts';
import { defined } from '../../catalog/facts.ts';
import { blendedPrice } from '../../catalog/price.ts';
import type { JsonObject } from '../../protocol/json.ts';

/** Which models are looked for. Everything that is left out is no condition. */
export interface ModelQuery {
  /** Words in the id, the name or the description. */
  readonly text: string;
  /** USD per million input tokens. */
  readonly maxPromptPrice?: number | undefined;
  /** USD per million output tokens. */
  readonly maxCompletionPrice?: number | undefined;
  /** Tokens. */
  readonly minContext?: number | undefined;
  readonly inputModalities: readonly string[];
  readonly outputModalities: readonly string[];
  /** Parameters that must be supported, such as `tools` or `structured_outputs`. */
  readonly parameters: readonly string[];
  /** Default: how well the words fit. */
  readonly order?: 'price' | 'context' | 'newest' | undefined;
}

interface Found {
  readonly model: Model;
  readonly endpoints: readonly Endpoint[];
  readonly fit: number;
}

/** Characters of a description that are shown. */
const MAX_DESCRIPTION_LENGTH = 300;
/** Parameters that are named as abilities of a model. */
const ABILITIES = ['tools', 'structured_outputs', 'reasoning'];

/**
 * The models of a catalog that the account may use and that fulfil every condition, best first (gaps 2.1). What nobody
 * declared does not fulfil a condition: whoever filters for models that read images expects one that is known to. Pure.
 */
export function findModels(
  catalog: Catalog,
  query: ModelQuery,
  limit: number,
  isAllowed: (model: string) => boolean,
): { total: number; models: JsonObject[] } {
  const words = query.text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
  const found = [...catalog.models.values()].flatMap((model): readonly Found[] => {
    if (!isAllowed(model.id)) return [];
    const endpoints = catalog.endpoints(model.id).filter((endpoint) => fulfils(endpoint, query));
    const fit = fitOf(model, words);
    return endpoints.length === 0 || fit === 0 ? [] : [{ model, endpoints, fit }];
  });
  found.sort((left, right) => compare(left, right, query.order) || right.fit - left.fit);
  return { total: found.length, models: found.slice(0, limit).map(describe) };
}

function fulfils(endpoint: Endpoint, query: ModelQuery): boolean {
  const { price, contextLength, inputModalities, outputModalities, variant } = endpoint;
  if (variant === 'batch') return false;
  const { maxPromptPrice = Infinity, maxCompletionPrice = Infinity, minContext = 0 } = query;
  if (!((price?.prompt ?? Infinity) <= maxPromptPrice)) return false;
  if (!((price?.completion ?? Infinity) <= maxCompletionPrice)) return false;
  if (!((contextLength ?? 0) >= minContext)) return false;
  return (
    query.inputModalities.every((name) => name === 'text' || has(inputModalities, name)) &&
    query.outputModalities.every(
      (name) => (name === 'text' && outputModalities === undefined) || has(outputModalities, name),
    ) &&
    query.parameters.every((name) => takes(endpoint, name))
  );
}

function takes({ parameters, unknownParameters }: Endpoint, name: string): boolean {
  return has(parameters, name) && !has(unknownParameters, name);
}

function has(set: ReadonlySet<string> | undefined, name: string): boolean {
  return set?.has(name) === true;
}

/** How well a model fits the words: all of them must be somewhere, and the id and the name count more. */
function fitOf({ id, name = '', description = '' }: Model, words: readonly string[]): number {
  const title = `${id} ${name}`.toLowerCase();
  const text = description.toLowerCase();
  let fit = 1;
  for (const word of words) {
    if (title.includes(word)) fit += 3;
    else if (text.includes(word)) fit += 1;
    else return 0;
  }
  return fit;
}

function compare(left: Found, right: Found, order: ModelQuery['order']): number {
  switch (order) {
    case 'price':
      return cheapest(left) - cheapest(right) || 0;
    case 'context':
      return longest(right) - longest(left);
    case 'newest':
      return (right.model.created ?? 0) - (left.model.created ?? 0);
    case undefined:
      return 0;
  }
}

function cheapest({ endpoints }: Found): number {
  return Math.min(...endpoints.map(({ price }) => blendedPrice(price) ?? Number.MAX_VALUE));
}

function longest({ endpoints }: Found): number {
  return Math.max(...endpoints.map(({ contextLength }) => contextLength ?? 0));
}

function describe({ model, endpoints }: Found): JsonObject {
  const priced = endpoints.filter(({ price }) => price !== undefined);
  const best = priced.find(
    ({ price }) => blendedPrice(price) === Math.min(...priced.map((one) => blendedPrice(one.price) ?? Infinity)),
  );
  const context = longest({ model, endpoints, fit: 0 });
  const abilities = ABILITIES.filter((name) => endpoints.some((endpoint) => takes(endpoint, name)));
  const { price } = best ?? {};
  return defined({
    id: model.id,
    name: model.name,
    description: model.description?.slice(0, MAX_DESCRIPTION_LENGTH),
    created: model.created,
    context_length: context === 0 ? undefined : context,
    usd_per_million_tokens: price && { prompt: price.prompt, completion: price.completion },
    input_modalities: names(endpoints.map((one) => one.inputModalities)),
    output_modalities: names(endpoints.map((one) => one.outputModalities)),
    abilities: abilities.length === 0 ? undefined : abilities,
    providers: [...new Set(endpoints.map(({ providerName }) => providerName))],
  });
}

function names(sets: readonly (ReadonlySet<string> | undefined)[]): string[] {
  return [...new Set(sets.flatMap((set) => [...(set ?? ['text'])]))];
}
