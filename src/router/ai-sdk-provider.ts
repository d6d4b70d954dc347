/**
 * The router as a provider of the AI SDK: its models are language and embedding models of the SDK's interface, called
 * in-process. What a call means is decided in `formats/ai-sdk`; here it is done.
 */
import type {
  EmbeddingModelV2,
  EmbeddingModelV3,
  EmbeddingModelV4,
  JSONValue,
  LanguageModelV2,
  LanguageModelV3,
  LanguageModelV4,
} from '@ai-sdk/provider';
import { aboutAnswer, adjustmentsOf, contentOf, finishReasonOf, usageOf } from '../formats/ai-sdk/from-chat.ts';
import { serverToolNames, type ServerToolNames } from '../formats/ai-sdk/server-tools.ts';
import type { CallWarning, LanguageCall, ProviderOptions, SpecVersion } from '../formats/ai-sdk/spec.ts';
import { StreamParts } from '../formats/ai-sdk/stream-parts.ts';
import { chatRequestOf, UnsupportedCall } from '../formats/ai-sdk/to-chat.ts';
import type { ChatFields } from '../protocol/chat-request.ts';
import type { ChatChunk } from '../protocol/chunk.ts';
import { RouterError } from '../protocol/router-error.ts';
import type { ChatStreamSource, StreamItem } from '../runtime/chat/chat-stream.ts';
import type { CallOptions, Router } from './router.ts';

/** Language models by the version of the SDK's interface. */
export interface LanguageModels {
  readonly v2: LanguageModelV2;
  readonly v3: LanguageModelV3;
  readonly v4: LanguageModelV4;
}

/** Embedding models by the version of the SDK's interface. */
export interface EmbeddingModels {
  readonly v2: EmbeddingModelV2<string>;
  readonly v3: EmbeddingModelV3;
  readonly v4: EmbeddingModelV4;
}

/** Options of {@link aiSdkProvider}. */
export interface AiSdkProviderOptions<Version extends SpecVersion = SpecVersion> {
  /** Version of the model interface: `v4` for AI SDK 7, `v3` for 6 and 7, `v2` for 5 to 7. Default `v4`. */
  readonly specification?: Version | undefined;
  /** What goes with every call, such as the account that it is made for. Default: the anonymous account. */
  readonly call?: Omit<CallOptions, 'signal' | 'metadata'> | undefined;
}

/** Fields of a chat request that `providerOptions.signalbox` may hold: preferences, fallbacks, plugins, sessions and so on. */
export type SignalboxProviderOptions = InJson<Omit<ChatFields, 'model' | 'stream' | 'stream_options'>>;

/** A type in the JSON of the SDK's `providerOptions`: its lists can be changed, and what is open in it is JSON. */
type InJson<Value> = unknown extends Value
  ? JSONValue
  : Value extends string | number | boolean | null | undefined
    ? Value
    : Value extends readonly (infer Item)[]
      ? InJson<Item>[]
      : Value extends object
        ? { -readonly [Member in keyof Value]: InJson<Value[Member]> }
        : Value;

/** A provider of the AI SDK: call it with the id of a model, an alias, or a router model such as `router/auto`. */
export interface AiSdkProvider<Model extends string = string, Version extends SpecVersion = SpecVersion> {
  (modelId: Model | (string & {})): LanguageModels[Version];
  readonly specificationVersion: Version;
  languageModel(modelId: Model | (string & {})): LanguageModels[Version];
  embeddingModel(modelId: Model | (string & {})): EmbeddingModels[Version];
  /** The same, under its name in AI SDK 5. */
  textEmbeddingModel(modelId: Model | (string & {})): EmbeddingModels[Version];
  /** @throws NoSuchModelError always: the router has no models that only make images. */
  imageModel(modelId: string): never;
}

/**
 * Makes the router a provider of the AI SDK, for `generateText`, `streamText`, `embedMany`, agents, and as
 * `globalThis.AI_SDK_DEFAULT_PROVIDER`. Calls stay in the process.
 *
 * Routing fields of a chat request go into `providerOptions.signalbox`; the decision, the attempts and the cost come
 * back in `providerMetadata.signalbox`. Errors are the SDK's: `APICallError` with the router's status, and
 * `isRetryable` only where sending the same once more can help.
 *
 * @example
 * ```ts
 * const provider = aiSdkProvider(createRouter());
 * const { textStream } = streamText({
 *   model: provider('openai/gpt-5-mini'),
 *   providerOptions: { signalbox: { models: ['anthropic/claude-haiku-4.5'] } },
 *   prompt: 'Hello',
 * });
 * ```
 */
export function aiSdkProvider<Model extends string>(
  router: Router<Model>,
  options?: AiSdkProviderOptions<'v4'>,
): AiSdkProvider<Model, 'v4'>;

