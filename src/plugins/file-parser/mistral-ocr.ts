/** Mistral's OCR as an engine of the file parser. */
import { amount, type OptionShape } from '../../options/values.ts';
import { checkShape } from '../../platform/check-options.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { toBase64 } from '../../platform/data-url.ts';
import { readEnvironment } from '../../platform/environment.ts';
import type { Transport } from '../../net/transport.ts';
import { Secret } from '../../platform/secret.ts';
import type { OcrEngine } from '../../contracts/pdf-reader.ts';
import { SERVICE_OPTIONS, JsonService } from '../services/json-service.ts';
import * as read from '../../platform/json.ts';

/** Options of {@link mistralOcr}. */
export interface MistralOcrOptions {
  readonly apiKey: string;
  /** Address of the API without a path. Default `https://api.mistral.ai`. */
  readonly baseURL?: string | undefined;
  /** Default `mistral-ocr-latest`. */
  readonly model?: string | undefined;
  /** US dollars that a page costs. Default 0.002. */
  readonly pricePerPage?: number | undefined;
  /** Milliseconds for one file. Default 60,000. */
  readonly timeoutMs?: number | undefined;
  /** How requests are sent. Default: undici on Node, `fetch` elsewhere. */
  readonly transport?: Transport | undefined;
}

const OPTIONS: OptionShape<MistralOcrOptions> = { ...SERVICE_OPTIONS, pricePerPage: amount };

/** Bytes of an answer: text of a thousand pages and some pictures. */
const MAX_BYTES = 64_000_000;
const VARIABLE = 'MISTRAL_API_KEY';

/**
 * Mistral's OCR (`POST /v1/ocr`), or a service with the same API.
 *
 * @throws {@link ConfigError} when an option cannot be right.
 */
export function mistralOcr(options: MistralOcrOptions): OcrEngine {
  checkShape(OPTIONS, options, 'mistralOcr', ['apiKey']);
  const { baseURL = 'https://api.mistral.ai', model = 'mistral-ocr-latest', pricePerPage = 0.002 } = options;
  const apiKey = new Secret(options.apiKey);
  const url = new URL(`${baseURL.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1/ocr`);
  const { transport, timeoutMs = 60_000 } = options;
  const service = new JsonService({ name: 'The OCR service mistral', transport, timeoutMs, maxBytes: MAX_BYTES });
  return {
    id: model,
    async read({ data, name, maxImages, signal }) {
      const answer = await service.call({
        url,
        headers: ['authorization', `Bearer ${apiKey.reveal()}`],
        body: {
          model,
          document: {
            type: 'document_url',
            document_url: `data:application/pdf;base64,${toBase64(data)}`,
            ...(name === undefined ? {} : { document_name: name }),
          },
          include_image_base64: maxImages > 0,
          image_limit: maxImages,
        },
        signal,
        refusedInput: 'The PDF is not accepted by the OCR service',
      });
      const pages = read.objects(answer['pages']);
      const pagesProcessed = billedPages(answer) ?? pages.length;
      return {
        pages: pages.map((page) => read.text(page['markdown']) ?? ''),
        images: pages.flatMap((page) => read.objects(page['images']).flatMap(imageUrl)),
        pagesProcessed,
        cost: pagesProcessed * pricePerPage,
      };
    },
    close: () => service.close(),
  };
}

/** Mistral's OCR with the key of the environment; undefined without one. */
export function mistralOcrFromEnvironment(): OcrEngine | undefined {
  const apiKey = readEnvironment(VARIABLE);
  return apiKey === undefined ? undefined : mistralOcr({ apiKey });
}

function billedPages({ usage_info: usage }: JsonObject): number | undefined {
  const pages = isJsonObject(usage) ? usage['pages_processed'] : undefined;
  return typeof pages === 'number' && Number.isSafeInteger(pages) && pages >= 0 ? pages : undefined;
}

function imageUrl(image: JsonObject): readonly string[] {
  const { image_base64: base64 } = image;
  if (typeof base64 !== 'string' || base64 === '') return [];
  return [base64.startsWith('data:') ? base64 : `data:image/jpeg;base64,${base64}`];
}
