import type { Endpoint } from '../../catalog/endpoint.ts';
import type { ParameterName } from '../../catalog/model.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type {
  CallOptions,
  FunctionToolOption,
  ProviderOptions,
  ResponseFormatOption,
  ToolChoiceOption,
} from './call-options.ts';
import { type AiSdkFamily, familyOf, optionsKey } from './families.ts';
import type { Media } from './media.ts';
import type { AiSdkModel } from './model.ts';
import { writePrompt } from './prompt.ts';
import { merged, type OptionsContext, providerOptions, reasoningOptions, type Takes } from './provider-options.ts';

/** What a declaration adds to every call of its model. */
export interface CallDefaults {
  readonly providerOptions?: ProviderOptions | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/**
 * Writes a request as the options of a call. Parameters that the endpoint does not take are left out; those the caller
 * left out stay out. What the declaration sets for its provider wins over what the request says.
 */
export function encodeCall(
  request: NormalizedRequest,
  endpoint: Endpoint,
  model: AiSdkModel,
  fetched: ReadonlyMap<string, Media>,
  defaults: CallDefaults = {},
): CallOptions {
  const family = familyOf(model);
  const version = model.specificationVersion;
  const takes: Takes = (name) => endpoint.parameters?.has(name) !== false;
  const key = optionsKey(model, family);
  const context: OptionsContext = { request, endpoint, family, version, takes };
  const { effort, options } = reasoningOptions(context);
  return {
    prompt: writePrompt(request.messages, { version, family, key, fetched, cacheControl: request.cache.control }),
    ...sampling(request, takes),
    ...responseFormat(request, takes),
    ...tools(request, { family, key, takes, version }),
    ...(effort === undefined ? {} : { reasoning: effort }),
    providerOptions: withDefaults({ [key]: merged(providerOptions(context), options) }, defaults.providerOptions),
    ...(defaults.headers === undefined ? {} : { headers: defaults.headers }),
  };
}

function sampling({ parameters }: NormalizedRequest, takes: Takes): Partial<CallOptions> {
  const options: Record<string, unknown> = {};
  for (const [name, option] of SAMPLING) {
    const value = parameters[name];
    // Zero likeliest tokens means that the choice is not narrowed.
    if (value !== undefined && takes(name) && !(name === 'top_k' && value === 0)) options[option] = value;
  }
  const limit = parameters.max_completion_tokens;
  if (limit !== undefined && (takes('max_tokens') || takes('max_completion_tokens')))
    options['maxOutputTokens'] = limit;
  return options;
}

const SAMPLING = [
  ['temperature', 'temperature'],
  ['top_p', 'topP'],
  ['top_k', 'topK'],
  ['presence_penalty', 'presencePenalty'],
  ['frequency_penalty', 'frequencyPenalty'],
  ['seed', 'seed'],
  ['stop', 'stopSequences'],
] as const satisfies readonly (readonly [ParameterName, keyof CallOptions])[];

function responseFormat(
  { responseFormat: format }: NormalizedRequest,
  takes: Takes,
): { responseFormat?: ResponseFormatOption } {
  if (format?.type === 'json_schema' && takes('structured_outputs')) {
    const { name, description, schema } = format.json_schema;
    const described = description == null ? {} : { description };
    return { responseFormat: { type: 'json', name, ...described, ...(schema == null ? {} : { schema }) } };
  }
  const json = format?.type === 'json_schema' || format?.type === 'json_object';
  return json && takes('response_format') ? { responseFormat: { type: 'json' } } : {};
}

function tools(
  { tools: functions, toolChoice: choice }: NormalizedRequest,
  { family, key, takes, version }: { family: AiSdkFamily; key: string; takes: Takes; version: string },
): Pick<CallOptions, 'tools' | 'toolChoice'> {
  if (functions.length === 0 || !takes('tools')) return {};
  const written = functions.map((tool): FunctionToolOption => {
    const { name, description, parameters, strict } = tool.function;
    const { cacheMark } = family;
    const mark =
      cacheMark?.on === 'part' && tool.cache_control != null ? cacheMark.options(tool.cache_control) : undefined;
    return {
      type: 'function',
      name,
      ...(description == null ? {} : { description }),
      inputSchema: parameters ?? { type: 'object', properties: {} },
      ...(strict == null || version === 'v2' ? {} : { strict }),
      ...(mark === undefined ? {} : { providerOptions: { [key]: mark } }),
    };
  });
  const chosen = takes('tool_choice') ? toolChoice(choice) : undefined;
  return { tools: written, ...(chosen === undefined ? {} : { toolChoice: chosen }) };
}

/** A choice that names a tool of the router means nothing to a provider. */
function toolChoice(choice: NormalizedRequest['toolChoice']): ToolChoiceOption | undefined {
  if (typeof choice === 'string') return { type: choice };
  return choice !== undefined && 'function' in choice ? { type: 'tool', toolName: choice.function.name } : undefined;
}

/** Options with those that the declaration sets, which win. */
export function withDefaults(own: ProviderOptions, defaults: ProviderOptions = {}): ProviderOptions {
  const options: Record<string, JsonObject> = { ...own };
  for (const [name, value] of Object.entries(defaults)) options[name] = merged(options[name] ?? {}, value);
  return options;
}
