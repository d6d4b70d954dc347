import type { ServerToolDefinition } from '../../contracts/server-tool.ts';
import { defineServerTool } from '../../core/pipeline/define-plugin.ts';
import type { JsonObject, JsonValue } from '../../protocol/json.ts';
import { mayUse } from '../../core/normalize/preset.ts';
import { parseSearchModelsOptions } from '../../protocol/server-tool-options.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { Model } from '../../catalog/model.ts';
import { blendedPrice } from '../../catalog/price.ts';
import * as read from '../../platform/json.ts';

/** What a request may say about `router:experimental__search_models`. */
export interface SearchModelsOptions {
  /** Models that one search gives, 1 to 20. Default 5. */
  readonly max_results?: number | undefined;
}

const DEFAULT_RESULTS = 5;
const ORDERS = ['price', 'context', 'newest'] as const;

/**
 * The server tool `router:experimental__search_models` (gaps 2.1): the model looks for models in the router's own
 * catalog, by words, price, context length and abilities.
 */
export function searchModelsTool(): ServerToolDefinition<SearchModelsOptions> {
  return defineServerTool<SearchModelsOptions>({
    type: 'router:experimental__search_models',
    parseOptions: parseSearchModelsOptions,
    describe: ({ max_results: limit = DEFAULT_RESULTS }) => ({
      description: `Searches the models that can be used here and tells up to ${limit} with prices, context length and abilities.`,
      parameters: PARAMETERS,
    }),
    execute: (args, { max_results: limit = DEFAULT_RESULTS }, { catalog, request }) => {
      const query = queryOf(args);
      if (typeof query === 'string') return { result: { status: 'error', error: query } };
      const { total, models } = findModels(catalog, query, limit, (model) => mayUse(request.preferences, model));
      return { result: { status: 'completed', total, models } };
    },
  });
}

const PARAMETERS: JsonObject = {
  type: 'object',
  properties: {
    query: { type: 'string', description: 'Words that must all be in the id, the name or the description' },
    max_prompt_price: { type: 'number', description: 'USD per million input tokens' },
    max_completion_price: { type: 'number', description: 'USD per million output tokens' },
    min_context_length: { type: 'integer', description: 'Tokens' },
    input_modalities: { type: 'array', items: { enum: ['text', 'image', 'audio', 'video', 'file'] } },
    output_modalities: { type: 'array', items: { enum: ['text', 'image', 'audio', 'embeddings'] } },
    supported_parameters: {
      type: 'array',
      items: { type: 'string' },
      description: 'For example tools, structured_outputs, reasoning',
    },
    sort: { enum: [...ORDERS], description: 'Left out: how well the words fit' },
  },
  additionalProperties: false,
};

/** Reads the arguments, or tells what is wrong with them. */
function queryOf(args: JsonObject): ModelQuery | string {
  const { query = '', sort } = args;
  if (typeof query !== 'string') return 'query must be a text';
  const order = ORDERS.find((one) => one === sort);
  if (sort != null && order === undefined) return `sort must be one of ${ORDERS.join(', ')}`;
  const numbers = ['max_prompt_price', 'max_completion_price', 'min_context_length'] as const;
  const wrongNumber = numbers.find((name) => args[name] != null && typeof args[name] !== 'number');
  if (wrongNumber !== undefined) return `${wrongNumber} must be a number`;
  const lists = ['input_modalities', 'output_modalities', 'supported_parameters'] as const;
  const wrongList = lists.find((name) => args[name] != null && !isListOfTexts(args[name]));
  if (wrongList !== undefined) return `${wrongList} must be a list of texts`;
  const [maxPromptPrice, maxCompletionPrice, minContext] = numbers.map((name) => read.number(args[name]));
  const [inputModalities = [], outputModalities = [], parameters = []] = lists.map((name) => textsOf(args[name]));
  return {
    text: query,
    order,
    maxPromptPrice,
    maxCompletionPrice,
    minContext,
    inputModalities,
    outputModalities,
    parameters,
  };
}

function textsOf(value: JsonValue | undefined): readonly string[] {
  return isListOfTexts(value) ? value : [];
}

function isListOfTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

/** Which models are looked for. Everything that is left out is no condition. */
interface ModelQuery {
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

/**
 * The models of a catalog that the account may use and that fulfil every condition, best first (gaps 2.1). What nobody declared does not fulfil a
 * condition: whoever asks for a model that reads images wants one that is known to. Pure.
 */
function findModels(
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
  const { price, contextLength, inputModalities, outputModalities, parameters, unknownParameters, variant } = endpoint;
  if (variant === 'batch') return false;
  if (query.maxPromptPrice !== undefined && !((price?.prompt ?? Infinity) <= query.maxPromptPrice)) return false;
  if (query.maxCompletionPrice !== undefined && !((price?.completion ?? Infinity) <= query.maxCompletionPrice))
    return false;
  if (query.minContext !== undefined && !((contextLength ?? 0) >= query.minContext)) return false;
  const hasParameter = (name: string): boolean => has(parameters, name) && !has(unknownParameters, name);
  return (
    query.inputModalities.every((name) => name === 'text' || has(inputModalities, name)) &&
    query.outputModalities.every(
      (name) => (name === 'text' && outputModalities === undefined) || has(outputModalities, name),
    ) &&
    query.parameters.every(hasParameter)
  );
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
  const abilities = ['tools', 'structured_outputs', 'reasoning'].filter((name) =>
    endpoints.some(({ parameters, unknownParameters }) => has(parameters, name) && !has(unknownParameters, name)),
  );
  return {
    id: model.id,
    ...(model.name === undefined ? {} : { name: model.name }),
    ...(model.description === undefined ? {} : { description: model.description.slice(0, MAX_DESCRIPTION_LENGTH) }),
    ...(model.created === undefined ? {} : { created: model.created }),
    ...(context === 0 ? {} : { context_length: context }),
    ...(best?.price === undefined
      ? {}
      : { usd_per_million_tokens: { prompt: best.price.prompt, completion: best.price.completion } }),
    input_modalities: names(endpoints.map((one) => one.inputModalities)),
    output_modalities: names(endpoints.map((one) => one.outputModalities)),
    ...(abilities.length === 0 ? {} : { abilities }),
    providers: [...new Set(endpoints.map(({ providerName }) => providerName))],
  };
}

function names(sets: readonly (ReadonlySet<string> | undefined)[]): string[] {
  return [...new Set(sets.flatMap((set) => [...(set ?? ['text'])]))];
}
