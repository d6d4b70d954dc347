/** Answers calls that need a model: chat, embeddings and token counts. */
import type { Account } from '../contracts/account.ts';
import { type TraceContext, traceContextOf } from '../contracts/trace-context.ts';
import type { EmbeddingRequest } from '../protocol/embedding.ts';
import type { OpenedChat, OpenOptions, RouterInternals } from '../router/router.ts';
import { loadApiFormat } from '../router/incoming.ts';
import { spell } from './spelling.ts';
import { cacheHeaders, requestedCache, type HeaderLookup, sessionRequested } from './request-headers.ts';
import type { ErrorReplyContext } from './error-reply.ts';
import { answerFormat, type AnswerFormat, apiFormatError, STREAM_WRITING, writerOf } from './frame-writer.ts';
import type { HttpCall, HttpHeaders, HttpReply, CompleteReply } from '../contracts/exchange.ts';
import { StreamFrames } from './stream-frames.ts';
import { andThen, onDemand } from '../platform/wait.ts';

/** What everything that answers a call depends on. */
export interface CallContext extends ErrorReplyContext {
  /** Looks up headers that request something; undefined where none does. */
  readonly asking: HeaderLookup | undefined;
}

/** A call of an account that may make it. Its body is not read yet. */
export interface AdmittedCall {
  readonly call: HttpCall;
  readonly account: Account;
  readonly context: CallContext;
}

/** A request that a model is to answer. */
export interface ModelRequest extends AdmittedCall {
  readonly body: unknown;
  /** Long texts of the body that need no escape. */
  readonly verbatim?: readonly string[] | undefined;
}

type StreamReply = Extract<HttpReply, { type: 'stream' }>;

/** The answer of a model: at once, or as a stream that can say when it is over. */
export type ModelReply = CompleteReply | (StreamReply & { readonly frames: Pick<StreamFrames, 'onEnd'> });

/** Headers of every stream of events. */
export const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  // Compression and proxies would hold events back.
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
} as const;

/** @throws {@link RouterError} for everything that is wrong, before anything of the answer is sent. */
export async function replyToChat(internals: RouterInternals, request: ModelRequest): Promise<ModelReply> {
  const { call, account, context, body: requested, verbatim } = request;
  const { streams } = internals;
  const preparing =
    streams && andThen(loadKeeping(), ({ keepingOf }) => keepingOf(internals, streams, STREAM_WRITING, call));
  const keeping = preparing instanceof Promise ? await preparing : preparing;
  const options: OpenOptions = {
    account,
    signal: keeping?.signal ?? call.signal,
    metadata: context.wantsMetadata,
    sessionId: context.asking && sessionRequested(context.asking),
    anthropicBeta: betasOf(call, context),
    traceContext: traceOf(internals, call),
    apiFormat: context.apiFormat?.name,
    cache: context.asking && requestedCache(context.asking),
    verbatim,
  };
  const opening = internals.pinned.open(requested, options);
  const loading = context.apiFormat && loadApiFormat(context.apiFormat.name);
  const opened = await opening;
  const apiFormat = loading && (await loading);
  const format = apiFormat && answerFormat(apiFormat, opened, request, internals.config.environment);
  try {
    if (opened.type === 'stream') {
      const reply = await sendStream(internals, opened, context, format);
      if (keeping === undefined) return reply;
      const kept = keeping.keep(reply.frames, opened, { account, context, body: requested, options });
      return { ...reply, frames: kept instanceof Promise ? await kept : kept };
    }
    const answer = await opened.answer;
    const body = format?.apiFormat.complete(answer, format.context()) ?? answer.result;
    return completeReply(context.wantsMetadata ? spell(body, context.spelling) : body, headersOf(opened, context));
  } catch (error) {
    const absorbed = format && absorb(error, opened, format, context);
    if (absorbed !== undefined) return absorbed;
    throw error;
  }
}

const loadKeeping = onDemand(() => import('./keeping.ts'));

async function sendStream(
  { config }: RouterInternals,
  opened: Extract<OpenedChat, { type: 'stream' }>,
  context: CallContext,
  format: AnswerFormat | undefined,
): Promise<StreamReply & { readonly frames: StreamFrames }> {
  const { keepAlive, fallback, environment, limits } = config;
  const { stream: source } = opened;
  const frames = new StreamFrames({
    source,
    writer: writerOf(source, context, format),
    keepAlive,
    maxWaitMs: fallback.maxWaitMs,
    environment,
  });
  await frames.open();
  const headers = { ...headersOf(opened, context), ...STREAM_HEADERS };
  return { type: 'stream', status: 200, headers, frames, stallMs: limits.writeStallMs };
}

/** To be called when the answer, or its first part, is there: only then it is known how the cache was used. */
function headersOf({ id, cache }: OpenedChat, { asking, headers, spelling }: CallContext): HttpHeaders {
  const own = { ...headers, 'x-generation-id': id };
  const report = cache();
  return report === undefined ? own : { ...own, ...cacheHeaders(report, asking, spelling) };
}

/** @throws {@link RouterError} for everything that is wrong. */
export async function replyToEmbeddings(
  internals: RouterInternals,
  { call, account, context, body }: ModelRequest,
): Promise<CompleteReply> {
  const result = await internals.pinned.embed(body as EmbeddingRequest, {
    account,
    signal: call.signal,
    metadata: context.wantsMetadata,
    sessionId: sessionRequested(context.asking),
    traceContext: traceOf(internals, call),
  });
  return completeReply(spell(result, context.spelling), { ...context.headers, 'x-generation-id': result.id });
}

/** Answers `POST /messages/count_tokens`. */
export async function replyToTokenCount(
  { pinned }: RouterInternals,
  { call, account, context, body }: ModelRequest,
): Promise<CompleteReply> {
  const count = await pinned.countTokens(body, {
    account,
    signal: call.signal,
    sessionId: sessionRequested(context.asking),
    anthropicBeta: betasOf(call, context),
    apiFormat: 'messages',
  });
  return completeReply(count, context.headers);
}

/** Where the trace of the caller stands, if anybody here wants to know. */
function traceOf({ services }: RouterInternals, call: HttpCall): TraceContext | undefined {
  const { events } = services;
  if (!events.isHeard || !events.heard('request')) return undefined;
  return traceContextOf(call.header('traceparent'), call.header('tracestate'));
}

/** Callers who speak Anthropic's own API format name its beta features in its own header. */
function betasOf(call: HttpCall, { asking, apiFormat }: CallContext): string | undefined {
  const named = asking?.('x-anthropic-beta');
  return apiFormat?.name === 'messages' ? (named ?? call.header('anthropic-beta')) : named;
}

/** The answer that an error is in the caller's API format, if it is one. */
function absorb(
  thrown: unknown,
  opened: OpenedChat,
  { apiFormat, context }: AnswerFormat,
  { wantsMetadata, headers }: ErrorReplyContext,
): CompleteReply | undefined {
  const error = apiFormatError(thrown, { wantsMetadata });
  const answer = context();
  const complete = apiFormat.absorb?.(error, answer);
  if (complete === undefined) return undefined;
  const own = { ...headers, 'x-generation-id': opened.id };
  if (opened.type === 'whole') return completeReply(complete, own);
  // The stream failed before it began: all its events are known.
  const frames = apiFormat.streamWriter(answer).fail(error);
  return { type: 'whole', status: 200, headers: { ...own, ...STREAM_HEADERS }, body: frames };
}

/** A JSON body that is sent at once. */
export function completeReply(body: object, headers: HttpHeaders): CompleteReply {
  return {
    type: 'whole',
    status: 200,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
}
