import * as z from 'zod';
import { closed, identifier } from './fields.ts';
import { MAX_MODEL_SLUG_LENGTH } from './limits.ts';
import { optionsParser } from './options.ts';

/** `parameters` of `router:datetime` (gaps 2.1). */
export const parseDatetimeOptions = optionsParser(closed({ timezone: z.string().min(1).max(64).optional() }));

/** `parameters` of `router:experimental__search_models` (gaps 2.1). */
export const parseSearchModelsOptions = optionsParser(closed({ max_results: z.int().min(1).max(20).optional() }));

/** `parameters` of `router:files` (gaps 2.1): none. */
export const parseFilesOptions = optionsParser(closed({}));

/**
 * `parameters` of `router:image_generation` (gaps 2.1). Options that are not listed go to whoever makes the image as
 * they are.
 */
export const parseImageOptions = optionsParser(
  z.looseObject({
    model: identifier(1, MAX_MODEL_SLUG_LENGTH).optional(),
    quality: z.string().min(1).max(64).optional(),
    size: z.string().min(1).max(64).optional(),
    aspect_ratio: z.string().min(1).max(64).optional(),
    background: z.string().min(1).max(64).optional(),
    output_format: z.string().min(1).max(64).optional(),
    output_compression: z.int().min(0).max(100).optional(),
    moderation: z.string().min(1).max(64).optional(),
    n: z.int().min(1).max(10).optional(),
  }),
);
