import type { JsonObject, JsonValue } from '../../protocol/json.ts';
import type { ReasoningEffort } from '../../protocol/reasoning.ts';

/** Options that only one provider of the AI SDK understands, under its name. */
export type ProviderOptions = Readonly<Record<string, JsonObject>>;

interface Optioned {
  readonly providerOptions?: ProviderOptions;
}

/** Data of a file: version 4 says of what sort it is; versions 2 and 3 take base64 or an address as they are. */
export type FileData =
  | string
  | URL
  | { readonly type: 'data'; readonly data: string }
  | { readonly type: 'url'; readonly url: URL }
  | { readonly type: 'reference'; readonly reference: Readonly<Record<string, string>> };

/** Text of a message. */
export interface TextPrompt extends Optioned {
  readonly type: 'text';
  readonly text: string;
}

/** A file of a message: an image, a sound, a document. */
export interface FilePrompt extends Optioned {
  readonly type: 'file';
  readonly data: FileData;
  readonly mediaType: string;
  readonly filename?: string;
}

/** Earlier reasoning, with its signature in the options. */
export interface ReasoningPrompt extends Optioned {
  readonly type: 'reasoning';
  readonly text: string;
}

/** An earlier tool call; its input is a value here, and JSON in a string in answers. */
export interface ToolCallPrompt extends Optioned {
  readonly type: 'tool-call';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: JsonObject;
}

/** One part of a tool result that is more than text; each version spells media differently. */
export type ResultPart =
  | TextPrompt
  | FilePrompt
  | { readonly type: 'media'; readonly data: string; readonly mediaType: string }
  | {
      readonly type: 'image-data' | 'file-data';
      readonly data: string;
      readonly mediaType: string;
      readonly filename?: string;
    }
  | { readonly type: 'image-url' | 'file-url'; readonly url: string };

/** What a tool gave back. */
export type ToolOutput =
  | { readonly type: 'text'; readonly value: string }
  | { readonly type: 'json'; readonly value: JsonValue }
  | { readonly type: 'content'; readonly value: readonly ResultPart[] };

/** The result of a tool call. */
export interface ToolResultPrompt extends Optioned {
  readonly type: 'tool-result';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output: ToolOutput;
}

/** One part of an assistant message. */
export type AssistantPrompt = TextPrompt | FilePrompt | ReasoningPrompt | ToolCallPrompt;

/** One message of a prompt. */
export type PromptMessage = Optioned &
  (
    | { readonly role: 'system'; readonly content: string }
    | { readonly role: 'user'; readonly content: readonly (TextPrompt | FilePrompt)[] }
    | { readonly role: 'assistant'; readonly content: readonly AssistantPrompt[] }
    | { readonly role: 'tool'; readonly content: readonly ToolResultPrompt[] }
  );

/** A function that the model may call. */
export interface FunctionToolOption extends Optioned {
  readonly type: 'function';
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly strict?: boolean;
}

/** Which tool must be called. */
export type ToolChoiceOption =
  | { readonly type: 'auto' | 'none' | 'required' }
  | { readonly type: 'tool'; readonly toolName: string };

/** The form of the answer. */
export interface ResponseFormatOption {
  readonly type: 'json';
  readonly schema?: Readonly<Record<string, unknown>>;
  readonly name?: string;
  readonly description?: string;
}

/** Everything that a model is called with, in any version of the interface. */
export interface CallOptions {
  readonly prompt: readonly PromptMessage[];
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  readonly seed?: number;
  readonly stopSequences?: readonly string[];
  readonly responseFormat?: ResponseFormatOption;
  readonly tools?: readonly FunctionToolOption[];
  readonly toolChoice?: ToolChoiceOption;
  /** Version 4 only. */
  readonly reasoning?: ReasoningEffort;
  readonly headers?: Readonly<Record<string, string>>;
  readonly abortSignal?: AbortSignal;
  readonly providerOptions?: ProviderOptions;
}
