import { type Account, ANONYMOUS, ANONYMOUS_ANYWHERE, isAnonymous } from '../contracts/account.ts';
import { RouterError } from '../protocol/router-error.ts';
import type { Router, RouterInternals } from '../router/router.ts';
import { warn } from '../runtime/events/events.ts';
import { thrownPlace } from '../runtime/chat/router-errors.ts';
import { authorize, keyOf } from './authorize.ts';
import { INFERENCE } from './scopes.ts';
import type { answerBatches as AnswerBatchesFunction } from './batch-operations.ts';
import { askingHeaders, negotiate } from './request-headers.ts';
import { type AnswerOfModel, receive } from './body.ts';
import { corsHeaders, NO_CORS, preflightReply } from './cors.ts';
import { errorReply, type ErrorReplyContext } from './error-reply.ts';
import { STREAM_WRITING } from './frame-writer.ts';
import type { HttpCall, HttpHeaders, HttpReply, CompleteReply } from '../contracts/exchange.ts';
import type { answerLedger as AnswerLedgerFunction } from './ledger-operations.ts';
import type { answerStreams as AnswerStreamsFunction } from './stream-operations.ts';
import {
  type AdmittedCall,
  type CallContext,
  replyToChat,
  replyToEmbeddings,
  replyToTokenCount,
} from './model-reply.ts';
import {
  type AccountOperation,
  apiFormatAt,
  type CatalogOperation,
  isCatalog,
  isKeys,
  type KeyOperation,
  type Match,
  matchRoute,
  scopesFor,
  type ModelOperation,
} from './routes.ts';
import type { RefusedRequest } from '../core/ledger/pending-record.ts';
import type { MaybePromise } from '../platform/wait.ts';
import type { Spelling } from './spelling.ts';
import type { ResolvedConfig } from '../config/resolved-config.ts';
import type { Brand } from '../config/router.ts';
import type { ApiFormatErrors } from '../formats/api-format.ts';
import { API_FORMAT_ERRORS } from '../formats/errors.ts';
import type { WarningEvent } from '../contracts/events.ts';

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
  internals.first.request?.();
  const cors = config.cors === undefined ? NO_CORS : corsHeaders(config.cors, call.header('origin'));
  let context = contextOf(config, call, cors, match);
  try {
    if (match.type === 'wrong_method') {
      return preflightReply(call, match.allow, cors, config.cors?.headers) ?? wrongMethod(match.allow, context);
    }
    const { operation } = match;
    if (operation.name !== 'chat') {
      if (isCatalog(operation)) return await catalogReply(internals, operation, call, context);
      if (operation.name === 'openapi') return await openApiReply(context.spelling, context.headers);
    }
    const found = admitted(internals, operation, call);
    const account = found instanceof Promise ? await found : found;
    if (!isAnonymous(account)) context = { ...context, account: account.id };
    return await perform(internals, operation, { call, account, context });
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
  const { wantsMetadata, spelling } = asking === undefined ? NOTHING_ASKED[brand] : negotiate(asking, brand);
  const apiFormat = match.apiFormat ?? (call.method === 'POST' ? undefined : apiFormatOfList(call, match));
  const id = `req_${environment.randomText(24)}`;
  const headers: Record<string, string> = cors === NO_CORS ? { 'x-request-id': id } : { 'x-request-id': id, ...cors };
  if (apiFormat?.requestIdHeader !== undefined) headers[apiFormat.requestIdHeader] = id;
  if (!isForEverybody(match) || keyOf(call) !== undefined) {
    headers['cache-control'] = 'no-store';
    headers['x-content-type-options'] = 'nosniff';
  }
  return { asking, spelling, wantsMetadata, apiFormat, headers };
}

/** Lists of models, and the document of the API: what everybody may see, and caches may keep. */
function isForEverybody(match: Exclude<Match, undefined>): boolean {
  if (match.type !== 'operation') return false;
  return match.operation.name === 'openapi' || isCatalog(match.operation);
}

/** What a call gets that asks for nothing. */
const NOTHING_ASKED = {
  router: negotiate(undefined, 'router'),
  openrouter: negotiate(undefined, 'openrouter'),
} satisfies Record<Brand, unknown>;

/** Models are listed in the format of Anthropic's API for its clients, which send this header with everything. */
function apiFormatOfList({ header }: HttpCall, match: Exclude<Match, undefined>): ApiFormatErrors | undefined {
  if (match.type !== 'operation' || (match.operation.name !== 'models' && match.operation.name !== 'model')) return;
  return header('anthropic-version') === undefined ? undefined : API_FORMAT_ERRORS.messages;
}

/** The account for which something may be done; who it is refused to is noted. */
function admitted(internals: RouterInternals, operation: AccountOperation, call: HttpCall): MaybePromise<Account> {
  const { ledger, facts } = internals.services;
  const { authenticate, anonymous } = internals.config;
  // Where everybody is served, nothing is to be found out.
  const scopes = scopesFor(operation);
  if (authenticate === undefined && anonymous === 'anybody' && scopes === INFERENCE) return ANONYMOUS_ANYWHERE;
  if (ledger === undefined) return authorize(call, scopes, internals);
  let forbidden: Account | undefined;
  const admit = () => authorize(call, scopes, internals, (account) => (forbidden = account));
  return ledger.noting(facts, call.signal, admit, () => forbidden && refusedRequest(operation, call, forbidden));
}

