/** Versions of the AI SDK's model interface that are spoken here: those of AI SDK 5, 6 and 7. */
export const SPEC_VERSIONS = ['v2', 'v3', 'v4'] as const;

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
