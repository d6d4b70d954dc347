/** The table of vendors that speak chat completions, and how they differ. */
import { parametersLackedBy } from '../../catalog/lacked-parameters.ts';
import type { BuiltInProvider } from '../../options/names.ts';
import type { VendorQuirks } from './vendor-quirks.ts';
import type { HostedVendor } from '../accepts/hosted.ts';
import type { NativeApiFormat } from './options.ts';

/** A vendor whose wire is chat completions: an address, where its key stands, and its quirks. */
export interface VendorPreset {
  readonly slug: string;
  readonly name: string;
  /** Address; a name in braces is a variable of the environment. */
  readonly baseURL: string;
  /** Environment variable that may hold another address. */
  readonly baseURLVariable?: string | undefined;
  /** Environment variables that may hold the key, in order. None: the server needs no key. */
  readonly apiKeyVariables: readonly string[];
  /** True: an endpoint that stores or trains on prompts by default. */
  readonly dataCollection?: boolean | undefined;
  /** API formats besides chat completions that the vendor supports at its own address. */
  readonly nativeApiFormats?: readonly NativeApiFormat[] | undefined;
  /** True: the vendor has a batch API at its own address. */
  readonly nativeBatches?: boolean | undefined;
  readonly quirks: VendorQuirks;
  /**
   * True where the variable of the key is one that other programs set for purposes of their own: then the key alone does
   * not put the vendor into a router without `providers`. Default false.
   */
  readonly sharesKey?: boolean | undefined;
}

/** A vendor with little that is special besides its address. Its record is in `accepts/hosted.ts`. */
function hosted(
  slug: HostedVendor,
  name: string,
  baseURL: string,
  { quirks, ...more }: Pick<VendorPreset, 'apiKeyVariables'> & Partial<VendorPreset>,
): VendorPreset {
  return { slug, name, baseURL, ...more, quirks: { unsupported: parametersLackedBy(slug), ...quirks } };
}

const LOCAL: VendorQuirks = {
  reasoningHistory: 'reasoning',
  unsupported: parametersLackedBy('local'),
};

/** A key that other programs use, too. */
const SHARED = { sharesKey: true };
/** Earlier reasoning goes back as it came. */
const THINKING: Partial<VendorPreset> = { quirks: { reasoningHistory: 'reasoning_content' } };
/** Names in braces are variables of the environment. */
const MODEL_STUDIO = 'https://{DASHSCOPE_WORKSPACE_ID}.ap-southeast-1.maas.aliyuncs.com/compatible-mode/v1';
const CLOUDFLARE = 'https://api.cloudflare.com/client/v4/accounts/{CLOUDFLARE_ACCOUNT_ID}/ai/v1';

