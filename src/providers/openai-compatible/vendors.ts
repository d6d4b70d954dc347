/** The factories of vendors that speak chat completions, each in a line. */
import type { ConfigProblem } from '../../protocol/router-error.ts';
import { checkProviderShape, keyPlace } from '../check-options.ts';
import type { Provider } from '../../contracts/provider.ts';
import { readEnvironment } from '../../platform/environment.ts';
import { AZURE_QUIRKS, type PresetVendor, VENDOR_PRESETS, type VendorPreset } from './presets.ts';
import { chatCompletionsProvider } from './provider.ts';
import { unknown } from '../../schema/scalars.ts';
import type { OptionShape } from '../../options/values.ts';
import { CHAT_PROVIDER_OPTIONS, type ChatProviderOptions, type ModelTable } from './options.ts';

/** A function that makes the provider of one vendor. Its models are those that are declared, or any when none are. */
export type VendorFactory = <const Model extends string = string>(
  options?: ChatProviderOptions<Model>,
) => Provider<Model>;

function vendor(preset: VendorPreset): VendorFactory {
  return <const Model extends string = string>(options: ChatProviderOptions<Model> = {}) => {
    const { slug = preset.slug } = options;
    const apiKey = options.apiKey ?? (options.keys === undefined ? keyFromEnvironment(preset) : undefined);
    const variables = preset.apiKeyVariables.join(' or ');
    const path = `providers.${slug}.apiKey`;
    const problem = `is missing: pass apiKey, or set ${variables} in the environment`;
    const missing = apiKey === undefined && options.keys === undefined && variables !== '' ? [{ path, problem }] : [];
    const baseURL = options.baseURL ?? addressFromEnvironment(preset);
    const [, variable] = /\{(\w+)\}/.exec(baseURL) ?? [];
    if (variable !== undefined) {
      missing.push({
        path: `providers.${slug}.baseURL`,
        problem: `is missing: pass baseURL, or set ${variable} in the environment`,
      });
    }
    checkProviderShape<ChatProviderOptions>(CHAT_PROVIDER_OPTIONS, options, preset, missing);
    return chatCompletionsProvider(
      {
        ...options,
        slug,
        name: options.name ?? preset.name,
        dataCollection: options.dataCollection ?? preset.dataCollection,
        nativeApiFormats:
          options.nativeApiFormats ?? (baseURL === preset.baseURL ? preset.nativeApiFormats : undefined),
        nativeBatches: options.nativeBatches ?? (baseURL === preset.baseURL && preset.nativeBatches),
        cacheDiagnostics: options.cacheDiagnostics ?? (preset.slug === 'openai' && baseURL === preset.baseURL),
        baseURL,
        quirks: preset.quirks,
        apiKey,
      },
      {
        accepts: async () => (await import('../accepts/by-vendor.ts')).presetAccepts(preset.slug as PresetVendor),
        vendor: preset.slug,
        // Behind another address is a proxy of the vendor, which would refuse the same on chat completions.
        hasResponses: preset.nativeApiFormats?.includes('responses'),
      },
    );
  };
}

