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

/** True for an object with the members of a language model, of whatever version. */
export function looksLikeModel(value: unknown): value is AiSdkModel {
  if (typeof value !== 'object' || value === null) return false;
  const { doGenerate, doStream } = value as Partial<Record<keyof AiSdkModel, unknown>>;
  return typeof doGenerate === 'function' && typeof doStream === 'function';
}

/** What is wrong with a value that should be a model, as the end of a sentence; undefined when nothing is. */
export function problemOfModel(value: unknown): string | undefined {
  if (typeof value === 'string')
    return `must be a model object such as openai('${value}'): a name alone has no provider`;
  if (!looksLikeModel(value)) return "must be a language model of the AI SDK, such as anthropic('claude-sonnet-5')";
  const { specificationVersion: version, provider, modelId } = value as Partial<Record<keyof AiSdkModel, unknown>>;
  if (!(SPEC_VERSIONS as readonly unknown[]).includes(version)) {
    return `is of version ${String(version)} of the model interface; ${SPEC_VERSIONS.join(', ')} are understood`;
  }
  return typeof provider === 'string' && typeof modelId === 'string' ? undefined : 'must have a provider and a modelId';
}
