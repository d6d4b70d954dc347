import { ANONYMOUS } from '../core/account.ts';
import type { WholeAnswer } from '../core/dialects/dialect.ts';
import { wantsCache } from '../core/limits/cache-rule.ts';
import { normalizeChatRequest } from '../core/normalize/normalize.ts';
import type { NormalizedRequest } from '../core/normalize/normalized-request.ts';
import { andThen, type MaybePromise } from '../platform/wait.ts';
import type { ChatRequest } from '../protocol/chat-request.ts';
import type { ChatResult } from '../protocol/chat-result.ts';
import type { ChatChunk } from '../protocol/chunk.ts';
import { isJsonObject } from '../protocol/json.ts';
import { checkSaid, parseChatRequest } from '../protocol/parse-chat-request.ts';
import type { ItemOptions, PreparedCall } from '../runtime/batches/item-calls.ts';
import { answerWhole } from '../runtime/chat/answer-whole.ts';
import { ChatStreamSource, chunksOf } from '../runtime/chat/chat-stream.ts';
import { type Execution, firstProvider } from '../runtime/chat/execution.ts';
import { type CallerSignal, type ChatBody, chatBodyOf, clientSignal, contextOf, streamSignal } from './incoming.ts';
import { errorOfFault } from '../runtime/chat/router-errors.ts';
import type { InnerCall, RuntimeServices } from '../runtime/chat/services.ts';
import { throughCache } from '../runtime/limits/responses.ts';
import { execute, planEarly, planPrepared, type PreparedRequest, preparePipeline } from '../runtime/pipeline/start.ts';
import type { CallOptions, OpenedChat, OpenOptions } from './router.ts';

