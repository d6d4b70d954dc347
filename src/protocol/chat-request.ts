/** The body of `POST /chat/completions`, and its schema. */
import { nullish, optional } from '../schema/modifiers.ts';
import { read } from './issues.ts';
import { union } from '../schema/choices.ts';
import { jsonObject, array, boundedRecord } from '../schema/collections.ts';
import { looseObject } from '../schema/object.ts';
import { unknown, literal, boolean, integer, number, string, enumeration } from '../schema/scalars.ts';
import { type CacheControl, cacheControlSchema, type TextPart } from './content-part.ts';
import { identifier } from './fields.ts';
import {
  MAX_FALLBACK_MODELS,
  MAX_LOGIT_BIASES,
  MAX_METADATA_KEY_LENGTH,
  MAX_METADATA_PAIRS,
  MAX_METADATA_VALUE_LENGTH,
  MAX_MODEL_SLUG_LENGTH,
  MAX_OUTPUT_TOKENS,
  MAX_SERVER_TOOL_STEPS,
  MAX_SESSION_ID_LENGTH,
  MAX_STOP_SEQUENCES,
  MAX_TOP_LOGPROBS,
  MAX_USER_LENGTH,
} from './limits.ts';
import type { JsonObject } from './json.ts';
import { type Message, messageSchema } from './message.ts';
import { type PluginEntry, pluginEntrySchema } from './plugins.ts';
import { type ProviderPreferences, providerPreferencesSchema } from './provider-preferences.ts';
import {
  type ReasoningEffort,
  reasoningEffortSchema,
  type ReasoningOptions,
  reasoningOptionsSchema,
  type ResponseFormat,
  responseFormatSchema,
  type StopCondition,
  stopConditionsSchema,
} from './reasoning.ts';
import { type Tool, type ToolChoice, toolChoiceSchema, toolSchema } from './tools.ts';

/** Capacity class requested. `fast` is an alias of `priority`. */
export type ServiceTier = 'auto' | 'default' | 'fast' | 'flex' | 'priority' | 'scale';

/** What the answer may consist of. */
export type OutputModality = 'text' | 'image' | 'audio';

/**
 * Body of `POST /chat/completions` (contract: chat request; gaps 1 to 3).
 * Null and absent mean the same. Fields that are not listed here are passed on to the provider untouched.
 *
 * @typeParam Model - Model ids that complete in the editor; those of the router's providers.
 */
export interface ChatRequest<Model extends string = string> extends ChatFields<Model> {
  /**
   * The conversation so far, oldest first. At least one message.
   *
   * @example `[{ role: 'system', content: 'Be brief.' }, { role: 'user', content: 'Hello' }]`
   */
  readonly messages: readonly Message[];
}

/**
 * Fields of a chat request beside its messages.
 *
 * @typeParam Model - See {@link ChatRequest}.
 */
