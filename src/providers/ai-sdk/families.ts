/** What is known of single providers of the AI SDK beyond their common interface. */
import type { AcceptedConversation } from '../../core/accepts.ts';
import { compatibleConversation, SDK_CONVERSATIONS } from '../accepts/ai-sdk.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { CacheControl } from '../../protocol/content-part.ts';
import type { ReasoningEffort } from '../../protocol/reasoning.ts';
import { googleTask } from '../google/embeddings.ts';
import { acceptsOf } from '../../core/accepts.ts';
import { ANTHROPIC } from '../accepts/anthropic.ts';
import { GOOGLE } from '../accepts/google.ts';
import { OPENAI } from '../accepts/openai.ts';
import { NINE_CHARACTERS } from '../openai-compatible/vendor-quirks.ts';
import { toolArgumentsSchema } from '../../core/schema/rewrite-schema.ts';
import type { JsonSchema } from '../../core/schema/schema-parts.ts';
import type { HeldSchemaRules, SchemaRules } from '../../core/schema/schema-rules.ts';
import {
  CLAUDE_STRICT_TOOLS,
  CLAUDE_TOOLS,
  GOOGLE_FORMATS,
  GOOGLE_TOOLS,
  OPENAI_HELD,
  OPENAI_TOOLS,
  STANDARD,
  XAI_FORMATS,
  XAI_TOOLS,
} from '../accepts/schemas.ts';
import { type ToolIdRule, WORD_CHARACTERS } from '../tool-ids.ts';
import type { AiSdkModel } from './model.ts';

/** Where a provider keeps the proof of its reasoning, and under which format it travels through `reasoning_details`. */
export type SignatureStyle = 'anthropic' | 'google' | 'openai';

/**
 * What is known about one provider of the AI SDK beyond the interface that all have in common. Data only: the options
 * that the interface has no member for are under a key and names of the provider's own.
 */
