import type { EndpointDeclaration } from '../../catalog/endpoint.ts';
import type { ConfigProblem } from '../../errors.ts';
import { checkProviderShape } from '../check-options.ts';
import { httpProvider } from '../http-provider.ts';
import { OPENAI_COMPATIBLE_OPTIONS } from '../option-shapes.ts';
import type { Provider } from '../provider.ts';
import type { Transport } from '../transport/transport.ts';
import { chatCompletionsCodec } from './codec.ts';
import type { Dialect } from './dialect.ts';
import { jobBatches } from './job-batches.ts';
import { type BatchPath, fileBatches } from './native-batches.ts';
import { NATIVE_DIALECTS, type NativeDialect, nativeCodecs } from './native-dialects.ts';

/** Models of a provider: id in this router to how the provider offers it. */
export type ModelTable = Readonly<Record<string, EndpointDeclaration | readonly EndpointDeclaration[]>>;

/** Options that every vendor of the chat completions wire has. */
export interface ChatProviderOptions<Models extends ModelTable = ModelTable> {
  /** Key for the provider. Default: the vendor's environment variable. */
  readonly apiKey?: string | undefined;
  /** Address of the API. Default: the vendor's own. */
  readonly baseURL?: string | undefined;
  /** Models on offer. Left out: every model under the provider's slug is passed on, with unknown price and abilities. */
  readonly models?: Models | undefined;
  /** Default: the vendor's name. */
  readonly name?: string | undefined;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** True when prompts are stored or trained on. Default: what the vendor does by default. */
  readonly dataCollection?: boolean | undefined;
  /** True when nothing is kept after the answer. Default false. */
  readonly zeroDataRetention?: boolean | undefined;
  /**
   * Shapes besides chat completions that this server speaks itself: callers who ask in one of them get its own words.
   * Default: what the vendor speaks at its own address, and none at any other.
   */
  readonly nativeDialects?: readonly NativeDialect[] | undefined;
  /**
   * Whether batches are handed to the server's own batch API, which stores requests and answers, takes up to its own
   * window and charges its own price. Default: yes where the vendor has one, at its own address; no at any other, where
   * the requests of batches are run one by one.
   */
  readonly nativeBatches?: boolean | undefined;
  /** How requests are sent. Default: undici on Node, `fetch` elsewhere. */
  readonly transport?: Transport | undefined;
}

/** Options of {@link openaiCompatible}. */
export interface OpenAiCompatibleOptions<Models extends ModelTable = ModelTable> extends ChatProviderOptions<Models> {
  /** Name of the provider in preferences: lower-case letters, digits and dashes. */
  readonly slug: string;
  readonly baseURL: string;
  /** How this server differs from the others. */
  readonly dialect?: Dialect | undefined;
  /** Query of every request, for example `api-version=2024-10-21`. */
  readonly query?: string | undefined;
  /** Header that carries the key. Default `authorization`, with `Bearer` in front. */
  readonly keyHeader?: string | undefined;
}

/**
 * A provider that speaks the chat completions wire.
 *
 * @throws {@link ConfigError} when the slug, the address or the key cannot be right.
 */
export function openaiCompatible<const Models extends ModelTable>(
  options: OpenAiCompatibleOptions<Models>,
): Provider<Extract<keyof Models, string>> {
  checkProviderShape(OPENAI_COMPATIBLE_OPTIONS, options);
  const { slug, name, models, dataCollection, zeroDataRetention, baseURL, query, apiKey, headers, transport } = options;
  const { dialect = {}, nativeDialects = [], keyHeader, nativeBatches = false } = options;
  const { batchWire = 'files', batchPriceFactor } = dialect;
  const batchesOver = BATCH_WIRES[batchWire];
  const paths = new Set<BatchPath>(dialect.batchPaths ?? BATCH_PATHS);
  return httpProvider<Extract<keyof Models, string>>(
    {
      slug,
      name,
      models,
      dataCollection,
      zeroDataRetention,
      readsFiles: dialect.readsFiles,
      codec: chatCompletionsCodec(dialect),
      dialectCodecs: nativeCodecs(nativeDialects, dialect),
      batches: nativeBatches ? (api, codecs) => batchesOver(api, codecs, paths, batchPriceFactor) : undefined,
      baseURL,
      query,
      apiKey,
      authorization: keyHeader === undefined ? undefined : (key) => [keyHeader, key],
      headers,
      transport,
    },
    dialectProblems(options),
  );
}

const BATCH_WIRES = { files: fileBatches, jobs: jobBatches };
const BATCH_PATHS: readonly BatchPath[] = ['/chat/completions', '/responses', '/embeddings'];

function dialectProblems({ slug, nativeDialects }: OpenAiCompatibleOptions): ConfigProblem[] {
  if (nativeDialects?.every((name) => NATIVE_DIALECTS.includes(name)) ?? true) return [];
  const known = NATIVE_DIALECTS.map((name) => `"${name}"`).join(' or ');
  return [{ path: `providers.${slug}.nativeDialects`, problem: `must be a list of ${known}` }];
}