export interface ChatFields<Model extends string = string> {
  /** `author/slug` with optional variants such as `:nitro`, an alias, or a router model such as `router/auto`. */
  readonly model?: Model | null | undefined;
  /**
   * Up to three models to fall back to, after `model`.
   *
   * @example `['openai/gpt-5-mini', 'anthropic/claude-haiku-4.5']`
   */
  readonly models?: readonly Model[] | null | undefined;
  /** True for a stream over HTTP. In-process, `router.chat` and `router.stream` decide. Default false. */
  readonly stream?: boolean | null | undefined;
  /** Deprecated and without effect: usage is always sent. */
  readonly stream_options?: { readonly include_usage?: boolean | undefined } | null | undefined;
  /** 0 to 2: how random the answer is. Default: the model's. */
  readonly temperature?: number | null | undefined;
  /** 0 to 1: share of the likeliest tokens that are drawn from. */
  readonly top_p?: number | null | undefined;
  /** 0 or more; 0 means off, 1 always takes the likeliest token. */
  readonly top_k?: number | null | undefined;
  /** 0 to 1. */
  readonly min_p?: number | null | undefined;
  /** 0 to 1. */
  readonly top_a?: number | null | undefined;
  /** -2 to 2. */
  readonly frequency_penalty?: number | null | undefined;
  /** -2 to 2. */
  readonly presence_penalty?: number | null | undefined;
  /** Above 0, up to 2; 1 means none. */
  readonly repetition_penalty?: number | null | undefined;
  /** Token id to bias from -100 to 100. */
  readonly logit_bias?: Readonly<Record<string, number>> | null | undefined;
  /** True: the answer has the log probability of each token. Default false. */
  readonly logprobs?: boolean | null | undefined;
  /** 0 to 20; needs `logprobs: true`. */
  readonly top_logprobs?: number | null | undefined;
  /** Longest answer in tokens, reasoning included. Without it, the model's own limit applies. */
  readonly max_completion_tokens?: number | null | undefined;
  /** Deprecated: use `max_completion_tokens`, which wins when both are given. */
  readonly max_tokens?: number | null | undefined;
  /** Same seed, same answer, as far as the provider can. */
  readonly seed?: number | null | undefined;
  /** At most 4 sequences. */
  readonly stop?: string | readonly string[] | null | undefined;
  /** Stable id of the end user. Never leaves raw: a keyed hash goes upstream. */
  readonly user?: string | null | undefined;
  /** At most 256 characters. Requests of one session stick to one provider. */
  readonly session_id?: string | null | undefined;
  /**
   * Labels of the request: budgets, rate limits, rules and the ledger can go by them.
   *
   * @example `{ team: 'search', environment: 'test' }`
   */
  readonly metadata?: Readonly<Record<string, string>> | null | undefined;
  /** Kinds of content that the answer may have. Default: text. */
  readonly modalities?: readonly OutputModality[] | null | undefined;
  /** Voice and format of audio output. */
  readonly audio?: { readonly voice: string; readonly format: string } | null | undefined;
  /** False: at most one tool call in a turn. Default: the model decides. */
  readonly parallel_tool_calls?: boolean | null | undefined;
  /**
   * Functions that the caller runs, and server tools that the router runs.
   *
   * @example `[{ type: 'router:web_search' }]`
   */
  readonly tools?: readonly Tool[] | null | undefined;
  /** Whether the model may or must call a tool, and which. Default `auto`. */
  readonly tool_choice?: ToolChoice | null | undefined;
  /** Steps of server tools in this request, 1 to 30. Default 30. */
  readonly max_tool_calls?: number | null | undefined;
  /** Text, JSON, or JSON of a schema. Endpoints that have it natively are preferred. */
  readonly response_format?: ResponseFormat | null | undefined;
  /**
   * How much the model thinks before it answers, and whether that is shown.
   *
   * @example `{ effort: 'low', exclude: true }`
   */
  readonly reasoning?: ReasoningOptions | null | undefined;
  /** Short for `reasoning.effort`; must not differ from it. */
  readonly reasoning_effort?: ReasoningEffort | null | undefined;
  /** Deprecated: `false` means `reasoning.exclude`. */
  readonly include_reasoning?: boolean | null | undefined;
  /** How long the answer is to be. Preferred, not required. */
  readonly verbosity?: 'low' | 'medium' | 'high' | 'xhigh' | 'max' | null | undefined;
  /** Capacity class: `flex` is cheaper and slower, `priority` more expensive and faster. Default `auto`. */
  readonly service_tier?: ServiceTier | null | undefined;
  /** Text that most of the answer will repeat, for providers that answer faster then. */
  readonly prediction?: { readonly type: 'content'; readonly content: string | readonly TextPart[] } | null | undefined;
  /** Places one moving cache breakpoint on the last cacheable block. */
  readonly cache_control?: CacheControl | null | undefined;
  /** Names the prompt cache; also the session where `session_id` is missing. */
  readonly prompt_cache_key?: string | null | undefined;
  readonly prompt_cache_options?:
    | { readonly mode: 'explicit'; readonly ttl?: string | null | undefined }
    | null
    | undefined;
  /** Options of image output, such as `{ aspect_ratio: '16:9' }`. */
  readonly image_config?: Readonly<Record<string, string | number | readonly unknown[]>> | null | undefined;
  /** Options of a provider's own web search. */
  readonly web_search_options?: Readonly<Record<string, unknown>> | null | undefined;
  /** `echo_upstream_body` sends each attempt's upstream body as a debug chunk. Streams only. */
  readonly debug?: { readonly echo_upstream_body?: boolean | null | undefined } | null | undefined;
  /**
   * Which endpoints may answer, and in which order they are tried.
   *
   * @example `{ sort: 'price', ignore: ['azure'], max_price: { completion: 2 } }`
   */
  readonly provider?: ProviderPreferences | null | undefined;
  /**
   * Plugins that take part in this request, by id, each with its options.
   *
   * @example `[{ id: 'response-healing' }, { id: 'web', max_results: 3 }]`
   */
  readonly plugins?: readonly PluginEntry[] | null | undefined;
  /** Name of a stored set of defaults of this router. */
  readonly preset?: string | null | undefined;
  /** Deprecated: `fallback` is `provider.sort.partition: 'model'`, `sort` is `'none'`. */
  readonly route?: 'fallback' | 'sort' | Readonly<Record<string, unknown>> | null | undefined;
  /** Ends the loop of server tools when any condition holds. */
  readonly stop_server_tools_when?: readonly StopCondition[] | StopCondition | null | undefined;
  /** Observability only; never sent to a provider. */
  readonly trace?: Readonly<Record<string, unknown>> | null | undefined;
  /** Deprecated: `['middle-out']` switches context compression on, `[]` off. */
  readonly transforms?: readonly string[] | null | undefined;
}