export interface AiSdkFamily {
  /** Names of the SDK's provider. */
  readonly providers: RegExp;
  /** Key of its options. Default: the name of the provider up to the first dot. */
  readonly key?: string | undefined;
  /** Wire parameters that are options under another name. */
  readonly options?: Readonly<Record<string, string>> | undefined;
  /** Options under the key go to the provider's body as they are, so wire names are kept. Default false. */
  readonly passesOn?: boolean | undefined;
  /** The hashed end user as an option. */
  readonly user?: ((hash: string) => JsonObject) | undefined;
  /** `parallel_tool_calls: false` or `true`. */
  readonly parallelTools?: ((allowed: boolean) => JsonObject) | undefined;
  /** Whether the strictness of answer schemas is an option. Default false. */
  readonly strictSchemas?: boolean | undefined;
  /** Names of service tiers; those that are not listed cannot be requested. */
  readonly tiers?: Readonly<Record<string, string>> | undefined;
  /** Asks for the steps of reasoning to be shown. */
  readonly showReasoning?: JsonObject | undefined;
  /** An effort, for versions of the interface without an option for it. */
  readonly effort?: ((effort: ReasoningEffort) => JsonObject) | undefined;
  /** A budget of reasoning tokens; 0 switches reasoning off. Undefined for a model that takes none. */
  readonly budget?: ((tokens: number, modelId: string) => JsonObject | undefined) | undefined;
  /** Efforts that a model takes, by the provider's name of it. Default: any, which the SDK then reduces. */
  readonly efforts?: ((modelId: string) => readonly ReasoningEffort[]) | undefined;
  /** Highest temperature. Default: that of the contract. */
  readonly maxTemperature?: number | undefined;
  /** How reasoning is signed. Default: not at all. */
  readonly signature?: SignatureStyle | undefined;
  /** Whether reasoning may go back without a signature. Default false. */
  readonly unsignedReasoning?: boolean | undefined;
  /** A cache mark, and whether it stands on parts or on whole messages. Default: there are none. */
  readonly cacheMark?:
    | { readonly on: 'part' | 'message'; readonly options: (mark: CacheControl) => JsonObject }
    | undefined;
  /** What ids of tool calls must look like. Default: they may be anything. */
  readonly toolIds?: ToolIdRule | undefined;
  /** Whether texts of nothing but space, also as stop sequences, are refused. Default false. */
  readonly refusesBlanks?: boolean | undefined;
  /** Whether a history with calls must come with the tools that it called. Default false. */
  readonly declaresCalled?: boolean | undefined;
  /** Which conversations its package takes, by the model's id. */
  readonly conversation: (modelId: string) => AcceptedConversation;
  /** Whether turns with calls are refused without reasoning, so that one is made up for them. Default false. */
  readonly needsReasoning?: boolean | undefined;
  /** Whether tool results may hold media; otherwise they follow in a user message. Default false. */
  readonly mediaInResults?: boolean | undefined;
  /** Whether tool results that are JSON objects are passed as such. Default false: as text, byte for byte. */
  readonly jsonResults?: boolean | undefined;
  /** Whether assistant messages may hold images. Default false. */
  readonly assistantMedia?: boolean | undefined;
  /** How schemas of functions are written, where the SDK hands on keywords that the provider refuses. */
  readonly toolSchema?: ((schema: JsonSchema) => JsonSchema) | undefined;
  /** Which schemas calls of strict functions can be held to. Default: nothing is known, and they go as they are. */
  readonly strictTools?: HeldSchemaRules | undefined;
  /** Which schemas answers can be held to. Default: nothing is known, and they go as they are. */
  readonly heldFormats?: HeldSchemaRules | undefined;
  /** What else makes an answer follow a schema that it cannot be held to. Default: it is sent as it is. */
  readonly looseFormat?: { readonly schema: SchemaRules; readonly options: JsonObject } | undefined;
  /** Whether addresses of images are passed on, whatever `supportedUrls` says. Default false. */
  readonly passesImageUrls?: boolean | undefined;
  /** Names of options for embeddings, and the words for their types where they are not those of everybody. */
  readonly embeddings?:
    | {
        /** Length of vectors, before version 4. */
        readonly dimensions: string;
        readonly inputType?: string | undefined;
        readonly inputTypes?: ((type: string) => string) | undefined;
      }
    | undefined;
  /** Version 2 only: cached tokens are not part of the input tokens. Default false. */
  readonly cacheOutsideInput?: boolean | undefined;
}

const OPENAI_OPTIONS = {
  logit_bias: 'logitBias',
  verbosity: 'textVerbosity',
  prediction: 'prediction',
} as const;

const THINKING = (tokens: number): JsonObject => ({
  thinking: tokens === 0 ? { type: 'disabled' } : { type: 'enabled', budgetTokens: tokens },
});

const EFFORT = (effort: ReasoningEffort): JsonObject => ({ reasoningEffort: effort });

const PARALLEL: NonNullable<AiSdkFamily['parallelTools']> = (allowed) => ({ parallelToolCalls: allowed });

/** Most others are made of the SDK's package for servers that are compatible with OpenAI. */
const COMPATIBLE: AiSdkFamily = {
  providers: /./,
  conversation: compatibleConversation,
  passesOn: true,
  user: (hash) => ({ user: hash }),
  effort: EFFORT,
  unsignedReasoning: true,
  passesImageUrls: true,
  embeddings: { dimensions: 'dimensions' },
};

/** What the packages of Groq and xAI have in common. */
const GROQ_OR_XAI = {
  conversation: () => SDK_CONVERSATIONS.groqOrXai,
  user: (hash: string) => ({ user: hash }),
  parallelTools: PARALLEL,
  effort: EFFORT,
  unsignedReasoning: true,
  passesImageUrls: true,
} as const;

/** Models that decide themselves how long they think. */
function isAdaptive(modelId: string): boolean {
  return acceptsOf(ANTHROPIC, modelId).reasoning.control === 'effort';
}

