/** The content parts of messages, and their schemas. */
import { nullish, optional, refine } from '../schema/modifiers.ts';
import { union, discriminatedUnion } from '../schema/choices.ts';
import { array } from '../schema/collections.ts';
import { looseObject } from '../schema/object.ts';
import { literal, string, enumeration } from '../schema/scalars.ts';
import { isBase64 } from './base64.ts';

/** Marks a block as a prompt-cache breakpoint, Anthropic style. `ttl` is `5m` when left out. */
export interface CacheControl {
  readonly type: 'ephemeral';
  readonly ttl?: '5m' | '1h' | undefined;
}

/** Marks a block as a prompt-cache breakpoint, OpenAI style. */
export interface PromptCacheBreakpoint {
  readonly mode: 'explicit';
}

interface CacheMarks {
  readonly cache_control?: CacheControl | null | undefined;
  readonly prompt_cache_breakpoint?: PromptCacheBreakpoint | null | undefined;
}

/** Plain text. */
export interface TextPart extends CacheMarks {
  readonly type: 'text';
  readonly text: string;
}

/** An image by http(s) or data URL. `detail: 'original'` is lowered to `high` where a provider lacks it. */
export interface ImagePart extends CacheMarks {
  readonly type: 'image_url';
  readonly image_url: { readonly url: string; readonly detail?: 'auto' | 'low' | 'high' | 'original' | undefined };
}

/** Audio as base64; a URL is not possible here. `format` is `wav`, `mp3`, `flac` and so on. */
export interface AudioPart extends CacheMarks {
  readonly type: 'input_audio';
  readonly input_audio: { readonly data: string; readonly format: string };
}

/** A video by http(s) or data URL. `input_video` is the deprecated spelling of the same part. */
export interface VideoPart extends CacheMarks {
  readonly type: 'video_url' | 'input_video';
  readonly video_url: { readonly url: string; readonly processing?: 'agentic' | 'static' | undefined };
}

/** A document: `file_data` is a data URL or an http(s) URL, `file_id` names an uploaded file. */
export interface FilePart extends CacheMarks {
  readonly type: 'file';
  readonly file: {
    readonly filename?: string | undefined;
    readonly file_data?: string | undefined;
    readonly file_id?: string | undefined;
  };
}

/** The model's refusal, as assistant history carries it. */
export interface RefusalPart {
  readonly type: 'refusal';
  readonly refusal: string;
}

/** One part of a message's content. */
export type ContentPart = TextPart | ImagePart | AudioPart | VideoPart | FilePart;

export const cacheControlSchema = looseObject({
  type: literal('ephemeral'),
  ttl: optional(enumeration(['5m', '1h'])),
});

/** Members that mark a part as a breakpoint of a prompt cache. */
export const cacheMarkFields = {
  cache_control: nullish(cacheControlSchema),
  prompt_cache_breakpoint: nullish(looseObject({ mode: literal('explicit') })),
};

/** Refuses what is neither a data URL nor http(s): other schemes never reach a provider or our own fetcher. */
export const mediaUrl = refine(
  refine(string({ least: 1 }), {
    test: (url) => /^(?:https?:\/\/[^\s]|data:)/i.test(url.slice(0, 16)),
    says: 'must be an http(s) URL or a data URL',
  }),
  {
    test: (url) => !/^data:/i.test(url.slice(0, 5)) || isDataUrl(url),
    says: 'must be a data URL with valid base64 in it',
  },
);

/** Characters of a data URL before its data. */
const MAX_DATA_URL_HEAD = 512;

/** Whether a data URL has data. Without the mark of base64 it may be any text. */
function isDataUrl(url: string): boolean {
  const comma = url.slice(0, MAX_DATA_URL_HEAD).indexOf(',');
  if (comma < 0 || comma === url.length - 1) return false;
  return !/;\s*base64\s*$/i.test(url.slice(0, comma)) || isBase64(url, comma + 1);
}

/** Media as base64, where an address is not possible. */
export const base64Data = refine(string({ least: 1 }), {
  test: (data) => isBase64(data, 0),
  says: 'must be valid base64, and no URL',
});

const textPartSchema = looseObject({ type: literal('text'), text: string(), ...cacheMarkFields });

const imagePartSchema = looseObject({
  type: literal('image_url'),
  image_url: looseObject({ url: mediaUrl, detail: optional(enumeration(['auto', 'low', 'high', 'original'])) }),
  ...cacheMarkFields,
});

const audioPartSchema = looseObject({
  type: literal('input_audio'),
  input_audio: looseObject({ data: base64Data, format: string({ least: 1, most: 32 }) }),
  ...cacheMarkFields,
});

const videoUrl = looseObject({ url: mediaUrl, processing: optional(enumeration(['agentic', 'static'])) });
const videoPartSchema = looseObject({ type: literal('video_url'), video_url: videoUrl, ...cacheMarkFields });
const inputVideoPartSchema = looseObject({ type: literal('input_video'), video_url: videoUrl, ...cacheMarkFields });

const filePartSchema = looseObject({
  type: literal('file'),
  file: refine(
    looseObject({
      filename: optional(string({ most: 512 })),
      file_data: optional(mediaUrl),
      file_id: optional(string({ least: 1, most: 512 })),
    }),
    { test: (file) => file.file_data !== undefined || file.file_id !== undefined, says: 'needs file_data or file_id' },
  ),
  ...cacheMarkFields,
});

const refusalPartSchema = looseObject({ type: literal('refusal'), refusal: string() });

/** Content of system and developer messages: text only. */
export const textContentSchema = union([string(), array(discriminatedUnion('type', [textPartSchema]), { least: 1 })]);

const anyPart = [
  textPartSchema,
  imagePartSchema,
  audioPartSchema,
  videoPartSchema,
  inputVideoPartSchema,
  filePartSchema,
] as const;

/** Content of user messages. */
export const contentSchema = union([string(), array(discriminatedUnion('type', anyPart), { least: 1 })]);

/** Content of tool messages: a tool may have nothing to say. */
export const toolContentSchema = union([string(), array(discriminatedUnion('type', anyPart))]);

/** Parts of an input that is to be embedded. */
export const embeddedContentSchema = array(discriminatedUnion('type', anyPart), { least: 1 });

/** Content of assistant messages: refusals may come back, and null is normal beside tool calls. */
export const assistantContentSchema = nullish(
  union([string(), array(discriminatedUnion('type', [...anyPart, refusalPartSchema]))]),
);
