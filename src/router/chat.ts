import type { CacheWish } from '../core/limits/cache-rule.ts';
import type { NativeRequest, WholeAnswer } from '../core/dialects/dialect.ts';
import { normalizeChatRequest } from '../core/normalize/normalize.ts';
import type { NormalizedRequest } from '../core/normalize/normalized-request.ts';
import { estimatedPromptTokens } from '../core/normalize/prompt-parts.ts';
import type { ChatRequest } from '../protocol/chat-request.ts';
import type { ChatResult } from '../protocol/chat-result.ts';
import type { ChatChunk } from '../protocol/chunk.ts';
import type { DialectName } from '../protocol/dialect.ts';
import type { RequestLimits } from '../protocol/limits.ts';
import { loadDialect } from '../runtime/chat/load-dialect.ts';
import { parseChatRequest } from '../protocol/parse-chat-request.ts';
import type { CallOptions, OpenedChat, OpenOptions } from './router.ts';
import { answerWhole } from '../runtime/chat/answer-whole.ts';
import type { ItemOptions, PreparedCall } from '../runtime/batches/item-calls.ts';
import { andThen, type MaybePromise } from '../platform/wait.ts';
import { ChatStreamSource } from '../runtime/chat/chat-stream.ts';
import { firstProvider } from '../runtime/chat/world.ts';
import type { Execution } from '../runtime/chat/execution.ts';
import { execute, planEarly, planPrepared, type PreparedRequest, preparePipeline } from '../runtime/pipeline/start.ts';
import { CachedExecution } from '../runtime/limits/cached-execution.ts';
import { errorOfFault } from '../runtime/chat/router-errors.ts';
import type { InnerCall, RuntimeServices } from '../runtime/chat/services.ts';
import { type CallerSignal, clientSignal, streamSignal, contextOf } from './caller.ts';

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
  open(body: unknown, options: OpenOptions): MaybePromise<OpenedChat> {
    return andThen(this.#begin(body, options), ({ request, execution, caller }): OpenedChat => {
      const { id } = request;
      const promptTokens = (): number => estimatedPromptTokens(request, request.targets[0]?.model ?? '');
      const cache = reportOf(execution);
      if (!request.stream)
        return { id, cache, promptTokens, type: 'whole', answer: answerWhole(this.#services, execution) };
      const stream = new ChatStreamSource(this.#services, execution, caller.abort, caller.release);
      return { id, cache, promptTokens, type: 'stream', stream };
    });
  }

  /** Answers a call that a plugin or a server tool makes. */
  async callWithin(body: unknown, inner: InnerCall): Promise<ChatResult> {
    const options = { account: inner.account };
    const parsed = this.#parse({ chat: body, native: undefined, body });
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
    return this.#prepared(body, options, streamed);
  }

  /** The same, in one turn where nothing has to be waited for. */
  #prepared(body: unknown, options: OpenOptions, streamed?: boolean): MaybePromise<PreparedRequest> {
    return andThen(this.#translated(body, options), (translated) =>
      this.#normalize(this.#parse(translated), options, streamed),
    );
  }

  /** The way of a request from outside, up to where only its answer has to be read. */
  #begin(body: unknown, options: OpenOptions, streamed?: boolean): MaybePromise<BegunChat> {
    return andThen(this.#prepared(body, options, streamed), (prepared) =>
      andThen(this.#admit(prepared), (admitted) => this.#start(admitted, body, options)),
    );
  }

  /** Begins a request that was admitted. */
  #start(admitted: PreparedRequest, body: unknown, options: OpenOptions): MaybePromise<BegunChat> {
    const { request } = admitted;
    const caller = request.stream ? streamSignal(options.signal) : clientSignal(options.signal);
    const start = (): MaybePromise<Execution> =>
      andThen(planPrepared(this.#services, admitted), (planned) => execute(this.#services, planned, caller.signal));
    const execution = this.#cached(request, { body, wish: options.cache, signal: caller.signal, start });
    return andThen(execution, (one) => andThen(this.#kept(one), (kept) => ({ request, execution: kept, caller })));
  }

  /**
   * A body as a chat body, from whatever API format it came in.
   *
   * @throws {@link RouterError} that names the first place that is wrong in its own format.
   */
  #translated(body: unknown, { dialect }: OpenOptions): TranslatedBody | Promise<TranslatedBody> {
    const { limits, registry } = this.#services;
    return dialect === undefined
      ? { chat: body, native: undefined, body }
      : translate(body, dialect, limits, registry.routing);
  }

  /**
   * Checks a body by the contract.
   *
   * @throws {@link RouterError} that names the first place that is wrong.
   */
  #parse({ chat, native, body }: TranslatedBody): ParsedChat {
    const parsed = parseChatRequest(chat, this.#services.limits);
    if (!parsed.ok) throw errorOfFault(parsed.fault);
    return { request: parsed.value, native, body };
  }

  /**
   * Brings a request into the form that everything behind works with, and finds the plugins and tools that take part.
   *
   * @throws {@link RouterError} when it asks for something that is not here.
   */
  #normalize(
    parsed: ParsedChat,
    options: OpenOptions,
    streamed?: boolean,
    inner?: InnerCall,
  ): MaybePromise<PreparedRequest> {
    const request = streamed === undefined ? parsed.request : { ...parsed.request, stream: streamed };
    return andThen(contextOf(this.#services, request.user, options), (known) => {
      const own = {
        within: inner && { parent: inner.parent, depth: inner.depth, by: inner.by, stage: inner.stage },
        policies: inner?.policies,
        native: parsed.native,
        format: options.dialect,
      };
      const normalized = normalizeChatRequest(request, { ...known, ...own }, this.#services.facts);
      if (!normalized.ok) throw errorOfFault(normalized.fault);
      return preparePipeline(this.#services, normalized.value, request, parsed.body);
    });
  }

  /**
   * Lets a request begin.
   *
   * @throws {@link RouterError} 429 when it exceeds its account's rate limit.
   */
  #admit<Prepared extends PreparedRequest>(prepared: Prepared): MaybePromise<Prepared> {
    const { request: own } = prepared;
    return andThen(this.#services.rates.admit(own), (request) =>
      request === own ? prepared : { ...prepared, request },
    );
  }

  /** Lets a program keep prompts and answers that asked for it; what does that is loaded by the first of them. */
  #kept(execution: Execution): MaybePromise<Execution> {
    const { ledger, events } = this.#services;
    const content = ledger?.content;
    if (content === undefined) return execution;
    return import('../runtime/ledger/kept-content.ts').then(({ keepContent }) =>
      keepContent(execution, content, events),
    );
  }

  /** Starts a request, with the response cache before it where that takes part. */
  #cached(request: NormalizedRequest, { body, wish = {}, signal, start }: CachedStart): MaybePromise<Execution> {
    const { responses } = this.#services;
    const rule = responses.ruleFor(request, wish);
    if (rule === undefined) return start();
    return andThen(
      responses.keyOf(request, body),
      (key) => new CachedExecution(this.#services, { request, key, rule, signal, start }),
    );
  }
}

/** A body in the chat form, not checked yet. */
interface TranslatedBody extends Pick<ParsedChat, 'native' | 'body'> {
  readonly chat: unknown;
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
  readonly start: () => MaybePromise<Execution>;
}

async function translate(
  body: unknown,
  dialect: DialectName,
  limits: RequestLimits,
  routing: ReadonlySet<string>,
): Promise<TranslatedBody> {
  const translated = (await loadDialect(dialect)).toChat(body, limits, routing);
  if (!translated.ok) throw errorOfFault(translated.fault);
  const { chat, native } = translated.value;
  return { chat, native: native && { ...native, dialect }, body };
}

async function* chunksOf(open: () => Promise<ChatStreamSource>): AsyncGenerator<ChatChunk, void, undefined> {
  const source = await open();
  try {
    for (;;) {
      const read = source.read();
      const items = read instanceof Promise ? await read : read;
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
