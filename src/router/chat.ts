/** The way of a chat request through the router, from its body to its answer. */
import { ANONYMOUS } from '../contracts/account.ts';
import type { CompleteAnswer } from '../formats/api-format.ts';
import { normalizeChatRequest } from '../core/normalize/normalize.ts';
import type { RequestContext } from '../core/normalize/context.ts';
import type { NormalizedRequest } from '../contracts/request.ts';
import { needsRepair } from '../core/conversation/needs-repair.ts';
import { andThen, type MaybePromise, onDemand } from '../platform/wait.ts';
import type { ChatRequest } from '../protocol/chat-request.ts';
import type { ChatResult } from '../protocol/chat-result.ts';
import type { ChatChunk } from '../protocol/chunk.ts';
import { isJsonObject } from '../protocol/json.ts';
import { checkSaid, namesMedia, parseChatRequest } from '../protocol/parse-chat-request.ts';
import type { ItemOptions, PreparedCall } from '../runtime/batches/item-calls.ts';
import { answerComplete } from '../runtime/chat/answer-complete.ts';
import { ChatStreamSource, chunksOf } from '../runtime/chat/chat-stream.ts';
import {
  type CallerSignal,
  clientSignal,
  type ChatBody,
  refusePrivateAddresses,
  requestContext,
  type PrepareOptions,
  streamSignal,
  translated,
} from './incoming.ts';
import { errorOfFault } from '../runtime/chat/router-errors.ts';
import type { InnerCall, RuntimeServices } from '../runtime/chat/services.ts';
import { execute, planEarly, preparePipeline, startPrepared } from '../runtime/pipeline/start.ts';
import type { CallOptions, OpenedChat, OpenOptions } from './router.ts';
import type { Execution } from '../runtime/chat/answer.ts';
import type { SentBefore } from '../runtime/chat/continuing.ts';
import { firstProvider } from '../runtime/chat/plan.ts';
import { withinBudget } from '../runtime/limits/within-budget.ts';
import { throughCache } from '../runtime/limits/through-cache.ts';
import type { PreparedRequest } from '../runtime/pipeline/prepared-request.ts';

const loadRepair = onDemand(() => import('../core/conversation/repair.ts'));

/** How the response to a request comes. */
type AnswerKind = 'whole' | 'streaming';

