import { ANONYMOUS, type Account } from '../core/account.ts';
import { RouterError } from '../errors.ts';
import type { EmbeddingRequest } from '../protocol/embedding-request.ts';
import type { Router } from '../router.ts';
import { authorize } from './authorize.ts';
import { readJsonBody } from './body.ts';
import { negotiate, spell } from './brand.ts';
import { answerCatalog } from './catalog-operations.ts';
import { corsHeaders, preflightReply } from './cors.ts';
import { type ErrorReplyContext, errorReply } from './error-reply.ts';
import type { HttpCall, HttpReply } from './exchange.ts';
import { type CatalogOperation, matchRoute } from './routes.ts';
import { StreamFrames } from './stream-frames.ts';

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
  const context: ErrorReplyContext & { account?: string } = { spelling, wantsMetadata, headers };
  try {
    if (match.type === 'wrong_method') {
      return preflightReply(call, match.allow, cors) ?? wrongMethod(match.allow, context);
    }
    const { operation } = match;
    if (operation.name !== 'chat' && operation.name !== 'embeddings') {
      return catalogReply(router, operation, call, headers);
    }
    const account = await authorize(call, 'inference', router.internals);
    if (account !== ANONYMOUS) context.account = account.id;
    const answer = operation.name === 'chat' ? chat : embeddings;
    return await answer(router, call, account, context);
  } catch (error) {
    return errorReply(error, context);
  }
}

async function chat(router: Router, call: HttpCall, account: Account, context: ErrorReplyContext): Promise<HttpReply> {
  const { config, admission } = router.internals;
  // Who sends slowly holds no place; who would find none is not made to send.
  admission.check();
  const body = await readJsonBody(call, config.limits);
  const slot = admission.enter();
  try {
    const opened = await router.open(body, {
      account,
      signal: call.signal,
      metadata: context.wantsMetadata,
      sessionId: call.header('x-session-id'),
    });
    const headers = { ...context.headers, 'x-generation-id': opened.id };
    if (opened.type === 'whole') {
      const result = await opened.result;
      slot.leave();
      return {
        type: 'whole',
        status: 200,
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(spell(result, context.spelling)),
      };
    }
    const { keepAlive, environment } = config;
    const frames = new StreamFrames({ ...context, source: opened.stream, keepAlive, environment, onEnd: slot.leave });
    await frames.open();
    const stallMs = config.limits.writeStallMs;
    return { type: 'stream', status: 200, headers: { ...headers, ...STREAM_HEADERS }, frames, stallMs };
  } catch (error) {
    slot.leave();
    throw error;
  }
}

async function embeddings(
  router: Router,
  call: HttpCall,
  account: Account,
  context: ErrorReplyContext,
): Promise<HttpReply> {
  const { config, admission } = router.internals;
  admission.check();
  const body = await readJsonBody(call, config.limits);
  const slot = admission.enter();
  try {
    const result = await router.embed(body as EmbeddingRequest, {
      account,
      signal: call.signal,
      metadata: context.wantsMetadata,
      sessionId: call.header('x-session-id'),
    });
    return {
      type: 'whole',
      status: 200,
      headers: { ...context.headers, 'x-generation-id': result.id, 'content-type': 'application/json' },
      body: JSON.stringify(spell(result, context.spelling)),
    };
  } finally {
    slot.leave();
  }
}

function catalogReply(
  router: Router,
  operation: CatalogOperation,
  call: HttpCall,
  headers: Readonly<Record<string, string>>,
): HttpReply {
  const { services } = router.internals;
  const body = answerCatalog(services, operation, new URLSearchParams(call.query));
  return {
    type: 'whole',
    status: 200,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
}

function wrongMethod(allow: string, context: ErrorReplyContext): HttpReply {
  const message = `This path takes ${allow} only`;
  const error = new RouterError({ status: 405, errorType: 'invalid_request', message });
  return errorReply(error, { ...context, headers: { ...context.headers, allow } });
}
