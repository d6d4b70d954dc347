/** Reads bodies of every API format into the chat form. */
import { ANONYMOUS, isAnonymous } from '../contracts/account.ts';
import { traceContextOf } from '../contracts/trace-context.ts';
import type { OpenOptions } from './router.ts';
import { batchGenerationId, generationId } from '../protocol/chat-result.ts';
import { andThen, type MaybePromise, onDemand } from '../platform/wait.ts';
import { allowedPrivateHosts } from '../net/network.ts';
import type { ApiFormat } from '../formats/api-format.ts';
import type { InnerCall, RuntimeServices } from '../runtime/chat/services.ts';
import type { ApiFormatName } from '../protocol/api-format.ts';
import { errorOfFault } from '../runtime/chat/router-errors.ts';
import type { NativeRequest } from '../contracts/request.ts';
import type { RequestContext } from '../core/normalize/context.ts';

const LOADERS: Readonly<Record<ApiFormatName, () => MaybePromise<ApiFormat>>> = {
  messages: onDemand(async () => (await import('../formats/messages/messages.ts')).MESSAGES),
  responses: onDemand(async () => (await import('../formats/responses/responses.ts')).RESPONSES),
};

/** Loads an API format. Most routers only get chat completions, so each is loaded by the first request in it. */
export function loadApiFormat(name: ApiFormatName): MaybePromise<ApiFormat> {
  const load = LOADERS[name];
  if (load === undefined) throw new RangeError(`no API format "${name}"`);
  return load();
}

/** A body in the form of a chat request, not checked yet. */
export interface ChatBody {
  readonly chat: unknown;
  /** The request in its own API format, where it came in another one. */
  readonly native: NativeRequest | undefined;
}

/**
 * A body in another API format as a chat body.
 *
 * @throws {@link RouterError} that names the first place that is wrong in its own format.
 */
export async function translated(
  { limits, registry }: Pick<RuntimeServices, 'limits' | 'registry'>,
  body: unknown,
  apiFormat: ApiFormatName,
): Promise<ChatBody> {
  const translation = (await loadApiFormat(apiFormat)).toChat(body, limits, registry.routing);
  if (!translation.ok) throw errorOfFault(translation.fault);
  const { chat, native } = translation.value;
  return { chat, native: native && { ...native, apiFormat } };
}

const loadAddresses = onDemand(() => import('../net/private-addresses.ts'));

/**
 * Refuses a body that names an address of a private network as a picture, a file or a video, whoever would fetch it.
 *
 * @throws {@link RouterError} that names the place.
 */
export function refusePrivateAddresses(body: unknown): MaybePromise<void> {
  return andThen(loadAddresses(), ({ checkAddresses }) => {
    const checked = checkAddresses(body, new Set(allowedPrivateHosts()));
    if (!checked.ok) throw errorOfFault(checked.fault);
  });
}

/** What comes with a request, from a client or from within. */
export interface PrepareOptions extends OpenOptions {
  /** The call of a plugin or a server tool that it is. Default: none. */
  readonly inner?: InnerCall | undefined;
}

/** What the body of a request says of what comes with it. */
interface SaidInBody extends Pick<RequestContext, 'onlyTexts' | 'native'> {
  readonly request: { readonly user?: string | null | undefined };
}

/** What comes with a request besides its body: who asks, its id, its time. */
export function requestContext(
  services: RuntimeServices,
  said: SaidInBody,
  options: PrepareOptions,
): MaybePromise<RequestContext> {
  const { endUsers } = services;
  const { account = ANONYMOUS } = options;
  // Without an account, there is nothing to check, and one stand-in for all.
  if (!isAnonymous(account)) services.checkAccount(account);
  const { user } = said.request;
  const endUser =
    (isAnonymous(account) && user == null ? endUsers.ofNobody : undefined) ?? endUsers.standIn(account.id, user);
  return endUser instanceof Promise
    ? endUser.then((one) => contextOf(services, said, options, one))
    : contextOf(services, said, options, endUser);
}

function contextOf(
  { environment }: RuntimeServices,
  { native, onlyTexts }: SaidInBody,
  options: PrepareOptions,
  endUser: string,
): RequestContext {
  const { inner, sent, traceContext } = options;
  const created = sent ? Number(sent.id.split('-')[1]) : Math.floor(environment.wallClock() / 1_000);
  const idOf = options.batch === true ? batchGenerationId : generationId;
  return {
    id: sent?.id ?? idOf(created, environment.randomText(20)),
    created,
    account: options.account ?? ANONYMOUS,
    endUser,
    sessionHeader: options.sessionId,
    wantsMetadata: options.metadata ?? false,
    onlyTexts,
    within: inner && { parent: inner.parent, depth: inner.depth, by: inner.by, stage: inner.stage },
    policies: inner?.policies ?? options.policies,
    native,
    format: options.apiFormat,
    batch: options.batch,
    anthropicBeta: options.anthropicBeta,
    verbatim: options.verbatim,
    traceContext: traceContext && traceContextOf(traceContext.traceparent, traceContext.tracestate),
  };
}

/** The signal that ends a call. */
export interface CallerSignal {
  readonly signal: AbortSignal;
  /** Ends the call from within. */
  readonly abort: () => void;
  /** Stops listening to the client. To be called when the call is over, however it ended. */
  readonly release: () => void;
}

/** The signal of a response that comes all at once: that of its client. Nothing but the client ends it early. */
export function clientSignal(outer: AbortSignal | undefined): CallerSignal {
  return { signal: outer ?? neverAborted(), abort: ignore, release: ignore };
}

/** The signal of a stream: its client may abort it, or stop reading it. */
export function streamSignal(outer: AbortSignal | undefined): CallerSignal {
  const controller = new AbortController();
  const abort = (): void => controller.abort(outer?.reason);
  if (outer?.aborted === true) abort();
  outer?.addEventListener('abort', abort);
  return { signal: controller.signal, abort, release: () => outer?.removeEventListener('abort', abort) };
}

/**
 * A signal that is never aborted, for calls without one. Each call has its own: Cloudflare Workers refuse to make one
 * while a module loads, and to use it in another request than the one that made it.
 */
function neverAborted(): AbortSignal {
  return new AbortController().signal;
}

function ignore(): void {}
