import type { FunctionTool } from '../../protocol/tools.ts';
import type { JsonSchemaFormat } from '../../protocol/reasoning.ts';
import type { ApiFormatName } from '../../protocol/api-format.ts';
import { asOpenAiSchema, asSpacedJson, asTypeScript, structureOfTool, wordsOfTool } from './declared-tools.ts';
import type { ImageSize } from './image-size.ts';
import type { ImagePart } from '../../protocol/content-part.ts';
import {
  ANTHROPIC_HIGH,
  ANTHROPIC_STANDARD,
  anthropicImage,
  gridOf,
  grokImage,
  llamaImage,
  mistralImage,
  openAiImage,
  patchedImage,
  tiledImage,
  UNKNOWN_IMAGE,
} from './media-tokens.ts';

/**
 * What a family of models counts besides the texts of a prompt. Found in what providers reported for recorded requests
 * and in the chat templates of open models (`npm run bench:tokens`), and for images in what vendors document.
 */
export interface VendorCounts {
  /** How many tokens its vocabulary makes of one of OpenAI's. */
  readonly factor: number;
  /** Tokens of a prompt, and of the role of each message and what separates it from the next one. */
  readonly perPrompt: number;
  readonly perMessage: number;
  /** Tokens of the frame of a system message, and tokens more of a prompt that has none. */
  readonly perSystemMessage: number;
  readonly withoutSystem: number;
  /** Tokens more of a prompt whose reasoning is requested. */
  readonly reasoning: number;
  /** Tokens around a call of a tool, and around its result. */
  readonly perCall: number;
  readonly perResult: number;
  /** Tokens that the offer of tools costs by itself, whatever they are, and around the declaration of each. */
  readonly toolsAtAll: number;
  readonly perTool: number;
  /** Tokens more where a tool must be called, and where the prompt has a system message that the tools go into. */
  readonly mustCall: number;
  /** Tokens around the name of the tool that must be called; undefined where naming it costs nothing. */
  readonly perNamedTool: number | undefined;
  readonly toolsInSystem: number;
  /** A declaration as the model reads it. */
  readonly declared: (tool: FunctionTool['function']) => string;
  /** Tokens of what holds its words together, where those are counted alone. */
  readonly structure: (tool: FunctionTool['function']) => number;
  /** Tokens around a schema that the answer must fit, and what is read of it; undefined where it is not shown. */
  readonly perSchema: number | undefined;
  readonly schema: (format: JsonSchemaFormat) => string;
  /** Tokens of an image. */
  readonly image: (size: ImageSize | undefined, model: string, detail: ImagePart['image_url']['detail']) => number;
  /** Tokens of audio of so many seconds. */
  readonly audio: (seconds: number) => number;
  /** Tokens of a page of a PDF, and whether those of its text are counted too. */
  readonly perPage: number;
  readonly hasTextOfPages: boolean;
  /** What is different in OpenAI's Responses. */
  readonly inResponses?: Partial<VendorCounts>;
}

const USUAL: VendorCounts = {
  factor: 1,
  perPrompt: 2,
  perMessage: 3,
  perSystemMessage: 3,
  withoutSystem: 0,
  reasoning: 0,
  perCall: 20,
  perResult: 4,
  toolsAtAll: 150,
  perTool: 6,
  mustCall: 0,
  perNamedTool: undefined,
  toolsInSystem: 0,
  declared: (tool) => JSON.stringify(tool),
  structure: () => 0,
  perSchema: undefined,
  schema: ({ schema }) => JSON.stringify(schema),
  image: () => UNKNOWN_IMAGE,
  audio: (seconds) => 10 * seconds,
  perPage: 0,
  hasTextOfPages: true,
};

const OPENAI: VendorCounts = {
  ...USUAL,
  perPrompt: 3,
  perMessage: 4,
  perSystemMessage: 4,
  perCall: 7,
  perResult: 4,
  toolsAtAll: 15,
  perTool: 0,
  perNamedTool: 7,
  toolsInSystem: -4,
  declared: asTypeScript,
  perSchema: 8,
  schema: asOpenAiSchema,
  image: openAiImage,
  audio: (seconds) => 10 * seconds + 4,
  // In Responses it is the text alone, whatever is documented.
  perPage: 990,
  inResponses: { toolsAtAll: 9, perSchema: 1, perPage: 8 },
};

const ANTHROPIC: VendorCounts = {
  ...USUAL,
  factor: 1.1,
  perPrompt: 4,
  perMessage: 3,
  perSystemMessage: 0,
  reasoning: 29,
  perCall: 40,
  perResult: 12,
  toolsAtAll: 495,
  perTool: 14,
  mustCall: 97,
  perSchema: 145,
  image: anthropicImage(ANTHROPIC_STANDARD),
  perPage: 1_575,
};

