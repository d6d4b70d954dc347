import { anyText, checkProviderShape } from '../check-options.ts';
import { readEnvironment } from '../../platform/environment.ts';
import { CHAT_PROVIDER_OPTIONS, type ChatProviderOptions, type ModelTable } from '../openai-compatible/options.ts';
import type { ModelIds } from '../openai-compatible/vendors.ts';
import { mergeHeaders } from '../provider-api.ts';
import { httpProvider } from '../http-provider.ts';
import type { Provider } from '../../contracts/provider.ts';
import { messageBatches } from './native-batches.ts';
import { listOf, type OptionShape, text } from '../../platform/option-kinds.ts';
import type { ParameterName } from '../../catalog/model.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { Codec } from '../codec.ts';
import { originalIds } from '../tool-ids.ts';
import type { ErrorContext } from '../upstream-failure.ts';
import { type DecodeContext, decodeResult, MessagesStreamDecoder } from './decode-answer.ts';
import { namesUpload } from './encode-content.ts';
import { encodeRequest } from './encode-request.ts';
import { wireModelName } from './plan-thinking.ts';
import { mayForceFormat } from './plan-format.ts';
import { TOOL_ID_RULE } from './blocks.ts';
import * as read from '../../platform/json.ts';

/** Options of {@link anthropic}. */
export interface AnthropicOptions<Models extends ModelTable = ModelTable> extends ChatProviderOptions<Models> {
  /** Name of the provider in preferences. Default `anthropic`; others for servers that speak the same wire. */
  readonly slug?: string | undefined;
  /** Beta features of every request, as the header `anthropic-beta` names them. Default: none. */
  readonly betas?: readonly string[] | undefined;
}

const ANTHROPIC_OPTIONS: OptionShape<AnthropicOptions> = {
  ...CHAT_PROVIDER_OPTIONS,
  slug: anyText,
  betas: listOf(text),
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
export function anthropic<const Models extends ModelTable = never>(
  options: AnthropicOptions<Models> = {},
): Provider<ModelIds<Models>> {
  const { slug = 'anthropic', betas = [], models } = options;
  const apiKey = options.apiKey ?? readEnvironment(API_KEY_VARIABLE);
  const problem = `is missing: pass apiKey, or set ${API_KEY_VARIABLE} in the environment`;
  const missing = apiKey === undefined ? [{ path: `providers.${slug}.apiKey`, problem }] : [];
  checkProviderShape<AnthropicOptions>(ANTHROPIC_OPTIONS, options, { slug }, missing);
  const baseURL = options.baseURL ?? readEnvironment(BASE_URL_VARIABLE) ?? BASE_URL;
  const root = baseURL.replace(/\/+$/, '').replace(/\/v1$/, '');
  return httpProvider<ModelIds<Models>>({
    slug,
    name: options.name ?? (slug === 'anthropic' ? 'Anthropic' : slug),
    models,
    dataCollection: options.dataCollection,
    zeroDataRetention: options.zeroDataRetention,
    timeouts: options.timeouts,
    nativeSearch: 'filtered',
    readsFiles: true,
    codec: messagesCodec(betas),
    dialectCodecs: { messages: nativeMessagesCodec(betas) },
    batches: (options.nativeBatches ?? root === BASE_URL) ? messageBatches : undefined,
    baseURL: `${root}/v1`,
    apiKey,
    authorization: (key) => ['x-api-key', key],
    headers: mergeHeaders({ 'anthropic-version': API_VERSION }, options.headers),
    transport: options.transport,
  });
}

/** True when the environment holds a key. */
export function hasAnthropicKey(): boolean {
  return readEnvironment(API_KEY_VARIABLE) !== undefined;
}

/** What the API wants to hear before it takes the ids of uploaded files. */
const FILES_BETA = 'files-api-2025-04-14';

const PATH = '/messages';

/** Parameters of chat completions that the API does not have. */
const NO_WORDS: readonly ParameterName[] = [
  'min_p',
  'top_a',
  'frequency_penalty',
  'presence_penalty',
  'repetition_penalty',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'prediction',
  'seed',
];

/**
 * The Messages API for callers who ask in the chat form.
 *
 * @param betas - Beta features of every request.
 */
function messagesCodec(betas: readonly string[]): Codec {
  return {
    path: () => PATH,
    unsupported: NO_WORDS,
    cacheMarks: true,
    encode: encodeRequest,
    headers: (request) => betaHeader([...betas, ...(request.anthropicBetas ?? []), ...neededBetas(request)]),
    decodeResult: (body, context, request) => decodeResult(body, contextOf(request, context)),
    streamDecoder: (context, request) => new MessagesStreamDecoder(contextOf(request, context)),
  };
}

/** The Messages API for callers who ask in its own shape: their body goes out as it is, and the answer comes back so. */
function nativeMessagesCodec(betas: readonly string[]): Codec {
  return {
    path: () => PATH,
    encode({ native, stream, endUser }, { upstreamModel }) {
      const body = native?.body ?? {};
      const metadata = read.object(body['metadata']);
      return {
        ...body,
        model: wireModelName(upstreamModel),
        stream,
        metadata: { ...metadata, user_id: endUser },
      };
    },
    headers: (request) => betaHeader([...betas, ...(request.anthropicBetas ?? [])]),
    decodeResult: (body, context) => decodeResult(body, { ...context, ...NATIVE }),
    streamDecoder: (context) => new MessagesStreamDecoder({ ...context, ...NATIVE }),
  };
}

const NATIVE = { native: true, formatTool: false, originalId: (id: string): string => id };

function contextOf(request: NormalizedRequest, context: ErrorContext): DecodeContext {
  return {
    ...context,
    native: false,
    formatTool: mayForceFormat(request),
    originalId: originalIds(request.messages, TOOL_ID_RULE),
  };
}

/** Betas that what the request holds cannot do without. */
function neededBetas({ messages }: NormalizedRequest): readonly string[] {
  const uploads = messages.some(
    ({ content }) => Array.isArray(content) && content.some((part) => part.type === 'file' && namesUpload(part)),
  );
  return uploads ? [FILES_BETA] : [];
}

function betaHeader(betas: readonly string[]): readonly string[] {
  return betas.length === 0 ? [] : ['anthropic-beta', [...new Set(betas)].join(',')];
}
