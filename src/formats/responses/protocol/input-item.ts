/** The input items of the Responses API, and their schemas. */
import { nullish } from '../../../schema/modifiers.ts';
import type { AnySchema } from '../../../schema/form.ts';
import { jsonObject, array } from '../../../schema/collections.ts';
import { looseObject } from '../../../schema/object.ts';
import { literal, string, enumeration } from '../../../schema/scalars.ts';
import { identifier } from '../../../protocol/fields.ts';
import { type ReasoningEffort, reasoningEffortSchema } from '../../../protocol/reasoning.ts';
import {
  inputContentSchema,
  type InputPart,
  instructionContentSchema,
  type MessagePart,
  outputContentSchema,
} from './input-content.ts';

/** A message of any role; `type` may be left out. */
export interface MessageItem {
  readonly type?: 'message' | null | undefined;
  readonly role: 'user' | 'assistant' | 'system' | 'developer';
  readonly content?: string | readonly MessagePart[] | null | undefined;
  /** Files that were parsed for this answer, as an earlier answer of this router carried them. */
  readonly annotations?: readonly { readonly type: string }[] | null | undefined;
}

/** A function that the model called. `arguments` is JSON as a string. */
export interface FunctionCallItem {
  readonly type: 'function_call';
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
}

/** A custom tool that the model called; `input` is free text. */
export interface CustomToolCallItem {
  readonly type: 'custom_tool_call';
  readonly call_id: string;
  readonly name: string;
  readonly input: string;
}

/** The result of a call. */
interface CallOutputItem {
  readonly type: 'function_call_output' | 'custom_tool_call_output';
  readonly call_id: string;
  readonly output: string | readonly InputPart[];
}

/** What the model thought. `format` and `signature` are ours: providers besides OpenAI need them back. */
export interface ReasoningItem {
  readonly type: 'reasoning';
  readonly id?: string | null | undefined;
  readonly summary?: readonly { readonly type: 'summary_text'; readonly text: string }[] | null | undefined;
  readonly content?: readonly { readonly type: 'reasoning_text'; readonly text: string }[] | null | undefined;
  readonly encrypted_content?: string | null | undefined;
  readonly format?: string | null | undefined;
  readonly signature?: string | null | undefined;
}

/** An image that the model made: base64, or an address. */
export interface ImageCallItem {
  readonly type: 'image_generation_call';
  readonly result?: string | null | undefined;
  readonly output_format?: string | null | undefined;
}

/** A call of a server tool. Those that this router ran carry what is needed to replay them. */
export interface ServerCallItem {
  readonly type: 'web_search_call' | `router:${string}` | `openrouter:${string}`;
  readonly tool_name?: string | null | undefined;
  readonly tool_call_id?: string | null | undefined;
  readonly arguments?: string | null | undefined;
  readonly result?: string | null | undefined;
}

/** Changes the reasoning effort from here on. */
interface ConfigurationItem {
  readonly type: 'configuration_update';
  readonly reasoning?: { readonly effort?: ReasoningEffort | null | undefined } | null | undefined;
  readonly text?: unknown;
}

/** One item of `input`. Items that only their own provider understands have a type that is not listed here. */
export type InputItem =
  | MessageItem
  | FunctionCallItem
  | CustomToolCallItem
  | CallOutputItem
  | ReasoningItem
  | ImageCallItem
  | ServerCallItem
  | ConfigurationItem;

const callId = identifier(1, 512);
const toolName = string({ least: 1, most: 256 });
const type = nullish(string());

const instructions = looseObject({ type, content: instructionContentSchema });

const messageSchemas: ReadonlyMap<unknown, AnySchema> = new Map<unknown, AnySchema>([
  ['user', looseObject({ type, content: inputContentSchema })],
  ['system', instructions],
  ['developer', instructions],
  [
    'assistant',
    looseObject({
      type,
      content: outputContentSchema,
      annotations: nullish(array(looseObject({ type: string() }))),
    }),
  ],
]);

/** For messages whose role is not known, to say which are. */
const anyMessage = looseObject({ role: enumeration(['user', 'assistant', 'system', 'developer']) });

const callOutput = looseObject({ type, call_id: callId, output: inputContentSchema });

const serverCall = looseObject({
  type,
  tool_name: nullish(string()),
  tool_call_id: nullish(string()),
  arguments: nullish(string()),
  result: nullish(string()),
});

const reasoningItem = looseObject({
  type,
  id: nullish(identifier(0, 512)),
  summary: nullish(array(looseObject({ type: literal('summary_text'), text: string() }))),
  content: nullish(array(looseObject({ type: literal('reasoning_text'), text: string() }))),
  encrypted_content: nullish(string()),
  format: nullish(string()),
  signature: nullish(string()),
});

const itemSchemas: ReadonlyMap<string, AnySchema> = new Map<string, AnySchema>([
  ['function_call', looseObject({ type, call_id: callId, name: toolName, arguments: string() })],
  ['custom_tool_call', looseObject({ type, call_id: callId, name: toolName, input: string() })],
  ['function_call_output', callOutput],
  ['custom_tool_call_output', callOutput],
  ['reasoning', reasoningItem],
  ['image_generation_call', looseObject({ type, result: nullish(string()), output_format: nullish(string()) })],
  [
    'configuration_update',
    looseObject({ type, reasoning: nullish(looseObject({ effort: nullish(reasoningEffortSchema) })) }),
  ],
]);

/** The schema of an item, found by its type and role: one schema for all would explain mistakes badly. */
export function schemaOfItem(item: { readonly type?: unknown; readonly role?: unknown }): AnySchema {
  const { type: kind, role } = item;
  if (kind == null || kind === 'message') return messageSchemas.get(role) ?? anyMessage;
  if (typeof kind !== 'string') return looseObject({ type: string() });
  return isServerCall(kind) ? serverCall : (itemSchemas.get(kind) ?? jsonObject);
}

/** True for an item that can be said in the chat form. */
export function isTranslatedItem(item: { readonly type?: unknown }): item is InputItem {
  const { type: kind } = item;
  if (kind == null || kind === 'message') return true;
  return typeof kind === 'string' && (isServerCall(kind) || itemSchemas.has(kind));
}

/** True for the type of an item that tells of a server tool of a router. */
function isServerCall(kind: string): boolean {
  return kind === 'web_search_call' || /^(?:open)?router:/.test(kind);
}
