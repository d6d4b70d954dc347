/**
 * The model interface of the AI SDK, from the side of a program that calls a model: versions 2 to 4, which are those of
 * AI SDK 5, 6 and 7. Described here by its members, so that no package of the SDK is needed, and several versions of it
 * may stand side by side.
 */
import type { JsonObject, JsonValue } from '../../protocol/json.ts';

/** A version of the model interface: of AI SDK 5, 6 and 7. */
export type SpecVersion = 'v2' | 'v3' | 'v4';

/** Options of a provider by the provider's name. Ours are under `signalbox`. */
export type ProviderOptions = Readonly<Record<string, JsonObject>>;

interface WithOptions {
  readonly providerOptions?: ProviderOptions | undefined;
}

/** Data of a file: version 4 says of what sort it is; versions 2 and 3 take base64, bytes or an address as they are. */
export type FileData =
  | string
  | Uint8Array
  | URL
  | { readonly type: 'data'; readonly data: string | Uint8Array }
  | { readonly type: 'url'; readonly url: URL }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reference'; readonly reference: Readonly<Record<string, string>> };

/** A text of a prompt. */
export interface PromptText extends WithOptions {
  readonly type: 'text';
  readonly text: string;
}

/** A file of a prompt. */
export interface PromptFile extends WithOptions {
  readonly type: 'file';
  readonly data: FileData;
  readonly mediaType: string;
  readonly filename?: string | undefined;
}

/** What a tool gave back. */
export type ToolOutput =
  | { readonly type: 'text' | 'error-text'; readonly value: string }
  | { readonly type: 'json' | 'error-json'; readonly value: JsonValue }
  | { readonly type: 'execution-denied'; readonly reason?: string | undefined }
  | { readonly type: 'content'; readonly value: readonly ResultPart[] };

/** A part of what a tool gave back; versions 2 and 3 have names of their own for media. */
export type ResultPart =
  | PromptText
  | PromptFile
  | {
      readonly type: 'media' | 'image-data' | 'file-data';
      readonly data: string;
      readonly mediaType: string;
      readonly filename?: string | undefined;
    }
  | { readonly type: 'image-url' | 'file-url'; readonly url: string }
  | { readonly type: 'custom' | 'file-id' | 'image-file-id' };

/** A result of a call. */
export interface ToolResultPart extends WithOptions {
  readonly type: 'tool-result';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output: ToolOutput;
}

/** A call of a tool in an earlier turn. */
export interface ToolCallPart extends WithOptions {
  readonly type: 'tool-call';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
  readonly providerExecuted?: boolean | undefined;
}

/** A part of an earlier turn of a model. */
export type AssistantPart =
  | PromptText
  | PromptFile
  | (WithOptions & { readonly type: 'reasoning'; readonly text: string })
  | ToolCallPart
  | ToolResultPart
  | (WithOptions & { readonly type: 'custom' | 'reasoning-file' });

/** A message of a prompt. */
export type PromptMessage = WithOptions &
  (
    | { readonly role: 'system'; readonly content: string }
    | { readonly role: 'user'; readonly content: readonly (PromptText | PromptFile)[] }
    | { readonly role: 'assistant'; readonly content: readonly AssistantPart[] }
    | {
        readonly role: 'tool';
        readonly content: readonly (ToolResultPart | { readonly type: 'tool-approval-response' })[];
      }
  );

/** A tool: a function of the program, or one that a provider runs by itself. */
export type ToolOption =
  | (WithOptions & {
      readonly type: 'function';
      readonly name: string;
      readonly description?: string | undefined;
      readonly inputSchema: unknown;
      readonly strict?: boolean | undefined;
    })
  | {
      readonly type: 'provider' | 'provider-defined';
      readonly id: string;
      readonly name: string;
      readonly args: Readonly<Record<string, unknown>>;
    };

/** What a language model is called with. */
export interface LanguageCall {
  readonly prompt: readonly PromptMessage[];
  readonly maxOutputTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  readonly presencePenalty?: number | undefined;
  readonly frequencyPenalty?: number | undefined;
  readonly seed?: number | undefined;
  readonly stopSequences?: readonly string[] | undefined;
  readonly responseFormat?:
    | { readonly type: 'text' }
    | {
        readonly type: 'json';
        readonly schema?: unknown;
        readonly name?: string | undefined;
        readonly description?: string | undefined;
      }
    | undefined;
  readonly tools?: readonly ToolOption[] | undefined;
  readonly toolChoice?:
    | { readonly type: 'auto' | 'none' | 'required' }
    | { readonly type: 'tool'; readonly toolName: string }
    | undefined;
  /** Version 4 only. */
  readonly reasoning?: string | undefined;
  readonly abortSignal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
  readonly includeRawChunks?: boolean | undefined;
  readonly providerOptions?: ProviderOptions | undefined;
}

/** Something of a call that is not done as requested. */
export type CallWarning =
  | { readonly type: 'unsupported'; readonly feature: string; readonly details?: string }
  | { readonly type: 'unsupported-setting'; readonly setting: string; readonly details?: string }
  | { readonly type: 'other'; readonly message: string };

/** What comes with a part of an answer, for the turns to come: ours is under `signalbox`. */
export interface Carried {
  readonly providerMetadata?: { readonly signalbox: JsonObject };
}

/** A part of a non-streaming response. */
export type AnswerPart =
  | (Carried & { readonly type: 'text'; readonly text: string })
  | (Carried & { readonly type: 'reasoning'; readonly text: string })
  | (Carried & { readonly type: 'file'; readonly mediaType: string; readonly data: unknown })
  | SourcePart
  | CallPart
  | ResultOfProvider;

/** A source that an answer cites. */
export interface SourcePart extends Carried {
  readonly type: 'source';
  readonly sourceType: 'url';
  readonly id: string;
  readonly url: string;
  readonly title?: string;
}

/** A call of a tool. */
export interface CallPart extends Carried {
  readonly type: 'tool-call';
  readonly toolCallId: string;
  readonly toolName: string;
  /** JSON. */
  readonly input: string;
  readonly providerExecuted?: boolean;
  readonly dynamic?: boolean;
}

/** The result of a tool that the router ran. */
export interface ResultOfProvider extends Carried {
  readonly type: 'tool-result';
  readonly toolCallId: string;
  readonly toolName: string;
  /** Never null. */
  readonly result: JsonValue;
  readonly isError?: boolean;
  readonly providerExecuted?: boolean;
  readonly dynamic?: boolean;
}

/** A part of a stream that is not about the whole of it. */
export type StreamedPart =
  | (Carried & { readonly type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'; readonly id: string })
  | (Carried & { readonly type: 'text-delta' | 'reasoning-delta'; readonly id: string; readonly delta: string })
  | { readonly type: 'tool-input-start'; readonly id: string; readonly toolName: string }
  | { readonly type: 'tool-input-delta'; readonly id: string; readonly delta: string }
  | { readonly type: 'tool-input-end'; readonly id: string }
  | Exclude<AnswerPart, { readonly type: 'text' | 'reasoning' }>;
