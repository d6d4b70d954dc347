import {
  type OptionShape,
  anything,
  flag,
  group,
  kind,
  listOf,
  mapOf,
  text,
  withFunctions,
} from '../core/options/option-kinds.ts';
import type { AnthropicOptions } from './anthropic/provider.ts';
import type { GoogleOptions, SafetySetting } from './google/provider.ts';
import type { Dialect, EmbeddingDialect } from './openai-compatible/dialect.ts';
import type { ChatProviderOptions, OpenAiCompatibleOptions } from './openai-compatible/provider.ts';
import type { AzureOptions } from './openai-compatible/vendors.ts';
import type { SimulatedOptions } from './simulated/options.ts';

const isText = (value: unknown): boolean => typeof value === 'string';
const headerValue = kind('one line of text', (value) => typeof value === 'string' && !/[\r\n\0]/.test(value));

/**
 * Options of every vendor of the chat completions wire. What slugs, addresses and keys must look like is checked by
 * `checkProviderOptions`, and models by the router.
 */
export const CHAT_PROVIDER_OPTIONS: OptionShape<ChatProviderOptions> = {
  apiKey: kind('a text', isText),
  baseURL: kind('an http(s) address', isText),
  models: mapOf(anything),
  name: text,
  headers: mapOf(headerValue),
  dataCollection: flag,
  zeroDataRetention: flag,
  nativeDialects: anything,
  nativeBatches: flag,
  transport: withFunctions('a transport', 'send', 'close'),
};

const slug = kind('a text', isText);

/** Options of a server that speaks the chat completions wire. */
export const OPENAI_COMPATIBLE_OPTIONS: OptionShape<OpenAiCompatibleOptions> = {
  ...CHAT_PROVIDER_OPTIONS,
  slug,
  dialect: group<Dialect>({
    maxTokensField: text,
    userField: text,
    batchWire: text,
    batchPaths: listOf(text),
    batchPriceFactor: kind('a number', (value) => typeof value === 'number'),
    developerRole: flag,
    streamOptions: flag,
    padsChunks: flag,
    reasoning: text,
    efforts: listOf(text),
    seedField: text,
    forcedTool: text,
    toolCallIds: text,
    cacheMarks: text,
    reasoningHistory: text,
    messageNames: flag,
    originalImages: flag,
    readsFiles: flag,
    maxTemperature: kind('a number', (value) => typeof value === 'number' && value >= 0),
    serviceTiers: listOf(text),
    promptCacheFields: flag,
    responsesExtensions: flag,
    unsupported: listOf(text),
    embeddings: group<EmbeddingDialect>({ base64: flag, dimensionsField: text, user: flag }),
    reasoningOutsideCompletion: flag,
  }),
  query: kind('a text', isText),
  keyHeader: text,
};

const { baseURL: _, ...azureCommon } = CHAT_PROVIDER_OPTIONS;

/** Options of Azure. */
export const AZURE_OPTIONS: OptionShape<AzureOptions> = { ...azureCommon, resource: anything };

/** Options of Anthropic. */
export const ANTHROPIC_OPTIONS: OptionShape<AnthropicOptions> = { ...CHAT_PROVIDER_OPTIONS, slug, betas: listOf(text) };

/** Options of Google. */
export const GOOGLE_OPTIONS: OptionShape<GoogleOptions> = {
  ...CHAT_PROVIDER_OPTIONS,
  apiKey: kind('a text or a function', (value) => isText(value) || typeof value === 'function'),
  authorization: text,
  slug,
  safetySettings: listOf(group<SafetySetting>({ category: text, threshold: text })),
};

/** Options of the simulated provider. */
export const SIMULATED_OPTIONS: OptionShape<SimulatedOptions> = {
  slug,
  name: text,
  models: mapOf(anything),
  seed: kind('a number', (value) => typeof value === 'number'),
  firstTokenMs: kind('a number of milliseconds', (value) => typeof value === 'number'),
  tokensPerSecond: kind('a number', (value) => typeof value === 'number'),
  failures: listOf(anything),
  failureRate: kind('a number', (value) => typeof value === 'number'),
  answer: kind('a function', (value) => typeof value === 'function'),
  dataCollection: flag,
  zeroDataRetention: flag,
  environment: withFunctions('an environment', 'now', 'setTimer'),
};
