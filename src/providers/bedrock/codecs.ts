/** The APIs of Bedrock below one address, and which of them a model is called by. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import { messagesCodec, nativeMessagesCodec } from '../anthropic/codec.ts';
import { BEDROCK } from '../accepts/bedrock.ts';
import { type Codec, EncodeError } from '../codec.ts';
import { chatCompletionsCodec } from '../openai-compatible/codec.ts';
import { chatOverResponsesCodec } from '../openai-responses/codec.ts';

/** Where Messages are, at both endpoints. */
const MESSAGES_PATH = '/anthropic/v1';
const VERSION: readonly string[] = ['anthropic-version', '2023-06-01'];
const NONE: readonly string[] = [];

/**
 * The codecs of Bedrock.
 *
 * @param chatPath - Where the APIs of OpenAI are, below the base URL.
 * @param betas - Beta features of every request to Claude.
 */
export function bedrockCodecs(
  chatPath: string,
  betas: readonly string[],
): { readonly chat: Codec; readonly messages: Codec } {
  const responses = below(chatPath, chatOverResponsesCodec({}, BEDROCK));
  const others = below(chatPath, chatCompletionsCodec({}, BEDROCK, responses));
  const claude = below(MESSAGES_PATH, messagesCodec(betas), VERSION);
  const native = below(MESSAGES_PATH, nativeMessagesCodec(betas), VERSION);
  const otherFor: NonNullable<Codec['insteadFor']> = (request, endpoint) => {
    if (request.native?.requiredBy === undefined) return others.insteadFor?.(request, endpoint) ?? others;
    throw new EncodeError(`${request.native.requiredBy} is for models of Anthropic only`);
  };
  return {
    chat: {
      ...others,
      insteadFor: (request, endpoint) => (isClaude(endpoint) ? claude : others.insteadFor?.(request, endpoint)),
      tokenCount: countedFor(claude),
    },
    messages: {
      ...native,
      insteadFor: (request, endpoint) => (isClaude(endpoint) ? undefined : otherFor(request, endpoint)),
      tokenCount: countedFor(native),
    },
  };
}

/** Only Messages count tokens. */
function countedFor({ tokenCount }: Codec): Codec['tokenCount'] {
  return (
    tokenCount && {
      ...tokenCount,
      encode(request, endpoint) {
        if (isClaude(endpoint)) return tokenCount.encode(request, endpoint);
        throw new EncodeError('Bedrock counts tokens for models of Anthropic only');
      },
    }
  );
}

/** A codec whose API is at a path of its own. */
function below(prefix: string, codec: Codec, fixed: readonly string[] = NONE): Codec {
  const { tokenCount } = codec;
  return {
    ...codec,
    path: (request, endpoint) => prefix + codec.path(request, endpoint),
    headers: (request, endpoint) => [...fixed, ...(codec.headers?.(request, endpoint) ?? NONE)],
    tokenCount: tokenCount && {
      ...tokenCount,
      path: (request, endpoint) => prefix + tokenCount.path(request, endpoint),
    },
  };
}

/** Ids of models, of inference profiles and of what a program names itself: the id in this router tells, too. */
function isClaude({ upstreamModel, model }: Endpoint): boolean {
  return upstreamModel.includes('anthropic.') || upstreamModel.includes('claude') || model.startsWith('anthropic/');
}