/** Does what a client requests that may do it. */
function perform(
  internals: RouterInternals,
  operation: AccountOperation,
  admittedCall: AdmittedCall,
): MaybePromise<HttpReply> {
  switch (operation.name) {
    case 'chat':
    case 'embeddings':
    case 'count_tokens':
      return modelReply(internals, operation, admittedCall);
    case 'generation':
    case 'ledger':
    case 'ledger_costs':
      return ledgerReply(internals.pinned, operation, admittedCall);
    case 'stream_resume':
    case 'stream_stop':
      return streamReply(internals, operation, admittedCall, STREAM_WRITING);
    default:
      return isKeys(operation)
        ? keyReply(internals, operation, admittedCall)
        : batchReply(internals.pinned, operation, admittedCall);
  }
}

/** Lets a model answer. */
function modelReply(
  internals: RouterInternals,
  operation: ModelOperation,
  admittedCall: AdmittedCall,
): MaybePromise<HttpReply> {
  const { ledger, facts } = internals.services;
  const answer = ANSWERS[operation.name];
  const tokens = operation.name === 'embeddings' ? mostNumbers(internals) : 0;
  if (ledger === undefined) return receive(internals, admittedCall, tokens, answer);
  let isRead = false;
  const reply = (): Promise<HttpReply> =>
    receive(internals, admittedCall, tokens, (...request) => {
      isRead = true;
      return answer(...request);
    });
  // From the reading of its body on, the router notes by itself what becomes of a request.
  const { call, account } = admittedCall;
  const refused = () => (isRead ? undefined : refusedRequest(operation, call, account));
  return ledger.noting(facts, call.signal, reply, refused);
}

const ANSWERS: Readonly<Record<ModelOperation['name'], AnswerOfModel>> = {
  chat: replyToChat,
  embeddings: replyToEmbeddings,
  count_tokens: replyToTokenCount,
};

/** What is known of a request to a model that the router has not seen; undefined for other requests. */
function refusedRequest({ name }: AccountOperation, call: HttpCall, account: Account): RefusedRequest | undefined {
  if (name !== 'chat' && name !== 'embeddings') return undefined;
  const body = call.body.type === 'parsed' ? call.body.value : undefined;
  return { operation: name, account, format: apiFormatAt(call.path)?.name, body };
}

/** Numbers that a request for embeddings may have on top of what bodies may hold: tokens instead of text. */
function mostNumbers({ config }: RouterInternals): number {
  const { embeddingInputs, embeddingTokens } = config.limits;
  return embeddingInputs + embeddingTokens;
}

/** What reads the catalog is loaded by the first request that is about it. */
async function catalogReply(
  internals: RouterInternals,
  operation: CatalogOperation,
  call: HttpCall,
  context: CallContext,
): Promise<HttpReply> {
  // Probes of load balancers read the catalog.
  internals.checkOpen();
  const account = internals.config.authenticate === undefined ? ANONYMOUS : await knownAccount(call, internals);
  const { answerCatalog } = await import('./catalog-operations.ts');
  return answerCatalog(internals, operation, { call, account, context });
}

/** Who requests what everybody may see. Credentials that are no good are none here. */
async function knownAccount(call: HttpCall, internals: RouterInternals): Promise<Account> {
  if (call.header('authorization') === undefined && call.header('x-api-key') === undefined) return ANONYMOUS;
  try {
    return await authorize(call, INFERENCE, internals);
  } catch {
    return ANONYMOUS;
  }
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
  admittedCall: AdmittedCall,
): Promise<HttpReply> {
  const { keys } = config.authenticate ?? {};
  // Without them, the path is the host's, and nobody comes here.
  if (keys === undefined) throw new Error('There are no stored API keys');
  const { answerKeys } = await import('./key-operations.ts');
  return answerKeys({ keys, spending: services.spending }, operation, admittedCall);
}

/** What reads the ledger is loaded by the first request that is about it. */
async function ledgerReply(...request: Parameters<typeof AnswerLedgerFunction>): Promise<HttpReply> {
  const { answerLedger } = await import('./ledger-operations.ts');
  return answerLedger(...request);
}

/** What reads streams that are kept is loaded by the first request that is about one. */
async function streamReply(...request: Parameters<typeof AnswerStreamsFunction>): Promise<HttpReply> {
  const { answerStreams } = await import('./stream-operations.ts');
  return answerStreams(...request);
}

/** The answer that a failure is. */
function failedReply({ services }: RouterInternals, context: ErrorReplyContext, error: unknown): CompleteReply {
  if (isUnexpected(error)) warn(services.events, unexpected(error));
  return errorReply(isAborted(error) ? new RouterError(ABORTED) : error, context);
}

/** Seen by a client only where a host aborts the signal of a request whose client is still connected. */
const ABORTED = {
  status: 500,
  errorType: 'server',
  message: 'The request ended early: the server that the router runs in aborted its signal',
} as const;

function isAborted(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

/** True for a fault of ours or of the host. A client that disconnects is none. */
function isUnexpected(error: unknown): error is Error {
  return error instanceof Error && !RouterError.isInstance(error) && !isAborted(error);
}

/** The caller sees a plain 500, so the operator must hear of it; not in the error's own words, which may repeat a prompt. */
function unexpected(error: Error): WarningEvent {
  return {
    code: 'internal',
    message: `A request failed inside the router: ${error.name} ${thrownPlace(error)}`.trim(),
  };
}

/** The document is made when it is requested for the first time, and its makers are loaded then. */
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
