import { type Account, ANONYMOUS } from '../core/account.ts';
import type { Dialect, DialectContext } from '../core/dialects/dialect.ts';
import { type TraceContext, traceContextOf } from '../core/trace-context.ts';
import { RouterError } from '../protocol/router-error.ts';
import type { EmbeddingRequest } from '../protocol/embedding-request.ts';
import type { OpenedChat, Router } from '../router/router.ts';
import { warn, type WarningEvent } from '../runtime/chat/events.ts';
import { authorize } from './authorize.ts';
import { answerBatches } from './batch-operations.ts';
import { negotiate, spell, type Spelling } from './body.ts';
import { corsHeaders, preflightReply } from './cors.ts';
import { dialectContext, dialectError, DialectFrameWriter } from './dialect-reply.ts';
import { errorReply, type ErrorReplyContext } from './error-reply.ts';
import type { HttpCall, HttpHeaders, HttpReply } from './exchange.ts';
import { ChatFrameWriter, StreamFrames } from './stream-frames.ts';
import { receive } from './receive.ts';
import { type CatalogOperation, dialectAt, isBatch, isCatalog, matchRoute } from './routes.ts';
import type { CacheReport, CacheWish } from '../core/limits/cache-rule.ts';
import { shortened } from '../protocol/fault.ts';
import type { EndpointList, ModelCard, ModelList, ProviderList } from '../protocol/models.ts';
import type { RuntimeServices } from '../runtime/chat/services.ts';
import { architectureOf, endpointCard, endpointsAt, modelCard, providerCard } from './catalog-cards.ts';
import { filterModels, listModels } from './list-models.ts';
import { listedRouterModels } from './router-models.ts';

const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  // Compression and proxies would hold events back.
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;

/**
 * Answers a request, or gives undefined for one that is not ours, so that the host can go on.
 * Never rejects: every failure is an answer.
 */
export async function handle(router: Router, call: HttpCall): Promise<HttpReply | undefined> {
  const match = matchRoute(call.method, call.path);
  if (match === undefined) return undefined;
  const { config } = router.internals;
  const { wantsMetadata, spelling } = negotiate(call, config.brand);
  const cors = corsHeaders(config.cors, call.header('origin'));
  const headers = { 'x-request-id': `req_${config.environment.randomText(24)}`, ...cors };
  const context: ErrorReplyContext & {
    account?: string;
    dialect?: Dialect | undefined;
    headers: Readonly<Record<string, string>>;
  } = { spelling, wantsMetadata, headers };
  try {
    if (match.type === 'wrong_method') {
      speak(dialectAt(call.path), context);
      return preflightReply(call, match.allow, cors) ?? wrongMethod(match.allow, context);
    }
    const { operation } = match;
    if (isCatalog(operation)) return catalogReply(router, operation, call, headers);
    if (operation.name === 'openapi') return await openApiReply(spelling, headers);
    if (operation.name === 'chat') speak(operation.dialect, context);
    const account = await authorize(call, 'inference', router.internals);
    if (account !== ANONYMOUS) context.account = account.id;
    if (isBatch(operation)) return await answerBatches(router, operation, call, account, headers);
    const answer = operation.name === 'chat' ? chat : embeddings;
    return await answer(router, call, account, context);
  } catch (error) {
    if (isUnexpected(error)) warn(router.internals.services.events, unexpected(error));
    return errorReply(error, context);
  }
}

/** From here on, answers have the shape in which the caller asked. */
function speak(
  dialect: Dialect | undefined,
  context: { dialect?: Dialect | undefined; headers: Readonly<Record<string, string>> },
): void {
  context.dialect = dialect;
  const { 'x-request-id': id } = context.headers;
  if (dialect?.requestIdHeader === undefined || id === undefined) return;
  context.headers = { ...context.headers, [dialect.requestIdHeader]: id };
}

/** True for a fault of ours or of the host. A caller who goes away is none. */
function isUnexpected(error: unknown): error is Error {
  return error instanceof Error && !RouterError.isInstance(error) && error.name !== 'AbortError';
}

/** The caller sees a plain 500, so the operator must hear of it; not in the error's own words, which may repeat a prompt. */
function unexpected({ name, message, stack = '' }: Error): WarningEvent {
  const [place = ''] = /\bat .*/.exec(stack.slice(stack.indexOf(message) + message.length)) ?? [];
  return { code: 'internal', message: `A request failed inside the router: ${name} ${place}`.trim() };
}

