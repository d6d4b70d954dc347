/** The table of vendors that speak chat completions, and how they differ. */
import { parametersLackedBy } from '../../catalog/lacked-parameters.ts';
import type { BuiltInProvider } from '../../options/names.ts';
import type { Dialect } from './dialect.ts';
import type { LoadAccepts } from './provider.ts';
import type { NativeDialect } from './options.ts';

/** A vendor whose wire is chat completions: an address, where its key stands, and its quirks. */
export interface VendorPreset {
  readonly slug: string;
  readonly name: string;
  readonly baseURL: string;
  /** Environment variable that may hold another address. */
  readonly baseURLVariable?: string | undefined;
  /** Environment variables that may hold the key, in order. None: the server needs no key. */
  readonly apiKeyVariables: readonly string[];
  /** True: an endpoint that stores or trains on prompts by default. */
  readonly dataCollection?: boolean | undefined;
  /** API formats besides chat completions that the vendor supports at its own address. */
  readonly nativeDialects?: readonly NativeDialect[] | undefined;
  /** True: the vendor has a batch API at its own address. */
  readonly nativeBatches?: boolean | undefined;
  readonly dialect: Dialect;
  /** What it accepts, loaded with the first call. */
  readonly accepts: LoadAccepts;
}

const LOCAL: Dialect = {
  reasoningHistory: 'reasoning',
  unsupported: parametersLackedBy('local'),
};

