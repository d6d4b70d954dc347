/** The messages of a chat, and their schemas. */
import { nullish, optional } from '../schema/modifiers.ts';
import { discriminatedUnion } from '../schema/choices.ts';
import { jsonObject, array } from '../schema/collections.ts';
import { looseObject } from '../schema/object.ts';
import { literal, string } from '../schema/scalars.ts';
import {
  assistantContentSchema,
  type CacheControl,
  cacheControlSchema,
  type ContentPart,
  contentSchema,
  mediaUrl,
  type RefusalPart,
  textContentSchema,
  type TextPart,
  toolContentSchema,
} from './content-part.ts';
import { identifier } from './fields.ts';
import { type ReasoningDetail, type ReasoningEffort, reasoningEffortSchema } from './reasoning.ts';
import type { ToolCallExtra } from './tools.ts';

/** Instructions from the embedding program or developer. */
export interface SystemMessage {
  readonly role: 'system' | 'developer';
  readonly content: string | readonly TextPart[];
  readonly name?: string | null | undefined;
  /** Changes the reasoning effort from here on without breaking the prompt cache. */
  readonly configuration_update?:
    | { readonly reasoning: { readonly effort?: ReasoningEffort | null | undefined } }
    | null
    | undefined;
  readonly cache_control?: CacheControl | null | undefined;
}

/** What the end user said. */
export interface UserMessage {
  readonly role: 'user';
  readonly content: string | readonly ContentPart[];
  readonly name?: string | null | undefined;
  readonly cache_control?: CacheControl | null | undefined;
}

/** A call the model made. `arguments` is JSON as a string, never an object. */
export interface ToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
  /** What the vendor whose model made the call requires back with it. */
  readonly extra_content?: ToolCallExtra | null | undefined;
}

/** An earlier answer of the model, or, at the end of `messages`, a prefill that the model continues. */
export interface AssistantMessage {
  readonly role: 'assistant';
  readonly content?: string | readonly (ContentPart | RefusalPart)[] | null | undefined;
  readonly name?: string | null | undefined;
  readonly refusal?: string | null | undefined;
  readonly reasoning?: string | null | undefined;
  /** Alias of `reasoning`. */
  readonly reasoning_content?: string | null | undefined;
  /** Must come back unmodified and in order during a tool loop. */
  readonly reasoning_details?: readonly ReasoningDetail[] | null | undefined;
  readonly tool_calls?: readonly ToolCall[] | null | undefined;
  readonly images?: readonly { readonly image_url: { readonly url: string } }[] | null | undefined;
  readonly audio?: { readonly id?: string | undefined; readonly data?: string | undefined } | null | undefined;
  /** Model that made this turn; read by the auto-router's `pin_model`. */
  readonly model?: string | null | undefined;
  /** Sent back so that documents that were parsed already are not parsed again. */
  readonly annotations?: readonly { readonly type: string }[] | null | undefined;
  readonly cache_control?: CacheControl | null | undefined;
}

/** The result of a tool call. */
export interface ToolMessage {
  readonly role: 'tool';
  readonly content: string | readonly ContentPart[];
  readonly tool_call_id: string;
  readonly name?: string | null | undefined;
  readonly cache_control?: CacheControl | null | undefined;
}

/** One message of a conversation, distinguished by `role` (contract: chat request; gaps 1.1). */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

const name = nullish(identifier(0, 256));
const cacheMark = { cache_control: nullish(cacheControlSchema) };

const systemFields = {
  content: textContentSchema,
  name,
  configuration_update: nullish(looseObject({ reasoning: looseObject({ effort: nullish(reasoningEffortSchema) }) })),
  ...cacheMark,
};

const toolCallSchema = looseObject({
  id: identifier(1, 512),
  type: literal('function'),
  function: looseObject({ name: string({ least: 1, most: 256 }), arguments: string() }),
  extra_content: nullish(looseObject({ google: optional(looseObject({ thought_signature: optional(string()) })) })),
});

const assistantSchema = looseObject({
  role: literal('assistant'),
  content: assistantContentSchema,
  name,
  refusal: nullish(string()),
  reasoning: nullish(string()),
  reasoning_content: nullish(string()),
  reasoning_details: nullish(array(looseObject({ type: string() }))),
  tool_calls: nullish(array(toolCallSchema)),
  images: nullish(array(looseObject({ image_url: looseObject({ url: mediaUrl }) }))),
  audio: nullish(jsonObject),
  model: nullish(string()),
  annotations: nullish(array(looseObject({ type: string() }))),
  ...cacheMark,
});

/** Schema of one {@link Message}. */
export const messageSchema = discriminatedUnion('role', [
  looseObject({ role: literal('system'), ...systemFields }),
  looseObject({ role: literal('developer'), ...systemFields }),
  looseObject({ role: literal('user'), content: contentSchema, name, ...cacheMark }),
  assistantSchema,
  looseObject({
    role: literal('tool'),
    content: toolContentSchema,
    tool_call_id: identifier(1, 512),
    name,
    ...cacheMark,
  }),
]);