async function chat(router: Router, call: HttpCall, account: Account, context: ErrorReplyContext): Promise<HttpReply> {
  const { config } = router.internals;
  const { dialect, spelling, wantsMetadata } = context;
  const { body, slot } = await receive(router.internals, call, account);
  const answerContext = ({ id }: OpenedChat): DialectContext => dialectContext(body, id, config.environment, spelling);
  let opened: OpenedChat | undefined;
  try {
    opened = await router.open(body, {
      account,
      signal: call.signal,
      metadata: context.wantsMetadata,
      sessionId: call.header('x-session-id'),
      anthropicBeta: betasOf(call, dialect),
      traceContext: traceOf(router, call),
      dialect: dialect?.name,
      cache: cacheWish(call),
    });
    const { cache } = opened;
    const own = { ...context.headers, 'x-generation-id': opened.id };
    if (opened.type === 'whole') {
      const answer = await opened.answer;
      const headers = { ...own, ...cacheHeaders(cache(), call, spelling) };
      slot.leave();
      const whole = dialect?.whole(answer, answerContext(opened));
      return wholeReply(spell(whole ?? answer.result, spelling), headers);
    }
    const { keepAlive, environment } = config;
    const { stream: source } = opened;
    const writer =
      dialect === undefined
        ? new ChatFrameWriter({ source, spelling, wantsMetadata })
        : new DialectFrameWriter(dialect, answerContext(opened), source, {
            wantsMetadata,
            requestId: context.headers['x-request-id'],
          });
    const frames = new StreamFrames({ source, writer, keepAlive, environment, onEnd: slot.leave });
    await frames.open();
    const headers = { ...own, ...cacheHeaders(cache(), call, spelling) };
    const stallMs = config.limits.writeStallMs;
    return { type: 'stream', status: 200, headers: { ...headers, ...STREAM_HEADERS }, frames, stallMs };
  } catch (error) {
    slot.leave();
    const absorbed = opened && absorb(error, opened, answerContext(opened), context);
    if (absorbed !== undefined) return absorbed;
    throw error;
  }
}

async function embeddings(
  router: Router,
  call: HttpCall,
  account: Account,
  context: ErrorReplyContext,
): Promise<HttpReply> {
  const { embeddingInputs, embeddingTokens } = router.internals.config.limits;
  const { body, slot } = await receive(router.internals, call, account, embeddingInputs + embeddingTokens);
  try {
    const result = await router.embed(body as EmbeddingRequest, {
      account,
      signal: call.signal,
      metadata: context.wantsMetadata,
      sessionId: call.header('x-session-id'),
      traceContext: traceOf(router, call),
    });
    return wholeReply(spell(result, context.spelling), { ...context.headers, 'x-generation-id': result.id });
  } finally {
    slot.leave();
  }
}

/** Where the trace of the caller stands, if anybody here wants to know. */
function traceOf({ internals }: Router, call: HttpCall): TraceContext | undefined {
  if (!internals.services.events.heard('request')) return undefined;
  return traceContextOf(call.header('traceparent'), call.header('tracestate'));
}

/** Callers who speak Anthropic's own dialect name its beta features in its own header. */
function betasOf(call: HttpCall, dialect: Dialect | undefined): string | undefined {
  const named = call.header('x-anthropic-beta');
  return dialect?.name === 'messages' ? (named ?? call.header('anthropic-beta')) : named;
}

/** The answer that an error is in the caller's dialect, if it is one. */
function absorb(
  thrown: unknown,
  opened: OpenedChat,
  answer: DialectContext,
  { dialect, wantsMetadata, headers }: ErrorReplyContext,
): HttpReply | undefined {
  const error = dialectError(thrown, wantsMetadata);
  const whole = dialect?.absorb?.(error, answer);
  if (dialect === undefined || whole === undefined) return undefined;
  const own = { ...headers, 'x-generation-id': opened.id };
  if (opened.type === 'whole') return wholeReply(whole, own);
  // The stream failed before it began: all its events are known.
  const frames = dialect.streamWriter(answer).fail(error);
  return { type: 'whole', status: 200, headers: { ...own, ...STREAM_HEADERS }, body: frames };
}

