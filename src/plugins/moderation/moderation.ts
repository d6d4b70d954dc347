/** The plugin `moderation`: has prompts and answers judged by a moderation service. */
import type { NormalizedRequest } from '../../contracts/request.ts';
import { checkShape } from '../../platform/check-options.ts';
import { milliseconds, type OptionShape, withFunctions } from '../../options/values.ts';
import type { Plugin } from '../../contracts/plugin.ts';
import { definePlugin } from '../../core/pipeline/define-plugin.ts';
import { errorOf, RouterError } from '../../protocol/router-error.ts';
import type { Message } from '../../protocol/message.ts';
import type { ModerationInput, ModerationService, ModerationVerdict } from '../../contracts/plugin-services.ts';
import { visitTexts } from '../services/prompt-texts.ts';
import { openaiModerationFromEnvironment } from './openai-moderation.ts';

/** Options of {@link moderation}. */
export interface ModerationOptions {
  /** Who decides. Default: OpenAI's moderation, when `OPENAI_API_KEY` is set. */
  readonly service?: ModerationService | undefined;
  /** Milliseconds for all calls about one request. Default 30,000. */
  readonly timeoutMs?: number | undefined;
}

const OPTIONS: OptionShape<ModerationOptions> = {
  service: withFunctions('a moderation service, such as openaiModeration() makes one', 'check'),
  timeoutMs: milliseconds,
};

/**
 * The plugin `moderation` (contract: plugin objects; gaps 5.3, 7.4): shows the texts and pictures of a request to a
 * moderation service before anything else is done with it, and refuses what is flagged with 403. When the service
 * fails, or there is none, the request is refused with 503: nothing goes on unseen. Nothing is remembered.
 */
export function moderation(options: ModerationOptions = {}): Plugin {
  checkShape(OPTIONS, options, 'moderation');
  const service = options.service ?? openaiModerationFromEnvironment();
  return definePlugin({
    id: 'moderation',
    onlyRoutes: true,
    whenItThrows: 'fail',
    failStatus: 503,
    timeoutMs: options.timeoutMs ?? 30_000,

    async onRequest(request, _options, context) {
      if (service === undefined) return { type: 'block', error: noService() };
      const verdict = await decide(service, { ...inputOf(request.messages), signal: context.signal });
      if (!verdict.flagged) return { type: 'continue' };
      const { reasons } = verdict;
      context.stage({
        type: 'guardrail',
        summary: `blocked: ${reasons.join(', ') || 'flagged'}`,
        data: { action: 'blocked', flagged: true, engines: [service.id], reasons },
      });
      return { type: 'block', error: flaggedError(request, service, verdict) };
    },

    async close() {
      await service?.close?.();
    },
  });
}

async function decide(service: ModerationService, input: ModerationInput): Promise<ModerationVerdict> {
  try {
    return await service.check(input);
  } catch (error) {
    input.signal.throwIfAborted();
    // What a caller can mend stays theirs; a service that fails is no reason to let anything through.
    if (RouterError.isInstance(error) && error.status < 500) throw error;
    throw new RouterError({
      status: 503,
      errorType: 'provider_overloaded',
      message: RouterError.isInstance(error)
        ? `${error.message}; nothing is answered unmoderated`
        : 'The moderation service failed; nothing is answered unmoderated',
    });
  }
}

function inputOf(messages: readonly Message[]): Pick<ModerationInput, 'texts' | 'images'> {
  const texts: string[] = [];
  visitTexts(messages, (text) => {
    texts.push(text);
    return text;
  });
  return { texts, images: messages.flatMap(imagesOf) };
}

function imagesOf(message: Message): readonly string[] {
  const { content } = message;
  const parts = typeof content === 'string' || content == null ? [] : content;
  const shown = message.role === 'assistant' ? (message.images ?? []) : [];
  return [
    ...parts.flatMap((part) => (part.type === 'image_url' ? [part.image_url.url] : [])),
    ...shown.map((image) => image.image_url.url),
  ];
}

function flaggedError(
  { targets, requested }: NormalizedRequest,
  { name }: ModerationService,
  { reasons, text }: Extract<ModerationVerdict, { readonly flagged: true }>,
): RouterError {
  return errorOf(403, 'Input flagged by moderation', {
    metadata: {
      reasons,
      flagged_input: text === undefined ? '[image]' : shortened(text),
      provider_name: name,
      model_slug: targets[0]?.model ?? requested,
    },
  });
}

/** At most 100 characters: the beginning and the end, as the contract's metadata has it. */
function shortened(text: string): string {
  return text.length <= 100 ? text : `${text.slice(0, 48)}...${text.slice(-49)}`;
}

function noService(): RouterError {
  return new RouterError({
    status: 503,
    errorType: 'provider_overloaded',
    message:
      'This router cannot moderate: its program sets OPENAI_API_KEY, or passes moderation({ service }). Nothing is ' +
      'answered unmoderated',
  });
}
