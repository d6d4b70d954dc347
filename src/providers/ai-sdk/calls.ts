/** Calls models of the AI SDK; loaded on first use. */
import type { AiSdkDeclaration, AiSdkOptions } from './options.ts';
import type { TraceContext } from '../../contracts/trace-context.ts';
import { isJsonObject, type JsonValue } from '../../protocol/json.ts';
import { type EmbeddingCall, type ProviderCall, failedReply } from '../../contracts/provider.ts';
import { callIdPrefix, originalIds } from '../tool-ids.ts';
import { SignatureMemory, withSignatures } from '../signed-parts.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { ErrorContext } from '../upstream-failure.ts';
import { guardedDownload } from '../guarded-download.ts';
import { fetchFiles } from './media.ts';
import {
  type AiSdkModel,
  type AiSdkUpstream,
  type UpstreamCallOptions,
  isEmbeddingModel,
  isLanguageModel,
} from './model.ts';
import { embedWith } from './embed.ts';
import { type CallDefaults, encodeCall } from './encode-call.ts';
import { type AiSdkFamily, familyOf } from './families.ts';
import { EncodeError } from '../codec.ts';
import { withKey } from '../issued-tokens.ts';
import { TransportError } from '../../net/transport.ts';
import { type DecodingContext, PartDecoder } from './part-decoder.ts';
import { failureOfThrown } from './thrown-failure.ts';
import { ResultCollector } from '../../core/stream/collect.ts';
import type { EmbeddingReply, ProviderReply, PieceStream } from '../../contracts/provider-reply.ts';
import { type AttemptFailure, failure, NO_TOKEN } from '../../contracts/failure.ts';
import type { StreamPiece, UpstreamResult } from '../../contracts/stream-piece.ts';

/** The calls of a provider that is made of models of the AI SDK. */
export interface AiSdkCalls {
  readonly chat: (call: ProviderCall) => Promise<ProviderReply>;
  readonly embed: (call: EmbeddingCall) => Promise<EmbeddingReply>;
  /** Frees what fetched files for models that take none by address. */
  readonly close: () => Promise<void>;
}

/**
 * Makes the calls of a provider.
 *
 * @param declarations - Its models, by the name under which endpoints call them.
 */
export function aiSdkCalls(options: AiSdkOptions, declarations: ReadonlyMap<string, AiSdkDeclaration>): AiSdkCalls {
  const { slug, onWarning } = options;
  const guarded = options.download === undefined ? guardedDownload() : undefined;
  const download = options.download === false ? undefined : (options.download ?? guarded?.download);
  const signatures = new SignatureMemory();
  const models = new DeclaredModels(options, declarations);

  function chat(call: ProviderCall): Promise<ProviderReply> {
    const { request, endpoint, signal } = call;
    return models.call<ProviderReply>(call, async ({ model, defaults, abort, context }) => {
      if (!isLanguageModel(model)) throw new EncodeError(`${endpoint.model} makes embeddings only`);
      const family = familyOf(model);
      const fetched = await fetchFiles(request.messages, model, family, { download, signal });
      const { progress } = call;
      const sent = signed(request, model, family, signatures);
      const written = encodeCall(sent, endpoint, { model, fetched, defaults }, progress.adjusted);
      progress.sending(() => withoutHeaders(written));
      return ask(model, { ...written, abortSignal: abort.signal }, abort, {
        ...context,
        family,
        signal,
        streamed: request.stream,
        idPrefix: callIdPrefix(request),
        originalId: originalIds(request.messages, family.toolIds),
        ownTools: new Set(request.tools.map((tool) => tool.function.name)),
        onExtra: ({ id, name, extra }) => {
          const signature = extra.google?.thought_signature;
          if (signature !== undefined) signatures.remember(request.account.id, `${id}\n${name}`, signature);
        },
        warnings: { request, provider: slug, model: endpoint.model, onWarning },
      });
    });
  }

  function embed(call: EmbeddingCall): Promise<EmbeddingReply> {
    const { request, endpoint } = call;
    return models.call<EmbeddingReply>(call, ({ model, defaults, abort }) => {
      if (!isEmbeddingModel(model)) throw new EncodeError(`${endpoint.model} makes no embeddings`);
      const warnings = { request, provider: slug, model: endpoint.model, onWarning };
      return embedWith(model, call, { signal: abort.signal, defaults, warnings });
    });
  }

  return {
    chat,
    embed,
    async close() {
      await guarded?.close();
    },
  };
}

