import { resolveConfig } from '../config/config.ts';
import type { RouterConfig } from '../config/router-config.ts';
import { noteCopy } from '../config/loaded-copies.ts';
import { ANONYMOUS } from '../core/account.ts';
import { normalizeChatRequest, type RequestContext } from '../core/normalize/normalize.ts';
import { traceContextOf } from '../core/trace-context.ts';
import type { NativeRequest } from '../core/dialects/dialect.ts';
import { DIALECTS } from '../core/dialects/dialects.ts';
import { type NormalizedEmbeddingRequest, normalizeEmbeddingRequest } from '../core/normalize/normalize-embedding.ts';
import { explainPlan, type Explanation } from '../core/selection/explain.ts';
import type { ChatResult } from '../protocol/chat-result.ts';
import type { ChatChunk } from '../protocol/chunk.ts';
import type { EmbeddingResult } from '../protocol/embedding-result.ts';
import type { DialectName } from '../protocol/dialect.ts';
import { parseChatRequest } from '../protocol/parse-chat-request.ts';
import { parseEmbeddingRequest } from '../protocol/parse-embedding-request.ts';
import type { Provider } from '../contracts/provider.ts';
import { worldOf } from '../runtime/chat/attempt-loop.ts';
import type { Execution } from '../runtime/chat/execution.ts';
import { answerWhole } from '../runtime/chat/answer-whole.ts';
import { buildServices } from './build-services.ts';
import { createBatches } from './create-batches.ts';
import { ChatStreamSource } from '../runtime/chat/chat-stream.ts';
import { ByteBudget } from '../runtime/chat/byte-budget.ts';
import { Concurrency } from '../runtime/chat/concurrency.ts';
import { answerEmbeddings } from '../runtime/chat/embed.ts';
import type { CacheWish } from '../core/limits/cache-rule.ts';
import { CachedExecution } from '../runtime/limits/cached-execution.ts';
import { listen, warn } from '../runtime/chat/events.ts';
import { staleSources } from '../runtime/chat/known-models.ts';
import { errorOfFault } from '../runtime/chat/router-errors.ts';
import { planPrepared, type PreparedRequest, preparePipeline, startExecution } from '../runtime/pipeline/start.ts';
import type { InnerCall } from '../runtime/chat/services.ts';
import type { AliasOf, ModelOf, RequestModel } from './model-names.ts';
import type { CallOptions, OpenedChat, OpenOptions, Router } from './router.ts';

/**
 * Makes a router from its providers and options. Without any, the keys in the environment decide which providers there
 * are; with no keys either, answers are simulated.
 *
 * @example
 * ```ts
 * const router = createRouter({ providers: [openai(), groq()] });
 * const answer = await router.chat({ model: 'openai/gpt-5-mini', messages: [{ role: 'user', content: 'Hello' }] });
 * ```
 * @throws {@link ConfigError} with everything that is wrong with the options at once.
 */
export function createRouter<
  const Providers extends readonly Provider[] = readonly Provider[],
  const Aliases extends Readonly<Record<string, string | readonly string[]>> = {},
