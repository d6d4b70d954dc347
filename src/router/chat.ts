import type { CacheWish } from '../core/limits/cache-rule.ts';
import type { NativeRequest, WholeAnswer } from '../core/dialects/dialect.ts';
import { DIALECTS } from '../core/dialects/dialects.ts';
import { normalizeChatRequest } from '../core/normalize/normalize.ts';
import type { NormalizedRequest } from '../core/normalize/normalized-request.ts';
import type { ChatRequest } from '../protocol/chat-request.ts';
import type { ChatResult } from '../protocol/chat-result.ts';
import type { ChatChunk } from '../protocol/chunk.ts';
import type { DialectName } from '../protocol/dialect.ts';
import type { RequestLimits } from '../protocol/limits.ts';
import { parseChatRequest } from '../protocol/parse-chat-request.ts';
import type { CallOptions, OpenedChat, OpenOptions } from './router.ts';
import { answerWhole } from '../runtime/chat/answer-whole.ts';
import type { ItemOptions, PreparedCall } from '../runtime/batches/item-calls.ts';
import { ChatStreamSource } from '../runtime/chat/chat-stream.ts';
import { firstProvider } from '../runtime/chat/endpoints-now.ts';
import type { Execution } from '../runtime/chat/execution.ts';
import { execute, planEarly, planPrepared, type PreparedRequest, preparePipeline } from '../runtime/pipeline/start.ts';
import { CachedExecution } from '../runtime/limits/cached-execution.ts';
import { errorOfFault } from '../runtime/chat/router-errors.ts';
import type { InnerCall, RuntimeServices } from '../runtime/chat/services.ts';
import { type CallerSignal, clientSignal, streamSignal } from './caller-signal.ts';
import { contextOf } from './request-context.ts';

/**
 * The way of a chat request, from its body to its answer: parse, normalize, admit, plan, execute, settle. Each is one
 * call. Settling belongs to whoever reads the answer to its end: {@link answerWhole} or {@link ChatStreamSource}.
 *
 * Streaming and non-streaming requests, over HTTP and in-process, go the way of `#begin`. Items of batches are planned
 * before they are admitted, and calls of plugins are admitted with the request that they belong to.
 */
export class ChatService {
  readonly #services: RuntimeServices;

  constructor(services: RuntimeServices) {
    this.#services = services;
  }

