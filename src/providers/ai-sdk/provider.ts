import type { EndpointDeclaration } from '../../catalog/endpoint.ts';
import { failure } from '../../core/fallback/failure.ts';
import type { TraceContext } from '../../core/trace-context.ts';
import type { JsonValue } from '../../protocol/json.ts';
import { type EmbeddingCall, type Provider, type ProviderCall } from '../provider.ts';
import { type EmbeddingReply, type ProviderReply, failedReply } from '../provider-reply.ts';
import { callIdPrefix, originalIds } from '../tool-ids.ts';
import type { ErrorContext } from '../upstream-failure.ts';
import { fetchFiles } from './addresses.ts';
import type { CallOptions } from './call-options.ts';
import { guardedDownload } from './download.ts';
import { embedWith } from './embed.ts';
import { type CallDefaults, encodeCall } from './encode-call.ts';
import { familyOf } from './families.ts';
import { EncodeError } from '../encode-error.ts';
import { LinkedAbort } from './linked-abort.ts';
import { type AiSdkModel, type AiSdkUpstream, isEmbeddingModel, isLanguageModel, looksLikeModel } from './model.ts';
import {
  type AiSdkDeclaration,
  type AiSdkModelOptions,
  type AiSdkModelTable,
  type AiSdkOptions,
  declaredBy,
  entriesOf,
  tableOfOne,
} from './options.ts';
import type { DecodingContext } from './part-decoder.ts';
import { type PartSource, PartStream } from './part-stream.ts';
import { failureOfThrown } from './thrown-failure.ts';
import { decodeWhole } from './whole-answer.ts';

/**
 * A provider made of language models and embedding models of the Vercel AI SDK, which brings every provider that the SDK
 * knows: Bedrock, Vertex, Cohere and so on. The models are recognised by their members; this package needs no part of
 * the SDK.
 *
 * Routing, retries, fallbacks, timeouts and accounting are the router's: models by themselves never retry.
 *
 * @example
 * ```ts
 * fromAiSdk({
 *   slug: 'bedrock',
 *   models: {
 *     'anthropic/claude-sonnet-5': { model: bedrock('eu.anthropic.claude-sonnet-5'), contextLength: 200_000 },
 *     'amazon/nova-pro': bedrock('eu.amazon.nova-pro-v1:0'),
 *   },
 * });
 * fromAiSdk(cohere('command-a'), { id: 'cohere/command-a', price: { prompt: 2.5, completion: 10 } });
 * ```
 * @throws {@link ConfigError} when something is not a model of a version that is understood.
 */
export function fromAiSdk<const Models extends AiSdkModelTable>(
  options: AiSdkOptions<Models>,
): Provider<Extract<keyof Models, string>>;
/**
 * A provider made of one model of the Vercel AI SDK.
 *
 * @param options - `id` is the model's name here; by default it is made of the model's own provider and id.
 * @throws {@link ConfigError} when it is not a model of a version that is understood.
 */
export function fromAiSdk<const Id extends string = string>(
  model: AiSdkUpstream,
  options?: AiSdkModelOptions<Id>,
): Provider<Id>;
export function fromAiSdk(first: AiSdkOptions | AiSdkUpstream, options: AiSdkModelOptions = {}): Provider {
  const isTable = typeof first === 'object' && first !== null && 'models' in first && !looksLikeModel(first);
  return aiSdkProvider(isTable ? first : tableOfOne(first, options));
}

