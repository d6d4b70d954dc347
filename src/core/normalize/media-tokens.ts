import type { ImageSize } from './image-size.ts';

/** Tokens of an image of which nothing is known: about what vendors charge for one of 1,000 by 1,000 pixels. */
export const UNKNOWN_IMAGE = 1_400;

/** OpenAI: patches of 32 by 32 pixels for small models, tiles of 512 by 512 for the others. */
export function openAiImage(size: ImageSize | undefined, model: string): number {
  const patchFactor = /nano/.test(model) ? 2.46 : /gpt-5[\d.]*-mini/.test(model) ? 1.2 : /mini/.test(model) ? 1.62 : 0;
  if (size === undefined) return 765;
  const { width, height } = size;
  if (patchFactor > 0 && !/4o/.test(model)) {
    return Math.ceil(Math.min(1_536, Math.ceil(width / 32) * Math.ceil(height / 32)) * patchFactor);
  }
  const fit = Math.min(1, 2_048 / Math.max(width, height));
  const scale = fit * Math.min(1, 768 / (Math.min(width, height) * fit));
  const tiles = Math.ceil((width * scale) / 512) * Math.ceil((height * scale) / 512);
  if (/4o-mini/.test(model)) return 2_833 + 5_667 * tiles;
  return /gpt-5/.test(model) ? 70 + 140 * tiles : 85 + 170 * tiles;
}

/** Anthropic: a token for 750 pixels, of an image that is made smaller where it is large. */
export function anthropicImage(size: ImageSize | undefined): number {
  if (size === undefined) return UNKNOWN_IMAGE;
  const scale = Math.min(1, 1_568 / Math.max(size.width, size.height));
  return Math.min(1_600, Math.ceil((size.width * scale * size.height * scale) / 750));
}

/** Gemini to 2.5: a tile of 768 by 768 pixels each, and the whole once more where there are several. */
export function tiledImage(size: ImageSize | undefined): number {
  if (size === undefined) return 258;
  const tiles = Math.ceil(size.width / 768) * Math.ceil(size.height / 768);
  return 258 * (tiles === 1 ? 1 : tiles + 1);
}

/** Llama 4: up to 16 tiles of 336 by 336 pixels, and the whole once more. */
export function llamaImage(size: ImageSize | undefined): number {
  if (size === undefined) return UNKNOWN_IMAGE;
  const tiles = Math.ceil(size.width / 336) * Math.ceil(size.height / 336);
  return 145 * (Math.min(15, tiles) + 1);
}

/** Qwen and GLM: patches of 28 by 28 pixels. */
export function patchedImage(size: ImageSize | undefined): number {
  if (size === undefined) return UNKNOWN_IMAGE;
  return Math.min(16_384, Math.ceil((size.width * size.height) / 784)) + 2;
}

/** Characters of base64 of a PDF that are searched for its pages. */
const MOST_SEARCHED = 1_000_000;
/** Bytes of a PDF for a page, where it does not say how many it has. */
const BYTES_PER_PAGE = 50_000;

/** Pages of a PDF: its page objects, the count in its page tree, or a guess by its length where both are compressed. */
export function pdfPages(base64: string): number {
  const bytes = (base64.length * 3) / 4;
  let text = '';
  try {
    const searched = base64.slice(0, MOST_SEARCHED);
    text = atob(searched.slice(0, searched.length - (searched.length % 4)));
  } catch {
    // What is no base64 is not read by anybody.
  }
  const objects = text.match(/\/Type\s*\/Page\b/g)?.length ?? 0;
  const counts = Array.from(text.matchAll(/\/Count\s+(\d{1,5})\b/g), ([, count]) => Number(count));
  const pages = Math.max(objects, ...counts, 0);
  return pages > 0 ? pages : Math.max(1, Math.round(bytes / BYTES_PER_PAGE));
}