/** Models of Bedrock that are no Claude are distinguished by their packages. */
function claudeConversation(modelId: string): AcceptedConversation {
  const { claude } = SDK_CONVERSATIONS;
  const { prefill } = acceptsOf(ANTHROPIC, modelId).conversation;
  return prefill === 'refused' ? { ...claude, prefill } : claude;
}

/** A budget of thinking as a model of Google's takes it: within its limits, and zero only where it can be switched off. */
function googleBudget(tokens: number, modelId: string): number {
  const { budget, off } = acceptsOf(GOOGLE, modelId).reasoning;
  if (budget === undefined || (tokens === 0 && off === 'disabled')) return tokens;
  return Math.min(Math.max(Math.round(tokens), budget.least), budget.most);
}

/** The first whose pattern matches counts; the last matches everything. */
const FAMILIES: readonly AiSdkFamily[] = [
  {
    // Also Claude through Vertex and through the native interface of Bedrock.
    providers: /(?:^|\.)anthropic(?:\.|$)/,
    conversation: claudeConversation,
    refusesBlanks: true,
    declaresCalled: true,
    key: 'anthropic',
    user: (hash) => ({ metadata: { userId: hash } }),
    parallelTools: (allowed) => ({ disableParallelToolUse: !allowed }),
    tiers: { default: 'standard_only', priority: 'auto' },
    budget: (tokens, modelId) => (isAdaptive(modelId) ? undefined : THINKING(tokens)),
    toolSchema: (schema) => toolArgumentsSchema(schema, CLAUDE_TOOLS),
    strictTools: CLAUDE_STRICT_TOOLS,
    // Where it uses a tool for the answer, its schema is that of a tool.
    heldFormats: CLAUDE_STRICT_TOOLS,
    looseFormat: { schema: CLAUDE_TOOLS, options: { structuredOutputMode: 'jsonTool' } },
    signature: 'anthropic',
    cacheMark: {
      on: 'part',
      options: ({ type, ttl }) => ({ cacheControl: ttl === undefined ? { type } : { type, ttl } }),
    },
    toolIds: WORD_CHARACTERS,
    mediaInResults: true,
    cacheOutsideInput: true,
  },
  {
    providers: /bedrock/i,
    conversation: claudeConversation,
    refusesBlanks: true,
    key: 'bedrock',
    tiers: { default: 'default', flex: 'flex', priority: 'priority' },
    embeddings: { dimensions: 'dimensions' },
    // Answers in a form are arguments of a tool there.
    toolSchema: (schema) => toolArgumentsSchema(schema, CLAUDE_TOOLS),
    looseFormat: { schema: CLAUDE_TOOLS, options: {} },
    budget: (tokens) => ({
      reasoningConfig: tokens === 0 ? { type: 'disabled' } : { type: 'enabled', budgetTokens: tokens },
    }),
    signature: 'anthropic',
    cacheMark: {
      on: 'message',
      options: ({ ttl }) => ({ cachePoint: ttl === undefined ? { type: 'default' } : { type: 'default', ttl } }),
    },
    toolIds: WORD_CHARACTERS,
    mediaInResults: true,
    cacheOutsideInput: true,
  },
  {
    // The developer API and Vertex; the latter reads this key too.
    providers: /^google|vertex/i,
    conversation: () => SDK_CONVERSATIONS.google,
    key: 'google',
    tiers: { default: 'standard', flex: 'flex', priority: 'priority' },
    showReasoning: { thinkingConfig: { includeThoughts: true } },
    toolSchema: (schema) => toolArgumentsSchema(schema, GOOGLE_TOOLS),
    looseFormat: { schema: GOOGLE_FORMATS, options: {} },
    budget: (tokens, modelId) => ({ thinkingConfig: { thinkingBudget: googleBudget(tokens, modelId) } }),
    signature: 'google',
    unsignedReasoning: true,
    mediaInResults: true,
    jsonResults: true,
    assistantMedia: true,
    embeddings: { dimensions: 'outputDimensionality', inputType: 'taskType', inputTypes: googleTask },
  },
  {
    // Azure reads this key too.
    providers: /^(?:openai|azure)(?:[.-]|$)/,
    conversation: () => SDK_CONVERSATIONS.openai,
    key: 'openai',
    options: { ...OPENAI_OPTIONS, prompt_cache_key: 'promptCacheKey' },
    user: (hash) => ({ safetyIdentifier: hash }),
    parallelTools: PARALLEL,
    strictSchemas: true,
    efforts: (modelId) => acceptsOf(OPENAI, modelId).reasoning.efforts,
    toolSchema: (schema) => toolArgumentsSchema(schema, OPENAI_TOOLS),
    strictTools: OPENAI_HELD,
    heldFormats: OPENAI_HELD,
    tiers: { default: 'default', flex: 'flex', priority: 'priority' },
    showReasoning: { reasoningSummary: 'auto' },
    effort: EFFORT,
    signature: 'openai',
    passesImageUrls: true,
    embeddings: { dimensions: 'dimensions' },
  },
  {
    providers: /^mistral(?:\.|$)/,
    conversation: () => SDK_CONVERSATIONS.mistral,
    key: 'mistral',
    options: { prompt_cache_key: 'promptCacheKey' },
    parallelTools: PARALLEL,
    strictSchemas: true,
    // Before version 4 it only knew these two.
    effort: (effort) => ({ reasoningEffort: effort === 'none' ? 'none' : 'high' }),
    toolSchema: (schema) => toolArgumentsSchema(schema, STANDARD),
    looseFormat: { schema: STANDARD, options: {} },
    toolIds: NINE_CHARACTERS,
    maxTemperature: 1.5,
    passesImageUrls: true,
    embeddings: { dimensions: 'outputDimension' },
  },
  {
    ...GROQ_OR_XAI,
    providers: /^groq(?:\.|$)/,
    toolSchema: (schema) => toolArgumentsSchema(schema, STANDARD),
    looseFormat: { schema: STANDARD, options: {} },
  },
  {
    ...GROQ_OR_XAI,
    providers: /^xai(?:\.|$)/,
    toolSchema: (schema) => toolArgumentsSchema(schema, XAI_TOOLS),
    looseFormat: { schema: XAI_FORMATS, options: {} },
  },
  {
    providers: /^cohere(?:\.|$)/,
    conversation: () => SDK_CONVERSATIONS.cohere,
    budget: (tokens) => ({
      thinking: tokens === 0 ? { type: 'disabled' } : { type: 'enabled', tokenBudget: tokens },
    }),
    embeddings: { dimensions: 'outputDimension', inputType: 'inputType' },
  },
  {
    // Its package has reasoning in its own field, which its models want back.
    ...COMPATIBLE,
    providers: /^deepseek(?:\.|$)/,
    conversation: () => SDK_CONVERSATIONS.deepseek,
    toolSchema: (schema) => toolArgumentsSchema(schema, STANDARD),
    needsReasoning: true,
  },
  COMPATIBLE,
];

const UNKNOWN: AiSdkFamily = { providers: /^/, conversation: compatibleConversation, unsignedReasoning: true };

/** What is known about the provider of a model, by its name. */
export function familyOf({ provider }: Pick<AiSdkModel, 'provider'>): AiSdkFamily {
  return FAMILIES.find(({ providers }) => providers.test(provider)) ?? UNKNOWN;
}

/**
 * Key under which a model looks for the options of its provider. Version 4 spells it in camel case; earlier versions
 * take the name as it is.
 */
export function optionsKey(
  { provider, specificationVersion }: Pick<AiSdkModel, 'provider' | 'specificationVersion'>,
  { key }: AiSdkFamily,
): string {
  if (key !== undefined) return key;
  const name = provider.split('.')[0]?.trim() ?? provider;
  if (specificationVersion !== 'v4') return name;
  return name.replace(/[_-]([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
