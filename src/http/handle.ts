import { type Account, ANONYMOUS } from '../core/account.ts';
import { RouterError } from '../protocol/router-error.ts';
import type { Router, RouterInternals } from '../router/router.ts';
import { warn, type WarningEvent } from '../runtime/chat/events.ts';
import { placeOf } from '../runtime/chat/router-errors.ts';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import { authorize } from './authorize.ts';
import type { answerBatches as AnswerBatchesFunction } from './batch-operations.ts';
import { askingHeaders, negotiate } from './asking-headers.ts';
import { type AnswerOfModel, receive, type UnreadRequest } from './body.ts';
import { corsHeaders, NO_CORS, preflightReply } from './cors.ts';
import { errorReply, type ErrorReplyContext } from './error-reply.ts';
import type { HttpCall, HttpHeaders, HttpReply, WholeReply } from './exchange.ts';
import type { answerLedger as AnswerLedgerFunction } from './ledger-operations.ts';
import { type CallContext, answerChat, answerEmbeddings, answerTokenCount, wholeReply } from './model-reply.ts';
import { policiesOf } from '../core/normalize/normalize.ts';
import { modelRules } from '../core/normalize/preset.ts';
import {
  type AccountOperation,
  type CatalogOperation,
  dialectAt,
  isCatalog,
  isKeys,
  type KeyOperation,
  type Match,
  matchRoute,
  scopeOf,
  type ModelOperation,
} from './routes.ts';
import type { DialectErrors } from '../core/dialects/dialect.ts';
import { DIALECT_ERRORS } from '../core/dialects/errors.ts';
import { shortened } from '../protocol/fault.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { splitVariants } from '../catalog/slug.ts';
import type { EndpointList, ModelCard, ModelList, PrivateEndpointList, ProviderList } from '../protocol/models.ts';
import type { RuntimeServices } from '../runtime/chat/services.ts';
import type { RefusedRequest } from '../core/ledger/draft.ts';
import type { MaybePromise } from '../platform/wait.ts';
import { architectureOf, endpointCard, endpointsAt, modelCard, providerCard } from './catalog-cards.ts';
import type { Spelling } from './spelling.ts';
import { filterModels, listModels, listedRouterModels } from './list-models.ts';

/**
 * Answers a request, or gives undefined for one that is not ours, so that the host can go on.
 * Never rejects: every failure is an answer.
 */
export function handle(mounted: Router, call: HttpCall): Promise<HttpReply | undefined> {
  const { internals } = mounted;
  const { authenticate, inspector } = internals.config;
  const match = matchRoute(call.method, call.path);
  if (match === undefined || (match.needsKeys === true && authenticate?.keys === undefined)) {
    return inspector?.answer(mounted, call) ?? Promise.resolve(undefined);
  }
  return replyTo(internals, call, match);
}

/** The reply to a call that is ours. */
async function replyTo(
  internals: RouterInternals,
  call: HttpCall,
  match: Exclude<Match, undefined>,
): Promise<HttpReply> {
  const { config } = internals;
  const cors = config.cors === undefined ? NO_CORS : corsHeaders(config.cors, call.header('origin'));
  let context = contextOf(config, call, cors, match);
  try {
    if (match.type === 'wrong_method') {
      return preflightReply(call, match.allow, cors, config.cors?.headers) ?? wrongMethod(match.allow, context);
    }
    const { operation } = match;
    if (isCatalog(operation)) return await catalogReply(internals, operation, call, context);
    if (operation.name === 'openapi') return await openApiReply(context.spelling, context.headers);
    const found = admitted(internals, operation, call);
    const account = found instanceof Promise ? await found : found;
    if (account !== ANONYMOUS) context = { ...context, account: account.id };
    return await perform(internals, operation, call, account, context);
  } catch (error) {
    return failedReply(internals, context, error);
  }
}

/** What every answer to a call depends on; its errors, too, are in the API format in which the client asked. */
function contextOf(
  { brand, environment }: ResolvedConfig,
  call: HttpCall,
  cors: HttpHeaders,
  match: Exclude<Match, undefined>,
): CallContext {
  const asking = askingHeaders(call);
  const { wantsMetadata, spelling } = negotiate(asking, brand);
  const dialect = match.dialect ?? dialectOfList(call, match);
  const id = `req_${environment.randomText(24)}`;
  const headers: Record<string, string> = cors === NO_CORS ? { 'x-request-id': id } : { 'x-request-id': id, ...cors };
  if (dialect?.requestIdHeader !== undefined) headers[dialect.requestIdHeader] = id;
  return { asking, spelling, wantsMetadata, dialect, headers };
}

