import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { BATCH_PAGE, type BatchPath, type BatchWire, fileBatches, JOB_WIRE } from './native-batches.ts';
import type { ConfigProblem } from '../../protocol/router-error.ts';
import { checkProviderShape } from '../check-options.ts';
import { httpProvider } from '../http-provider.ts';
import type { Provider } from '../../contracts/provider.ts';
import { type ModelTable, OPENAI_COMPATIBLE_OPTIONS, type OpenAiCompatibleOptions } from './options.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { Codec } from '../codec.ts';
import { callIdPrefix, originalIds } from '../tool-ids.ts';
import type { ErrorContext } from '../upstream-failure.ts';
import { type DecodeContext, decodeResult } from './decode-result.ts';
import { type Dialect, toolIdRule } from './dialect.ts';
import { embeddingsCodec } from './embeddings.ts';
import { encodeRequest } from './encode-request.ts';
import { ChatStreamDecoder } from './stream-decoder.ts';
import type { DialectName } from '../../protocol/dialect.ts';
import { responsesCodec } from '../openai-responses/codec.ts';
import * as read from '../../platform/json.ts';

/** The batches of OpenAI and of servers like it (upstreams 5.1, 5.4). */
const FILE_WIRE: BatchWire = {
  path: '/batches',
  resultFiles: ['output_file_id', 'error_file_id'],
  lineOf: (id, url, body) => ({ custom_id: id, method: 'POST', url, body }),
  creationOf: ({ file, url, metadata }) => ({
    input_file_id: file,
    endpoint: url,
    completion_window: '24h',
    metadata,
  }),
  listQuery(_page, after) {
    return `limit=${BATCH_PAGE}${after === undefined ? '' : `&after=${encodeURIComponent(after)}`}`;
  },
  hasMore: ({ has_more: more }, listed) => more === true && read.text(listed.at(-1)?.['id']) !== undefined,
  inputOf: (batch) => batch['input_file_id'],
  expiryOf,
  stateOf(batch, present) {
    const { status } = batch;
    switch (status) {
      case 'completed':
      case 'expired':
      case 'cancelled':
        return { status: 'ended', outcome: status };
      case 'failed':
        return { status: 'ended', outcome: status, message: reasonOf(batch, present) };
      default:
        return { status: 'running', expiresAt: expiryOf(batch) };
    }
  },
};

function expiryOf({ expires_at: seconds }: JsonObject): number | undefined {
  return typeof seconds === 'number' && seconds > 0 ? seconds * 1_000 : undefined;
}

/** What a batch that failed as a whole failed for: the first of its errors. */
function reasonOf({ errors }: JsonObject, present: (text: string) => string | undefined): string | undefined {
  const data: unknown = isJsonObject(errors) ? errors['data'] : undefined;
  const first = read.list(data).find(isJsonObject);
  const message = read.text(first?.['message']) ?? read.text(first?.['code']);
  if (message === undefined) return undefined;
  const line = first?.['line'];
  return present(typeof line === 'number' ? `${message} (request ${line})` : message);
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
  const wire = BATCH_WIRES[batchWire];
  const paths = new Set<BatchPath>(dialect.batchPaths ?? BATCH_PATHS);
  return httpProvider<Extract<keyof Models, string>>(
    {
      slug,
      name,
      models,
      dataCollection,
      zeroDataRetention,
      timeouts: options.timeouts,
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

/** The chat completions wire in one dialect. */
function chatCompletionsCodec(dialect: Dialect): Codec {
  const rule = toolIdRule(dialect);

  function contextOf(context: ErrorContext, request: NormalizedRequest): DecodeContext {
    const originalId = originalIds(request.messages, rule);
    return { ...context, dialect, idPrefix: callIdPrefix(request), originalId };
  }

  return {
    path: () => '/chat/completions',
    unsupported: dialect.unsupported,
    cacheMarks: dialect.cacheMarks === 'cache_control',
    encode: (request, endpoint) => encodeRequest(request, endpoint, dialect),
    decodeResult: (body, context, request) => decodeResult(body, contextOf(context, request)),
    embeddings: embeddingsCodec(dialect),
    streamDecoder: (context, request) => new ChatStreamDecoder(contextOf(context, request)),
  };
}

/** Shapes besides chat completions that servers of this family speak. */
export type NativeDialect = Extract<DialectName, 'responses'>;

const CODECS: Readonly<Record<NativeDialect, (dialect: Dialect) => Codec>> = { responses: responsesCodec };

/** Every {@link NativeDialect}. */
const NATIVE_DIALECTS = Object.keys(CODECS) as readonly NativeDialect[];

/** The codecs of the shapes that a server speaks. */
function nativeCodecs(
  names: readonly NativeDialect[],
  dialect: Dialect,
): Readonly<Partial<Record<DialectName, Codec>>> {
  // Unknown names are reported by the check of the options.
  const known = names.filter((name) => NATIVE_DIALECTS.includes(name));
  return Object.fromEntries(known.map((name) => [name, CODECS[name](dialect)]));
}
