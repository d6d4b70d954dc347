import { buildCatalog } from './catalog/catalog.ts';
import { type ResolvedConfig, type RouterConfig, resolveConfig } from './config.ts';
import { ANONYMOUS, type Account } from './core/account.ts';
import { type RequestContext, type RouterFacts, normalizeChatRequest } from './core/normalize/normalize.ts';
import { buildRegistry, modelsOfPlugins } from './core/pipeline/registry.ts';
import type { NativeRequest, WholeAnswer } from './core/dialects/dialect.ts';
import { DIALECTS } from './core/dialects/dialects.ts';
import { normalizeEmbeddingRequest } from './core/normalize/normalize-embedding.ts';
import { type Explanation, explainPlan } from './explanation.ts';
import type { NormalizedEmbeddingRequest } from './core/normalize/normalized-embedding-request.ts';
import type { ChatRequest } from './protocol/chat-request.ts';
import type { ChatResult } from './protocol/chat-result.ts';
import type { ChatChunk } from './protocol/chunk.ts';
import type { EmbeddingRequest } from './protocol/embedding-request.ts';
import type { EmbeddingResult } from './protocol/embedding-result.ts';
import type { DialectName } from './protocol/dialect.ts';
import { parseChatRequest } from './protocol/parse-chat-request.ts';
import { parseEmbeddingRequest } from './protocol/parse-embedding-request.ts';
import type { Provider } from './providers/provider.ts';
import { answerWhole } from './runtime/answer-whole.ts';
import type { Batches } from './runtime/batches/batches.ts';
import { createBatches } from './create-batches.ts';
import { ChatStreamSource } from './runtime/chat-stream.ts';
import { Concurrency } from './runtime/concurrency.ts';
import { answerEmbeddings } from './runtime/embed.ts';
import { EndUsers } from './runtime/end-users.ts';
import { EndpointRecords } from './runtime/endpoint-records.ts';
import { EventHub, type RouterEvents, type RouterListener } from './runtime/events.ts';
import { staleSources } from './runtime/known-models.ts';
import { RetryBudgetKeeper } from './runtime/retry-budget.ts';
import { errorOfFault } from './runtime/router-errors.ts';
import { type PreparedRequest, planPrepared, preparePipeline, startExecution } from './runtime/pipeline/start.ts';
import type { InnerCall, RuntimeServices } from './runtime/services.ts';
import { StickySessions } from './runtime/sticky-sessions.ts';
import { warn } from './runtime/warn.ts';
import { boundedMap } from './storage/memory.ts';
import type { AliasOf, ModelOf, RequestModel } from './model-names.ts';

/** What comes with a call besides its body. */
export interface CallOptions {
  /** Ends the call, upstream too. */
  readonly signal?: AbortSignal | undefined;
  /** On whose behalf. Default: the anonymous account. */
  readonly account?: Account | undefined;
  /** Adds `router_metadata` to the answer. Default false. */
  readonly metadata?: boolean | undefined;
  /** Session for requests that name none in their body. */
  readonly sessionId?: string | undefined;
  /** Beta features of Anthropic to be asked for, by commas, where the request goes there. */
  readonly anthropicBeta?: string | undefined;
}

/** How the vectors of an answer are written, by the `encoding_format` of its request. */
export type VectorOf<Request extends EmbeddingRequest> = Request extends { readonly encoding_format: infer Format }
  ? 'base64' extends Format
    ? Format extends 'base64'
      ? string
      : readonly number[] | string
    : readonly number[]
  : readonly number[];

/** What comes with a body whose shape is told by its path. */
export interface OpenOptions extends CallOptions {
  /** Shape of the body, if it is not a chat request. */
  readonly dialect?: DialectName | undefined;
  /** True for a request of a batch; its generation id says so. Default false. */
  readonly batch?: boolean | undefined;
}

/** An answer on its way, as mounts use it. */
export type OpenedChat =
  | { readonly type: 'whole'; readonly id: string; readonly answer: Promise<WholeAnswer> }
  | { readonly type: 'stream'; readonly id: string; readonly stream: ChatStreamSource };

/**
 * A model router. Made by {@link createRouter}.
 *
 * @typeParam Model - Model ids and aliases that complete in the editor.
 */
export interface Router<Model extends string = string> {
  /**
   * Answers a chat request as a whole (contract: chat result).
   *
   * @throws {@link RouterError} when the request is bad or nobody could answer it; the signal's reason when aborted.
   */
  chat(request: ChatRequest<Model>, options?: CallOptions): Promise<ChatResult>;
  /**
   * Answers a chat request as a stream of chunks (contract: stream chunk). Leaving the loop early ends the call
   * upstream.
   *
   * @throws {@link RouterError} before the first chunk when nobody could answer, and after it when the provider broke
   * off; the signal's reason when aborted.
   */
  stream(request: ChatRequest<Model>, options?: CallOptions): AsyncIterable<ChatChunk>;
  /**
   * Turns texts into vectors (gaps 10). The same routing, fallback, accounting and events as for chat.
   *
   * @throws {@link RouterError} when the request is bad or nobody could answer it; the signal's reason when aborted.
   */
  embed<const Request extends EmbeddingRequest<Model>>(
    request: Request,
    options?: CallOptions,
  ): Promise<EmbeddingResult<VectorOf<Request>>>;
  /** Many requests at once, answered in their own time (contract: batch). */
  readonly batches: Batches;
  /**
   * Tells what a chat request would do, calling nobody: the endpoints in order and every one that is left out, with reasons.
   *
   * @throws {@link RouterError} when the request is bad.
   */
  explain(request: ChatRequest<Model>, options?: CallOptions): Promise<Explanation>;
  /** Adds a listener; gives the function that removes it. */
  on<Name extends keyof RouterEvents>(name: Name, listener: RouterListener<Name>): () => void;
  /** Frees connections. Calls under way fail. */
  close(): Promise<void>;
  /**
   * Starts answering a body that nobody has checked yet. For people who write mounts; changes with minor versions.
   *
   * @throws {@link RouterError} when the request is bad.
   */
  open(body: unknown, options: OpenOptions): Promise<OpenedChat>;
  /** The parts that mounts need. For people who write mounts; changes with minor versions. */
  readonly internals: RouterInternals;
}

