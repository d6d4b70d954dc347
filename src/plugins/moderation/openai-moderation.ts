/** OpenAI's moderation API as a moderation service. */
import { checkShape } from '../../platform/option-kinds.ts';
import { errorOf, type RouterError } from '../../protocol/router-error.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import { readEnvironment } from '../../platform/environment.ts';
import type { Transport } from '../../net/transport.ts';
import { Secret } from '../../platform/secret.ts';
import type { ModerationService, ModerationVerdict } from '../../contracts/plugin-services.ts';
import { JsonService } from '../services/json-service.ts';
import { SERVICE_OPTIONS } from '../services/option-kinds.ts';

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

/** Characters of one text that is judged; longer ones are cut, with an overlap. */
const SLICE_LENGTH = 8_000;
/** Texts that are judged in one call. */
const SLICES_A_CALL = 16;

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

  async function judge(input: JsonValue, signal: AbortSignal, refusedInput?: string): Promise<readonly JsonObject[]> {
    const headers = ['authorization', `Bearer ${apiKey.reveal()}`];
    const answer = await service.call({ url, headers, body: { model, input }, signal, refusedInput });
    return resultsOf(answer);
  }

  return {
    id: model,
    name: 'OpenAI',
    async check({ texts, images, signal }): Promise<ModerationVerdict> {
      const slices = slicesOf(texts, SLICE_LENGTH);
      for (let start = 0; start < slices.length; start += SLICES_A_CALL) {
        const part = slices.slice(start, start + SLICES_A_CALL);
        const results = await judge(part, signal);
        if (results.length !== part.length) throw unreadable();
        const flagged = results.findIndex((result) => result['flagged'] === true);
        const result = results[flagged];
        if (result !== undefined) return { flagged: true, reasons: reasonsOf(result), text: part[flagged] };
      }
      for (const image of images) {
        const input = [{ type: 'image_url', image_url: { url: image } }];
        const [result] = await judge(
          input,
          signal,
          'A picture of the request is not accepted by the moderation service',
        );
        if (result === undefined) throw unreadable();
        if (result['flagged'] === true) return { flagged: true, reasons: reasonsOf(result) };
      }
      return { flagged: false };
    },
    close: () => service.close(),
  };
}

/** OpenAI's moderation with the key of the environment; undefined without one. */
export function openaiModerationFromEnvironment(): ModerationService | undefined {
  const apiKey = readEnvironment('OPENAI_API_KEY');
  return apiKey === undefined ? undefined : openaiModeration({ apiKey });
}

/** An answer that does not say clearly that nothing was flagged must not let anything through. */
function resultsOf({ results }: JsonObject): readonly JsonObject[] {
  if (!Array.isArray(results)) throw unreadable();
  return results.map((result) => {
    if (!isJsonObject(result) || typeof result['flagged'] !== 'boolean') throw unreadable();
    return result;
  });
}

function reasonsOf({ categories }: JsonObject): readonly string[] {
  if (!isJsonObject(categories)) return [];
  return Object.keys(categories).filter((name) => categories[name] === true);
}

function unreadable(): RouterError {
  return errorOf(502, 'The moderation service openai gave a result without scores');
}

/** Characters that two slices share, so that nothing hides at a cut. */
const OVERLAP = 200;

/** Cuts long texts into slices and leaves out blank ones. No character is cut in two. */
function slicesOf(texts: readonly string[], length: number): readonly string[] {
  return texts.flatMap((whole) => {
    if (whole.trim() === '') return [];
    const slices: string[] = [];
    let start = 0;
    for (;;) {
      const end = wholeCharacter(whole, start + length);
      slices.push(whole.slice(start, end));
      if (end >= whole.length) return slices;
      start = wholeCharacter(whole, end - OVERLAP);
    }
  });
}

function wholeCharacter(whole: string, at: number): number {
  const code = whole.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at + 1 : at;
}
