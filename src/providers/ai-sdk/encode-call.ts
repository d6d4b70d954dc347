/** Writes a request as the call options of the AI SDK. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { ParameterName } from '../../catalog/model.ts';
import type { NormalizedRequest, RequestParameters } from '../../contracts/request.ts';
import { shapeConversation } from '../../core/conversation/shape.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import type {
  AiSdkModel,
  UpstreamCallOptions,
  FunctionToolOption,
  ProviderOptions,
  ResponseFormatOption,
  SpecVersion,
  ToolChoiceOption,
} from './model.ts';
import { type AiSdkFamily, familyOf, optionsKey } from './families.ts';
import type { Media } from './media.ts';
import { reasoningHistory } from './reasoning-history.ts';
import { isBlank, withoutBlanks } from './blanks.ts';
import { writePrompt } from './prompt.ts';
import type { Message } from '../../protocol/message.ts';
import { checkConversation } from '../openai-compatible/encode-message.ts';
import { ChangedSchemas, limited, type Note, rewritten, UNNOTED } from '../adjustments.ts';
import { noteLeftOut, type Takes, takesLimit, takesReasoning } from '../taken-parameters.ts';
import { REASONING_EFFORTS, type ReasoningEffort } from '../../protocol/reasoning.ts';
import { EFFORT_SHARES, tierToAsk } from '../codec.ts';
import { heldSchema, toolArgumentsSchema } from '../../core/schema/rewrite-schema.ts';
import type { JsonSchema } from '../../core/schema/schema-parts.ts';
import { noteEffort } from '../openai-compatible/encode-request.ts';
import { effortOfBudget, effortToAsk, reasoningOnly } from '../accepted-effort.ts';

/** What a declaration adds to every call of its model. */
export interface CallDefaults {
  readonly providerOptions?: ProviderOptions | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The model of a call, and what goes with its request. */
interface CalledModel {
  readonly model: AiSdkModel;
  /** Files that were fetched for it, by their address. */
  readonly fetched: ReadonlyMap<string, Media>;
  readonly defaults?: CallDefaults | undefined;
}

/**
 * Writes a request as the options of a call. Parameters that the endpoint does not take are left out; those that the
 * request leaves out stay out. What the declaration sets for its provider wins over what the request says.
 */
export function encodeCall(
  request: NormalizedRequest,
  endpoint: Endpoint,
  { model, fetched, defaults = {} }: CalledModel,
  note: Note = UNNOTED,
): UpstreamCallOptions {
  const family = familyOf(model);
  const version = model.specificationVersion;
  const takes: Takes = (name) => endpoint.parameters?.has(name) !== false;
  noteLeftOut(request, takes, note);
  const key = optionsKey(model, family);
  const context: OptionsContext = { request, endpoint, family, key, version, takes, note, modelId: model.modelId };
  const { effort, options } = reasoningOptions(context);
  const learned = withoutRefusedWords(endpoint);
  const { loose, ...format } = responseFormat(context, learned);
  const accepted = family.conversation(model.modelId);
  checkConversation(request.messages, accepted);
  const spoken = family.refusesBlanks === true ? withoutBlanks(request.messages) : request.messages;
  const messages = shapeConversation(spoken, accepted);
  return {
    prompt: writePrompt(messages, {
      version,
      family,
      key,
      fetched,
      cacheControl: request.cache.control,
    }),
    ...sampling(context),
    ...format,
    ...tools(request, { family, key, takes, version, note }, learned),
    ...(effort === undefined ? {} : { reasoning: effort }),
    providerOptions: withDefaults(
      { [key]: merged(merged(providerOptions(context), options), loose ?? {}) },
      defaults.providerOptions,
    ),
    ...(defaults.headers === undefined ? {} : { headers: defaults.headers }),
  };
}

type Rewrite = (schema: JsonSchema) => JsonSchema;

/** Takes out of schemas what the provider has refused in them. */
function withoutRefusedWords({ refusedSchemaWords: refused }: Endpoint): Rewrite {
  return refused === undefined ? (schema) => schema : (schema) => toolArgumentsSchema(schema, { refused });
}

function sampling({ request: { parameters }, family, takes, note }: OptionsContext): Partial<UpstreamCallOptions> {
  const options: Record<string, unknown> = {};
  for (const [name, option] of SAMPLING) {
    const value = parameters[name];
    // Zero likeliest tokens means that the choice is not narrowed.
    if (value !== undefined && takes(name) && !(name === 'top_k' && value === 0)) options[option] = value;
  }
  const { stop, temperature = 0 } = parameters;
  const { maxTemperature: hottest = temperature } = family;
  if (options['temperature'] !== undefined && temperature > hottest) {
    note(limited('temperature', hottest));
    options['temperature'] = hottest;
  }
  if (options['stopSequences'] !== undefined && family.refusesBlanks === true && stop?.some(isBlank) === true) {
    const kept = stop.filter((sequence) => !isBlank(sequence));
    if (kept.length > 0) options['stopSequences'] = kept;
    else delete options['stopSequences'];
  }
  const limit = parameters.max_completion_tokens;
  if (limit !== undefined && takesLimit(takes)) options['maxOutputTokens'] = limit;
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
] as const satisfies readonly (readonly [ParameterName, keyof UpstreamCallOptions])[];

/** The form of the answer, and what is said beside it where the model cannot be held to its schema. */
function responseFormat(
  { request, family, takes, note }: OptionsContext,
  learned: Rewrite,
): { responseFormat?: ResponseFormatOption; loose?: JsonObject } {
  const { responseFormat: format } = request;
  if (format?.type === 'json_schema' && takes('structured_outputs')) {
    const { name, description, schema: wanted, strict } = format.json_schema;
    const { schema: sent, loose } = wanted == null ? {} : formatSchema(wanted, strict, family);
    const schema = sent && learned(sent);
    if (wanted != null && schema !== wanted) note(rewritten(['response_format']));
    const described = description == null ? {} : { description };
    return {
      responseFormat: { type: 'json', name, ...described, ...(schema === undefined ? {} : { schema }) },
      ...(loose === undefined ? {} : { loose }),
    };
  }
  const json = format?.type === 'json_schema' || format?.type === 'json_object';
  return json && takes('response_format') ? { responseFormat: { type: 'json' } } : {};
}

/** A schema that answers can be held to, or one to which they are not. */
function formatSchema(
  schema: JsonSchema,
  strict: boolean | null | undefined,
  { heldFormats, looseFormat, strictSchemas }: AiSdkFamily,
): { readonly schema: JsonSchema; readonly loose?: JsonObject } {
  const held = heldFormats === undefined || (strictSchemas === true && strict === false);
  const closed = held ? undefined : heldSchema(schema, heldFormats);
  if (closed !== undefined) return { schema: closed };
  if (looseFormat !== undefined) {
    return { schema: toolArgumentsSchema(schema, looseFormat.schema), loose: looseFormat.options };
  }
  return {
    schema,
    ...(heldFormats !== undefined && strictSchemas === true ? { loose: { strictJsonSchema: false } } : {}),
  };
}

function tools(
  { tools: functions, toolChoice: choice, messages }: NormalizedRequest,
  { family, key, takes, version, note }: Pick<OptionsContext, 'family' | 'key' | 'takes' | 'version' | 'note'>,
  learned: Rewrite,
): Pick<UpstreamCallOptions, 'tools' | 'toolChoice'> {
  if (functions.length === 0 || !takes('tools')) return family.declaresCalled === true ? calledTools(messages) : {};
  const changed = new ChangedSchemas(note);
  const written = functions.map((tool, index): FunctionToolOption => {
    const { name, description, parameters, strict } = tool.function;
    const { cacheMark } = family;
    const schema = parameters ?? { type: 'object', properties: {} };
    const isChecked = family.strictTools !== undefined;
    const held = strict === true && isChecked ? heldSchema(schema, family.strictTools) : undefined;
    const mark =
      cacheMark?.on === 'part' && tool.cache_control != null ? cacheMark.options(tool.cache_control) : undefined;
    const isStrict = strict === true && (held !== undefined || !isChecked);
    const inputSchema = learned(held ?? family.toolSchema?.(schema) ?? schema);
    changed.seen(index, parameters, strict, { parameters: inputSchema, strict: isStrict });
    return {
      type: 'function',
      name,
      ...(description == null ? {} : { description }),
      inputSchema,
      ...(strict == null || version === 'v2' ? {} : { strict: isStrict }),
      ...(mark === undefined ? {} : { providerOptions: { [key]: mark } }),
    };
  });
  changed.end();
  const chosen = takes('tool_choice') ? toolChoice(choice) : undefined;
  return { tools: written, ...(chosen === undefined ? {} : { toolChoice: chosen }) };
}

/** The tools that a history called, of which none may be called now. */
function calledTools(messages: readonly Message[]): Pick<UpstreamCallOptions, 'tools' | 'toolChoice'> {
  const called = new Set(
    messages.flatMap((message) =>
      message.role === 'assistant' ? (message.tool_calls ?? []).map(({ function: { name } }) => name) : [],
    ),
  );
  if (called.size === 0) return {};
  const declared = [...called].map((name) => ({ type: 'function' as const, name, inputSchema: { type: 'object' } }));
  return { tools: declared, toolChoice: { type: 'none' } };
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

/** What the options of a provider are written from. */
interface OptionsContext {
  readonly request: NormalizedRequest;
  readonly endpoint: Endpoint;
  readonly family: AiSdkFamily;
  /** Key of the provider's options. */
  readonly key: string;
  readonly version: SpecVersion;
  readonly takes: Takes;
  readonly note: Note;
  /** The provider's name of the model. */
  readonly modelId: string;
}

/** Parameters that the interface has members for, or that {@link providerOptions} writes in ways of their own. */
const SAID_ELSEWHERE = new Set<keyof RequestParameters>([
  'temperature',
  'top_p',
  'top_k',
  'frequency_penalty',
  'presence_penalty',
  'max_completion_tokens',
  'seed',
  'stop',
  'parallel_tool_calls',
]);

/**
 * Everything that the interface has no member for, as options of the model's own provider. Fields that this contract
 * does not define are passed under the same key, for the provider to understand or to ignore.
 */
function providerOptions(context: OptionsContext): JsonObject {
  const { request, family } = context;
  return {
    ...request.extra,
    ...renamed(context),
    ...toolRules(context),
    ...formatOptions(context),
    ...output(context),
    ...tier(context),
    ...family.user?.(request.endUser),
  };
}

/** The reasoning that was requested: an option of its own in version 4, an option of the provider otherwise. */
function reasoningOptions(context: OptionsContext): { effort?: ReasoningEffort; options: JsonObject } {
  const { request, endpoint, family, version, takes, note, modelId } = context;
  const { reasoning, parameters } = request;
  if (reasoning === undefined || !takesReasoning(takes)) return { options: {} };
  if (family.declaresCalled === true && cannotThink(context)) return { options: {} };
  const limit = parameters.max_completion_tokens ?? undefined;
  const { effort: requested, maxTokens } = reasoning;
  const budget =
    requested === undefined && maxTokens !== undefined ? family.budget?.(maxTokens, endpoint.upstreamModel) : undefined;
  if (budget !== undefined) return { options: merged(shown(context), budget) };
  const wanted = reasoning.effort ?? effortOfBudget(reasoning.maxTokens, limit);
  if (wanted === undefined) return { options: shown(context) };
  const { efforts = family.efforts?.(modelId) ?? REASONING_EFFORTS, mandatory } = endpoint.reasoning ?? {};
  const effort = effortToAsk(wanted, mandatory === true ? reasoningOnly(efforts) : efforts);
  noteEffort(reasoning, effort, note);
  if (effort === undefined) return { options: shown(context) };
  const visible = effort === 'none' ? {} : shown(context);
  if (version === 'v4') return { effort, options: visible };
  if (family.effort !== undefined) return { options: merged(visible, family.effort(effort)) };
  const tokens = budgetOfEffort(effort, limit ?? endpoint.maxOutputTokens ?? USUAL_OUTPUT);
  return { options: merged(visible, family.budget?.(tokens, endpoint.upstreamModel) ?? {}) };
}

/**
 * Claude cannot begin to think in a turn that it has begun without: behind calls whose thinking was not kept, or in words
 * that it goes on with.
 */
function cannotThink({ request: { messages }, family, key }: OptionsContext): boolean {
  const last = messages.findLast((message) => message.role === 'assistant');
  if (last === undefined || messages.at(-1) === last) return last !== undefined;
  return (last.tool_calls?.length ?? 0) > 0 && reasoningHistory(last, family, key).parts.length === 0;
}

/** Output tokens of which a share goes to reasoning where nobody named a limit. */
const USUAL_OUTPUT = 32_000;
const LEAST_BUDGET = 1_024;
const MOST_BUDGET = 128_000;

function budgetOfEffort(effort: ReasoningEffort, limit: number): number {
  if (effort === 'none') return 0;
  return Math.min(MOST_BUDGET, Math.max(LEAST_BUDGET, Math.floor(limit * EFFORT_SHARES[effort])));
}

function shown({ request: { reasoning }, family }: OptionsContext): JsonObject {
  if (reasoning?.exclude !== false || family.showReasoning === undefined) return {};
  if (reasoning.summary === undefined || !('reasoningSummary' in family.showReasoning)) return family.showReasoning;
  return { reasoningSummary: reasoning.summary };
}

/** Joins options two levels deep. */
function merged(left: JsonObject, right: JsonObject): JsonObject {
  const joined: Record<string, JsonValue | undefined> = { ...left };
  for (const [name, value] of Object.entries(right)) {
    const known = joined[name];
    joined[name] = isJsonObject(known) && isJsonObject(value) ? { ...known, ...value } : value;
  }
  return joined;
}

function renamed({ request, family, takes }: OptionsContext): JsonObject {
  const options: Record<string, JsonValue | undefined> = {};
  const set = (name: string, value: JsonValue): void => {
    const known = family.options?.[name];
    if (known !== undefined) options[known] = value;
    else if (family.passesOn === true) options[name] = value;
  };
  for (const [name, value] of Object.entries(request.parameters) as [keyof RequestParameters, JsonValue][]) {
    if (!SAID_ELSEWHERE.has(name) && takes(name)) set(name, value);
  }
  if (request.cache.key !== undefined) set('prompt_cache_key', request.cache.key);
  return { ...options, ...logprobs({ request, family, takes }) };
}

/** OpenAI's option is a switch and a number at once. */
function logprobs({ request, family, takes }: Pick<OptionsContext, 'request' | 'family' | 'takes'>): JsonObject {
  const { logprobs: wanted, top_logprobs: top } = request.parameters;
  if (family.signature !== 'openai' || wanted !== true || !takes('logprobs')) return {};
  return { logprobs: top !== undefined && takes('top_logprobs') ? top : true };
}

/** Servers refuse to be told how to call tools that they were not given. */
function toolRules({ request, family, takes }: OptionsContext): JsonObject {
  const { parallel_tool_calls: parallel } = request.parameters;
  if (parallel === undefined || request.tools.length === 0 || !takes('tools') || !takes('parallel_tool_calls')) {
    return {};
  }
  return family.parallelTools?.(parallel) ?? (family.passesOn === true ? { parallel_tool_calls: parallel } : {});
}

function formatOptions({ request: { responseFormat: wanted }, family, version, takes }: OptionsContext): JsonObject {
  if (wanted?.type === 'grammar' || wanted?.type === 'python') {
    return family.passesOn === true && takes('response_format') ? { response_format: { ...wanted } } : {};
  }
  const strict = wanted?.type === 'json_schema' ? wanted.json_schema.strict : undefined;
  // What earlier versions of the compatible package do not know, they pass on.
  const knowsStrict = family.passesOn === true ? version === 'v4' : family.strictSchemas === true;
  return strict == null || !knowsStrict || !takes('structured_outputs') ? {} : { strictJsonSchema: strict };
}

function output({ request: { outputModalities, audio, imageConfig }, family }: OptionsContext): JsonObject {
  const modalities = outputModalities?.some((modality) => modality !== 'text') ? outputModalities : undefined;
  if (family.signature === 'google') {
    const { aspect_ratio: aspectRatio, image_size: imageSize } = imageConfig ?? {};
    const image = {
      ...(aspectRatio === undefined ? {} : { aspectRatio }),
      ...(imageSize === undefined ? {} : { imageSize }),
    };
    return {
      ...(modalities === undefined ? {} : { responseModalities: modalities.map((one) => one.toUpperCase()) }),
      ...(Object.keys(image).length > 0 ? { imageConfig: image } : {}),
    };
  }
  if (family.passesOn !== true) return {};
  return {
    ...(modalities === undefined ? {} : { modalities }),
    ...(audio === undefined ? {} : { audio }),
    ...(imageConfig === undefined ? {} : { image_config: imageConfig }),
  };
}

/** A tier endpoint requires its own tier; where nobody declared tiers, the provider decides about the wanted one. */
function tier({ request, endpoint, family }: OptionsContext): JsonObject {
  const wanted = tierToAsk(endpoint, endpoint.parameters === undefined ? request.serviceTier : undefined);
  if (wanted === undefined) return {};
  if (family.passesOn === true) return { service_tier: wanted };
  const name = family.tiers?.[wanted];
  return name === undefined ? {} : { serviceTier: name };
}