/** The account for which something may be done; who it is refused to is noted. */
function admitted(internals: RouterInternals, operation: AccountOperation, call: HttpCall): MaybePromise<Account> {
  const { ledger, facts } = internals.services;
  const scope = scopeOf(operation);
  if (ledger === undefined) return authorize(call, scope, internals);
  let forbidden: Account | undefined;
  const admit = () => authorize(call, scope, internals, (account) => (forbidden = account));
  return ledger.noting(facts, call.signal, admit, () => forbidden && refusedRequest(operation, call, forbidden));
}

/** Does what a client asks for that may do it. */
function perform(
  internals: RouterInternals,
  operation: AccountOperation,
  call: HttpCall,
  account: Account,
  context: CallContext,
): MaybePromise<HttpReply> {
  switch (operation.name) {
    case 'chat':
    case 'embeddings':
    case 'count_tokens':
      return modelReply(internals, operation, { call, account, context });
    case 'generation':
    case 'ledger':
    case 'ledger_costs':
      return ledgerReply(internals.pinned, operation, call, account, context.headers);
    default:
      return isKeys(operation)
        ? keyReply(internals, operation, call, account, context.headers)
        : batchReply(internals.pinned, operation, call, account, context.headers);
  }
}

/** Lets a model answer. */
function modelReply(
  internals: RouterInternals,
  operation: ModelOperation,
  asked: UnreadRequest,
): MaybePromise<HttpReply> {
  const { ledger, facts } = internals.services;
  const answer = ANSWERS[operation.name];
  const tokens = operation.name === 'embeddings' ? mostNumbers(internals) : 0;
  if (ledger === undefined) return receive(internals, asked, tokens, answer);
  let isRead = false;
  const reply = (): Promise<HttpReply> =>
    receive(internals, asked, tokens, (...request) => {
      isRead = true;
      return answer(...request);
    });
  // From the reading of its body on, the router notes by itself what becomes of a request.
  const refused = () => (isRead ? undefined : refusedRequest(operation, asked.call, asked.account));
  return ledger.noting(facts, asked.call.signal, reply, refused);
}

const ANSWERS: Readonly<Record<ModelOperation['name'], AnswerOfModel>> = {
  chat: answerChat,
  embeddings: answerEmbeddings,
  count_tokens: answerTokenCount,
};

/** What is known of a request to a model that the router has not seen; undefined for other requests. */
function refusedRequest({ name }: AccountOperation, call: HttpCall, account: Account): RefusedRequest | undefined {
  if (name !== 'chat' && name !== 'embeddings') return undefined;
  const body = call.body.type === 'parsed' ? call.body.value : undefined;
  return { operation: name, account, format: dialectAt(call.path)?.name, body };
}

/** Numbers that a request for embeddings may have on top of what bodies may hold: tokens instead of text. */
function mostNumbers({ config }: RouterInternals): number {
  const { embeddingInputs, embeddingTokens } = config.limits;
  return embeddingInputs + embeddingTokens;
}

/** What reads and writes batches is loaded by the first request that is about one. */
async function batchReply(...request: Parameters<typeof AnswerBatchesFunction>): Promise<HttpReply> {
  const { answerBatches } = await import('./batch-operations.ts');
  return answerBatches(...request);
}

/** What manages API keys is loaded by the first request that is about them. */
async function keyReply(
  { config, services }: RouterInternals,
  operation: KeyOperation,
  call: HttpCall,
  account: Account,
  headers: HttpHeaders,
): Promise<HttpReply> {
  const { keys } = config.authenticate ?? {};
  // Without them, the path is the host's, and nobody comes here.
  if (keys === undefined) throw new Error('There are no stored API keys');
  const { answerKeys } = await import('./key-operations.ts');
  return answerKeys({ keys, spending: services.spending }, operation, call, account, headers);
}

/** What reads the ledger is loaded by the first request that is about it. */
async function ledgerReply(...request: Parameters<typeof AnswerLedgerFunction>): Promise<HttpReply> {
  const { answerLedger } = await import('./ledger-operations.ts');
  return answerLedger(...request);
}

/** The answer that a failure is. */
function failedReply({ services }: RouterInternals, context: ErrorReplyContext, error: unknown): WholeReply {
  if (isUnexpected(error)) warn(services.events, unexpected(error));
  return errorReply(error, context);
}

/** True for a fault of ours or of the host. A client that disconnects is none. */
function isUnexpected(error: unknown): error is Error {
  return error instanceof Error && !RouterError.isInstance(error) && error.name !== 'AbortError';
}

/** The caller sees a plain 500, so the operator must hear of it; not in the error's own words, which may repeat a prompt. */
function unexpected(error: Error): WarningEvent {
  return { code: 'internal', message: `A request failed inside the router: ${error.name} ${placeOf(error)}`.trim() };
}