/** OpenAI. Key: `OPENAI_API_KEY`; another address: `OPENAI_BASE_URL`. */
export const openai: VendorFactory = vendor(VENDOR_PRESETS.openai);
/** Groq. Key: `GROQ_API_KEY`. */
export const groq: VendorFactory = vendor(VENDOR_PRESETS.groq);
/** Together. Key: `TOGETHER_API_KEY`. */
export const together: VendorFactory = vendor(VENDOR_PRESETS.together);
/** Fireworks. Key: `FIREWORKS_API_KEY`. */
export const fireworks: VendorFactory = vendor(VENDOR_PRESETS.fireworks);
/** DeepInfra. Key: `DEEPINFRA_API_KEY`. */
export const deepinfra: VendorFactory = vendor(VENDOR_PRESETS.deepinfra);
/** DeepSeek, which keeps prompts unless set otherwise. Key: `DEEPSEEK_API_KEY`. */
export const deepseek: VendorFactory = vendor(VENDOR_PRESETS.deepseek);
/** Mistral. Key: `MISTRAL_API_KEY`. */
export const mistral: VendorFactory = vendor(VENDOR_PRESETS.mistral);
/** xAI. Key: `XAI_API_KEY`. */
export const xai: VendorFactory = vendor(VENDOR_PRESETS.xai);
/** OpenRouter as an upstream. Key: `OPENROUTER_API_KEY`. */
export const openrouter: VendorFactory = vendor(VENDOR_PRESETS.openrouter);
/** A local Ollama, at `http://127.0.0.1:11434/v1`. Needs no key. */
export const ollama: VendorFactory = vendor(VENDOR_PRESETS.ollama);
/** A vLLM server, by default at `http://127.0.0.1:8000/v1`. Needs no key. */
export const vllm: VendorFactory = vendor(VENDOR_PRESETS.vllm);
/** A local LM Studio, at `http://127.0.0.1:1234/v1`. Needs no key. */
export const lmstudio: VendorFactory = vendor(VENDOR_PRESETS.lmstudio);
/** Cerebras. Key: `CEREBRAS_API_KEY`. */
export const cerebras: VendorFactory = vendor(VENDOR_PRESETS.cerebras);
/** Perplexity. Key: `PERPLEXITY_API_KEY`. */
export const perplexity: VendorFactory = vendor(VENDOR_PRESETS.perplexity);
/** Cohere, over its compatibility API. Key: `COHERE_API_KEY`. */
export const cohere: VendorFactory = vendor(VENDOR_PRESETS.cohere);
/** The router of Hugging Face. Key: `HF_TOKEN`, which alone does not put it into a router without `providers`. */
export const huggingface: VendorFactory = vendor(VENDOR_PRESETS.huggingface);
/** SambaNova. Key: `SAMBANOVA_API_KEY`. */
export const sambanova: VendorFactory = vendor(VENDOR_PRESETS.sambanova);
/** NVIDIA NIM, by default at NVIDIA's own address. Key: `NVIDIA_API_KEY`. */
export const nvidia: VendorFactory = vendor(VENDOR_PRESETS.nvidia);
/** GitHub Models. Key: `GITHUB_TOKEN`, which alone does not put it into a router without `providers`. */
export const github: VendorFactory = vendor(VENDOR_PRESETS.github);
/**
 * Cloudflare Workers AI. Key: `CLOUDFLARE_API_TOKEN`, which alone does not put it into a router without `providers`. Its
 * address holds the account: `CLOUDFLARE_ACCOUNT_ID`, or `baseURL`.
 */
export const cloudflare: VendorFactory = vendor(VENDOR_PRESETS.cloudflare);
/** Moonshot AI, the vendor of Kimi. Key: `MOONSHOT_API_KEY`. */
export const moonshot: VendorFactory = vendor(VENDOR_PRESETS.moonshot);
/**
 * Qwen at Alibaba's Model Studio, in Singapore. Key: `DASHSCOPE_API_KEY`. Its address holds the workspace:
 * `DASHSCOPE_WORKSPACE_ID`, or `baseURL`.
 */
export const qwen: VendorFactory = vendor(VENDOR_PRESETS.qwen);
/** MiniMax, at its international address. Key: `MINIMAX_API_KEY`. */
export const minimax: VendorFactory = vendor(VENDOR_PRESETS.minimax);
/** Zhipu AI, the vendor of GLM. Key: `ZHIPU_API_KEY`. */
export const zhipu: VendorFactory = vendor(VENDOR_PRESETS.zhipu);

/** Options of {@link azure}. */
export interface AzureOptions<Model extends string = string> extends ChatProviderOptions<Model> {
  /** Name of the resource: the first part of `NAME.openai.azure.com`. Letters, digits and dashes. Or give `baseURL`. */
  readonly resource?: string | undefined;
  /**
   * Address of the v1 surface where it is another one, up to `/openai/v1`: of a Foundry resource
   * (`https://NAME.services.ai.azure.com/openai/v1`), of another cloud, or of API Management. Default: that of `resource`.
   */
  readonly baseURL?: string | undefined;
  /**
   * How the key is sent: `api-key` in the header of this name, `bearer` in `authorization`, as tokens of Entra ID are.
   * Default: `bearer` where `apiKey` is a function, else `api-key`.
   */
  readonly authorization?: 'api-key' | 'bearer' | undefined;
  /**
   * Models on offer; `upstreamModel` is the name of the deployment. Left out: every deployment by its name, as
   * `azure/NAME`, with unknown price and abilities.
   */
  readonly models?: ModelTable<Model> | undefined;
}

