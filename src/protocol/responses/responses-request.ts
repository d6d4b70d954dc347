import { nullish } from '../accept/schema.ts';
import { either, tagged } from '../accept/choices.ts';
import { list } from '../accept/list.ts';
import { loose } from '../accept/object.ts';
import { jsonObject } from '../accept/record.ts';
import { constant, flag, integer, text, word } from '../accept/scalars.ts';
import { functionName, identifier } from '../fields.ts';
import { MAX_TOP_LOGPROBS, MAX_USER_LENGTH } from '../limits.ts';
import { reasoningMembers, type ReasoningOptions } from '../reasoning.ts';
import type { InputItem } from './input-item.ts';
import type { ToolChoiceEntry, ToolEntry } from './tool.ts';

/** The form of the text that is answered. */
export type TextFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema';
      readonly name: string;
      readonly description?: string | null | undefined;
      readonly schema?: Readonly<Record<string, unknown>> | null | undefined;
      readonly strict?: boolean | null | undefined;
    };

/** What a caller may want to have in the answer that is not in every answer. */
export const INCLUDABLE = [
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'message.input_image.image_url',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
  'reasoning.encrypted_content',
  'message.output_text.logprobs',
] as const;

/**
 * Body of `POST /responses` (gaps 10; upstreams 7.2). Fields that chat completions have as well, such as `model`,
 * `provider` and `plugins`, are not listed: they are passed on and checked there. Nothing is stored, so everything that
 * refers to an earlier answer is refused.
 */
export interface ResponsesRequest {
  readonly input: string | readonly InputItem[];
  /** Becomes the first message. */
  readonly instructions?: string | null | undefined;
  readonly tools?: readonly ToolEntry[] | null | undefined;
  readonly tool_choice?: ToolChoiceEntry | null | undefined;
  readonly text?:
    | { readonly format?: TextFormat | null | undefined; readonly verbosity?: string | null | undefined }
    | null
    | undefined;
  /** `generate_summary` is the deprecated name of `summary`. */
  readonly reasoning?:
    | (ReasoningOptions & { readonly generate_summary?: ReasoningOptions['summary'] })
    | null
    | undefined;
  readonly include?: readonly (typeof INCLUDABLE)[number][] | null | undefined;
  /** Tokens of the answer, reasoning included. */
  readonly max_output_tokens?: number | null | undefined;
  /** 0 to 20. */
  readonly top_logprobs?: number | null | undefined;
  /** `auto` lets the middle of a conversation that is too long be left out. */
  readonly truncation?: 'auto' | 'disabled' | null | undefined;
  /** Stable id of the end user; wins over `user`. Never leaves raw. */
  readonly safety_identifier?: string | null | undefined;
  readonly user?: string | null | undefined;
  readonly stream_options?: { readonly include_obfuscation?: boolean | null | undefined } | null | undefined;
  readonly stream?: boolean | null | undefined;
  readonly [other: string]: unknown;
}

const textFormat = tagged('type', [
  loose({ type: constant('text') }),
  loose({ type: constant('json_object') }),
  loose({
    type: constant('json_schema'),
    name: functionName,
    description: nullish(text()),
    schema: nullish(jsonObject),
    strict: nullish(flag),
  }),
]);

const endUser = nullish(identifier(0, MAX_USER_LENGTH));

/** Schema of everything in a {@link ResponsesRequest} but its items and tools, which are checked one by one. */
export const responsesRequestSchema = loose({
  input: either([text(), list(loose({}), { least: 1 })]),
  instructions: nullish(text()),
  tools: nullish(list(loose({}))),
  text: nullish(
    loose({
      format: nullish(textFormat),
      verbosity: nullish(word(['low', 'medium', 'high', 'xhigh', 'max'])),
    }),
  ),
  reasoning: nullish(loose({ ...reasoningMembers, generate_summary: nullish(word(['auto', 'concise', 'detailed'])) })),
  include: nullish(list(word(INCLUDABLE))),
  max_output_tokens: nullish(integer({ least: 1 })),
  top_logprobs: nullish(integer({ least: 0, most: MAX_TOP_LOGPROBS })),
  truncation: nullish(word(['auto', 'disabled'])),
  safety_identifier: endUser,
  user: endUser,
  stream: nullish(flag),
  stream_options: nullish(loose({ include_obfuscation: nullish(flag) })),
  modalities: nullish(list(word(['text', 'image']), { most: 2 })),
});
