/** The options of server tools, and their schemas. */
import { array } from '../schema/collections.ts';
import { optional } from '../schema/modifiers.ts';
import { looseObject } from '../schema/object.ts';
import { integer, string } from '../schema/scalars.ts';
import { closed, identifier } from './fields.ts';
import { MAX_MODEL_SLUG_LENGTH } from './limits.ts';
import { optionsParser } from './options.ts';

/** Schema of `parameters` of `router:datetime`. */
export const datetimeSchema = closed({ timezone: optional(string({ least: 1, most: 64 })) });

/** `parameters` of `router:datetime` (gaps 2.1). */
export const parseDatetimeOptions = optionsParser(datetimeSchema);

/** Schema of `parameters` of `router:experimental__search_models`. */
export const searchModelsSchema = closed({ max_results: optional(integer({ least: 1, most: 20 })) });

/** `parameters` of `router:experimental__search_models` (gaps 2.1). */
export const parseSearchModelsOptions = optionsParser(searchModelsSchema);

/** `parameters` of `router:files` (gaps 2.1): none. */
export const parseFilesOptions = optionsParser(closed({}));

/** Schema of `parameters` of `router:image_generation`. */
export const imageSchema = looseObject({
  model: optional(identifier(1, MAX_MODEL_SLUG_LENGTH)),
  quality: optional(string({ least: 1, most: 64 })),
  size: optional(string({ least: 1, most: 64 })),
  aspect_ratio: optional(string({ least: 1, most: 64 })),
  background: optional(string({ least: 1, most: 64 })),
  output_format: optional(string({ least: 1, most: 64 })),
  output_compression: optional(integer({ least: 0, most: 100 })),
  moderation: optional(string({ least: 1, most: 64 })),
  n: optional(integer({ least: 1, most: 10 })),
});

/**
 * `parameters` of `router:image_generation` (gaps 2.1). Options that are not listed go to whoever makes the image as
 * they are.
 */
export const parseImageOptions = optionsParser(imageSchema);

/** Schema of `parameters` of `router:mcp`. */
export const mcpSchema = closed({
  server: string({ least: 1, most: 64 }),
  allowed_tools: optional(array(string({ least: 1, most: 128 }), { least: 1, most: 128 })),
});

/** `parameters` of `router:mcp`: a server that the router has by this name, and which of its tools. */
export const parseMcpOptions = optionsParser(mcpSchema);
