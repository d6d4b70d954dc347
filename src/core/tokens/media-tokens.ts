/** Estimates the tokens of images, by the rule of each vendor. */
import type { ImagePart } from '../../protocol/content-part.ts';
import type { ImageSize } from './image-size.ts';

type Detail = ImagePart['image_url']['detail'];

/** Tokens of an image of which nothing is known: about what vendors charge for one of 1,000 by 1,000 pixels. */
export const UNKNOWN_IMAGE = 1_400;

/** Tokens of an image that OpenAI cuts into tiles: those of the image, and of each tile. */
const TILES: readonly (readonly [RegExp, number, number])[] = [
  [/4o-mini/, 2_833, 5_667],
  [/gpt-5/, 70, 140],
  [/computer-use/, 65, 129],
  [/\/o\d/, 75, 150],
  [/./, 85, 170],
];

/**
 * Tokens of a patch of an image that OpenAI covers with patches. For the models from GPT-5 on these are what it
 * reports, which is less than it documents for the small ones.
 */
const PATCHES: readonly (readonly [RegExp, number])[] = [
  [/gpt-4\.1-mini/, 1.62],
  [/gpt-4\.1-nano/, 2.46],
  [/o4-mini/, 1.72],
  [/gpt-5-nano/, 1.5],
  [/gpt-5(?:\.\d+)?-(?:codex-)?(?:mini|nano)|gpt-5\.(?:[2-9]|\d\d)|gpt-(?:[6-9]|\d\d)/, 1.2],
];

/** How many patches an image may have, and how many pixels a side, before it is made smaller. */
interface PatchLimits {
  readonly patches: number;
  readonly side: number;
}

const NO_LIMITS: PatchLimits = { patches: Infinity, side: Infinity };
const ORIGINAL: PatchLimits = { patches: 10_000, side: 6_000 };
const HIGH: PatchLimits = { patches: 2_500, side: 2_048 };
const STANDARD: PatchLimits = { patches: 1_536, side: 2_048 };

/** OpenAI: patches of 32 by 32 pixels, or for GPT-4o, GPT-4.1, GPT-5 and GPT-5.1 tiles of 512 by 512. */
export function openAiImage(size: ImageSize | undefined, model: string, detail: Detail): number {
  const perPatch = PATCHES.find(([names]) => names.test(model))?.[1];
  if (perPatch !== undefined) {
    const known = size ?? { width: 1_024, height: 1_024 };
    const patches = detail === 'low' ? coveredBy(scaled(known, 512)) : patchesWithin(known, limitsOf(model, detail));
    return Math.ceil(patches * perPatch);
  }
  const [, base, perTile] = TILES.find(([names]) => names.test(model)) ?? ['', 85, 170];
  if (detail === 'low') return base;
  const { width, height } = scaled(size ?? { width: 1_024, height: 1_024 }, 2_048);
  const scale = Math.min(1, 768 / Math.min(width, height));
  return base + perTile * Math.ceil((width * scale) / 512) * Math.ceil((height * scale) / 512);
}

function limitsOf(model: string, detail: Detail): PatchLimits {
  if (!/gpt-(?:5\.(?:[4-9]|\d\d)|[6-9]|\d\d)/.test(model) || /mini|nano/.test(model)) return STANDARD;
  const isFirst = /gpt-5\.4/.test(model);
  if (detail === 'high' || (isFirst && detail !== 'original')) return HIGH;
  return isFirst || /gpt-5\.5/.test(model) ? ORIGINAL : NO_LIMITS;
}

/** The patches of an image that is made smaller until it has no more than it may. */
function patchesWithin(size: ImageSize, { patches, side }: PatchLimits): number {
  const { width, height } = scaled(size, side);
  if (coveredBy({ width, height }) <= patches) return coveredBy({ width, height });
  const shrunk = Math.sqrt((1_024 * patches) / (width * height));
  const across = (width * shrunk) / 32;
  const down = (height * shrunk) / 32;
  const factor = shrunk * Math.min(Math.floor(across) / across, Math.floor(down) / down);
  const covered = coveredBy({ width: Math.floor(width * factor), height: Math.floor(height * factor) });
  return Math.min(patches, covered);
}

function coveredBy({ width, height }: ImageSize): number {
  return Math.ceil(width / 32) * Math.ceil(height / 32);
}