/** The models of a provider by the name under which endpoints call them, each called with the key that is to pay. */
class DeclaredModels {
  readonly #headers: AiSdkOptions['headers'];
  readonly #secrets: readonly string[];
  readonly #declarations: ReadonlyMap<string, AiSdkDeclaration>;

  constructor({ headers, secrets = [] }: AiSdkOptions, declarations: ReadonlyMap<string, AiSdkDeclaration>) {
    this.#headers = headers;
    this.#secrets = secrets;
    this.#declarations = declarations;
  }

  /** Makes one call with its model, and the account's key if it has one; whatever goes wrong is a failure. */
  async call<Reply extends { readonly type: string }>(
    call: ModelCall,
    run: (calling: Calling) => Promise<Reply>,
  ): Promise<Reply | FailedReply> {
    const { apiKey } = call;
    if (apiKey === undefined) return this.#callWith(call, undefined, run);
    try {
      return await withKey(apiKey, (key) => this.#callWith(call, key, run), isRefusedKey);
    } catch (error) {
      return failedReply(error instanceof TransportError ? error.failure : failure('adapter', NO_TOKEN));
    }
  }

  /** The signal lives until the reply is complete. */
  async #callWith<Reply extends { readonly type: string }>(
    { endpoint, signal, traceContext }: ModelCall,
    apiKey: string | undefined,
    run: (calling: Calling) => Promise<Reply>,
  ): Promise<Reply | FailedReply> {
    const context = {
      secrets: apiKey === undefined ? this.#secrets : [apiKey, ...this.#secrets],
      wallClock: Date.now(),
    };
    if (signal.aborted) return failedReply(failure('aborted', 'The call was given up'));
    const declaration = this.#declarations.get(endpoint.upstreamModel);
    if (declaration === undefined) return failedReply(failure('adapter', 'The model is not declared'));
    const abort = new LinkedAbort(signal);
    let reply: Reply | undefined;
    try {
      const model = modelFor(declaration, apiKey);
      if (model === undefined) return failedReply(failure('credentials', NO_OWN_KEYS));
      const defaults = {
        providerOptions: declaration.providerOptions,
        headers: withTrace(this.#headers, traceContext),
      };
      return (reply = await run({ model, defaults, abort, context }));
    } catch (error) {
      if (error instanceof EncodeError) return failedReply(error.failure);
      return failedReply(failureOfThrown(error, context, signal));
    } finally {
      if (reply?.type !== 'stream') abort.release();
    }
  }
}

/** Signatures go back to who made them, or to models of Google's: others may refuse what they do not know. */
function signed(
  request: NormalizedRequest,
  { modelId }: AiSdkModel,
  family: AiSdkFamily,
  signatures: SignatureMemory,
): NormalizedRequest {
  const recall = (id: string, name: string): string | undefined =>
    signatures.recall(request.account.id, `${id}\n${name}`);
  const isGoogles = family.signature === 'google' || /gemini|gemma/i.test(modelId);
  const messages = withSignatures(request.messages, recall, { keepsOthers: isGoogles });
  return messages === request.messages ? request : { ...request, messages };
}

/** What is needed of a call to make it. */
type ModelCall = Pick<ProviderCall, 'endpoint' | 'apiKey' | 'signal' | 'traceContext'>;

type FailedReply = ReturnType<typeof failedReply>;

function isRefusedKey(reply: { readonly type: string }): boolean {
  return reply.type === 'failed' && (reply as FailedReply).failure.status === 401;
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
  options: UpstreamCallOptions,
  abort: LinkedAbort,
  context: DecodingContext,
): Promise<ProviderReply> {
  if (context.streamed) {
    const answer: unknown = await model.doStream(options as never);
    const source = (answer as { stream?: unknown } | null)?.stream;
    if (isSource(source)) return { type: 'stream', stream: new PartStream(source, context, abort) };
    return failedReply(failure('bad_response', 'The model gave no stream'));
  }
  const answer = decodeComplete(await model.doGenerate(options as never), context);
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
function withoutHeaders({ headers: _, ...options }: UpstreamCallOptions): JsonValue {
  return JSON.parse(JSON.stringify(options)) as JsonValue;
}

/**
 * Reads a non-streaming response. It is taken for a stream of few parts, so that text, reasoning, tool calls and usage
 * mean the same however they came.
 */
function decodeComplete(
  answer: unknown,
  context: DecodingContext,
): { readonly ok: true; readonly result: UpstreamResult } | { readonly ok: false; readonly failure: AttemptFailure } {
  if (!isJsonObject(answer) || !Array.isArray(answer['content'])) {
    return { ok: false, failure: failure('bad_response', 'The model gave an answer without content') };
  }
  const decoder = new PartDecoder({ ...context, streamed: false });
  const pieces: StreamPiece[] = [];
  for (const part of partsOf(answer, answer['content'])) decoder.part(part, pieces);
  const collector = new ResultCollector();
  for (const piece of pieces) {
    if (typeof piece !== 'string' && piece.type === 'failure') return { ok: false, failure: piece.failure };
    if (typeof piece !== 'string' && piece.type === 'finish' && piece.reason === 'error') {
      return { ok: false, failure: failure('server', 'The provider ended its answer with an error') };
    }
    collector.add(piece);
  }
  return { ok: true, result: collector.result() };
}

function partsOf(
  { warnings, response, finishReason, usage, providerMetadata }: Readonly<Record<string, unknown>>,
  content: readonly unknown[],
): readonly unknown[] {
  const id: unknown = isJsonObject(response) ? response['id'] : undefined;
  return [
    { type: 'stream-start', warnings },
    { type: 'response-metadata', id },
    ...content.flatMap(spread),
    { type: 'finish', finishReason, usage, providerMetadata },
  ];
}

/** Text and reasoning come in one piece here, and in three parts in streams. */
function spread(part: unknown, position: number): readonly unknown[] {
  if (!isJsonObject(part) || (part['type'] !== 'text' && part['type'] !== 'reasoning')) return [part];
  const { type, text, citations, providerMetadata } = part;
  const id = `whole-${position}`;
  return [
    { type: `${type}-start`, id },
    { type: `${type}-delta`, id, delta: text, providerMetadata },
    { type: `${type}-end`, id, citations },
  ];
}

/** What is needed of a readable stream, of whatever realm. */
interface PartSource {
  getReader(): {
    read(): PromiseLike<{ readonly done: boolean; readonly value?: unknown }>;
    cancel(reason?: unknown): PromiseLike<void>;
  };
}

/**
 * Reads the parts of a model's stream as pieces. Giving it up aborts the call and cancels the stream: some models split
 * their streams inside, so that a cancellation alone does not reach the connection.
 */
class PartStream implements PieceStream {
  readonly #reader: ReturnType<PartSource['getReader']>;
  readonly #decoder: PartDecoder;
  readonly #context: DecodingContext;
  readonly #abort: LinkedAbort;
  #done = false;

  constructor(source: PartSource, context: DecodingContext, abort: LinkedAbort) {
    this.#reader = source.getReader();
    this.#decoder = new PartDecoder(context);
    this.#context = context;
    this.#abort = abort;
  }

  async read(): Promise<readonly StreamPiece[] | undefined> {
    if (this.#done) return undefined;
    const pieces: StreamPiece[] = [];
    try {
      const { done, value } = await this.#reader.read();
      if (this.#isOver()) return undefined;
      if (done) {
        this.#done = true;
        this.#abort.release();
        this.#decoder.end(pieces);
        return pieces;
      }
      this.#decoder.part(value, pieces);
    } catch (error) {
      if (this.#isOver()) return undefined;
      const { signal } = this.#context;
      pieces.push({ type: 'failure', failure: failureOfThrown(error, this.#context, signal) });
    }
    if (pieces.some((piece) => typeof piece !== 'string' && piece.type === 'failure')) this.cancel();
    return pieces;
  }

  cancel(): void {
    if (this.#done) return;
    this.#done = true;
    this.#abort.abort();
    // It may have broken already, in which case cancelling it fails too.
    this.#reader.cancel().then(ignore, ignore);
  }

  /** May have changed while a read was under way. */
  #isOver(): boolean {
    return this.#done;
  }
}

function ignore(): void {}

/** A signal of one call that is aborted with the caller's, or by itself. Leaves no listener behind. */
class LinkedAbort {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal;
  readonly #onAbort = (): void => this.abort();

  constructor(outer: AbortSignal) {
    this.#outer = outer;
    outer.addEventListener('abort', this.#onAbort);
    if (outer.aborted) this.abort();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(): void {
    this.release();
    this.#controller.abort(CALL_OVER);
  }

  /** The call is over: its signal will not be needed any more. */
  release(): void {
    this.#outer.removeEventListener('abort', this.#onAbort);
  }
}

/** Reason of every abort: the SDK lets errors of this name through as they are. */
const CALL_OVER = new DOMException('The call is over', 'AbortError');