function wholeReply(body: object, headers: HttpHeaders): Extract<HttpReply, { type: 'whole' }> {
  return {
    type: 'whole',
    status: 200,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
}

function catalogReply(
  router: Router,
  operation: CatalogOperation,
  call: HttpCall,
  headers: Readonly<Record<string, string>>,
): HttpReply {
  const { services } = router.internals;
  const body = answerCatalog(services, operation, new URLSearchParams(call.query));
  return wholeReply(body, headers);
}

/** The document is made when somebody asks for it for the first time, and its makers are loaded then. */
async function openApiReply(spelling: Spelling, headers: HttpHeaders): Promise<HttpReply> {
  const { openApiText } = await import('./openapi/text.ts');
  return {
    type: 'whole',
    status: 200,
    headers: { ...headers, 'content-type': 'application/json' },
    body: openApiText(spelling),
  };
}

function wrongMethod(allow: string, context: ErrorReplyContext): HttpReply {
  const message = `This path takes ${allow} only`;
  const error = new RouterError({ status: 405, errorType: 'invalid_request', message });
  return errorReply(error, { ...context, headers: { ...context.headers, allow } });
}

/** What a call says about the response cache, in either spelling (gaps 9.3). */
function cacheWish({ header }: Pick<HttpCall, 'header'>): CacheWish {
  const said = (name: string): string | undefined => header(`x-router-${name}`) ?? header(`x-openrouter-${name}`);
  const seconds = Number.parseInt(said('cache-ttl') ?? '', 10);
  return {
    enabled: truthOf(said('cache')),
    ttlSeconds: Number.isNaN(seconds) ? undefined : seconds,
    clear: truthOf(said('cache-clear')),
  };
}

/** What an answer tells about the response cache (gaps 9.4). */
function cacheHeaders(
  report: CacheReport | undefined,
  { header }: Pick<HttpCall, 'header'>,
  spelling: Spelling,
): HttpHeaders {
  if (report === undefined) return {};
  const own = header('x-openrouter-cache') === undefined ? spelling.headers : 'x-openrouter';
  return {
    [`${own}-cache-status`]: report.status,
    [`${own}-cache-ttl`]: String(report.ttlSeconds),
    ...(report.status === 'MISS'
      ? {}
      : { [`${own}-cache-age`]: String(report.ageSeconds), [`${own}-cache-source-id`]: report.sourceId }),
  };
}

/** Only these two words mean something. */
function truthOf(value: string | undefined): boolean | undefined {
  const word = value?.trim().toLowerCase();
  return word === 'true' ? true : word === 'false' ? false : undefined;
}

/** Bodies of the operations that read the catalog. */
type CatalogAnswer =
  | ModelList
  | EndpointList
  | ProviderList
  | { readonly data: { readonly count: number } }
  | { readonly data: ModelCard };

/**
 * Answers the operations that read the catalog (gaps 10). They are public: prices are no secret.
 *
 * @throws {@link RouterError} 404 for a model that is not there, 400 for a bad query.
 */
function answerCatalog(
  { facts, records, environment }: RuntimeServices,
  operation: CatalogOperation,
  query: URLSearchParams,
): CatalogAnswer {
  const { catalog } = facts;
  const at = Math.floor(environment.wallClock() / 1_000);
  switch (operation.name) {
    case 'models':
      return listModels(facts, query, at);
    case 'models_count':
      return { data: { count: filterModels(facts, query, at).length } };
    case 'providers':
      return { data: [...catalog.providers.values()].map(providerCard) };
    case 'model':
    case 'endpoints': {
      const id = catalog.models.has(operation.slug) ? operation.slug : catalog.find(operation.slug);
      const router = listedRouterModels(facts).find(({ model: { id: slug } }) => slug === operation.slug);
      const model = router?.model ?? (id === undefined ? undefined : catalog.models.get(id));
      if (model === undefined) throw unknownModel(operation.slug);
      // Who answers a router model is only known when there is a request.
      const endpoints = router === undefined ? endpointsAt(catalog, model.id, at) : [];
      const shown = router?.endpoints ?? endpoints;
      if (operation.name === 'model') return { data: modelCard(model, shown) };
      const now = environment.now();
      return {
        data: {
          id: model.id,
          name: model.name ?? model.id,
          created: model.created ?? 0,
          description: model.description ?? '',
          architecture: architectureOf(model, shown),
          endpoints: endpoints.map((endpoint) => endpointCard(endpoint, model, records.record(endpoint), now)),
        },
      };
    }
  }
}

function unknownModel(slug: string): RouterError {
  return new RouterError({
    status: 404,
    errorType: 'not_found',
    message: `There is no model "${shortened(slug)}" here`,
  });
}
