import * as z from 'zod';
import {
  assistantContentSchema,
  type CacheControl,
  cacheControlSchema,
  type ContentPart,
  contentSchema,
  type RefusalPart,
  textContentSchema,
  type TextPart,
  toolContentSchema,
} from './content-part.ts';
import { identifier, jsonObject, nullish } from './fields.ts';
import type { ToolCallExtra } from './chat-result.ts';
import { type ReasoningDetail, type ReasoningEffort, reasoningEffortSchema } from './reasoning.ts';

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
  /** What the vendor whose model made the call wants back with it. */
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

/** One message of a conversation, told apart by `role` (contract: chat request; gaps 1.1). */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

const name = nullish(identifier(0, 256));
const cacheMark = { cache_control: nullish(cacheControlSchema) };

const systemFields = {
  content: textContentSchema,
  name,
  configuration_update: nullish(
    z.looseObject({ reasoning: z.looseObject({ effort: nullish(reasoningEffortSchema) }) }),
  ),
  ...cacheMark,
};

const toolCallSchema = z.looseObject({
  id: identifier(1, 512),
  type: z.literal('function'),
  function: z.looseObject({ name: z.string().min(1).max(256), arguments: z.string() }),
  extra_content: nullish(
    z.looseObject({ google: z.looseObject({ thought_signature: z.string().optional() }).optional() }),
  ),
});

const assistantSchema = z.looseObject({
  role: z.literal('assistant'),
  content: assistantContentSchema,
  name,
  refusal: nullish(z.string()),
  reasoning: nullish(z.string()),
  reasoning_content: nullish(z.string()),
  reasoning_details: nullish(z.array(z.looseObject({ type: z.string() }))),
  tool_calls: nullish(z.array(toolCallSchema)),
  images: nullish(z.array(z.looseObject({ image_url: z.looseObject({ url: z.string() }) }))),
  audio: nullish(jsonObject),
  model: nullish(z.string()),
  annotations: nullish(z.array(z.looseObject({ type: z.string() }))),
  ...cacheMark,
});

/** Schema of one {@link Message}. */
export const messageSchema = z.discriminatedUnion('role', [
  z.looseObject({ role: z.literal('system'), ...systemFields }),
  z.looseObject({ role: z.literal('developer'), ...systemFields }),
  z.looseObject({ role: z.literal('user'), content: contentSchema, name, ...cacheMark }),
  assistantSchema,
  z.looseObject({
    role: z.literal('tool'),
    content: toolContentSchema,
    tool_call_id: identifier(1, 512),
    name,
    ...cacheMark,
  }),
]);
