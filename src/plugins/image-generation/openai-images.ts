/** OpenAI's images API as a generator of images. */
import { amount, group, type OptionShape } from '../../options/values.ts';
import { checkShape } from '../../platform/check-options.ts';
import { errorOf } from '../../protocol/router-error.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { Transport } from '../../net/transport.ts';
import type { GeneratedImages, ImageGenerator } from '../../contracts/plugin-services.ts';
import { SERVICE_OPTIONS, JsonService } from '../services/json-service.ts';
import * as read from '../../platform/json.ts';

/** Options of {@link openaiImages}. */
export interface OpenAIImagesOptions {
  readonly apiKey: string;
  /** Address up to the version. Default: OpenAI's own. */
  readonly baseURL?: string | undefined;
  /** Model for requests that name none. Default `gpt-image-1`. */
  readonly model?: string | undefined;
  /** USD per million tokens, for services that report tokens. Default: unknown. */
  readonly price?: { readonly prompt: number; readonly completion: number } | undefined;
  /** USD per image, for services that do not. Default: unknown. */
  readonly pricePerImage?: number | undefined;
  /** Milliseconds that one call may take. Default 180,000. */
  readonly timeoutMs?: number | undefined;
  /** How requests are sent. Default: undici on Node, `fetch` elsewhere. */
  readonly transport?: Transport | undefined;
}

const OPTIONS: OptionShape<OpenAIImagesOptions> = {
  ...SERVICE_OPTIONS,
  price: group<NonNullable<OpenAIImagesOptions['price']>>({ prompt: amount, completion: amount }, [
    'prompt',
    'completion',
  ]),
  pricePerImage: amount,
};

const DEFAULT_MODEL = 'gpt-image-1';
const DEFAULT_TIMEOUT_MS = 180_000;
const MEDIA_TYPES = ['png', 'jpeg', 'webp'] as const;

/**
 * Makes images with OpenAI's images API (`POST /images/generations`), or with a service with the same API.
 *
 * @throws {@link ConfigError} when the key or the address cannot be right.
 */
export function openaiImages(options: OpenAIImagesOptions): ImageGenerator {
  checkShape(OPTIONS, options, 'openaiImages', ['apiKey']);
  const { apiKey, baseURL = 'https://api.openai.com/v1', timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const url = new URL(`${baseURL.replace(/\/+$/, '')}/images/generations`);
  const service = new JsonService({ name: 'The image service', timeoutMs, transport: options.transport });
  return {
    id: 'openai',
    async generate({ prompt, model = options.model ?? DEFAULT_MODEL, options: requestedOptions, signal }) {
      const answer = await service.call({
        url,
        headers: ['authorization', `Bearer ${apiKey}`],
        body: { ...requestedOptions, model, prompt },
        signal,
      });
      return imagesOf(answer, requestedOptions, options);
    },
    close: () => service.close(),
  };
}

function imagesOf(answer: JsonObject, requestedOptions: JsonObject, options: OpenAIImagesOptions): GeneratedImages {
  const format = answer['output_format'] ?? requestedOptions['output_format'];
  const type = MEDIA_TYPES.find((one) => one === format) ?? 'png';
  const data: readonly unknown[] = read.list(answer['data']);
  const urls = data.filter(isJsonObject).flatMap(({ b64_json: base64, url }) => {
    if (typeof base64 === 'string' && base64 !== '') return `data:image/${type};base64,${base64}`;
    return typeof url === 'string' && /^https?:\/\//.test(url) ? url : [];
  });
  if (urls.length === 0) {
    throw errorOf(502, 'The image service gave no image');
  }
  return { urls, cost: costOf(answer['usage'], urls.length, options) };
}

function costOf(usage: unknown, images: number, { price, pricePerImage }: OpenAIImagesOptions): number | undefined {
  if (pricePerImage !== undefined) return images * pricePerImage;
  if (price === undefined || !isJsonObject(usage)) return undefined;
  const { input_tokens: input, output_tokens: output } = usage;
  if (typeof input !== 'number' || typeof output !== 'number') return undefined;
  return (input * price.prompt + output * price.completion) / 1e6;
}