>(
  config: RouterConfig<Providers> & { readonly aliases?: Aliases | undefined } = {},
): Router<RequestModel<ModelOf<Providers>, AliasOf<Aliases>>> {
  const resolved = resolveConfig(config);
  const services = buildServices(resolved, callWithin);
  const { environment, facts, limits, endUsers, records, events } = services;
  listen(events, resolved.on);
  if (resolved.simulatedByDefault) warn(events, SIMULATED);
  if (resolved.callersUnsaid) warn(events, NO_CALLERS);
  if (noteCopy() > 1) warn(events, LOADED_TWICE);
  const { catalog, catalogMaxAgeDays, providers } = resolved;
  const slugs = providers.map((provider) => provider.slug);
  for (const source of staleSources(catalog, slugs, environment.wallClock(), catalogMaxAgeDays)) {
    warn(events, {
      code: 'catalog_stale',
      message: `Prices and limits from ${source} may have changed; run "npx signalbox catalog refresh"`,
    });
  }

  async function contextOf(user: string | null | undefined, options: OpenOptions): Promise<RequestContext> {
    const account = options.account ?? ANONYMOUS;
    services.checkAccount(account);
    const standIn = endUsers.standIn(account.id, user);
    const created = Math.floor(environment.wallClock() / 1_000);
    return {
      id: `${options.batch === true ? 'gen-batch' : 'gen'}-${created}-${environment.randomText(20)}`,
      created,
      account,
      endUser: typeof standIn === 'string' ? standIn : await standIn,
      sessionHeader: options.sessionId,
      wantsMetadata: options.metadata ?? false,
      anthropicBeta: options.anthropicBeta,
      traceContext:
        options.traceContext && traceContextOf(options.traceContext.traceparent, options.traceContext.tracestate),
    };
  }

  async function prepare(
    body: unknown,
    options: OpenOptions,
    streamed?: boolean,
    inner?: InnerCall,
  ): Promise<PreparedRequest> {
    const spoken = options.dialect === undefined ? undefined : translate(body, options.dialect);
    const parsed = parseChatRequest(spoken === undefined ? body : spoken.chat, limits);
    if (!parsed.ok) throw errorOfFault(parsed.fault);
    const context = {
      ...(await contextOf(parsed.value.user, options)),
      ...(inner === undefined
        ? {}
        : { within: { parent: inner.parent, depth: inner.depth, by: inner.by, stage: inner.stage } }),
      policies: inner?.policies,
      native: spoken?.native,
    };
    const request = streamed === undefined ? parsed.value : { ...parsed.value, stream: streamed };
    const normalized = normalizeChatRequest(request, context, facts);
    if (!normalized.ok) throw errorOfFault(normalized.fault);
    return preparePipeline(services, normalized.value, request, body);
  }

  /** Lets a prepared request from outside begin. */
  async function admitted(prepared: PreparedRequest): Promise<PreparedRequest> {
    const { request: own } = prepared;
    const request = await services.rates.admit(own);
    return request === own ? prepared : { ...prepared, request };
  }

  /** Begins a request from outside: with the cache where it takes part, else as it is. */
  async function begin(
    prepared: PreparedRequest,
    body: unknown,
    signal: AbortSignal,
    wish: CacheWish = {},
  ): Promise<Execution> {
    const { request } = prepared;
    const rule = services.responses.ruleFor(request, wish);
    const start = (): Promise<Execution> => startExecution(services, prepared, signal);
    if (rule === undefined) return start();
    const key = await services.responses.keyOf(request, body);
    return new CachedExecution(services, { request, key, rule, signal, start });
  }

  async function callWithin(body: unknown, inner: InnerCall): Promise<ChatResult> {
    const prepared = await prepare(body, { account: inner.account }, false, inner);
    const { result } = await answerWhole(services, await startExecution(services, prepared, inner.signal));
    return result;
  }

  function translate(body: unknown, dialect: DialectName): { chat: unknown; native: NativeRequest | undefined } {
    const translated = DIALECTS[dialect]?.toChat(body, limits);
    if (translated === undefined) throw new RangeError(`no dialect "${dialect}"`);
    if (!translated.ok) throw errorOfFault(translated.fault);
    const { native } = translated.value;
    return { chat: translated.value.chat, native: native && { ...native, dialect } };
  }

  async function openStream(
    prepared: PreparedRequest,
    body: unknown,
    { signal: outer, cache: wish }: CallOptions,
  ): Promise<{ readonly source: ChatStreamSource; readonly cache: OpenedChat['cache'] }> {
    const controller = new AbortController();
    const abort = (): void => controller.abort(outer?.reason);
    if (outer?.aborted === true) abort();
    outer?.addEventListener('abort', abort);
    const release = (): void => outer?.removeEventListener('abort', abort);
    const execution = await begin(prepared, body, controller.signal, wish);
    return { source: new ChatStreamSource(services, execution, abort, release), cache: reportOf(execution) };
  }

  async function open(body: unknown, options: OpenOptions): Promise<OpenedChat> {
    const prepared = await admitted(await prepare(body, options));
    const { id, stream: streamed } = prepared.request;
    if (streamed) {
      const { source, cache } = await openStream(prepared, body, options);
      return { type: 'stream', id, stream: source, cache };
    }
    const execution = await begin(prepared, body, options.signal ?? neverAborted(), options.cache);
    return { type: 'whole', id, answer: answerWhole(services, execution), cache: reportOf(execution) };
  }

  async function chat(body: unknown, options: CallOptions = {}): Promise<ChatResult> {
    const prepared = await admitted(await prepare(body, options, false));
    const execution = await begin(prepared, body, options.signal ?? neverAborted(), options.cache);
    const { result } = await answerWhole(services, execution);
    return result;
  }

  async function* stream(body: unknown, options: CallOptions = {}): AsyncGenerator<ChatChunk, void, undefined> {
    const { source } = await openStream(await admitted(await prepare(body, options, true)), body, options);
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

  async function prepareEmbeddings(body: unknown, options: OpenOptions): Promise<NormalizedEmbeddingRequest> {
    const parsed = parseEmbeddingRequest(body, limits);
    if (!parsed.ok) throw errorOfFault(parsed.fault);
    const context = await contextOf(parsed.value.user, options);
    const normalized = normalizeEmbeddingRequest(parsed.value, context, facts);
    if (!normalized.ok) throw errorOfFault(normalized.fault);
    return normalized.value;
  }

  async function embed(body: unknown, options: CallOptions = {}): Promise<EmbeddingResult> {
    const request = await services.rates.admit(await prepareEmbeddings(body, options));
    return answerEmbeddings(services, request, options.signal ?? neverAborted());
  }

  async function explain(body: unknown, options: CallOptions = {}): Promise<Explanation> {
    const prepared = await prepare(body, options);
    const { plan, request, filtered } = await planPrepared(services, prepared);
    const participants = { ...prepared, stages: filtered.stages };
    return explainPlan(
      plan,
      request,
      participants,
      worldOf(services, undefined, 0),
      (endpoint) => !records.admission(endpoint).ok,
    );
  }

  const admission = new Concurrency(limits.concurrentRequests);
  const batches = createBatches(resolved, services, admission, {
    async prepareChat(body, options) {
      const prepared = await prepare(body, { ...options, batch: true }, false);
      return {
        request: prepared.request,
        plain: prepared.plugins.length === 0 && prepared.tools.size === 0,
        answer: async (signal) =>
          answerWhole(services, await startExecution(services, await admitted(prepared), signal)),
      };
    },
    async prepareEmbeddings(body, options) {
      const request = await prepareEmbeddings(body, { ...options, batch: true });
      return {
        request,
        plain: true,
        answer: async (signal) => answerEmbeddings(services, await services.rates.admit(request), signal),
      };
    },
  });

  return {
    chat,
    stream,
    batches,
    embed: embed as Router['embed'],
    explain,
    open,
    on: (name, listener) => events.on(name, listener),
    async close() {
      await batches.close();
      await Promise.all(resolved.providers.map((provider) => provider.close?.()));
      await Promise.all([...resolved.plugins, ...resolved.serverTools].map((one) => one.close?.()));
      await resolved.state.close?.();
    },
    internals: { config: resolved, services, admission, bytesInHand: new ByteBudget(limits.bytesInHand) },
  };
}

const SIMULATED = {
  code: 'simulated',
  message:
    'No providers are configured, so answers are simulated. To get real ones, set OPENAI_API_KEY, ANTHROPIC_API_KEY, ' +
    'GROQ_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY in the environment, or pass providers to createRouter.',
} as const;

const NO_CALLERS = {
  code: 'no_callers',
  message:
    'NODE_ENV is production and nothing says who may call over HTTP, so every request over HTTP gets a 401. Pass ' +
    'authenticate, or allowAnonymous: true, to createRouter; allowAnonymous: false if nobody calls over HTTP.',
} as const;

const LOADED_TWICE = {
  code: 'loaded_twice',
  message:
    'This process has loaded Signalbox more than once. The copies share no sessions, cooldowns or limits; see ' +
    '"npm ls signalbox", and keep one.',
} as const;

function reportOf(execution: Execution): OpenedChat['cache'] {
  return () => (execution instanceof CachedExecution ? execution.report : undefined);
}

/**
 * A signal that is never aborted, for calls without one. Made for each of them: Workers refuse to make one while modules
 * are loaded, and to use in one request what was made in another.
 */
function neverAborted(): AbortSignal {
  return new AbortController().signal;
}