function aiSdkProvider(options: AiSdkOptions): Provider {
  const { slug, headers, onWarning, secrets = [] } = options;
  const guarded = options.download === undefined ? guardedDownload() : undefined;
  const download = options.download === false ? undefined : (options.download ?? guarded?.download);
  const declarations = new Map<string, AiSdkDeclaration>();
  const models: Record<string, readonly EndpointDeclaration[]> = {};
  for (const [id, entries] of entriesOf(options)) {
    models[id] = entries.map(({ upstreamModel, declaration }) => {
      declarations.set(upstreamModel, declaration);
      return { ...declaredBy(declaration), upstreamModel };
    });
  }

  /** Makes one call with its model; whatever goes wrong is a failure. The signal lives until the reply is complete. */
  async function withModel<Reply extends { readonly type: string }>(
    { endpoint, apiKey, signal, traceContext }: Pick<ProviderCall, 'endpoint' | 'apiKey' | 'signal' | 'traceContext'>,
    run: (calling: Calling) => Promise<Reply>,
  ): Promise<Reply | ReturnType<typeof failedReply>> {
    const context = { secrets: apiKey === undefined ? secrets : [apiKey, ...secrets], wallClock: Date.now() };
    if (signal.aborted) return failedReply(failure('aborted', 'The call was given up'));
    const declaration = declarations.get(endpoint.upstreamModel);
    if (declaration === undefined) return failedReply(failure('adapter', 'The model is not declared'));
    const abort = new LinkedAbort(signal);
    let reply: Reply | undefined;
    try {
      const model = modelFor(declaration, apiKey);
      if (model === undefined) return failedReply(failure('credentials', NO_OWN_KEYS));
      const defaults = { providerOptions: declaration.providerOptions, headers: withTrace(headers, traceContext) };
      return (reply = await run({ model, defaults, abort, context }));
    } catch (error) {
      if (error instanceof EncodeError) return failedReply(error.failure);
      return failedReply(failureOfThrown(error, context, signal));
    } finally {
      if (reply?.type !== 'stream') abort.release();
    }
  }

  function chat(call: ProviderCall): Promise<ProviderReply> {
    const { request, endpoint, signal } = call;
    return withModel<ProviderReply>(call, async ({ model, defaults, abort, context }) => {
      if (!isLanguageModel(model)) throw new EncodeError(`${endpoint.model} makes embeddings only`);
      const family = familyOf(model);
      const fetched = await fetchFiles(request.messages, model, family, { download, signal });
      const written = encodeCall(request, endpoint, model, fetched, defaults);
      call.progress.sending(() => withoutHeaders(written));
      return ask(model, { ...written, abortSignal: abort.signal }, abort, {
        ...context,
        family,
        signal,
        streamed: request.stream,
        idPrefix: callIdPrefix(request),
        originalId: originalIds(request.messages, family.toolIds),
        warnings: { request, provider: slug, model: endpoint.model, onWarning },
      });
    });
  }

  function embed(call: EmbeddingCall): Promise<EmbeddingReply> {
    const { request, endpoint } = call;
    return withModel<EmbeddingReply>(call, ({ model, defaults, abort }) => {
      if (!isEmbeddingModel(model)) throw new EncodeError(`${endpoint.model} makes no embeddings`);
      const warnings = { request, provider: slug, model: endpoint.model, onWarning };
      return embedWith(model, call, { signal: abort.signal, defaults, warnings });
    });
  }

  const canEmbed = [...declarations.values()].some(({ model }) => isEmbeddingModel(model));
  return {
    slug,
    name: options.name ?? slug,
    models,
    dataCollection: options.dataCollection,
    zeroDataRetention: options.zeroDataRetention,
    chat,
    ...(canEmbed ? { embed } : {}),
    async close() {
      await guarded?.close();
    },
  };
}

/** What a call is made with once its model is known. */
interface Calling {
  readonly model: AiSdkUpstream;
  readonly defaults: CallDefaults;
  readonly abort: LinkedAbort;
  readonly context: ErrorContext;
}

const NO_OWN_KEYS = 'This provider has no way to use a key of the account';

/** An account's key is for its own calls, and the operator's key is not for those. */
function modelFor({ model, modelForKey }: AiSdkDeclaration, apiKey: string | undefined): AiSdkUpstream | undefined {
  return apiKey === undefined ? model : modelForKey?.(apiKey);
}

async function ask(
  model: AiSdkModel,
  options: CallOptions,
  abort: LinkedAbort,
  context: DecodingContext,
): Promise<ProviderReply> {
  if (context.streamed) {
    const answer: unknown = await model.doStream(options as never);
    const source = (answer as { stream?: unknown } | null)?.stream;
    if (isSource(source)) return { type: 'stream', stream: new PartStream(source, context, abort) };
    return failedReply(failure('bad_response', 'The model gave no stream'));
  }
  const answer = decodeWhole(await model.doGenerate(options as never), context);
  return answer.ok ? { type: 'whole', result: answer.result } : failedReply(answer.failure);
}

function isSource(value: unknown): value is PartSource {
  return typeof (value as Partial<PartSource> | null | undefined)?.getReader === 'function';
}

function withTrace(
  headers: Readonly<Record<string, string>> | undefined,
  { traceparent, tracestate }: Partial<TraceContext> = {},
): Readonly<Record<string, string>> | undefined {
  if (traceparent === undefined) return headers;
  return { ...headers, traceparent, ...(tracestate === undefined ? {} : { tracestate }) };
}

/** The call as the model gets it, for debugging. Headers may hold keys. */
function withoutHeaders({ headers: _, ...options }: CallOptions): JsonValue {
  return JSON.parse(JSON.stringify(options)) as JsonValue;
}