/** A chat request that was checked, and repaired where it had to be. */
interface CheckedChat extends Pick<RequestContext, 'native' | 'onlyTexts'> {
  readonly request: ChatRequest;
  readonly adjustments?: NormalizedRequest['adjustments'];
  /** As it was sent: errors name its paths. */
  readonly body: unknown;
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
    const opened = this.#noted(body, options);
    return opened instanceof Promise ? await opened : opened;
  }

  /** Answers an in-process request with a non-streaming response. */
  async chat(body: unknown, options: CallOptions = {}): Promise<ChatResult> {
    const noted = this.#noted(body, options, 'whole');
    const opened = noted instanceof Promise ? await noted : noted;
    if (opened.type === 'stream') throw new RangeError('a request that is not streamed has a response');
    return (await opened.answer).result;
  }

  /** Answers an in-process request with a stream. */
  stream(body: unknown, options: CallOptions = {}): AsyncGenerator<ChatChunk, void, undefined> {
    return chunksOf(async () => {
      const opened = await this.#noted(body, options, 'streaming');
      if (opened.type === 'whole') throw new RangeError('a streamed request has a stream');
      return opened.stream;
    });
  }

  /** Begins a request. One that is refused is noted where there is a ledger. */
  #noted(body: unknown, options: OpenOptions, kind?: AnswerKind): MaybePromise<OpenedChat> {
    const { ledger, facts } = this.#services;
    if (ledger === undefined) return this.#begin(body, options, kind);
    let request: NormalizedRequest | undefined;
    const begin = async (): Promise<OpenedChat> => this.#begin(body, options, kind, (one) => (request = one));
    return ledger.noting(facts, options.signal, begin, () => {
      const { account = ANONYMOUS, apiFormat: format } = options;
      const requested = kind === undefined || !isJsonObject(body) ? body : { ...body, stream: kind === 'streaming' };
      return { operation: 'chat', account, format, body: requested, request };
    });
  }

  /** The way of a request from outside, up to where only its answer has to be read. */
  #begin(
    body: unknown,
    options: OpenOptions,
    kind?: AnswerKind,
    onPrepared?: (request: NormalizedRequest) => void,
  ): MaybePromise<OpenedChat> {
    const prepared = this.prepare(body, options, kind);
    return prepared instanceof Promise
      ? prepared.then((one) => this.#admitted(one, options, onPrepared))
      : this.#admitted(prepared, options, onPrepared);
  }

  #admitted(
    prepared: PreparedRequest,
    options: OpenOptions,
    onPrepared: ((request: NormalizedRequest) => void) | undefined,
  ): MaybePromise<OpenedChat> {
    onPrepared?.(prepared.request);
    // What goes on at another instance was admitted, copied and looked up there.
    const admitted = options.sent ? prepared : this.#admit(prepared);
    return admitted instanceof Promise
      ? admitted.then((one) => this.#begun(one, options))
      : this.#begun(admitted, options);
  }

  /** Gets a request that may begin ready to run: from the response cache, or planned. */
  #begun(admitted: PreparedRequest, { cache, signal, sent }: OpenOptions): MaybePromise<OpenedChat> {
    const services = this.#services;
    const { ledger, responses } = services;
    const { request, plugins, body } = admitted;
    const caller = request.stream ? streamSignal(signal) : clientSignal(signal);
    const mayBeKept = cache !== undefined || request.responseCache !== undefined || responses.policy.enabled;
    const started =
      mayBeKept && !sent
        ? throughCache(services, request, {
            body,
            plugins,
            requestedCache: cache,
            signal: caller.signal,
            start: () => this.#start(admitted, caller.signal, sent),
          })
        : this.#start(admitted, caller.signal, sent);
    const kept = ledger === undefined ? started : andThen(started, (one) => ledger.keeping(one));
    return kept instanceof Promise
      ? kept.then((execution) => this.#opened(request, execution, caller))
      : this.#opened(request, kept, caller);
  }

  /** Runs a request; its answer only has to be read. */
  #opened(request: NormalizedRequest, execution: Execution, caller: CallerSignal): OpenedChat {
    const { id } = request;
    const promptTokens: OpenedChat['promptTokens'] = (estimate) => estimate(request, request.targets[0]?.model ?? '');
    const cache: OpenedChat['cache'] = () => execution.report;
    if (!request.stream) {
      return { id, cache, promptTokens, type: 'whole', answer: answerComplete(this.#services, execution) };
    }
    const stream = new ChatStreamSource(this.#services, execution, caller.abort, caller.release);
    return { id, cache, promptTokens, type: 'stream', stream };
  }

  #start(admitted: PreparedRequest, signal: AbortSignal, sent: SentBefore | undefined): MaybePromise<Execution> {
    const { mirrors } = this.#services;
    const started = startPrepared(this.#services, admitted, signal, sent);
    return mirrors === undefined || sent ? started : andThen(started, (one) => mirrors.after(this.#services, one));
  }

  /**
   * Reads a request, and no more: whatever API format it is in, it is a normalized chat request from here on, with the
   * plugins and tools that take part.
   *
   * @param kind - How the response comes. Default: as the body says.
   * @throws {@link RouterError} that names the first place that is wrong, or what it requires that is not here.
   */
  prepare(body: unknown, options: PrepareOptions, kind?: AnswerKind): MaybePromise<PreparedRequest> {
    const { apiFormat } = options;
    if (apiFormat === undefined) return this.#read(body, { chat: body, native: undefined }, options, kind);
    return translated(this.#services, body, apiFormat).then((chatBody) => this.#read(body, chatBody, options, kind));
  }

  #read(
    body: unknown,
    { chat, native }: ChatBody,
    options: PrepareOptions,
    kind: AnswerKind | undefined,
  ): MaybePromise<PreparedRequest> {
    const parsed = parseChatRequest(chat, this.#services.limits);
    if (!parsed.ok) throw errorOfFault(parsed.fault);
    const { saysMore = false, value } = parsed;
    const request = kind === undefined ? value : { ...value, stream: kind === 'streaming' };
    if (!saysMore) return this.#inContext({ request, body, native, onlyTexts: true }, options);
    const unsaid = options.apiFormat === undefined ? checkSaid(request.messages) : undefined;
    if (unsaid !== undefined) throw errorOfFault(unsaid);
    const checked = { request, body, native };
    if (native?.requiredBy === undefined && !namesMedia(request.messages)) return this.#repaired(checked, options);
    return andThen(refusePrivateAddresses(body), () => this.#repaired(checked, options));
  }

  #repaired(checked: CheckedChat, options: PrepareOptions): MaybePromise<PreparedRequest> {
    const { request } = checked;
    if (!needsRepair(request.messages)) return this.#inContext(checked, options);
    return andThen(loadRepair(), ({ repairConversation }) => {
      const { messages, adjustments } = repairConversation(request.messages);
      return this.#inContext({ ...checked, request: { ...request, messages }, adjustments }, options);
    });
  }

  #inContext(checked: CheckedChat, options: PrepareOptions): MaybePromise<PreparedRequest> {
    const found = requestContext(this.#services, checked, options);
    return found instanceof Promise
      ? found.then((context) => this.#normalized(checked, context))
      : this.#normalized(checked, found);
  }

  #normalized({ request, adjustments, body }: CheckedChat, context: RequestContext): PreparedRequest {
    const normalized = normalizeChatRequest(request, context, this.#services.facts);
    if (!normalized.ok) throw errorOfFault(normalized.fault);
    const value = withinBudget(this.#services, normalized.value);
    const adjusted = adjustments?.length
      ? { ...value, adjustments: [...adjustments, ...(value.adjustments ?? [])] }
      : value;
    return preparePipeline(this.#services, adjusted, request, body);
  }

  /** Lets a request begin, or throws the 429 for one that exceeds its account's rate limit. */
  #admit<Prepared extends PreparedRequest>(prepared: Prepared): MaybePromise<Prepared> {
    const { rates } = this.#services;
    if (!rates.limitsEverybody && prepared.request.account.rateLimits === undefined) return prepared;
    return andThen(rates.admit(prepared.request), (request) =>
      request === prepared.request ? prepared : { ...prepared, request },
    );
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
      return startPrepared(this.#services, prepared, signal);
    };
    const refused = () => ({ operation: 'chat', account, parent, body, request }) as const;
    const execution = await (ledger === undefined ? begin() : ledger.noting(facts, signal, begin, refused));
    return (await answerComplete(this.#services, execution)).result;
  }
}
