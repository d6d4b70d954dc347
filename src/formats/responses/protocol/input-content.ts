/** The content parts of inputs to the Responses API, and their schemas. */
import { nullish, refine } from '../../../schema/modifiers.ts';
import { union, discriminatedUnion } from '../../../schema/choices.ts';
import { array } from '../../../schema/collections.ts';
import { looseObject } from '../../../schema/object.ts';
import { literal, string, enumeration } from '../../../schema/scalars.ts';
import {
  base64Data,
  type CacheControl,
  cacheMarkFields,
  mediaUrl,
  type PromptCacheBreakpoint,
} from '../../../protocol/content-part.ts';

interface CacheMarks {
  readonly cache_control?: CacheControl | null | undefined;
  readonly prompt_cache_breakpoint?: PromptCacheBreakpoint | null | undefined;
}

/** Plain text of a message. */
interface InputTextPart extends CacheMarks {
  readonly type: 'input_text';
  readonly text: string;
}

/** An image by http(s) or data URL, or by the id of an uploaded file. */
interface InputImagePart extends CacheMarks {
  readonly type: 'input_image';
  readonly image_url?: string | null | undefined;
  readonly file_id?: string | null | undefined;
  readonly detail?: 'auto' | 'low' | 'high' | 'original' | null | undefined;
}

/** A document: its content as a data URL, its address, or the id of an uploaded file. */
interface InputFilePart extends CacheMarks {
  readonly type: 'input_file';
  readonly filename?: string | null | undefined;
  readonly file_data?: string | null | undefined;
  readonly file_url?: string | null | undefined;
  readonly file_id?: string | null | undefined;
}

/** Audio as base64. */
interface InputAudioPart extends CacheMarks {
  readonly type: 'input_audio';
  readonly input_audio: { readonly data: string; readonly format: string };
}

/** A video by http(s) or data URL. */
interface InputVideoPart extends CacheMarks {
  readonly type: 'input_video';
  readonly video_url: string;
}

/** Text of an earlier answer. */
interface OutputTextPart {
  readonly type: 'output_text';
  readonly text: string;
  readonly annotations?: readonly Readonly<Record<string, unknown>>[] | null | undefined;
}

/** Refusal of an earlier answer. */
interface OutputRefusalPart {
  readonly type: 'refusal';
  readonly refusal: string;
}

/** What a user's message or the result of a tool consists of. */
export type InputPart = InputTextPart | InputImagePart | InputFilePart | InputAudioPart | InputVideoPart;

/** What a message of any role consists of. */
export type MessagePart = InputPart | OutputTextPart | OutputRefusalPart;

const inputText = looseObject({ type: literal('input_text'), text: string(), ...cacheMarkFields });
const fileId = nullish(string({ least: 1, most: 512 }));

const inputImage = refine(
  looseObject({
    type: literal('input_image'),
    image_url: nullish(mediaUrl),
    file_id: fileId,
    detail: nullish(enumeration(['auto', 'low', 'high', 'original'])),
    ...cacheMarkFields,
  }),
  { test: (part) => part.image_url != null || part.file_id != null, says: 'needs image_url or file_id' },
);

const inputFile = refine(
  looseObject({
    type: literal('input_file'),
    filename: nullish(string({ most: 512 })),
    file_data: nullish(mediaUrl),
    file_url: nullish(mediaUrl),
    file_id: fileId,
    ...cacheMarkFields,
  }),
  {
    test: (part) => part.file_data != null || part.file_url != null || part.file_id != null,
    says: 'needs file_data, file_url or file_id',
  },
);

const inputAudio = looseObject({
  type: literal('input_audio'),
  input_audio: looseObject({ data: base64Data, format: string({ least: 1, most: 32 }) }),
  ...cacheMarkFields,
});

const inputVideo = looseObject({ type: literal('input_video'), video_url: mediaUrl, ...cacheMarkFields });

const outputText = looseObject({
  type: literal('output_text'),
  text: string(),
  annotations: nullish(array(looseObject({ type: string() }))),
});

const outputRefusal = looseObject({ type: literal('refusal'), refusal: string() });

const inputParts = [inputText, inputImage, inputFile, inputAudio, inputVideo] as const;

/** Content of system and developer messages: text only. */
export const instructionContentSchema = union([string(), array(discriminatedUnion('type', [inputText]))]);

/** Content of user messages and results of tools. */
export const inputContentSchema = union([string(), array(discriminatedUnion('type', inputParts))]);

/** Content of assistant messages; plain input text is accepted, because clients send it. */
export const outputContentSchema = nullish(
  union([string(), array(discriminatedUnion('type', [outputText, outputRefusal, inputText]))]),
);