const AZURE_OPTIONS: OptionShape<AzureOptions> = {
  ...CHAT_PROVIDER_OPTIONS,
  resource: unknown,
  authorization: keyPlace,
};

/**
 * Azure OpenAI on its v1 surface, where a model is the name of a deployment. Key: `AZURE_OPENAI_API_KEY`.
 *
 * @throws {@link ConfigError} when the resource's name could change the address, where there are both or neither of
 * resource and address, or when the key is missing.
 */
export function azure<const Model extends string>(options: AzureOptions<Model>): Provider<Model> {
  const { resource, baseURL, authorization, ...rest } = options;
  const { slug = 'azure', keys } = options;
  const problems: ConfigProblem[] = [];
  if ((resource === undefined) === (baseURL === undefined)) {
    problems.push({ path: `providers.${slug}.resource`, problem: 'or baseURL must be given, and not both' });
  } else if (resource !== undefined && !/^[a-zA-Z0-9][a-zA-Z0-9-]*$/.test(resource)) {
    problems.push({ path: `providers.${slug}.resource`, problem: 'must be letters, digits and dashes' });
  }
  const apiKey = options.apiKey ?? (keys === undefined ? readEnvironment('AZURE_OPENAI_API_KEY') : undefined);
  if (apiKey === undefined && keys === undefined) {
    const problem = 'is missing: pass apiKey, or set AZURE_OPENAI_API_KEY in the environment';
    problems.push({ path: `providers.${slug}.apiKey`, problem });
  }
  checkProviderShape<AzureOptions>(AZURE_OPTIONS, options, { slug: 'azure' }, problems);
  // The v1 surface takes keys as bearers, too, so one function among several keys decides for all.
  const mayBeTokens = [apiKey, ...(keys ?? [])].some(
    (key) => typeof (typeof key === 'object' ? key.apiKey : key) === 'function',
  );
  return chatCompletionsProvider(
    {
      ...rest,
      slug,
      name: options.name ?? 'Azure',
      baseURL: baseURL ?? `https://${resource}.openai.azure.com/openai/v1`,
      keyHeader: (authorization ?? (mayBeTokens ? 'bearer' : 'api-key')) === 'bearer' ? undefined : 'api-key',
      quirks: AZURE_QUIRKS,
      apiKey,
    },
    { accepts: async () => (await import('../accepts/azure.ts')).AZURE, vendor: 'azure', hasResponses: true },
  );
}

/** The vendors whose keys are in the environment. */
export function vendorsFromEnvironment(): readonly Provider[] {
  return Object.values(VENDOR_PRESETS as Readonly<Record<string, VendorPreset>>)
    .filter((preset) => preset.sharesKey !== true && keyFromEnvironment(preset) !== undefined)
    .filter((preset) => !addressFromEnvironment(preset).includes('{'))
    .map((preset) => vendor(preset)());
}

/**
 * The address of a vendor, with what the environment says of it. A variable that is not set stays in its braces, and so does
 * one that could lead elsewhere.
 */
function addressFromEnvironment({ baseURLVariable: name, baseURL }: VendorPreset): string {
  const named = name === undefined ? undefined : readEnvironment(name);
  return (
    named ??
    baseURL.replace(/\{(\w+)\}/, (braces, variable: string) => {
      const value = readEnvironment(variable);
      return value !== undefined && /^[\w-]+$/.test(value) ? value : braces;
    })
  );
}

function keyFromEnvironment(preset: VendorPreset): string | undefined {
  for (const name of preset.apiKeyVariables) {
    const key = readEnvironment(name);
    if (key !== undefined) return key;
  }
  return undefined;
}
