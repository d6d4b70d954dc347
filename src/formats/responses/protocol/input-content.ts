/** The content parts of inputs to the Responses API, and their schemas. */
import { nullish, ruled } from '../../../protocol/accept/schema.ts';
import { either, tagged } from '../../../protocol/accept/choices.ts';
import { list } from '../../../protocol/accept/collections.ts';
import { loose } from '../../../protocol/accept/object.ts';
import { constant, text, word } from '../../../protocol/accept/scalars.ts';
import {
  base64Data,
  type CacheControl,
  cacheMarks,
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

const inputText = loose({ type: constant('input_text'), text: text(), ...cacheMarks });
const fileId = nullish(text({ least: 1, most: 512 }));

const inputImage = ruled(
  loose({
    type: constant('input_image'),
    image_url: nullish(mediaUrl),
    file_id: fileId,
    detail: nullish(word(['auto', 'low', 'high', 'original'])),
    ...cacheMarks,
  }),
  { test: (part) => part.image_url != null || part.file_id != null, says: 'needs image_url or file_id' },
);

const inputFile = ruled(
  loose({
    type: constant('input_file'),
    filename: nullish(text({ most: 512 })),
    file_data: nullish(mediaUrl),
    file_url: nullish(mediaUrl),
    file_id: fileId,
    ...cacheMarks,
  }),
  {
    test: (part) => part.file_data != null || part.file_url != null || part.file_id != null,
    says: 'needs file_data, file_url or file_id',
  },
);

const inputAudio = loose({
  type: constant('input_audio'),
  input_audio: loose({ data: base64Data, format: text({ least: 1, most: 32 }) }),
  ...cacheMarks,
});

const inputVideo = loose({ type: constant('input_video'), video_url: mediaUrl, ...cacheMarks });

const outputText = loose({
  type: constant('output_text'),
  text: text(),
  annotations: nullish(list(loose({ type: text() }))),
});

const outputRefusal = loose({ type: constant('refusal'), refusal: text() });

const inputParts = [inputText, inputImage, inputFile, inputAudio, inputVideo] as const;

/** Content of system and developer messages: text only. */
export const instructionContentSchema = either([text(), list(tagged('type', [inputText]))]);

/** Content of user messages and results of tools. */
export const inputContentSchema = either([text(), list(tagged('type', inputParts))]);

/** Content of assistant messages; plain input text is accepted, because clients send it. */
export const outputContentSchema = nullish(
  either([text(), list(tagged('type', [outputText, outputRefusal, inputText]))]),
);
