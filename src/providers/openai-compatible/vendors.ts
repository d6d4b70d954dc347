/** The factories of vendors that speak chat completions, each in a line. */
import type { ConfigProblem } from '../../protocol/router-error.ts';
import { checkProviderShape, keyPlace } from '../check-options.ts';
import type { Provider } from '../../contracts/provider.ts';
import { readEnvironment } from '../../platform/environment.ts';
import { AZURE_DIALECT, VENDOR_PRESETS, type VendorPreset } from './presets.ts';
import { chatCompletionsProvider } from './provider.ts';
import { anything, type OptionShape } from '../../platform/option-kinds.ts';
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
    checkProviderShape<ChatProviderOptions>(CHAT_PROVIDER_OPTIONS, options, preset, missing);
    const baseURL = options.baseURL ?? addressFromEnvironment(preset) ?? preset.baseURL;
    return chatCompletionsProvider(
      {
        ...options,
        slug,
        name: options.name ?? preset.name,
        dataCollection: options.dataCollection ?? preset.dataCollection,
        nativeDialects: options.nativeDialects ?? (baseURL === preset.baseURL ? preset.nativeDialects : undefined),
        nativeBatches: options.nativeBatches ?? (baseURL === preset.baseURL && preset.nativeBatches),
        baseURL,
        dialect: preset.dialect,
        apiKey,
      },
      preset.accepts,
      // Behind another address is a proxy of the vendor, which would refuse the same on chat completions.
      preset.nativeDialects?.includes('responses'),
      preset.slug,
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
  resource: anything,
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
      dialect: AZURE_DIALECT,
      apiKey,
    },
    async () => (await import('../accepts/azure.ts')).AZURE,
    true,
    'azure',
  );
}

/** The vendors whose keys are in the environment. */
export function vendorsFromEnvironment(): readonly Provider[] {
  return Object.values(VENDOR_PRESETS as Readonly<Record<string, VendorPreset>>)
    .filter((preset) => keyFromEnvironment(preset) !== undefined)
    .map((preset) => vendor(preset)());
}

function addressFromEnvironment({ baseURLVariable: name }: VendorPreset): string | undefined {
  return name === undefined ? undefined : readEnvironment(name);
}

function keyFromEnvironment(preset: VendorPreset): string | undefined {
  for (const name of preset.apiKeyVariables) {
    const key = readEnvironment(name);
    if (key !== undefined) return key;
  }
  return undefined;
}