async function catalogReply(
  internals: RouterInternals,
  operation: CatalogOperation,
  call: HttpCall,
  { headers, dialect }: ErrorReplyContext,
): Promise<HttpReply> {
  const { services, config } = internals;
  // Probes of load balancers read the catalog.
  internals.checkOpen();
  const account = config.authenticate === undefined ? ANONYMOUS : await knownAccount(call, internals);
  const mayUse = modelRules(policiesOf(account, services.facts));
  const query = new URLSearchParams(call.query);
  const isList = operation.name === 'models' || operation.name === 'model';
  if (isList && dialect !== undefined) return anthropicReply(services, operation, query, mayUse, headers);
  return wholeReply(answerCatalog(services, operation, query, mayUse), headers);
}

/** Models are listed in the shape of Anthropic's API for its clients, which send this header with everything. */
function dialectOfList({ header }: HttpCall, match: Exclude<Match, undefined>): DialectErrors | undefined {
  if (match.type !== 'operation' || (match.operation.name !== 'models' && match.operation.name !== 'model')) return;
  return header('anthropic-version') === undefined ? undefined : DIALECT_ERRORS.messages;
}

/** Lists of models as clients of Anthropic know them; loaded when one of them asks. */
async function anthropicReply(
  services: RuntimeServices,
  operation: Extract<CatalogOperation, { name: 'models' | 'model' }>,
  query: URLSearchParams,
  mayUse: ReturnType<typeof modelRules>,
  headers: HttpHeaders,
): Promise<HttpReply> {
  const { anthropicModel, anthropicModels } = await import('./anthropic-models.ts');
  const { facts, environment } = services;
  const at = Math.floor(environment.wallClock() / 1_000);
  const served = filterModels({ ...facts, mayUse }, new URLSearchParams(), at);
  if (operation.name === 'models') return wholeReply(anthropicModels(served, query), headers);
  const id = modelNamed(facts.catalog, operation.slug);
  const found = served.find(({ model }) => model.id === id || model.id === operation.slug);
  if (found === undefined) throw unknownModel(operation.slug);
  return wholeReply(anthropicModel(found), headers);
}

/** Who asks for what everybody may see. Credentials that are no good are none here. */
async function knownAccount(call: HttpCall, internals: RouterInternals): Promise<Account> {
  if (call.header('authorization') === undefined && call.header('x-api-key') === undefined) return ANONYMOUS;
  try {
    return await authorize(call, 'inference', internals);
  } catch {
    return ANONYMOUS;
  }
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

/** Bodies of the operations that read the catalog. */
type CatalogAnswer =
  | ModelList
  | EndpointList
  | PrivateEndpointList
  | ProviderList
  | { readonly data: { readonly count: number } }
  | { readonly data: ModelCard };

/**
 * Answers the operations that read the catalog (gaps 10). They are public: prices are no secret.
 *
 * @param mayUse - Which models the account may use; the others are not there for it.
 * @throws {@link RouterError} 404 for a model that is not there, 400 for a bad query.
 */
function answerCatalog(
  { facts, records, environment }: RuntimeServices,
  operation: CatalogOperation,
  query: URLSearchParams,
  mayUse: (model: string) => boolean = () => true,
): CatalogAnswer {
  const { catalog } = facts;
  const at = Math.floor(environment.wallClock() / 1_000);
  switch (operation.name) {
    case 'models':
      return listModels({ ...facts, mayUse }, query, at);
    case 'models_count':
      return { data: { count: filterModels({ ...facts, mayUse }, query, at).length } };
    case 'endpoints_private': {
      const now = environment.now();
      const models = [...catalog.models.values()].filter(({ id }) => mayUse(id));
      const cards = models.flatMap((model) =>
        endpointsAt(catalog, model.id, at)
          .filter((endpoint) => endpoint.zeroDataRetention)
          .map((endpoint) => endpointCard(endpoint, model, records.record(endpoint), now)),
      );
      return { data: cards };
    }
    case 'providers':
      return { data: [...catalog.providers.values()].map(providerCard) };
    case 'model':
    case 'endpoints': {
      const id = modelNamed(catalog, operation.slug);
      const router = listedRouterModels(facts).find(({ model: { id: slug } }) => slug === operation.slug);
      const model = router?.model ?? (id === undefined ? undefined : catalog.models.get(id));
      if (model === undefined || (router === undefined && !mayUse(model.id))) throw unknownModel(operation.slug);
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

/** A model by its id, another spelling or an alias of it, with variants of routing such as `:nitro` or without. */
function modelNamed(catalog: Catalog, slug: string): string | undefined {
  return catalog.models.has(slug) ? slug : (catalog.find(slug) ?? catalog.find(splitVariants(slug).slug));
}

function unknownModel(slug: string): RouterError {
  return new RouterError({
    status: 404,
    errorType: 'not_found',
    message: `There is no model "${shortened(slug)}" here; GET /models lists them`,
  });
}
