/** The way of a chat request through the router, from its body to its answer. */
import { ANONYMOUS } from '../contracts/account.ts';
import type { CompleteAnswer } from '../formats/api-format.ts';
import { wantsCache } from '../core/limits/cache-rule.ts';
import { normalizeChatRequest } from '../core/normalize/normalize.ts';
import type { NormalizedRequest } from '../contracts/request.ts';
import { needsRepair } from '../core/conversation/needs-repair.ts';
import { andThen, type MaybePromise, onDemand } from '../platform/wait.ts';
import type { ChatResult } from '../protocol/chat-result.ts';
import type { ChatChunk } from '../protocol/chunk.ts';
import { isJsonObject } from '../protocol/json.ts';
import { checkSaid, parseChatRequest } from '../protocol/parse-chat-request.ts';
import type { ItemOptions, PreparedCall } from '../runtime/batches/item-calls.ts';
import { answerComplete } from '../runtime/chat/answer-complete.ts';
import { ChatStreamSource, chunksOf } from '../runtime/chat/chat-stream.ts';
import {
  type CallerSignal,
  clientSignal,
  requestContext,
  type PrepareOptions,
  streamSignal,
  translated,
} from './incoming.ts';
import { errorOfFault } from '../runtime/chat/router-errors.ts';
import type { InnerCall, RuntimeServices } from '../runtime/chat/services.ts';
import { execute, planEarly, planPrepared, preparePipeline } from '../runtime/pipeline/start.ts';
import type { CallOptions, OpenedChat, OpenOptions } from './router.ts';
import type { Execution } from '../runtime/chat/answer.ts';
import type { SentBefore } from '../runtime/chat/continuing.ts';
import { firstProvider } from '../runtime/chat/plan.ts';
import { throughCache } from '../runtime/limits/through-cache.ts';
import type { PreparedRequest } from '../runtime/pipeline/prepared-request.ts';

const loadRepair = onDemand(() => import('../core/conversation/repair.ts'));

/** How the response to a request comes. */
type AnswerKind = 'whole' | 'streaming';

/** A request whose answer only has to be read. */
interface BegunChat {
  readonly request: NormalizedRequest;
  readonly execution: Execution;
  readonly caller: CallerSignal;
}