/** Makes the router a provider of the AI SDK, of the version that `specification` names. */
export function aiSdkProvider<Model extends string, const Version extends SpecVersion>(
  router: Router<Model>,
  options: AiSdkProviderOptions<Version>,
): AiSdkProvider<Model, Version>;
export function aiSdkProvider<Model extends string, Version extends SpecVersion>(
  router: Router<Model>,
  { specification, call }: AiSdkProviderOptions<Version> = {},
): AiSdkProvider<Model, Version> {
  const version = specification ?? ('v4' as Version);
  const caller: Caller = { router, version, call };
  const languageModel = (modelId: string): LanguageModels[Version] =>
    languageModelOf(caller, modelId) as unknown as LanguageModels[Version];
  const embeddingModel = (modelId: string): EmbeddingModels[Version] =>
    embeddingModelOf(caller, modelId) as unknown as EmbeddingModels[Version];
  const imageModel = (modelId: string): never => {
    throw sdkError('AI_NoSuchModelError', `The router has no model "${modelId}" that only makes images`, {
      modelId,
      modelType: 'imageModel',
    });
  };
  const members = {
    specificationVersion: version,
    languageModel,
    embeddingModel,
    textEmbeddingModel: embeddingModel,
    imageModel,
  };
  return Object.assign((modelId: string) => languageModel(modelId), members);
}

/** What the models of one provider have in common. */
interface Caller {
  readonly router: Router;
  readonly version: SpecVersion;
  readonly call: AiSdkProviderOptions['call'];
}

const PROVIDER = 'signalbox';

function languageModelOf({ router, version, call }: Caller, modelId: string): object {
  const begin = (
    options: LanguageCall,
  ): {
    readonly request: Parameters<Router['chat']>[0];
    readonly warnings: readonly CallWarning[];
    readonly callOptions: CallOptions;
  } => {
    const { request, warnings } = chatRequestOf(modelId, options, version);
    const { 'anthropic-beta': anthropicBeta = call?.anthropicBeta } = options.headers ?? {};
    return { request, warnings, callOptions: { ...call, anthropicBeta, signal: options.abortSignal, metadata: true } };
  };
  const namesOf = ({ tools }: LanguageCall): ServerToolNames =>
    serverToolNames(tools, router.internals.services.registry.serverTools);
  return {
    specificationVersion: version,
    provider: PROVIDER,
    modelId,
    // Addresses go to providers as they are; what one cannot read, the router reads for it.
    supportedUrls: { 'image/*': [/^https?:/], 'application/pdf': [/^https?:/], 'video/*': [/^https?:/] },
    async doGenerate(options: LanguageCall) {
      try {
        const { request, warnings, callOptions } = begin(options);
        const result = await router.chat(request, callOptions);
        const [choice] = result.choices;
        let sources = 0;
        return {
          content: choice === undefined ? [] : contentOf(choice, version, namesOf(options), () => String(++sources)),
          finishReason: finishReasonOf(choice?.finish_reason, choice?.native_finish_reason, version),
          usage: usageOf(result.usage, version),
          providerMetadata: { [PROVIDER]: aboutAnswer(result) },
          response: responseOf(result),
          warnings: [...warnings, ...adjustmentsOf(result)],
        };
      } catch (error) {
        throw sdkErrorOf(error, modelId);
      }
    },
    async doStream(options: LanguageCall) {
      try {
        const { request, warnings, callOptions } = begin(options);
        const opened = await router.open({ ...request, stream: true }, callOptions);
        if (opened.type !== 'stream') throw new RangeError('a streamed request is answered by a stream');
        const { stream: source } = opened;
        // Who asks for a stream learns of a failure before it as an error of the call, which the SDK may repeat.
        const first: StreamItem[] = [];
        for (let items = await source.next(); items !== undefined; items = await source.next()) {
          first.push(...items);
          if (source.committed) break;
        }
        const adjusted = adjustmentsOf({ router_metadata: source.execution.metadata('answered') });
        const streaming = {
          version,
          modelId,
          first,
          names: namesOf(options),
          warnings: [...warnings, ...adjusted],
          includeRawChunks: options.includeRawChunks ?? false,
        };
        return { stream: streamOf(source, streaming), response: { headers: {} } };
      } catch (error) {
        throw sdkErrorOf(error, modelId);
      }
    },
  };
}

interface Streaming {
  readonly version: SpecVersion;
  readonly modelId: string;
  /** What was read before the stream was given to the program. */
  readonly first: readonly StreamItem[];
  readonly names: ServerToolNames;
  readonly warnings: readonly CallWarning[];
  readonly includeRawChunks: boolean;
}

/**
 * The parts of a stream. One that breaks ends with its failure and, unless the program itself has ended it, with what was
 * decided.
 */