/** Vendors that differ only in these facts (`spec` of the upstreams; nothing here goes stale with their models). */
export const VENDOR_PRESETS = {
  openai: {
    slug: 'openai',
    name: 'OpenAI',
    baseURL: 'https://api.openai.com/v1',
    baseURLVariable: 'OPENAI_BASE_URL',
    apiKeyVariables: ['OPENAI_API_KEY'],
    nativeApiFormats: ['responses'],
    nativeBatches: true,
    quirks: {
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
    quirks: {
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
    quirks: { reasoningHistory: 'reasoning', unsupported: parametersLackedBy('together') },
  },
  fireworks: {
    slug: 'fireworks',
    name: 'Fireworks',
    baseURL: 'https://api.fireworks.ai/inference/v1',
    apiKeyVariables: ['FIREWORKS_API_KEY'],
    quirks: { reasoningHistory: 'reasoning_content', unsupported: parametersLackedBy('fireworks') },
  },
  deepinfra: {
    slug: 'deepinfra',
    name: 'DeepInfra',
    baseURL: 'https://api.deepinfra.com/v1/openai',
    apiKeyVariables: ['DEEPINFRA_API_KEY', 'DEEPINFRA_TOKEN'],
    quirks: { reasoningHistory: 'reasoning_content', unsupported: parametersLackedBy('deepinfra') },
  },
  deepseek: {
    slug: 'deepseek',
    name: 'DeepSeek',
    baseURL: 'https://api.deepseek.com',
    apiKeyVariables: ['DEEPSEEK_API_KEY'],
    dataCollection: true,
    quirks: {
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
    quirks: {
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
    quirks: {
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
    nativeApiFormats: ['responses'],
    quirks: {
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
    quirks: { ...LOCAL },
  },
  vllm: {
    slug: 'vllm',
    name: 'vLLM',
    baseURL: 'http://127.0.0.1:8000/v1',
    apiKeyVariables: [],
    quirks: { ...LOCAL, embeddings: { base64: true }, reasoningHistory: 'reasoning_content' },
  },
  lmstudio: {
    slug: 'lmstudio',
    name: 'LM Studio',
    baseURL: 'http://127.0.0.1:1234/v1',
    apiKeyVariables: [],
    quirks: LOCAL,
  },
  // One line each. Where the address and the record are from, and when, is in the record.
  cerebras: hosted('cerebras', 'Cerebras', 'https://api.cerebras.ai/v1', { apiKeyVariables: ['CEREBRAS_API_KEY'] }),
  perplexity: hosted('perplexity', 'Perplexity', 'https://api.perplexity.ai', {
    apiKeyVariables: ['PERPLEXITY_API_KEY', 'PPLX_API_KEY'],
  }),
  cohere: hosted('cohere', 'Cohere', 'https://api.cohere.ai/compatibility/v1', {
    apiKeyVariables: ['COHERE_API_KEY', 'CO_API_KEY'],
    quirks: { userField: 'none', embeddings: { user: false } },
  }),
  huggingface: hosted('huggingface', 'Hugging Face', 'https://router.huggingface.co/v1', {
    apiKeyVariables: ['HF_TOKEN'],
    ...SHARED,
  }),
  sambanova: hosted('sambanova', 'SambaNova', 'https://api.sambanova.ai/v1', {
    apiKeyVariables: ['SAMBANOVA_API_KEY'],
  }),
  nvidia: hosted('nvidia', 'NVIDIA', 'https://integrate.api.nvidia.com/v1', { apiKeyVariables: ['NVIDIA_API_KEY'] }),
  github: hosted('github', 'GitHub Models', 'https://models.github.ai/inference', {
    apiKeyVariables: ['GITHUB_TOKEN'],
    ...SHARED,
  }),
  cloudflare: hosted('cloudflare', 'Cloudflare', CLOUDFLARE, {
    apiKeyVariables: ['CLOUDFLARE_API_TOKEN', 'CLOUDFLARE_API_KEY'],
    ...SHARED,
  }),
  moonshot: hosted('moonshot', 'Moonshot AI', 'https://api.moonshot.ai/v1', {
    apiKeyVariables: ['MOONSHOT_API_KEY'],
    ...THINKING,
  }),
  qwen: hosted('qwen', 'Qwen', MODEL_STUDIO, { apiKeyVariables: ['DASHSCOPE_API_KEY'], ...THINKING }),
  minimax: hosted('minimax', 'MiniMax', 'https://api.minimax.io/v1', {
    apiKeyVariables: ['MINIMAX_API_KEY'],
    ...THINKING,
  }),
  zhipu: hosted('zhipu', 'Zhipu AI', 'https://open.bigmodel.cn/api/paas/v4', {
    apiKeyVariables: ['ZHIPU_API_KEY', 'ZHIPUAI_API_KEY'],
    quirks: { reasoningHistory: 'reasoning_content', messageNames: false, streamOptions: false },
  }),
} as const satisfies Readonly<Partial<Record<BuiltInProvider, VendorPreset>>>;

/** Slug of one of them. */
export type PresetVendor = keyof typeof VENDOR_PRESETS;

/** Quirks of Azure OpenAI, which has no fixed address. */
export const AZURE_QUIRKS: VendorQuirks = {
  batchPriceFactor: 0.5,
  batchPaths: ['/chat/completions', '/responses'],
  readsFiles: true,
  embeddings: { base64: true },
  maxTokensField: 'max_completion_tokens',
  developerRole: true,
  promptCacheFields: true,
  unsupported: parametersLackedBy('azure'),
};