/** The size of an image whose longer side has at most so many pixels. */
function scaled({ width, height }: ImageSize, side: number): ImageSize {
  const factor = Math.min(1, side / Math.max(width, height));
  return { width: width * factor, height: height * factor };
}

/** Anthropic: patches of 28 by 28 pixels, of an image that is made smaller until neither its side nor they are too many. */
export function anthropicImage(most: PatchLimits): (size: ImageSize | undefined) => number {
  return (size) => {
    if (size === undefined) return UNKNOWN_IMAGE;
    const long = Math.max(size.width, size.height);
    const share = Math.min(size.width, size.height) / long;
    const rows = (side: number): number => Math.ceil(side / 28);
    const patches = (side: number): number => rows(side) * rows(Math.max(1, Math.round(side * share)));
    const fits = (side: number): boolean => rows(side) * 28 <= most.side && patches(side) <= most.patches;
    let [fitting, tooLong] = fits(long) ? [long, long] : [1, long];
    while (fitting + 1 < tooLong) {
      const middle = Math.floor((fitting + tooLong) / 2);
      if (fits(middle)) fitting = middle;
      else tooLong = middle;
    }
    return patches(fitting) + AROUND_IMAGE;
  };
}

/** Tokens that Anthropic reports for an image besides its patches. */
const AROUND_IMAGE = 3;

export const ANTHROPIC_STANDARD: PatchLimits = { patches: 1_568, side: 1_568 };
export const ANTHROPIC_HIGH: PatchLimits = { patches: 4_784, side: 2_576 };

/** Gemini to 2.5: 258 tokens for a small image, else for each tile of it, and for the whole once more. */
export function tiledImage(size: ImageSize | undefined): number {
  if (size === undefined || Math.max(size.width, size.height) <= 384) return 258;
  const tile = Math.max(256, Math.min(768, Math.floor(Math.min(size.width, size.height) / 1.5)));
  return 258 * (Math.ceil(size.width / tile) * Math.ceil(size.height / tile) + 1);
}

/** Gemini from 3 on: as many tokens as fit into the highest number in the proportions of the image, however small it is. */
export function gridOf(most: number, { width, height }: ImageSize = { width: 1, height: 1 }): number {
  const across = Math.floor(Math.sqrt((most * width) / height));
  const down = Math.floor(Math.sqrt((most * height) / width));
  return Math.min(most, Math.max(1, across) * Math.max(1, down));
}

/** Llama 4: up to 16 tiles of 336 by 336 pixels, and the whole once more. */
export function llamaImage(size: ImageSize | undefined): number {
  if (size === undefined) return UNKNOWN_IMAGE;
  const tiles = Math.ceil(size.width / 336) * Math.ceil(size.height / 336);
  return 145 * (Math.min(15, tiles) + 1);
}

/** Qwen and GLM: patches of 28 by 28 pixels, of Qwen 3 of 32 by 32. */
export function patchedImage(size: ImageSize | undefined, model: string): number {
  if (size === undefined) return UNKNOWN_IMAGE;
  const side = /qwen-?(?:[3-9]|vl-(?:max|plus))/i.test(model) ? 32 : 28;
  return Math.min(16_384, Math.ceil((size.width * size.height) / side ** 2)) + 2;
}

/** Mistral: patches of 28 by 28 pixels, and a mark at the end of each row; Pixtral has smaller ones. */
export function mistralImage(size: ImageSize | undefined, model: string): number {
  if (size === undefined) return UNKNOWN_IMAGE;
  const [patch, side] = /pixtral/.test(model) ? [16, 1_024] : [28, 1_540];
  const { width, height } = scaled(size, side);
  return Math.ceil(height / patch) * (Math.ceil(width / patch) + 1);
}

/** Grok: tiles of 448 by 448 pixels, and the whole once more; from 4.2 on patches of 32 by 32. */
export function grokImage(size: ImageSize | undefined, model: string): number {
  if (size === undefined) return UNKNOWN_IMAGE;
  if (/grok-(?:4[.-][2-9]|[5-9])/.test(model)) return coveredBy(size);
  const tiles = Math.ceil(size.width / 448) * Math.ceil(size.height / 448);
  return 256 * (tiles === 1 ? 1 : Math.min(6, tiles) + 1);
}
