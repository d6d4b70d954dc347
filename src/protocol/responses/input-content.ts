import * as z from 'zod';
import { type CacheControl, cacheMarks, mediaUrl, type PromptCacheBreakpoint } from '../content-part.ts';
import { nullish } from '../fields.ts';

interface CacheMarks {
  readonly cache_control?: CacheControl | null | undefined;
  readonly prompt_cache_breakpoint?: PromptCacheBreakpoint | null | undefined;
}

/** Plain text of a message. */
export interface InputTextPart extends CacheMarks {
  readonly type: 'input_text';
  readonly text: string;
}

/** An image by http(s) or data URL, or by the id of an uploaded file. */
export interface InputImagePart extends CacheMarks {
  readonly type: 'input_image';
  readonly image_url?: string | null | undefined;
  readonly file_id?: string | null | undefined;
  readonly detail?: 'auto' | 'low' | 'high' | 'original' | null | undefined;
}

/** A document: its content as a data URL, its address, or the id of an uploaded file. */
export interface InputFilePart extends CacheMarks {
  readonly type: 'input_file';
  readonly filename?: string | null | undefined;
  readonly file_data?: string | null | undefined;
  readonly file_url?: string | null | undefined;
  readonly file_id?: string | null | undefined;
}

/** Audio as base64. */
export interface InputAudioPart extends CacheMarks {
  readonly type: 'input_audio';
  readonly input_audio: { readonly data: string; readonly format: string };
}

/** A video by http(s) or data URL. */
export interface InputVideoPart extends CacheMarks {
  readonly type: 'input_video';
  readonly video_url: string;
}

/** Text of an earlier answer. */
export interface OutputTextPart {
  readonly type: 'output_text';
  readonly text: string;
  readonly annotations?: readonly Readonly<Record<string, unknown>>[] | null | undefined;
}

/** Refusal of an earlier answer. */
export interface OutputRefusalPart {
  readonly type: 'refusal';
  readonly refusal: string;
}

/** What a user's message or the result of a tool consists of. */
export type InputPart = InputTextPart | InputImagePart | InputFilePart | InputAudioPart | InputVideoPart;

/** What a message of any role consists of. */
export type MessagePart = InputPart | OutputTextPart | OutputRefusalPart;

const inputText = z.looseObject({ type: z.literal('input_text'), text: z.string(), ...cacheMarks });
const fileId = nullish(z.string().min(1).max(512));

const inputImage = z
  .looseObject({
    type: z.literal('input_image'),
    image_url: nullish(mediaUrl),
    file_id: fileId,
    detail: nullish(z.enum(['auto', 'low', 'high', 'original'])),
    ...cacheMarks,
  })
  .refine((part) => part.image_url != null || part.file_id != null, 'needs image_url or file_id');

const inputFile = z
  .looseObject({
    type: z.literal('input_file'),
    filename: nullish(z.string().max(512)),
    file_data: nullish(mediaUrl),
    file_url: nullish(mediaUrl),
    file_id: fileId,
    ...cacheMarks,
  })
  .refine(
    (part) => part.file_data != null || part.file_url != null || part.file_id != null,
    'needs file_data, file_url or file_id',
  );

const inputAudio = z.looseObject({
  type: z.literal('input_audio'),
  input_audio: z.looseObject({ data: z.string().min(1), format: z.string().min(1).max(32) }),
  ...cacheMarks,
});

const inputVideo = z.looseObject({ type: z.literal('input_video'), video_url: mediaUrl, ...cacheMarks });

const outputText = z.looseObject({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: nullish(z.array(z.looseObject({ type: z.string() }))),
});

const outputRefusal = z.looseObject({ type: z.literal('refusal'), refusal: z.string() });

const inputParts = [inputText, inputImage, inputFile, inputAudio, inputVideo] as const;

/** Content of system and developer messages: text only. */
export const instructionContentSchema = z.union([z.string(), z.array(z.discriminatedUnion('type', [inputText]))]);

/** Content of user messages and results of tools. */
export const inputContentSchema = z.union([z.string(), z.array(z.discriminatedUnion('type', inputParts))]);

/** Content of assistant messages; plain input text is accepted, because clients send it. */
export const outputContentSchema = z
  .union([z.string(), z.array(z.discriminatedUnion('type', [outputText, outputRefusal, inputText]))])
  .nullable()
  .optional();
