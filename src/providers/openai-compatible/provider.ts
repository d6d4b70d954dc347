import type { ConfigProblem } from '../../errors.ts';
import { checkProviderShape } from '../check-options.ts';
import { httpProvider } from '../http-provider.ts';
import type { Provider } from '../provider.ts';
import { chatCompletionsCodec } from './codec.ts';
import { OPENAI_COMPATIBLE_OPTIONS, type ModelTable, type OpenAiCompatibleOptions } from './options.ts';
import { FILE_WIRE } from './file-wire.ts';
import { JOB_WIRE } from './job-wire.ts';
import { type BatchPath, fileBatches } from './native-batches.ts';
import { NATIVE_DIALECTS, nativeCodecs } from './native-dialects.ts';

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
  const wire = BATCH_WIRES[batchWire];
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
      batches: nativeBatches
        ? (api, codecs) => fileBatches(api, codecs, { wire, paths, priceFactor: batchPriceFactor })
        : undefined,
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

const BATCH_WIRES = { files: FILE_WIRE, jobs: JOB_WIRE };
const BATCH_PATHS: readonly BatchPath[] = ['/chat/completions', '/responses', '/embeddings'];

function dialectProblems({ slug, nativeDialects }: OpenAiCompatibleOptions): ConfigProblem[] {
  if (nativeDialects?.every((name) => NATIVE_DIALECTS.includes(name)) ?? true) return [];
  const known = NATIVE_DIALECTS.map((name) => `"${name}"`).join(' or ');
  return [{ path: `providers.${slug}.nativeDialects`, problem: `must be a list of ${known}` }];
}
