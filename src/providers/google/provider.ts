/** The provider `google`. */
import type { ConfigProblem } from '../../protocol/router-error.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { checkProviderShape, keyPlace } from '../check-options.ts';
import type { BatchesOnFirstUse } from '../codec.ts';
import { httpProvider } from '../http-provider.ts';
import { readEnvironment } from '../../platform/environment.ts';
import { CHAT_PROVIDER_OPTIONS, type ChatProviderOptions } from '../openai-compatible/options.ts';
import type { Provider } from '../../contracts/provider.ts';
import { group, type OptionShape, nonEmptyString } from '../../options/values.ts';
import { array } from '../../schema/collections.ts';
import { parametersLackedBy } from '../../catalog/lacked-parameters.ts';

const GEMINI_API = 'https://generativelanguage.googleapis.com/v1beta';
const KEY_VARIABLES = ['GEMINI_API_KEY', 'GOOGLE_API_KEY'] as const;

/** How much of what Google's filters find is let through, by category, in Google's own words. */
export interface SafetySetting {
  /** For example `HARM_CATEGORY_HARASSMENT`. */
  readonly category: string;
  /** For example `BLOCK_ONLY_HIGH`, `BLOCK_NONE` or `OFF`. */
  readonly threshold: string;
}

/** Options of {@link google}. */
export interface GoogleOptions<Model extends string = string> extends ChatProviderOptions<Model> {
  /**
   * How the key is sent: `api-key` in `x-goog-api-key`, `bearer` as an OAuth access token, as Vertex AI requires it.
   * Default `api-key`.
   */
  readonly authorization?: 'api-key' | 'bearer' | undefined;
  /** Safety settings of all requests that bring no `safety_settings` of their own. Default: Google's. */
  readonly safetySettings?: readonly SafetySetting[] | undefined;
}

const GOOGLE_OPTIONS: OptionShape<GoogleOptions> = {
  ...CHAT_PROVIDER_OPTIONS,
  authorization: keyPlace,
  safetySettings: array(group<SafetySetting>({ category: nonEmptyString, threshold: nonEmptyString })),
};

/**
 * Google's Gemini models over their native wire, which keeps thought signatures, thinking and safety verdicts that the
 * chat completions layer loses.
 *
 * The same wire reaches Vertex AI. With a key (express mode) only the address is another one; with a project, the key
 * is an access token:
 *
 * ```ts
 * google({ slug: 'vertex', baseURL: 'https://aiplatform.googleapis.com/v1/publishers/google', apiKey })
 * google({
 *   slug: 'vertex',
 *   baseURL: `https://${location}-aiplatform.googleapis.com/v1/projects/${project}/locations/${location}/publishers/google`,
 *   authorization: 'bearer',
 *   apiKey: () => auth.getAccessToken(),
 * })
 * ```
 *
 * Keys of the unpaid tier let Google learn from prompts; set `dataCollection: true` for one of those.
 *
 * @throws {@link ConfigError} when the slug, the address or the key cannot be right, or the key is missing.
 */
export function google<const Model extends string = string>(options: GoogleOptions<Model> = {}): Provider<Model> {
  checkProviderShape<GoogleOptions>(GOOGLE_OPTIONS, options, { slug: 'google' });
  const bearer = options.authorization === 'bearer';
  const slug = options.slug ?? 'google';
  const baseURL = (options.baseURL ?? GEMINI_API).replace(/\/+$/, '');
  const { keys } = options;
  const apiKey = options.apiKey ?? (bearer || keys !== undefined ? undefined : keyFromEnvironment());
  const problems: ConfigProblem[] = [];
  if (apiKey === undefined && keys === undefined) {
    const problem = bearer
      ? 'is missing: pass an access token, or a function that gives one'
      : `is missing: pass apiKey, or set ${KEY_VARIABLES.join(' or ')} in the environment`;
    problems.push({ path: `providers.${slug}.apiKey`, problem });
  }
  const vertex = /\/publishers\/[^/]+$/.test(baseURL);
  // Vertex AI takes batches from buckets only.
  if (vertex && options.nativeBatches === true) {
    const problem = 'cannot be true for Vertex AI, which takes batches from storage buckets only; leave it out';
    problems.push({ path: `providers.${slug}.nativeBatches`, problem });
  }
  const hasBatches = options.nativeBatches ?? baseURL === GEMINI_API;
  const version = baseURL.slice(baseURL.lastIndexOf('/') + 1);
  const { dataCollection, zeroDataRetention, headers, transport } = options;
  return httpProvider<Model>(
    {
      slug,
      vendor: baseURL === GEMINI_API ? 'google' : undefined,
      name: options.name ?? (vertex ? 'Google Vertex' : 'Google'),
      models: options.models,
      dataCollection,
      zeroDataRetention,
      timeouts: options.timeouts,
      nativeSearch: 'alone',
      readsFiles: true,
      codec: {
        unsupported: parametersLackedBy('google'),
        hasEmbeddings: true,
        async load() {
          const { googleCodec } = await import('./codec.ts');
          return googleCodec({ vertex, baseURL }, options.safetySettings as readonly JsonObject[] | undefined);
        },
      },
      batches: hasBatches ? batchesOf(version) : undefined,
      baseURL,
      apiKey,
      keys,
      authorization: bearer ? undefined : (key) => ['x-goog-api-key', key],
      headers,
      net: options.net,
      transport,
    },
    problems,
  );
}

/**
 * Its batches cost half the price of single requests.
 *
 * @param version - Last part of the base URL.
 */
function batchesOf(version: string): BatchesOnFirstUse {
  return {
    accepts: (operation) => operation !== '/v1/embeddings',
    priceFactor: 0.5,
    findsLost: true,
    async load() {
      const { geminiBatches } = await import('./native-batches.ts');
      return (api, codecs) => geminiBatches(api, codecs, version);
    },
  };
}

/** Google, when its key is in the environment. */
export function googleFromEnvironment(): readonly Provider[] {
  return keyFromEnvironment() === undefined ? [] : [google()];
}

function keyFromEnvironment(): string | undefined {
  return KEY_VARIABLES.map(readEnvironment).find((key) => key !== undefined);
}
