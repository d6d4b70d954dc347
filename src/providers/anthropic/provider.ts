/** The provider `anthropic`. */
import { checkProviderShape, keyPlace } from '../check-options.ts';
import { readEnvironment } from '../../platform/environment.ts';
import { CHAT_PROVIDER_OPTIONS, type ChatProviderOptions } from '../openai-compatible/options.ts';
import type { BatchesOnFirstUse } from '../codec.ts';
import { mergeHeaders } from '../provider-api.ts';
import { httpProvider } from '../http-provider.ts';
import type { Provider } from '../../contracts/provider.ts';
import { array } from '../../schema/collections.ts';
import { type OptionShape, nonEmptyString } from '../../options/values.ts';
import { parametersLackedBy } from '../../catalog/lacked-parameters.ts';

/** Options of {@link anthropic}. */
export interface AnthropicOptions<Model extends string = string> extends ChatProviderOptions<Model> {
  /**
   * How the key is sent: `api-key` in `x-api-key`, `bearer` in `authorization`, as access tokens are. Default `api-key`.
   */
  readonly authorization?: 'api-key' | 'bearer' | undefined;
  /** Beta features of every request, as the header `anthropic-beta` names them. Default: none. */
  readonly betas?: readonly string[] | undefined;
}

const ANTHROPIC_OPTIONS: OptionShape<AnthropicOptions> = {
  ...CHAT_PROVIDER_OPTIONS,
  authorization: keyPlace,
  betas: array(nonEmptyString),
};

const API_KEY_VARIABLE = 'ANTHROPIC_API_KEY';
const BASE_URL_VARIABLE = 'ANTHROPIC_BASE_URL';
const BASE_URL = 'https://api.anthropic.com';

/** The version with which every parameter is still taken by some model; later ones refuse more. */
const API_VERSION = '2023-06-01';

/**
 * Anthropic, over its Messages API. Key: `ANTHROPIC_API_KEY`; another address: `ANTHROPIC_BASE_URL`, with or without
 * `/v1` at its end.
 *
 * @throws {@link ConfigError} when the key is missing, or the slug, the address or the key cannot be right.
 */
export function anthropic<const Model extends string = string>(options: AnthropicOptions<Model> = {}): Provider<Model> {
  const { slug = 'anthropic', betas = [], models, keys } = options;
  const apiKey = options.apiKey ?? (keys === undefined ? readEnvironment(API_KEY_VARIABLE) : undefined);
  const problem = `is missing: pass apiKey, or set ${API_KEY_VARIABLE} in the environment`;
  const missing = apiKey === undefined && keys === undefined ? [{ path: `providers.${slug}.apiKey`, problem }] : [];
  checkProviderShape<AnthropicOptions>(ANTHROPIC_OPTIONS, options, { slug }, missing);
  const baseURL = options.baseURL ?? readEnvironment(BASE_URL_VARIABLE) ?? BASE_URL;
  const root = baseURL.replace(/\/+$/, '').replace(/\/v1$/, '');
  return httpProvider<Model>({
    slug,
    vendor: root === BASE_URL ? 'anthropic' : undefined,
    name: options.name ?? (slug === 'anthropic' ? 'Anthropic' : slug),
    models,
    dataCollection: options.dataCollection,
    zeroDataRetention: options.zeroDataRetention,
    timeouts: options.timeouts,
    nativeSearch: 'filtered',
    readsFiles: true,
    prefill: takesPrefill,
    diagnosesCache: (options.cacheDiagnostics ?? root === BASE_URL) ? () => true : undefined,
    codec: {
      unsupported: parametersLackedBy('anthropic'),
      cacheMarks: true,
      hasEmbeddings: false,
      load: async () => (await import('./codec.ts')).messagesCodec(betas),
    },
    apiFormatCodecs: {
      messages: { hasEmbeddings: false, load: async () => (await import('./codec.ts')).nativeMessagesCodec(betas) },
    },
    batches: (options.nativeBatches ?? root === BASE_URL) ? BATCHES : undefined,
    baseURL: `${root}/v1`,
    apiKey,
    keys,
    authorization: options.authorization === 'bearer' ? undefined : (key) => ['x-api-key', key],
    headers: mergeHeaders({ 'anthropic-version': API_VERSION }, options.headers),
    net: options.net,
    transport: options.transport,
  });
}

/**
 * Whether a model goes on from an assistant message, as those up to 4.5 do and later ones refuse. The rules of models say
 * the same, and more; they are loaded with the first call only.
 */
export function takesPrefill(upstreamModel: string): boolean {
  return /claude-(?:instant|v?[1-3](?:[.-]|$)|(?:opus|sonnet|haiku)-4(?:[.-][015])?(?:-\d{8}|-latest|$|@|-v))/.test(
    upstreamModel,
  );
}

/** Its batches cost half the price of single requests. */
const BATCHES: BatchesOnFirstUse = {
  accepts: (operation) => operation !== '/v1/embeddings',
  priceFactor: 0.5,
  // They carry nothing to know them by.
  findsLost: true,
  load: async () => (await import('./native-batches.ts')).messageBatches,
};

/** True when the environment holds a key. */
export function hasAnthropicKey(): boolean {
  return readEnvironment(API_KEY_VARIABLE) !== undefined;
}