/**
 * The way of a chat request, from its body to its answer: parse, normalize, admit, plan, execute, settle. Settling
 * belongs to whoever reads the answer to its end: {@link answerComplete} or {@link ChatStreamSource}.
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
  async open(body: unknown, options: OpenOptions): Promise<OpenedChat> {
    const { request, execution, caller } = await this.#noted(body, options);
    const { id } = request;
    const promptTokens: OpenedChat['promptTokens'] = (estimate) => estimate(request, request.targets[0]?.model ?? '');
    const cache: OpenedChat['cache'] = () => execution.report;
    if (!request.stream) {
      return { id, cache, promptTokens, type: 'whole', answer: answerComplete(this.#services, execution) };
    }
    const stream = new ChatStreamSource(this.#services, execution, caller.abort, caller.release);
    return { id, cache, promptTokens, type: 'stream', stream };
  }

  /** Answers an in-process request with a non-streaming response. */
  async chat(body: unknown, options: CallOptions = {}): Promise<ChatResult> {
    const { execution } = await this.#noted(body, options, 'whole');
    return (await answerComplete(this.#services, execution)).result;
  }

  /** Answers an in-process request with a stream. */
  stream(body: unknown, options: CallOptions = {}): AsyncGenerator<ChatChunk, void, undefined> {
    return chunksOf(async () => {
      const { execution, caller } = await this.#noted(body, options, 'streaming');
      return new ChatStreamSource(this.#services, execution, caller.abort, caller.release);
    });
  }

  /** Begins a request. One that is refused is noted where there is a ledger. */
  #noted(body: unknown, options: OpenOptions, kind?: AnswerKind): MaybePromise<BegunChat> {
    const { ledger, facts } = this.#services;
    if (ledger === undefined) return this.#begin(body, options, kind);
    let request: NormalizedRequest | undefined;
    const begin = async (): Promise<BegunChat> => {
      return this.#begin(body, options, kind, (one) => (request = one));
    };
    return ledger.noting(facts, options.signal, begin, () => {
      const { account = ANONYMOUS, apiFormat: format } = options;
      const requested = kind === undefined || !isJsonObject(body) ? body : { ...body, stream: kind === 'streaming' };
      return { operation: 'chat', account, format, body: requested, request };
    });
  }

  /** The way of a request from outside, up to where only its answer has to be read. */
  async #begin(
    body: unknown,
    options: OpenOptions,
    kind?: AnswerKind,
    onPrepared?: (request: NormalizedRequest) => void,
  ): Promise<BegunChat> {
    const { ledger, mirrors, responses } = this.#services;
    const { cache, signal } = options;
    const prepared = await this.prepare(body, options, kind);
    onPrepared?.(prepared.request);
    const { sent } = options;
    // What goes on at another instance was admitted, copied and looked up there.
    const admission = sent ? prepared : this.#admit(prepared);
    const admitted = admission instanceof Promise ? await admission : admission;
    const { request } = admitted;
    const caller = request.stream ? streamSignal(signal) : clientSignal(signal);
    const start = (): MaybePromise<Execution> => {
      const started = this.#start(admitted, caller.signal, sent);
      return mirrors === undefined || sent ? started : andThen(started, (one) => mirrors.after(this.#services, one));
    };
    const started =
      !sent && wantsCache(request, cache, responses.policy)
        ? throughCache(this.#services, request, {
            body,
            plugins: prepared.plugins,
            requestedCache: cache,
            signal: caller.signal,
            start,
          })
        : start();
    const kept = ledger === undefined ? started : andThen(started, (one) => ledger.keeping(one));
    return { request, execution: kept instanceof Promise ? await kept : kept, caller };
  }

  /**
   * Reads a request, and no more: whatever API format it is in, it is a normalized chat request from here on, with the
   * plugins and tools that take part.
   *
   * @param kind - How the response comes. Default: as the body says.
   * @throws {@link RouterError} that names the first place that is wrong, or what it requires that is not here.
   */
  async prepare(body: unknown, options: PrepareOptions, kind?: AnswerKind): Promise<PreparedRequest> {
    const services = this.#services;
    const { apiFormat } = options;
    const { chat, native } = apiFormat === undefined ? { chat: body } : await translated(services, body, apiFormat);
    const parsed = parseChatRequest(chat, services.limits);
    if (!parsed.ok) throw errorOfFault(parsed.fault);
    const unsaid = apiFormat === undefined ? checkSaid(parsed.value.messages) : undefined;
    if (unsaid !== undefined) throw errorOfFault(unsaid);
    const requested = kind === undefined ? parsed.value : { ...parsed.value, stream: kind === 'streaming' };
    const repaired = needsRepair(requested.messages)
      ? (await loadRepair()).repairConversation(requested.messages)
      : undefined;
    const request = repaired === undefined ? requested : { ...requested, messages: repaired.messages };
    const found = requestContext(services, request.user, options, native);
    const context = found instanceof Promise ? await found : found;
    const normalized = normalizeChatRequest(request, context, services.facts);
    if (!normalized.ok) throw errorOfFault(normalized.fault);
    const { value } = normalized;
    const adjusted = repaired?.adjustments.length ? { ...value, adjustments: repaired.adjustments } : value;
    return preparePipeline(services, adjusted, request, body);
  }

  /** Lets a request begin, or throws the 429 for one that exceeds its account's rate limit. */
  #admit<Prepared extends PreparedRequest>(prepared: Prepared): MaybePromise<Prepared> {
    return andThen(this.#services.rates.admit(prepared.request), (request) =>
      request === prepared.request ? prepared : { ...prepared, request },
    );
  }

  /** Plans a request and gets it ready to run. */
  #start(admitted: PreparedRequest, signal: AbortSignal, sent?: SentBefore): MaybePromise<Execution> {
    return andThen(planPrepared(this.#services, admitted), (planned) => execute(this.#services, planned, signal, sent));
  }

  /** Reads a request of a batch, which is admitted when it runs. */
  async prepareItem(body: unknown, options: ItemOptions): Promise<PreparedCall<NormalizedRequest, CompleteAnswer>> {
    const prepared = await this.prepare(body, { ...options, batch: true }, 'whole');
    const plan = async (): ReturnType<PreparedCall<NormalizedRequest, CompleteAnswer>['plan']> => {
      const early = await planEarly(this.#services, prepared);
      const answer = async (signal: AbortSignal): Promise<CompleteAnswer> =>
        answerComplete(this.#services, await execute(this.#services, await this.#admit(early.planned), signal));
      return { provider: firstProvider(this.#services, early.plan), answer };
    };
    return { request: prepared.request, plugins: prepared.plugins, plan };
  }

  /** Answers a call that a plugin or a server tool makes. */
  async callWithin(body: unknown, inner: InnerCall): Promise<ChatResult> {
    const { account, parent, signal } = inner;
    const { ledger, facts } = this.#services;
    let request: NormalizedRequest | undefined;
    const begin = async (): Promise<Execution> => {
      const prepared = await this.prepare(body, { account, inner }, 'whole');
      ({ request } = prepared);
      return this.#start(prepared, signal);
    };
    const refused = () => ({ operation: 'chat', account, parent, body, request }) as const;
    const execution = await (ledger === undefined ? begin() : ledger.noting(facts, signal, begin, refused));
    return (await answerComplete(this.#services, execution)).result;
  }
}