const slug = identifier(1, MAX_MODEL_SLUG_LENGTH);
const unit = nullish(number({ least: 0, most: 1 }));
const penalty = nullish(number({ least: -2, most: 2 }));
const stopSequence = string({ least: 1 });

/** Schema of `metadata`. */
export const metadataSchema = boundedRecord(string({ most: MAX_METADATA_VALUE_LENGTH }), {
  pairs: MAX_METADATA_PAIRS,
  keyLength: MAX_METADATA_KEY_LENGTH,
});

/** Schemas of the fields of a {@link ChatRequest}. */
export const chatRequestFields = {
  messages: array(messageSchema, { least: 1 }),
  model: nullish(slug),
  models: nullish(
    array(slug, { most: MAX_FALLBACK_MODELS, says: `'models' array must have ${MAX_FALLBACK_MODELS} items or fewer.` }),
  ),
  stream: nullish(boolean),
  stream_options: nullish(looseObject({ include_usage: nullish(boolean) })),
  temperature: nullish(number({ least: 0, most: 2 })),
  top_p: unit,
  top_k: nullish(integer({ least: 0 })),
  min_p: unit,
  top_a: unit,
  frequency_penalty: penalty,
  presence_penalty: penalty,
  repetition_penalty: nullish(number({ above: 0, most: 2 })),
  logit_bias: nullish(
    boundedRecord(number({ least: -100, most: 100 }), {
      pairs: MAX_LOGIT_BIASES,
      key: [/^\d{1,10}$/, 'ids of tokens, such as "1234"'],
    }),
  ),
  logprobs: nullish(boolean),
  top_logprobs: nullish(integer({ least: 0, most: MAX_TOP_LOGPROBS })),
  max_completion_tokens: nullish(integer({ least: 1, most: MAX_OUTPUT_TOKENS })),
  max_tokens: nullish(integer({ least: 1, most: MAX_OUTPUT_TOKENS })),
  seed: nullish(integer()),
  stop: nullish(union([stopSequence, array(stopSequence, { most: MAX_STOP_SEQUENCES })])),
  user: nullish(identifier(0, MAX_USER_LENGTH)),
  session_id: nullish(identifier(0, MAX_SESSION_ID_LENGTH)),
  metadata: nullish(metadataSchema),
  modalities: nullish(array(enumeration(['text', 'image', 'audio']), { most: 3 })),
  audio: nullish(looseObject({ voice: union([string(), jsonObject]), format: string() })),
  parallel_tool_calls: nullish(boolean),
  tools: nullish(array(toolSchema)),
  tool_choice: nullish(toolChoiceSchema),
  max_tool_calls: nullish(integer({ least: 1, most: MAX_SERVER_TOOL_STEPS })),
  response_format: nullish(responseFormatSchema),
  reasoning: nullish(reasoningOptionsSchema),
  reasoning_effort: nullish(reasoningEffortSchema),
  include_reasoning: nullish(boolean),
  verbosity: nullish(enumeration(['low', 'medium', 'high', 'xhigh', 'max'])),
  service_tier: nullish(enumeration(['auto', 'default', 'fast', 'flex', 'priority', 'scale'])),
  prediction: nullish(
    looseObject({
      type: literal('content'),
      content: union([string(), array(looseObject({ type: literal('text'), text: string() }))]),
    }),
  ),
  cache_control: nullish(cacheControlSchema),
  prompt_cache_key: nullish(identifier(0, MAX_SESSION_ID_LENGTH)),
  prompt_cache_options: nullish(looseObject({ mode: literal('explicit'), ttl: nullish(string()) })),
  image_config: nullish(boundedRecord(union([string(), number(), array(unknown)]))),
  web_search_options: nullish(looseObject({ search_context_size: nullish(enumeration(['low', 'medium', 'high'])) })),
  debug: nullish(looseObject({ echo_upstream_body: nullish(boolean) })),
  provider: nullish(providerPreferencesSchema),
  plugins: nullish(array(pluginEntrySchema, { most: 64 })),
  preset: nullish(slug),
  route: nullish(union([enumeration(['fallback', 'sort']), jsonObject])),
  stop_server_tools_when: nullish(stopConditionsSchema),
  trace: nullish(jsonObject),
  transforms: nullish(array(literal('middle-out'), { most: 1 })),
};

/** Schema of a {@link ChatRequest}. Loose: it keeps unknown members. */
export const chatRequestSchema = looseObject(chatRequestFields);

/** Names of the fields of a chat request. */
export const CHAT_FIELDS: ReadonlySet<string> = new Set(Object.keys(chatRequestFields));

const someFields = looseObject({ ...chatRequestFields, messages: optional(chatRequestFields.messages) });

/** What is wrong with some fields of a chat request, the first of them that is; undefined when nothing is. */
export function chatFieldsProblem(fields: JsonObject): { readonly path: string; readonly problem: string } | undefined {
  const parsed = read(someFields, fields);
  return parsed.ok ? undefined : { path: parsed.path, problem: parsed.problem };
}