function streamOf(
  source: ChatStreamSource,
  { version, warnings, modelId, names, first, includeRawChunks }: Streaming,
): ReadableStream<object> {
  const parts = new StreamParts(version, names);
  let next: readonly StreamItem[] | undefined = first;
  let last: ChatChunk = source.envelope.text('');
  let reason: Parameters<typeof finishReasonOf>[0];
  let native: string | null = null;
  const finish = (
    controller: ReadableStreamDefaultController<object>,
    about: Parameters<typeof aboutAnswer>[0],
  ): void => {
    controller.enqueue({
      type: 'finish',
      finishReason: finishReasonOf(reason, native, version),
      usage: usageOf(last.usage, version),
      providerMetadata: { [PROVIDER]: aboutAnswer(about) },
    });
    controller.close();
  };
  const push = (controller: ReadableStreamDefaultController<object>, chunk: ChatChunk): number => {
    last = chunk;
    const choice = chunk.choices.find(({ index }) => index === 0);
    if (choice?.finish_reason != null) {
      reason = choice.finish_reason;
      native = choice.native_finish_reason;
    }
    const made = parts.push(chunk);
    if (includeRawChunks) controller.enqueue({ type: 'raw', rawValue: chunk });
    for (const part of made) controller.enqueue(part);
    return made.length + Number(includeRawChunks);
  };
  return new ReadableStream<object>(
    {
      start(controller) {
        controller.enqueue({ type: 'stream-start', warnings });
        controller.enqueue({ type: 'response-metadata', ...responseOf(last) });
      },
      async pull(controller) {
        try {
          // A chunk without parts, such as the one of usage, must not end the reading: it goes on until there is one.
          for (let made = 0; made === 0;) {
            const items = next ?? (await source.next());
            next = undefined;
            if (items === undefined) {
              for (const part of parts.end()) controller.enqueue(part);
              return finish(controller, last);
            }
            for (const item of items) {
              if (typeof item === 'string') made += push(controller, source.envelope.text(item));
              else if (!('type' in item)) made += push(controller, item);
            }
          }
        } catch (error) {
          controller.enqueue({ type: 'error', error: sdkErrorOf(error, modelId) });
          if (!RouterError.isInstance(error)) return controller.close();
          reason = 'error';
          finish(controller, { ...last, router_metadata: source.execution.metadata('failed') });
        }
      },
      cancel: () => source.cancel(),
    },
    { highWaterMark: 0 },
  );
}

function responseOf({
  id,
  created,
  model,
}: {
  readonly id: string;
  readonly created: number;
  readonly model: string;
}): object {
  return { id, timestamp: new Date(created * 1_000), modelId: model };
}

/** What an embedding model is called with. */
interface EmbeddingCall {
  readonly values: readonly string[];
  readonly dimensions?: number | undefined;
  readonly abortSignal?: AbortSignal | undefined;
  readonly providerOptions?: ProviderOptions | undefined;
}

function embeddingModelOf({ router, version, call }: Caller, modelId: string): object {
  return {
    specificationVersion: version,
    provider: PROVIDER,
    modelId,
    // Calls that are too large for a provider are divided by the router.
    maxEmbeddingsPerCall: undefined,
    supportsParallelCalls: true,
    async doEmbed({ values, dimensions, abortSignal: signal, providerOptions }: EmbeddingCall) {
      try {
        const request = {
          model: modelId,
          input: values,
          ...(dimensions === undefined ? {} : { dimensions }),
          ...providerOptions?.[PROVIDER],
          encoding_format: 'float',
        } as const;
        const result = await router.embed(request, { ...call, signal, metadata: true });
        return {
          embeddings: result.data.map(({ embedding }) => embedding),
          usage: { tokens: result.usage.prompt_tokens },
          providerMetadata: { [PROVIDER]: aboutAnswer(result) },
          warnings: [],
        };
      } catch (error) {
        throw sdkErrorOf(error, modelId, 'embeddings');
      }
    },
  };
}

/** An error as the SDK knows it; what is none of the router's, such as an abort, is left as it is. */
function sdkErrorOf(error: unknown, modelId: string, operation = 'chat/completions'): unknown {
  if (error instanceof UnsupportedCall) {
    const { functionality, message } = error;
    return sdkError('AI_UnsupportedFunctionalityError', message, { functionality });
  }
  if (!RouterError.isInstance(error)) return error;
  const { status, message, retryable, retryAfterMs } = error;
  const detail = error.toDetail();
  return sdkError('AI_APICallError', message, {
    cause: error,
    url: `signalbox:${operation}`,
    // Prompts do not belong into errors.
    requestBodyValues: { model: modelId },
    statusCode: status,
    responseHeaders:
      retryAfterMs === undefined
        ? {}
        : { 'retry-after-ms': String(retryAfterMs), 'retry-after': String(Math.ceil(retryAfterMs / 1_000)) },
    responseBody: JSON.stringify({ error: detail }),
    isRetryable: retryable ?? (status === 408 || status === 409 || status === 429 || status >= 500),
    data: detail,
  });
}

/** The SDK knows its errors by a mark that all copies and versions of it share. */
function sdkError(name: string, message: string, members: Readonly<Record<string, unknown>>): Error {
  const marks = { [Symbol.for('vercel.ai.error')]: true, [Symbol.for(`vercel.ai.error.${name}`)]: true };
  return Object.assign(new Error(message), { name, ...members, ...marks });
}
