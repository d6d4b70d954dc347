/** The provider `openaiCompatible`, and the base of every vendor that speaks chat completions. */
import type { VendorAccepts } from '../../core/accepts.ts';
import type { BatchPath } from './native-batches.ts';
import type { BatchesOnFirstUse, Codec, CodecOnFirstUse } from '../codec.ts';
import type { ConfigProblem } from '../../protocol/router-error.ts';
import { checkProviderShape } from '../check-options.ts';
import { httpProvider } from '../http-provider.ts';
import type { Provider } from '../../contracts/provider.ts';
import { OPENAI_COMPATIBLE_OPTIONS, type OpenAiCompatibleOptions, type NativeApiFormat } from './options.ts';
import type { VendorQuirks } from './vendor-quirks.ts';
import type { ApiFormatName } from '../../protocol/api-format.ts';

/**
 * A provider with the chat completions API.
 *
 * @throws {@link ConfigError} when the slug, the address or the key cannot be right.
 */
export function openaiCompatible<const Model extends string>(options: OpenAiCompatibleOptions<Model>): Provider<Model> {
  return chatCompletionsProvider(options, { accepts: anyServer });
}

/** Loads the record of a vendor. */
export type LoadAccepts = () => Promise<VendorAccepts>;

const anyServer: LoadAccepts = async () => (await import('../accepts/any-server.ts')).ANY_SERVER;

/** What is known of the vendor of a provider. */
export interface KnownVendor {
  readonly accepts: LoadAccepts;
  /** Its slug, for what is known of its models. Default: it is none of those that are known. */
  readonly vendor?: string | undefined;
  /**
   * Whether it supports Responses at the same address, for models that are only there. Default: where callers may use it
   * natively.
   */
  readonly hasResponses?: boolean | undefined;
}

/**
 * A provider with the chat completions API, of a vendor that is known.
 *
 * @throws {@link ConfigError} as {@link openaiCompatible} does.
 */
export function chatCompletionsProvider<const Model extends string>(
  options: OpenAiCompatibleOptions<Model>,
  { accepts, vendor: vendorSlug, hasResponses }: KnownVendor,
): Provider<Model> {
  checkProviderShape(OPENAI_COMPATIBLE_OPTIONS, options);
  const { slug, name, models, dataCollection, zeroDataRetention, baseURL, query, apiKey, headers, transport } = options;
  const { quirks = {}, nativeApiFormats = [], keyHeader, nativeBatches = false, keys } = options;
  return httpProvider<Model>(
    {
      slug,
      vendor: vendorSlug,
      name,
      models,
      dataCollection,
      zeroDataRetention,
      timeouts: options.timeouts,
      readsFiles: quirks.readsFiles,
      prefill: quirks.prefill === undefined ? undefined : () => quirks.prefill === true,
      diagnosesCache: options.cacheDiagnostics === true ? isDiagnosed : undefined,
      codec: {
        unsupported: quirks.unsupported,
        cacheMarks: quirks.cacheMarks === 'cache_control',
        hasEmbeddings: true,
        async load() {
          const [{ chatCompletionsCodec }, vendor] = await Promise.all([import('./codec.ts'), accepts()]);
          const speaksResponses = hasResponses ?? nativeApiFormats.includes('responses');
          if (!speaksResponses || !mayWantResponses(vendor)) return chatCompletionsCodec(quirks, vendor);
          const { chatOverResponsesCodec } = await import('../openai-responses/codec.ts');
          return chatCompletionsCodec(quirks, vendor, chatOverResponsesCodec(quirks, vendor));
        },
      },
      apiFormatCodecs: nativeCodecs(nativeApiFormats, quirks),
      batches: nativeBatches ? batchesOf(quirks) : undefined,
      baseURL,
      query,
      apiKey,
      keys,
      authorization: keyHeader === undefined ? undefined : (key) => [keyHeader, key],
      headers,
      net: options.net,
      transport,
    },
    quirksProblems(options),
  );
}

/** Earlier models refuse the object in which a comparison is requested. */
function isDiagnosed(upstreamModel: string): boolean {
  return /(?:^|\/)gpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|\d\d)/.test(upstreamModel);
}

const BATCH_PATHS: readonly BatchPath[] = ['/chat/completions', '/responses', '/embeddings'];

/** Batches over files, at the server's paths that take any. */
function batchesOf({
  batchWire = 'files',
  batchPriceFactor,
  batchPaths = BATCH_PATHS,
}: VendorQuirks): BatchesOnFirstUse {
  const paths = new Set<BatchPath>(batchPaths);
  return {
    accepts: (operation) => paths.has(operation === '/v1/embeddings' ? '/embeddings' : '/chat/completions'),
    priceFactor: batchPriceFactor,
    findsLost: true,
    async load() {
      const [{ fileBatches }, { BATCH_WIRES }] = await Promise.all([
        import('./native-batches.ts'),
        import('./batch-wires.ts'),
      ]);
      return (api, codecs) => fileBatches(api, codecs, { wire: BATCH_WIRES[batchWire], paths });
    },
  };
}

function quirksProblems({ slug, nativeApiFormats }: OpenAiCompatibleOptions): ConfigProblem[] {
  if (nativeApiFormats?.every((name) => NATIVE_DIALECTS.includes(name)) ?? true) return [];
  const known = NATIVE_DIALECTS.map((name) => `"${name}"`).join(' or ');
  return [{ path: `providers.${slug}.nativeApiFormats`, problem: `must be a list of ${known}` }];
}

/** Every {@link NativeApiFormat}. */
const NATIVE_DIALECTS: readonly NativeApiFormat[] = ['responses'];

/** The codecs of the shapes that a server speaks. */
function nativeCodecs(
  names: readonly NativeApiFormat[],
  quirks: VendorQuirks,
): Readonly<Partial<Record<ApiFormatName, CodecOnFirstUse>>> {
  // Unknown names are reported by the check of the options.
  if (!names.includes('responses')) return {};
  const load = async (): Promise<Codec> => (await import('../openai-responses/codec.ts')).responsesCodec(quirks);
  return { responses: { hasEmbeddings: false, load } };
}

/** Whether any model of a vendor is called by Responses, whatever API format the request has. */
function mayWantResponses({ families }: VendorAccepts): boolean {
  return families.some(
    ({ accepts: { parameters } }) => parameters?.wire === 'responses' || parameters?.toolsWire === 'responses',
  );
}
