/** Amazon Bedrock over the two APIs that take a bearer token: chat completions and Responses, and Messages for Claude. */
import type { Provider } from '../../contracts/provider.ts';
import { readEnvironment } from '../../platform/environment.ts';
import { unknown, enumeration } from '../../schema/scalars.ts';
import { array } from '../../schema/collections.ts';
import { type OptionShape, nonEmptyString } from '../../options/values.ts';
import type { ConfigProblem } from '../../protocol/router-error.ts';
import { checkProviderShape } from '../check-options.ts';
import { httpProvider } from '../http-provider.ts';
import { CHAT_PROVIDER_OPTIONS, type ChatProviderOptions } from '../openai-compatible/options.ts';

/** Options of {@link bedrock}. */
export interface BedrockOptions<Model extends string = string> extends ChatProviderOptions<Model> {
  /** Region of AWS, such as `eu-central-1`. Default: `AWS_REGION` or `AWS_DEFAULT_REGION` of the environment. */
  readonly region?: string | undefined;
  /**
   * Which of Bedrock's two endpoints is called: `runtime` at `bedrock-runtime.REGION.amazonaws.com`, which AWS recommends,
   * or `mantle` at `bedrock-mantle.REGION.api.aws`, for models that are only there. Default `runtime`.
   */
  readonly endpoint?: 'runtime' | 'mantle' | undefined;
  /** Address in place of the region's, without the paths of the APIs: of a VPC endpoint or a proxy. Default: the region's. */
  readonly baseURL?: string | undefined;
  /** Beta features of every request to Claude, as the header `anthropic-beta` names them. Default: none. */
  readonly betas?: readonly string[] | undefined;
}

const BEDROCK_OPTIONS: OptionShape<BedrockOptions> = {
  ...CHAT_PROVIDER_OPTIONS,
  region: unknown,
  endpoint: enumeration(['runtime', 'mantle']),
  betas: array(nonEmptyString),
};

const KEY_VARIABLE = 'AWS_BEARER_TOKEN_BEDROCK';
const REGION_VARIABLES = ['AWS_REGION', 'AWS_DEFAULT_REGION'] as const;

/**
 * Amazon Bedrock with an API key, or with a function that gives short-term ones. Models of Anthropic are called by the
 * Messages API, models of OpenAI that are only there by Responses, all others by chat completions. Credentials that sign
 * requests (SigV4) need the AI SDK. Key: `AWS_BEARER_TOKEN_BEDROCK`; region: `AWS_REGION`.
 *
 * ```ts
 * bedrock({ region: 'eu-central-1', models: { 'anthropic/claude-sonnet-5': { upstreamModel: 'eu.anthropic.claude-sonnet-5' } } })
 * ```
 *
 * @throws {@link ConfigError} when the key or the region is missing, or the region's name could change the address.
 */
export function bedrock<const Model extends string = string>(options: BedrockOptions<Model> = {}): Provider<Model> {
  const { slug = 'bedrock', keys, betas = [], endpoint = 'runtime', models } = options;
  const region = options.region ?? REGION_VARIABLES.map(readEnvironment).find((name) => name !== undefined);
  const apiKey = options.apiKey ?? (keys === undefined ? readEnvironment(KEY_VARIABLE) : undefined);
  const problems: ConfigProblem[] = [];
  if (apiKey === undefined && keys === undefined) {
    const problem = `is missing: pass apiKey, or set ${KEY_VARIABLE} in the environment`;
    problems.push({ path: `providers.${slug}.apiKey`, problem });
  }
  if (options.baseURL === undefined && region === undefined) {
    const problem = `is missing: pass region, or set ${REGION_VARIABLES[0]} in the environment`;
    problems.push({ path: `providers.${slug}.region`, problem });
  } else if (region !== undefined && !/^[a-z]{2,}(?:-[a-z]+)+-\d+$/.test(region)) {
    problems.push({ path: `providers.${slug}.region`, problem: 'must be a region of AWS, such as "eu-central-1"' });
  }
  if (options.nativeBatches === true) {
    const problem = 'cannot be true for Bedrock, which takes batches from storage buckets only; leave it out';
    problems.push({ path: `providers.${slug}.nativeBatches`, problem });
  }
  checkProviderShape<BedrockOptions>(BEDROCK_OPTIONS, options, { slug: 'bedrock' }, problems);
  const host =
    endpoint === 'runtime'
      ? `https://bedrock-runtime.${region}.amazonaws.com`
      : `https://bedrock-mantle.${region}.api.aws`;
  const chatPath = endpoint === 'runtime' ? '/openai/v1' : '/v1';
  const codecs = async () => (await import('./codecs.ts')).bedrockCodecs(chatPath, betas);
  return httpProvider<Model>({
    slug,
    vendor: 'bedrock',
    name: options.name ?? 'Amazon Bedrock',
    models,
    dataCollection: options.dataCollection,
    zeroDataRetention: options.zeroDataRetention,
    timeouts: options.timeouts,
    codec: {
      cacheMarks: true,
      hasEmbeddings: false,
      load: async () => (await codecs()).chat,
    },
    apiFormatCodecs: { messages: { hasEmbeddings: false, load: async () => (await codecs()).messages } },
    baseURL: options.baseURL ?? host,
    apiKey,
    keys,
    headers: options.headers,
    net: options.net,
    transport: options.transport,
  });
}
