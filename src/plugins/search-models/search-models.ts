/** The server tool `router:experimental__search_models`. */
import type { ServerToolDefinition } from '../../contracts/server-tool.ts';
import { defineServerTool } from '../../core/pipeline/define-plugin.ts';
import type { JsonObject, JsonValue } from '../../protocol/json.ts';
import { mayUse } from '../../core/normalize/preset.ts';
import { parseSearchModelsOptions } from '../../protocol/server-tool-options.ts';
import type { ModelQuery } from './find-models.ts';
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
      description: `Searches the models that can be used here and returns up to ${limit} with prices, context length and abilities.`,
      parameters: PARAMETERS,
    }),
    execute: async (args, { max_results: limit = DEFAULT_RESULTS }, { catalog, request }) => {
      const query = queryOf(args);
      if (typeof query === 'string') return { result: { status: 'error', error: query } };
      const { findModels } = await import('./find-models.ts');
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
  if (typeof query !== 'string') return 'query must be a string';
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
