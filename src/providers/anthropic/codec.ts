import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { ProviderTokenCount } from '../../contracts/provider.ts';
import type { JsonObject } from '../../protocol/json.ts';
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

/** What the API wants to hear before it takes the ids of uploaded files. */
const FILES_BETA = 'files-api-2025-04-14';

const PATH = '/messages';

/**
 * The Messages API for callers who ask in the chat form.
 *
 * @param betas - Beta features of every request.
 */
export function messagesCodec(betas: readonly string[]): Codec {
  return {
    path: () => PATH,
    encode: encodeRequest,
    tokenCount: { ...COUNT, encode: (request, endpoint) => counted(encodeRequest(request, endpoint)) },
    headers: (request) => betaHeader([...betas, ...(request.anthropicBetas ?? []), ...neededBetas(request)]),
    decodeResult: (body, context, request) => decodeResult(body, contextOf(request, context)),
    streamDecoder: (context, request) => new MessagesStreamDecoder(contextOf(request, context)),
  };
}

/** The Messages API for callers who ask in its own shape: their body goes out as it is, and the answer comes back so. */
export function nativeMessagesCodec(betas: readonly string[]): Codec {
  return {
    path: () => PATH,
    tokenCount: {
      ...COUNT,
      encode: ({ native }, { upstreamModel }) => counted({ ...native?.body, model: wireModelName(upstreamModel) }),
    },
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

/** Fields of a request that say something about its answer only, which the API refuses where there is none. */
const OF_ANSWERS = new Set([
  'max_tokens',
  'stream',
  'metadata',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'service_tier',
  'container',
  'inference_geo',
]);

function counted(body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !OF_ANSWERS.has(name)));
}

/** `POST /messages/count_tokens`. */
const COUNT = {
  path: () => `${PATH}/count_tokens`,
  decode(body: JsonObject): ProviderTokenCount | undefined {
    const { input_tokens: inputTokens } = body;
    return typeof inputTokens === 'number' ? { inputTokens, native: body } : undefined;
  },
};

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
