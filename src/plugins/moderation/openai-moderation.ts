/** OpenAI's moderation API as a moderation service. */
import { checkShape } from '../../platform/check-options.ts';
import { readEnvironment } from '../../platform/environment.ts';
import type { Transport } from '../../net/transport.ts';
import { Secret } from '../../platform/secret.ts';
import type { ModerationService } from '../../contracts/plugin-services.ts';
import { onDemand } from '../../platform/wait.ts';
import type { Judge } from './judge-input.ts';
import { SERVICE_OPTIONS, JsonService } from '../services/json-service.ts';

/** Options of {@link openaiModeration}. */
export interface OpenAiModerationOptions {
  readonly apiKey: string;
  /** Address of the API, ending in its version. Default `https://api.openai.com/v1`. */
  readonly baseURL?: string | undefined;
  /** Default `omni-moderation-latest`. */
  readonly model?: string | undefined;
  /** Milliseconds for one call. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /** How requests are sent. Default: undici on Node, `fetch` elsewhere. */
  readonly transport?: Transport | undefined;
}

/**
 * OpenAI's moderation (`POST /moderations`), or a service with the same API. Texts are judged piece by piece, and
 * pictures one by one, each call after the other, until something is flagged.
 *
 * @throws {@link ConfigError} when an option cannot be right.
 */
export function openaiModeration(options: OpenAiModerationOptions): ModerationService {
  checkShape<OpenAiModerationOptions>(SERVICE_OPTIONS, options, 'openaiModeration', ['apiKey']);
  const { baseURL = 'https://api.openai.com/v1', model = 'omni-moderation-latest', transport, timeoutMs } = options;
  const apiKey = new Secret(options.apiKey);
  const url = new URL(`${baseURL.replace(/\/+$/, '')}/moderations`);
  const service = new JsonService({ name: 'The moderation service openai', transport, timeoutMs });

  const judge: Judge = (input, signal, refusedInput) => {
    const headers = ['authorization', `Bearer ${apiKey.reveal()}`];
    return service.call({ url, headers, body: { model, input }, signal, refusedInput });
  };

  return {
    id: model,
    name: 'OpenAI',
    async check(input) {
      const { judgeInput } = await loadJudging();
      return judgeInput(judge, input);
    },
    close: () => service.close(),
  };
}

/** OpenAI's moderation with the key of the environment; undefined without one. */
export function openaiModerationFromEnvironment(): ModerationService | undefined {
  const apiKey = readEnvironment('OPENAI_API_KEY');
  return apiKey === undefined ? undefined : openaiModeration({ apiKey });
}

const loadJudging = onDemand(() => import('./judge-input.ts'));