const GOOGLE: VendorCounts = {
  ...USUAL,
  perPrompt: 0,
  perMessage: 1,
  perSystemMessage: 0,
  perCall: 10,
  perResult: 10,
  toolsAtAll: 0,
  perTool: 16,
  declared: wordsOfTool,
  structure: structureOfTool,
  image: tiledImage,
  audio: (seconds) => 32 * seconds,
  perPage: 258,
  hasTextOfPages: false,
};

/** The proportions of a page of letter paper; those of A4 have a fortieth more. */
const LETTER: ImageSize = { width: 17, height: 22 };

/** Families by the names of models with their authors: the first that fits counts. */
const FAMILIES: readonly (readonly [RegExp, VendorCounts])[] = [
  [/gpt-oss/, { ...OPENAI, perPrompt: 63, toolsAtAll: 35, perSchema: 100 }],
  [
    /^openai\/(?:gpt-[5-9]|o\d)/,
    {
      ...OPENAI,
      perPrompt: 2,
      toolsAtAll: 95,
      perNamedTool: undefined,
      inResponses: { toolsAtAll: 14, perSchema: -1, perPage: 8 },
    },
  ],
  [/^openai\//, OPENAI],
  [
    /^anthropic\/claude-(?:opus-(?:4[.-][7-9]|[5-9])|sonnet-[5-9]|[a-z]+-[5-9])/,
    { ...ANTHROPIC, factor: 1.41, reasoning: 0, toolsAtAll: 640, image: anthropicImage(ANTHROPIC_HIGH) },
  ],
  [
    /^anthropic\/claude-(?:[a-z]+-)?(?:[23]\b|(?:sonnet|opus)-4(?:$|[.-](?:0|1|\d{8})\b))/,
    { ...ANTHROPIC, toolsAtAll: 313, mustCall: 0 },
  ],
  [/^anthropic\//, ANTHROPIC],
  [
    /^google\/gemini-[3-9]/,
    { ...GOOGLE, image: (size) => gridOf(1_120, size), audio: (seconds) => 25 * seconds, perPage: gridOf(560, LETTER) },
  ],
  [/^google\/gemini/, GOOGLE],
  [
    /llama-?4/i,
    {
      ...USUAL,
      perPrompt: 5,
      perMessage: 5,
      perSystemMessage: 5,
      toolsAtAll: 630,
      image: llamaImage,
    },
  ],
  [
    /llama-?3\.[1-3]/i,
    {
      ...USUAL,
      perPrompt: 25,
      perMessage: 5,
      perSystemMessage: 5,
      withoutSystem: 5,
      toolsAtAll: 100,
      declared: asSpacedJson,
    },
  ],
  [/^meta-llama\//, { ...USUAL, perPrompt: 5, perMessage: 5 }],
  [
    /qwen.*coder/i,
    {
      ...USUAL,
      perPrompt: 3,
      perMessage: 5,
      perSystemMessage: 5,
      toolsAtAll: 240,
    },
  ],
  [
    /qwen|qwq/i,
    {
      ...USUAL,
      perPrompt: 3,
      perMessage: 5,
      perSystemMessage: 5,
      toolsAtAll: 120,
      image: patchedImage,
    },
  ],
  [
    /^deepseek\//,
    {
      ...USUAL,
      perPrompt: 3,
      perMessage: 1,
      perSystemMessage: 0,
      toolsAtAll: 230,
    },
  ],
  [
    /^mistralai\//,
    {
      ...USUAL,
      perPrompt: 1,
      perMessage: 2,
      perSystemMessage: 2,
      toolsAtAll: 3,
      declared: asSpacedJson,
      image: mistralImage,
      // Begun halves of a minute.
      audio: (seconds) => 375 * Math.max(1, Math.ceil(seconds / 30)),
    },
  ],
  [/^x-ai\/grok-(?:2|.*non-reasoning)/, { ...USUAL, image: grokImage }],
  [
    /^x-ai\//,
    // A prompt of the vendor's own comes first, which tools take the place of.
    { ...USUAL, perPrompt: 127, withoutSystem: 62, toolsAtAll: -17, toolsInSystem: 64, image: grokImage },
  ],
  [
    /^z-ai\//,
    {
      ...USUAL,
      perPrompt: 3,
      perMessage: 2,
      toolsAtAll: 103,
      image: patchedImage,
    },
  ],
];

/**
 * What a model counts; about what most count, where nothing is known of its family.
 *
 * @param format - API format of the request.
 */
export function countsOf(model: string, format?: ApiFormatName): VendorCounts {
  const counts = FAMILIES.find(([names]) => names.test(model))?.[1] ?? USUAL;
  return format === 'responses' && counts.inResponses !== undefined ? { ...counts, ...counts.inResponses } : counts;
}