  /** Answers an in-process request with a non-streaming response. */
  async chat(body: unknown, options: CallOptions = {}): Promise<ChatResult> {
    const { execution } = await this.#begin(body, options, false);
    const { result } = await answerWhole(this.#services, execution);
    return result;
  }

  /** Answers an in-process request with a stream. */
  stream(body: unknown, options: CallOptions = {}): AsyncGenerator<ChatChunk, void, undefined> {
    return chunksOf(async () => {
      const { execution, caller } = await this.#begin(body, options, true);
      return new ChatStreamSource(this.#services, execution, caller.abort, caller.release);
    });
  }

  /** Begins to answer a request of a mount, streaming or not as its body says. */
  async open(body: unknown, options: OpenOptions): Promise<OpenedChat> {
    const { request, execution, caller } = await this.#begin(body, options);
    const opened = { id: request.id, cache: reportOf(execution) };
    if (!request.stream) return { ...opened, type: 'whole', answer: answerWhole(this.#services, execution) };
    const stream = new ChatStreamSource(this.#services, execution, caller.abort, caller.release);
    return { ...opened, type: 'stream', stream };
  }

  /** Answers a call that a plugin or a server tool makes. */
  async callWithin(body: unknown, inner: InnerCall): Promise<ChatResult> {
    const options = { account: inner.account };
    const parsed = this.#parse(body, options);
    const prepared = await this.#normalize(parsed, options, false, inner);
    const planned = await planPrepared(this.#services, prepared);
    const execution = execute(this.#services, planned, inner.signal);
    const { result } = await answerWhole(this.#services, execution);
    return result;
  }

  /** Reads a request of a batch, which is admitted when it runs. */
  async prepareItem(body: unknown, options: ItemOptions): Promise<PreparedCall<NormalizedRequest, WholeAnswer>> {
    const prepared = await this.prepare(body, { ...options, batch: true }, false);
    return {
      request: prepared.request,
      plain: prepared.plugins.length === 0 && prepared.tools.size === 0,
      plan: async () => {
        const { planned, plan } = await planEarly(this.#services, prepared);
        return {
          provider: firstProvider(this.#services, plan),
          answer: async (signal) => {
            const admitted = await this.#admit(planned);
            return answerWhole(this.#services, execute(this.#services, admitted, signal));
          },
        };
      },
    };
  }

  /**
   * Reads a request, and no more.
   *
   * @param streamed - Whether the response streams. Default: as the body says.
   * @throws {@link RouterError} when it is bad.
   */
  async prepare(body: unknown, options: OpenOptions, streamed?: boolean): Promise<PreparedRequest> {
    return this.#normalize(this.#parse(body, options), options, streamed);
  }

  /** The way of a request from outside, up to where only its answer has to be read. */
  async #begin(body: unknown, options: OpenOptions, streamed?: boolean): Promise<BegunChat> {
    const parsed = this.#parse(body, options);
    const prepared = await this.#normalize(parsed, options, streamed);
    const admitted = await this.#admit(prepared);
    const { request } = admitted;
    const caller = request.stream ? streamSignal(options.signal) : clientSignal(options.signal);
    const start = async (): Promise<Execution> =>
      execute(this.#services, await planPrepared(this.#services, admitted), caller.signal);
    const execution = await this.#cached(request, { body, wish: options.cache, signal: caller.signal, start });
    return { request, execution, caller };
  }

  /**
   * Checks a body by the contract, in whatever API format it came.
   *
   * @throws {@link RouterError} that names the first place that is wrong.
   */
  #parse(body: unknown, { dialect }: OpenOptions): ParsedChat {
    const { limits, registry } = this.#services;
    const translated = dialect === undefined ? undefined : translate(body, dialect, limits, registry.routing);
    const parsed = parseChatRequest(translated === undefined ? body : translated.chat, limits);
    if (!parsed.ok) throw errorOfFault(parsed.fault);
    return { request: parsed.value, native: translated?.native, body };
  }

  /**
   * Brings a request into the form that everything behind works with, and finds the plugins and tools that take part.
   *
   * @throws {@link RouterError} when it asks for something that is not here.
   */
  async #normalize(
    parsed: ParsedChat,
    options: OpenOptions,
    streamed?: boolean,
    inner?: InnerCall,
  ): Promise<PreparedRequest> {
    const request = streamed === undefined ? parsed.request : { ...parsed.request, stream: streamed };
    const context = {
      ...(await contextOf(this.#services, request.user, options)),
      ...(inner && { within: { parent: inner.parent, depth: inner.depth, by: inner.by, stage: inner.stage } }),
      policies: inner?.policies,
      native: parsed.native,
    };
    const normalized = normalizeChatRequest(request, context, this.#services.facts);
    if (!normalized.ok) throw errorOfFault(normalized.fault);
    return preparePipeline(this.#services, normalized.value, request, parsed.body);
  }

  /**
   * Lets a request begin.
   *
   * @throws {@link RouterError} 429 when it exceeds its account's rate limit.
   */
  async #admit<Prepared extends PreparedRequest>(prepared: Prepared): Promise<Prepared> {
    const { request: own } = prepared;
    const request = await this.#services.rates.admit(own);
    return request === own ? prepared : { ...prepared, request };
  }

  /** Starts a request, with the response cache before it where that takes part. */
  async #cached(request: NormalizedRequest, { body, wish = {}, signal, start }: CachedStart): Promise<Execution> {
    const { responses } = this.#services;
    const rule = responses.ruleFor(request, wish);
    if (rule === undefined) return start();
    const key = await responses.keyOf(request, body);
    return new CachedExecution(this.#services, { request, key, rule, signal, start });
  }
}

/** A body that is a chat request. */
export interface ParsedChat {
  readonly request: ChatRequest;
  /** The request in its own API format, where it came in another one. */
  readonly native: NativeRequest | undefined;
  /** As it came: errors name its paths. */
  readonly body: unknown;
}

/** A request whose answer only has to be read. */
interface BegunChat {
  readonly request: NormalizedRequest;
  readonly execution: Execution;
  readonly caller: CallerSignal;
}

/** What the response cache needs besides the request. */
interface CachedStart {
  /** As it came: equal bodies have equal answers. */
  readonly body: unknown;
  readonly wish: CacheWish | undefined;
  readonly signal: AbortSignal;
  readonly start: () => Promise<Execution>;
}

function translate(
  body: unknown,
  dialect: DialectName,
  limits: RequestLimits,
  routing: ReadonlySet<string>,
): { readonly chat: unknown; readonly native: NativeRequest | undefined } {
  const translated = DIALECTS[dialect]?.toChat(body, limits, routing);
  if (translated === undefined) throw new RangeError(`no dialect "${dialect}"`);
  if (!translated.ok) throw errorOfFault(translated.fault);
  const { chat, native } = translated.value;
  return { chat, native: native && { ...native, dialect } };
}

async function* chunksOf(open: () => Promise<ChatStreamSource>): AsyncGenerator<ChatChunk, void, undefined> {
  const source = await open();
  try {
    for (;;) {
      const items = await source.next();
      if (items === undefined) return;
      for (const item of items) {
        if (typeof item === 'string') yield source.envelope.text(item);
        // Only callers in a dialect get native pieces.
        else if (!('type' in item)) yield item;
      }
    }
  } finally {
    source.cancel();
  }
}

function reportOf(execution: Execution): OpenedChat['cache'] {
  return () => (execution instanceof CachedExecution ? execution.report : undefined);
}
