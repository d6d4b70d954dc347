/** The model interfaces of the AI SDK, in the versions that are supported. */
import type { JsonObject, JsonValue } from '../../protocol/json.ts';
import type { ReasoningEffort } from '../../protocol/reasoning.ts';

/** Versions of the AI SDK's model interface that are spoken here: those of AI SDK 5, 6 and 7. */
const SPEC_VERSIONS = ['v2', 'v3', 'v4'] as const;

/** A version of the AI SDK's model interface. */
export type SpecVersion = (typeof SPEC_VERSIONS)[number];

/**
 * A language model of the AI SDK, recognised by its members: no package of the AI SDK is needed for it, and models of
 * several copies or versions of the SDK may stand side by side.
 */
export interface AiSdkModel {
  readonly specificationVersion: SpecVersion;
  /** Name of the SDK's provider, such as `anthropic.messages`. */
  readonly provider: string;
  readonly modelId: string;
  /** Media types to patterns of addresses that the model fetches by itself; may be a promise. */
  readonly supportedUrls?: unknown;
  doGenerate(options: never): PromiseLike<unknown>;
  doStream(options: never): PromiseLike<unknown>;
}

/** An embedding model of the AI SDK, recognised in the same way. */
export interface AiSdkEmbeddingModel {
  readonly specificationVersion: SpecVersion;
  readonly provider: string;
  readonly modelId: string;
  /** Most inputs of one call; may be a promise. */
  readonly maxEmbeddingsPerCall?: unknown;
  doEmbed(options: never): PromiseLike<unknown>;
}

/** Any model of the AI SDK that can be an upstream. */
export type AiSdkUpstream = AiSdkModel | AiSdkEmbeddingModel;

/** True for a language model. */
export function isLanguageModel(value: object): value is AiSdkModel {
  const { doGenerate, doStream } = value as Partial<Record<keyof AiSdkModel, unknown>>;
  return typeof doGenerate === 'function' && typeof doStream === 'function';
}

/** True for an embedding model. */
export function isEmbeddingModel(value: object): value is AiSdkEmbeddingModel {
  return typeof (value as Partial<Record<keyof AiSdkEmbeddingModel, unknown>>).doEmbed === 'function';
}

/** Whether prompts for a model may be marked for its provider's cache, as those of Anthropic's packages and Bedrock's. */
export function takesCacheMarks({ provider }: { readonly provider: string }): boolean {
  return /(?:^|\.)anthropic(?:\.|$)|bedrock/i.test(provider);
}

/** True for an object with the members of a model, of whatever version. */
export function looksLikeModel(value: unknown): value is AiSdkUpstream {
  return typeof value === 'object' && value !== null && (isLanguageModel(value) || isEmbeddingModel(value));
}

/** What is wrong with a value that should be a model, as the end of a sentence; undefined when nothing is. */
export function problemOfModel(value: unknown): string | undefined {
  if (typeof value === 'string')
    return `must be a model object such as openai('${value}'): a name alone has no provider`;
  if (!looksLikeModel(value))
    return "must be a language or embedding model of the AI SDK, such as anthropic('claude-sonnet-5')";
  const { specificationVersion: version, provider, modelId } = value as Partial<Record<keyof AiSdkModel, unknown>>;
  if (!(SPEC_VERSIONS as readonly unknown[]).includes(version)) {
    return `is of version ${String(version)} of the model interface; ${SPEC_VERSIONS.join(', ')} are understood`;
  }
  return typeof provider === 'string' && typeof modelId === 'string' ? undefined : 'must have a provider and a modelId';
}

/** Options that only one provider of the AI SDK understands, under its name. */
export type ProviderOptions = Readonly<Record<string, JsonObject>>;

interface Optioned {
  readonly providerOptions?: ProviderOptions;
}

/** Data of a file: version 4 says of what sort it is; versions 2 and 3 take base64 or an address as they are. */
export type PromptFileData =
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
  readonly data: PromptFileData;
  readonly mediaType: string;
  readonly filename?: string;
}

/** Earlier reasoning, with its signature in the options. */
export interface ReasoningPrompt extends Optioned {
  readonly type: 'reasoning';
  readonly text: string;
}

/** An earlier tool call; its input is a value here, and JSON in a string in answers. */
interface ToolCallPrompt extends Optioned {
  readonly type: 'tool-call';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: JsonObject;
}

/** One part of a tool result that is more than text; each version spells media differently. */
export type PromptResultPart =
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
export type PromptToolOutput =
  | { readonly type: 'text'; readonly value: string }
  | { readonly type: 'json'; readonly value: JsonValue }
  | { readonly type: 'content'; readonly value: readonly PromptResultPart[] };

/** The result of a tool call. */
export interface ToolResultPrompt extends Optioned {
  readonly type: 'tool-result';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output: PromptToolOutput;
}

/** One part of an assistant message. */
export type AssistantPrompt = TextPrompt | FilePrompt | ReasoningPrompt | ToolCallPrompt;

/** One message of a prompt. */
export type UpstreamMessage = Optioned &
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
export interface UpstreamCallOptions {
  readonly prompt: readonly UpstreamMessage[];
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