/** A request whose answer only has to be read. */
interface BegunChat {
  readonly request: NormalizedRequest;
  readonly execution: Execution;
  readonly caller: CallerSignal;
}

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

  /** Begins to answer a request of a mount, streaming or not as its body says. */
  open(body: unknown, options: OpenOptions): MaybePromise<OpenedChat> {
    return andThen(this.#begin(body, options), ({ request, execution, caller }): OpenedChat => {
      const { id } = request;
      const promptTokens: OpenedChat['promptTokens'] = (estimate) => estimate(request, request.targets[0]?.model ?? '');
      const cache: OpenedChat['cache'] = () => execution.report;
      if (!request.stream) {
        return { id, cache, promptTokens, type: 'whole', answer: answerWhole(this.#services, execution) };
      }
      const stream = new ChatStreamSource(this.#services, execution, caller.abort, caller.release);
      return { id, cache, promptTokens, type: 'stream', stream };
    });
  }

  /** Answers an in-process request with a non-streaming response. */
  async chat(body: unknown, options: CallOptions = {}): Promise<ChatResult> {
    const { execution } = await this.#begin(body, options, false);
    return (await answerWhole(this.#services, execution)).result;
  }

  /** Answers an in-process request with a stream. */
  stream(body: unknown, options: CallOptions = {}): AsyncGenerator<ChatChunk, void, undefined> {
    return chunksOf(async () => {
      const { execution, caller } = await this.#begin(body, options, true);
      return new ChatStreamSource(this.#services, execution, caller.abort, caller.release);
    });
  }

  /** The way of a request from outside, up to where only its answer has to be read. */
  #begin(body: unknown, options: OpenOptions, streamed?: boolean): MaybePromise<BegunChat> {
    let request: NormalizedRequest | undefined;
    const begin = (): MaybePromise<BegunChat> =>
      andThen(this.#prepared(body, options, streamed), (prepared) => {
        request = prepared.request;
        return andThen(this.#admit(prepared), (admitted) => this.#start(admitted, body, options));
      });
    const { ledger, facts } = this.#services;
    if (ledger === undefined) return begin();
    return ledger.noting(facts, options.signal, begin, () => {
      const { account = ANONYMOUS, dialect: format } = options;
      const asked = streamed === undefined || !isJsonObject(body) ? body : { ...body, stream: streamed };
      return { operation: 'chat', account, format, body: asked, request };
    });
  }

  /** Reads a request: whatever format it is in, it is a chat request from here on. */
  #prepared(body: unknown, options: OpenOptions, streamed?: boolean): MaybePromise<PreparedRequest> {
    return andThen(chatBodyOf(this.#services, body, options.dialect), (one) => {
      const request = this.#parse(one);
      return this.#normalize(one, streamed === undefined ? request : { ...request, stream: streamed }, options);
    });
  }

  /** Checks a body by the contract, and throws what names the first place that is wrong. */
  #parse({ chat, body }: ChatBody): ChatRequest {
    const parsed = parseChatRequest(chat, this.#services.limits);
    if (!parsed.ok) throw errorOfFault(parsed.fault);
    const fault = chat === body ? checkSaid(parsed.value.messages) : undefined;
    if (fault !== undefined) throw errorOfFault(fault);
    return parsed.value;
  }

  /**
   * Brings a request into the form that everything behind works with, and finds the plugins and tools that take part.
   *
   * @throws {@link RouterError} when it asks for something that is not here.
   */
  #normalize(
    { native, body }: ChatBody,
    request: ChatRequest,
    options: OpenOptions,
    inner?: InnerCall,
  ): MaybePromise<PreparedRequest> {
    return andThen(contextOf(this.#services, request.user, options, native, inner), (context) => {
      const normalized = normalizeChatRequest(request, context, this.#services.facts);
      if (!normalized.ok) throw errorOfFault(normalized.fault);
      return preparePipeline(this.#services, normalized.value, request, body);
    });
  }

  /** Lets a request begin, or throws the 429 for one that exceeds its account's rate limit. */
  #admit<Prepared extends PreparedRequest>(prepared: Prepared): MaybePromise<Prepared> {
    return andThen(this.#services.rates.admit(prepared.request), (request) =>
      request === prepared.request ? prepared : { ...prepared, request },
    );
  }

  /** Plans a request and gets it ready to run, unless the response cache answers it. */
  #start(admitted: PreparedRequest, body: unknown, { signal, cache }: OpenOptions): MaybePromise<BegunChat> {
    const { request } = admitted;
    const caller = request.stream ? streamSignal(signal) : clientSignal(signal);
    const { ledger, mirrors, responses } = this.#services;
    const start = (): MaybePromise<Execution> =>
      andThen(planPrepared(this.#services, admitted), (planned) => {
        const execution = execute(this.#services, planned, caller.signal);
        return mirrors === undefined ? execution : andThen(execution, (one) => mirrors.after(this.#services, one));
      });
    const started = wantsCache(request, cache, responses.policy)
      ? throughCache(this.#services, request, { body, wish: cache, signal: caller.signal, start })
      : start();
    const kept = ledger === undefined ? started : andThen(started, (execution) => ledger.keeping(execution));
    return andThen(kept, (execution) => ({ request, execution, caller }));
  }

  /**
   * Reads a request, and no more.
   *
   * @param streamed - Whether the response streams. Default: as the body says.
   * @throws {@link RouterError} when it is bad.
   */
  async prepare(body: unknown, options: OpenOptions, streamed?: boolean): Promise<PreparedRequest> {
    return this.#prepared(body, options, streamed);
  }

  /** Reads a request of a batch, which is admitted when it runs. */
  async prepareItem(body: unknown, options: ItemOptions): Promise<PreparedCall<NormalizedRequest, WholeAnswer>> {
    const prepared = await this.prepare(body, { ...options, batch: true }, false);
    const plan = async (): ReturnType<PreparedCall<NormalizedRequest, WholeAnswer>['plan']> => {
      const early = await planEarly(this.#services, prepared);
      const answer = async (signal: AbortSignal): Promise<WholeAnswer> =>
        answerWhole(this.#services, await execute(this.#services, await this.#admit(early.planned), signal));
      return { provider: firstProvider(this.#services, early.plan), answer };
    };
    return { request: prepared.request, plain: prepared.plugins.length === 0 && prepared.tools.size === 0, plan };
  }

  /** Answers a call that a plugin or a server tool makes. */
  async callWithin(body: unknown, inner: InnerCall): Promise<ChatResult> {
    const { account, parent, signal } = inner;
    const own: ChatBody = { chat: body, native: undefined, body };
    let request: NormalizedRequest | undefined;
    const begin = async (): Promise<Execution> => {
      const prepared = await this.#normalize(own, { ...this.#parse(own), stream: false }, { account }, inner);
      ({ request } = prepared);
      return execute(this.#services, await planPrepared(this.#services, prepared), signal);
    };
    const refused = () => ({ operation: 'chat', account, parent, body, request }) as const;
    const { ledger, facts } = this.#services;
    const execution = await (ledger === undefined ? begin() : ledger.noting(facts, signal, begin, refused));
    return (await answerWhole(this.#services, execution)).result;
  }
}
