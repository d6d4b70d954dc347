import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogle } from '@ai-sdk/google';
import { createMistral } from '@ai-sdk/mistral';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  type AiSdkModel,
  type Provider,
  anthropic,
  deepseek,
  fromAiSdk,
  google,
  groq,
  lmstudio,
  mistral,
  ollama,
  openai,
  openaiCompatible,
  vllm,
  xai,
} from 'signalbox';
import type { StrictUpstreamOptions, StrictVendor } from 'signalbox/testing';

/** A way from the router to a strict upstream. */
export interface StrictRoute {
  readonly name: string;
  readonly vendor: StrictVendor;
  readonly template?: StrictUpstreamOptions['template'];
  /** A provider whose only model is `strict/one`. */
  readonly provider: (baseURL: string) => Provider;
}

/** The model of every route. */
export const STRICT_MODEL = 'strict/one';

type VendorFactory = (options: {
  readonly apiKey: string;
  readonly baseURL: string;
  readonly models: { readonly [STRICT_MODEL]: { readonly upstreamModel: string } };
}) => Provider;

function route(vendor: StrictVendor, upstreamModel: string, make: VendorFactory): StrictRoute {
  return {
    name: `${vendor} ${upstreamModel}`,
    vendor,
    provider: (baseURL) => make({ apiKey: 'key-of-the-route', baseURL, models: { [STRICT_MODEL]: { upstreamModel } } }),
  };
}

/** Models of each family of templates, by the name that servers have for them. */
const TEMPLATES = {
  qwen: 'Qwen/Qwen3.5-27B',
  mistral: 'mistralai/Mistral-7B-Instruct-v0.3',
  deepseek: 'deepseek-ai/DeepSeek-R1',
  llama: 'meta-llama/Llama-3.1-8B-Instruct',
} as const;

/** Servers of open models; those without a function of their own are reached by their address. */
const SERVERS: Readonly<Partial<Record<StrictVendor, VendorFactory>>> = {
  vllm,
  sglang: (options) => openaiCompatible({ ...options, slug: 'sglang' }),
  // What the program knows of its server: parts that it reads, and whether the model thinks, which forbids a prefill.
  'llama.cpp': (options) =>
    openaiCompatible({
      ...options,
      slug: 'llama-cpp',
      quirks: {
        conversation: {
          media: { user: ['image', 'audio'], assistant: [], tool: [] },
          prefill: /qwen|deepseek/i.test(options.models[STRICT_MODEL].upstreamModel) ? 'refused' : 'plain',
        },
      },
    }),
  ollama,
  lmstudio,
};

/** A route through a package of the AI SDK, which writes the request itself. */
function sdkRoute(
  vendor: StrictVendor,
  name: string,
  model: (baseURL: string, apiKey: string) => AiSdkModel,
): StrictRoute {
  return {
    name: `AI SDK, ${vendor} ${name}`,
    vendor,
    provider: (baseURL) => fromAiSdk({ slug: 'sdk', models: { [STRICT_MODEL]: model(baseURL, 'key-of-the-route') } }),
  };
}

/** All routes: vendors with models of each family, and servers with models of each template. */
export const STRICT_ROUTES: readonly StrictRoute[] = [
  ...['gpt-4.1', 'o4-mini', 'gpt-5-mini', 'gpt-5.1', 'gpt-5.6'].map((model) => route('openai', model, openai)),
  ...['claude-3-haiku-20240307', 'claude-opus-4-1', 'claude-sonnet-4-5', 'claude-opus-4-6', 'claude-opus-4-8'].map(
    (model) => route('anthropic', model, anthropic),
  ),
  route('anthropic', 'claude-sonnet-5-5', anthropic),
  ...['gemini-2.5-flash', 'gemini-2.5-pro', 'gemini-3-flash'].map((model) => route('google', model, google)),
  ...['mistral-large-latest'].map((model) => route('mistral', model, mistral)),
  ...['deepseek-chat', 'deepseek-v4-pro'].map((model) => route('deepseek', model, deepseek)),
  ...['grok-4', 'grok-3-mini'].map((model) => route('xai', model, xai)),
  ...['llama-3.3-70b-versatile', 'openai/gpt-oss-120b', 'qwen/qwen3-32b'].map((model) => route('groq', model, groq)),
  ...Object.entries(SERVERS).flatMap(([server, make]) =>
    Object.entries(TEMPLATES).map(([template, model]) => ({
      ...route(server as StrictVendor, model, make),
      template: template as keyof typeof TEMPLATES,
    })),
  ),
  ...['claude-sonnet-4-5', 'claude-opus-4-8'].map((name) =>
    sdkRoute('anthropic', name, (baseURL, apiKey) => createAnthropic({ baseURL, apiKey })(name)),
  ),
  ...['gemini-2.5-flash', 'gemini-3-flash'].map((name) =>
    sdkRoute('google', name, (baseURL, apiKey) => createGoogle({ baseURL, apiKey })(name)),
  ),
  sdkRoute('mistral', 'mistral-large-latest', (baseURL, apiKey) =>
    createMistral({ baseURL, apiKey })('mistral-large-latest'),
  ),
  {
    ...sdkRoute('vllm', TEMPLATES.qwen, (baseURL, apiKey) =>
      createOpenAICompatible({ name: 'own-server', baseURL, apiKey, includeUsage: true })(TEMPLATES.qwen),
    ),
    template: 'qwen',
  },
];