/** Vendors that differ only in these facts (`spec` of the upstreams; nothing here goes stale with their models). */
export const VENDOR_PRESETS = {
  openai: {
    slug: 'openai',
    name: 'OpenAI',
    baseURL: 'https://api.openai.com/v1',
    baseURLVariable: 'OPENAI_BASE_URL',
    apiKeyVariables: ['OPENAI_API_KEY'],
    nativeDialects: ['responses'],
    nativeBatches: true,
    accepts: async () => (await import('../accepts/openai.ts')).OPENAI,
    dialect: {
      batchPriceFactor: 0.5,
      readsFiles: true,
      maxTokensField: 'max_completion_tokens',
      userField: 'safety_identifier',
      embeddings: { base64: true },
      developerRole: true,
      padsChunks: true,
      originalImages: true,
      cacheMarks: 'prompt_cache_breakpoint',
      serviceTiers: ['default', 'flex', 'priority', 'scale'],
      promptCacheFields: true,
      countsInput: true,
      unsupported: parametersLackedBy('openai'),
    },
  },
  groq: {
    slug: 'groq',
    name: 'Groq',
    baseURL: 'https://api.groq.com/openai/v1',
    apiKeyVariables: ['GROQ_API_KEY'],
    nativeBatches: true,
    accepts: async () => (await import('../accepts/groq.ts')).GROQ,
    dialect: {
      batchPriceFactor: 0.5,
      batchPaths: ['/chat/completions'],
      maxTokensField: 'max_completion_tokens',
      messageNames: false,
      serviceTiers: ['flex'],
      unsupported: parametersLackedBy('groq'),
    },
  },
  together: {
    slug: 'together',
    name: 'Together',
    baseURL: 'https://api.together.xyz/v1',
    apiKeyVariables: ['TOGETHER_API_KEY', 'TOGETHER_AI_API_KEY'],
    accepts: async () => (await import('../accepts/together.ts')).TOGETHER,
    dialect: { reasoningHistory: 'reasoning', unsupported: parametersLackedBy('together') },
  },
  fireworks: {
    slug: 'fireworks',
    name: 'Fireworks',
    baseURL: 'https://api.fireworks.ai/inference/v1',
    apiKeyVariables: ['FIREWORKS_API_KEY'],
    accepts: async () => (await import('../accepts/fireworks.ts')).FIREWORKS,
    dialect: { reasoningHistory: 'reasoning_content', unsupported: parametersLackedBy('fireworks') },
  },
  deepinfra: {
    slug: 'deepinfra',
    name: 'DeepInfra',
    baseURL: 'https://api.deepinfra.com/v1/openai',
    apiKeyVariables: ['DEEPINFRA_API_KEY', 'DEEPINFRA_TOKEN'],
    accepts: async () => (await import('../accepts/deepinfra.ts')).DEEPINFRA,
    dialect: { reasoningHistory: 'reasoning_content', unsupported: parametersLackedBy('deepinfra') },
  },
  deepseek: {
    slug: 'deepseek',
    name: 'DeepSeek',
    baseURL: 'https://api.deepseek.com',
    apiKeyVariables: ['DEEPSEEK_API_KEY'],
    dataCollection: true,
    accepts: async () => (await import('../accepts/deepseek.ts')).DEEPSEEK,
    dialect: {
      userField: 'user_id',
      reasoning: 'thinking',
      reasoningHistory: 'reasoning_content',
      unsupported: parametersLackedBy('deepseek'),
    },
  },
  mistral: {
    slug: 'mistral',
    name: 'Mistral',
    baseURL: 'https://api.mistral.ai/v1',
    apiKeyVariables: ['MISTRAL_API_KEY'],
    nativeBatches: true,
    accepts: async () => (await import('../accepts/mistral.ts')).MISTRAL,
    dialect: {
      batchWire: 'jobs',
      batchPaths: ['/chat/completions', '/embeddings'],
      batchPriceFactor: 0.5,
      userField: 'none',
      embeddings: { user: false, dimensionsField: 'output_dimension' },
      streamOptions: false,
      seedField: 'random_seed',
      forcedTool: 'any',
      toolCallIds: 'nine-alphanumeric',
      messageNames: false,
      unsupported: parametersLackedBy('mistral'),
    },
  },
  xai: {
    slug: 'xai',
    name: 'xAI',
    baseURL: 'https://api.x.ai/v1',
    apiKeyVariables: ['XAI_API_KEY'],
    accepts: async () => (await import('../accepts/xai.ts')).XAI,
    dialect: {
      maxTokensField: 'max_completion_tokens',
      reasoningHistory: 'reasoning_content',
      reasoningOutsideCompletion: true,
      unsupported: parametersLackedBy('xai'),
    },
  },
  openrouter: {
    slug: 'openrouter',
    name: 'OpenRouter',
    baseURL: 'https://openrouter.ai/api/v1',
    apiKeyVariables: ['OPENROUTER_API_KEY'],
    nativeDialects: ['responses'],
    accepts: async () => (await import('../accepts/openrouter.ts')).OPENROUTER,
    dialect: {
      readsFiles: true,
      responsesExtensions: true,
      reasoning: 'reasoning',
      embeddings: { base64: true },
      cacheMarks: 'cache_control',
      originalImages: true,
      reasoningHistory: 'reasoning_details',
      serviceTiers: ['default', 'flex', 'priority'],
      promptCacheFields: true,
    },
  },
  ollama: {
    slug: 'ollama',
    name: 'Ollama',
    baseURL: 'http://127.0.0.1:11434/v1',
    baseURLVariable: 'OLLAMA_BASE_URL',
    apiKeyVariables: [],
    accepts: async () => (await import('../accepts/local-servers.ts')).OLLAMA,
    dialect: { ...LOCAL },
  },
  vllm: {
    slug: 'vllm',
    name: 'vLLM',
    baseURL: 'http://127.0.0.1:8000/v1',
    apiKeyVariables: [],
    accepts: async () => (await import('../accepts/local-servers.ts')).VLLM,
    dialect: { ...LOCAL, embeddings: { base64: true }, reasoningHistory: 'reasoning_content' },
  },
  lmstudio: {
    slug: 'lmstudio',
    name: 'LM Studio',
    baseURL: 'http://127.0.0.1:1234/v1',
    apiKeyVariables: [],
    accepts: async () => (await import('../accepts/local-servers.ts')).LM_STUDIO,
    dialect: LOCAL,
  },
} as const satisfies Readonly<Partial<Record<BuiltInProvider, VendorPreset>>>;

/** Dialect of Azure OpenAI, which has no fixed address. */
export const AZURE_DIALECT: Dialect = {
  readsFiles: true,
  embeddings: { base64: true },
  maxTokensField: 'max_completion_tokens',
  developerRole: true,
  promptCacheFields: true,
  unsupported: parametersLackedBy('azure'),
};