/** What mounts need of a router. */
export interface RouterInternals {
  readonly config: ResolvedConfig;
  readonly services: RuntimeServices;
  /** Places for requests that are handled at the same time. */
  readonly admission: Concurrency;
}

/** Endpoints, accounts' users and so on that are remembered at a time. */
const MAX_RECORDS = 10_000;

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
  for (const name of ['attempt', 'result', 'error', 'warning', 'batch'] as const) {
    const listener = resolved.on[name];
    if (listener !== undefined) events.on(name, listener as RouterListener<typeof name>);
  }
  if (resolved.simulatedByDefault) warn(events, SIMULATED);
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
      ...(inner === undefined ? {} : { within: { parent: inner.parent, depth: inner.depth, by: inner.by } }),
      policies: inner?.policies,
      native: spoken?.native,
    };
    const request = streamed === undefined ? parsed.value : { ...parsed.value, stream: streamed };
    const normalized = normalizeChatRequest(request, context, facts);
    if (!normalized.ok) throw errorOfFault(normalized.fault);
    return preparePipeline(services, normalized.value, request, body);
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

  async function openStream(prepared: PreparedRequest, outer: AbortSignal | undefined): Promise<ChatStreamSource> {
    const controller = new AbortController();
    const abort = (): void => controller.abort(outer?.reason);
    if (outer?.aborted === true) abort();
    outer?.addEventListener('abort', abort);
    const release = (): void => outer?.removeEventListener('abort', abort);
    return new ChatStreamSource(services, await startExecution(services, prepared, controller.signal), abort, release);
  }

  async function open(body: unknown, options: OpenOptions): Promise<OpenedChat> {
    const prepared = await prepare(body, options);
    const { id, stream: streamed } = prepared.request;
    if (streamed) return { type: 'stream', id, stream: await openStream(prepared, options.signal) };
    const execution = await startExecution(services, prepared, options.signal ?? NEVER);
    return { type: 'whole', id, answer: answerWhole(services, execution) };
  }

  async function chat(body: unknown, options: CallOptions = {}): Promise<ChatResult> {
    const prepared = await prepare(body, options, false);
    const execution = await startExecution(services, prepared, options.signal ?? NEVER);
    const { result } = await answerWhole(services, execution);
    return result;
  }

  async function* stream(body: unknown, options: CallOptions = {}): AsyncGenerator<ChatChunk, void, undefined> {
    const source = await openStream(await prepare(body, options, true), options.signal);
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
    return answerEmbeddings(services, await prepareEmbeddings(body, options), options.signal ?? NEVER);
  }

  async function explain(body: unknown, options: CallOptions = {}): Promise<Explanation> {
    const prepared = await prepare(body, options);
    const { plan, request, filtered } = await planPrepared(services, prepared);
    const participants = { ...prepared, stages: filtered.stages };
    return explainPlan(plan, request, participants, (endpoint) => !records.admission(endpoint).ok);
  }

  const admission = new Concurrency(limits.concurrentRequests);
  const batches = createBatches(resolved, services, admission, {
    async prepareChat(body, options) {
      const prepared = await prepare(body, { ...options, batch: true }, false);
      return {
        request: prepared.request,
        plain: prepared.plugins.length === 0 && prepared.tools.size === 0,
        answer: async (signal) => answerWhole(services, await startExecution(services, prepared, signal)),
      };
    },
    async prepareEmbeddings(body, options) {
      const request = await prepareEmbeddings(body, { ...options, batch: true });
      return { request, plain: true, answer: (signal) => answerEmbeddings(services, request, signal) };
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
    internals: { config: resolved, services, admission },
  };
}

const SIMULATED = {
  code: 'simulated',
  message:
    'No providers are configured, so answers are simulated. To get real ones, set OPENAI_API_KEY, ANTHROPIC_API_KEY, ' +
    'GROQ_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY in the environment, or pass providers to createRouter.',
} as const;

/** A signal that is never aborted, for calls without one. */
const NEVER = new AbortController().signal;

function buildServices(config: ResolvedConfig, callWithin: RuntimeServices['callWithin']): RuntimeServices {
  const { environment, docsUrl } = config;
  const facts: RouterFacts = {
    catalog: buildCatalog(config.providers, config.models, config.aliases, config.catalog),
    policy: config.policy,
    defaultModel: config.defaultModel,
    presets: config.presets,
    routerModels: modelsOfPlugins(config.plugins),
    docsUrl,
  };
  return {
    environment,
    facts,
    limits: config.limits,
    timeouts: config.timeouts,
    fallback: config.fallback,
    selection: config.selection,
    providers: new Map(config.providers.map((provider) => [provider.slug, provider])),
    records: new EndpointRecords(boundedMap(MAX_RECORDS), config.health, environment),
    sticky: new StickySessions(config.state, config.stickyTtlMs),
    budget: new RetryBudgetKeeper(config.retryBudget, environment),
    endUsers: new EndUsers(config.identitySecret.reveal(), boundedMap(MAX_RECORDS)),
    events: new EventHub(),
    docsUrl,
    registry: buildRegistry(config.plugins, config.pluginDefaults, config.serverTools),
    maxPluginDepth: config.maxPluginDepth,
    callWithin,
  };
}
