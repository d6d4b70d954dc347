/** Runs code of plugins within time limits, and the calls that it makes. */
import { errorOf, RouterError } from '../../protocol/router-error.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { inheritedPolicies } from '../../core/pipeline/inherited-policies.ts';
import type { InnerCallOptions, PluginContext } from '../../contracts/plugin-context.ts';
import type { ToolContext } from '../../contracts/server-tool.ts';
import type { ChatRequest } from '../../protocol/chat-request.ts';
import type { ChatResult } from '../../protocol/chat-result.ts';
import type { RuntimeServices } from '../chat/services.ts';
import type { StageMeter } from '../events/stage-meter.ts';
import type { RequestUsage } from './request-usage.ts';
import type { Environment } from '../../platform/environment.ts';
import type { ActivePlugin } from '../../core/pipeline/choose-plugins.ts';
import type { ErrorType } from '../../protocol/error.ts';
import { warn } from '../events/events.ts';
import { thrownKind } from '../chat/router-errors.ts';

/** How deep in calls of plugins a request stands; 0 for one from outside. */
function depthOf({ within }: NormalizedRequest): number {
  return within?.depth ?? 0;
}

/** The request that a plugin or server tool works for. */
interface OuterRequest {
  readonly request: NormalizedRequest;
  readonly ledger: RequestUsage;
  readonly signal: AbortSignal;
  readonly meter: StageMeter;
}

/** What hooks of plugins and server tools know alike. */
type SharedContext = Pick<
  PluginContext & ToolContext,
  'signal' | 'account' | 'catalog' | 'depth' | 'now' | 'wallClock' | 'random' | 'serverTools' | 'call'
>;

/** Makes a {@link SharedContext} for a plugin by its id, or for a server tool by its type. */
export function sharedContext(services: RuntimeServices, outer: OuterRequest, id: string): SharedContext {
  const { environment, facts, registry } = services;
  const caller = { ...outer, id };
  return {
    signal: outer.signal,
    account: outer.request.account,
    catalog: facts.catalog,
    depth: depthOf(outer.request),
    now: environment.now,
    wallClock: environment.wallClock,
    random: environment.random,
    serverTools: registry.types,
    call: (body, bounds) => callWithin(services, caller, body, bounds),
  };
}

/**
 * Lets a plugin or server tool ask the router. What it costs is put in the ledger of the outer request.
 *
 * @throws {@link RouterError} when the call fails, 422 when it is too deep, or 524 when its own time is up.
 */
async function callWithin(
  services: RuntimeServices,
  { id, ...outer }: OuterRequest & { readonly id: string },
  request: ChatRequest,
  { timeoutMs }: InnerCallOptions = {},
): Promise<ChatResult> {
  const depth = depthOf(outer.request) + 1;
  if (depth > services.maxPluginDepth) {
    throw errorOf(
      422,
      `"${id}" calls the router within a call of a plugin; at most ${services.maxPluginDepth} levels are allowed`,
    );
  }
  const { account, id: parent, within, preferences } = outer.request;
  const { stage } = outer.meter;
  const by = [...(within?.by ?? []), id];
  const start = (signal: AbortSignal): Promise<ChatResult> =>
    services.callWithin(request, {
      account,
      signal,
      depth,
      parent,
      by,
      stage,
      policies: inheritedPolicies(preferences),
    });
  const result = await (timeoutMs === undefined
    ? start(outer.signal)
    : boundedCall(services, outer.signal, timeoutMs, start));
  outer.ledger.called(id, result);
  outer.meter.requested(result.usage);
  return result;
}

async function boundedCall(
  { environment }: RuntimeServices,
  caller: AbortSignal,
  timeoutMs: number,
  start: (signal: AbortSignal) => Promise<ChatResult>,
): Promise<ChatResult> {
  const outcome = await runBounded(environment, caller, timeoutMs, start);
  if (outcome.type === 'value') return outcome.value as ChatResult;
  if (outcome.type === 'threw') throw outcome.thrown;
  throw new RouterError({
    status: 524,
    errorType: 'timeout',
    message: `The model did not answer within ${Math.ceil(timeoutMs / 1_000)} seconds`,
  });
}

/** How something of a plugin came out. */
type BoundedOutcome =
  | { readonly type: 'value'; readonly value: unknown }
  | { readonly type: 'threw'; readonly thrown: unknown }
  | { readonly type: 'late' };

/** Reason of the abort that ends whatever a plugin still has under way. */
const OVER = new DOMException('This hook is over', 'AbortError');

/**
 * Runs foreign code for a limited time, and no longer than its caller stays. It is told by its signal; whether it
 * listens makes no difference to who waits here. What it does afterwards is nobody's business any more.
 *
 * @throws The caller's reason when the client disconnects.
 */
export async function runBounded(
  environment: Environment,
  caller: AbortSignal,
  timeoutMs: number,
  start: (signal: AbortSignal) => unknown,
): Promise<BoundedOutcome> {
  caller.throwIfAborted();
  const controller = new AbortController();
  let wake: (outcome: BoundedOutcome | undefined) => void = () => undefined;
  const interrupted = new Promise<BoundedOutcome | undefined>((resolve) => (wake = resolve));
  const leave = (): void => wake(undefined);
  caller.addEventListener('abort', leave);
  const timer = environment.setTimer(() => wake({ type: 'late' }), timeoutMs);
  try {
    const outcome = await Promise.race([outcomeOf(start, controller.signal), interrupted]);
    if (outcome === undefined) caller.throwIfAborted();
    return outcome ?? { type: 'late' };
  } finally {
    environment.clearTimer(timer);
    caller.removeEventListener('abort', leave);
    controller.abort(OVER);
  }
}

async function outcomeOf(start: (signal: AbortSignal) => unknown, signal: AbortSignal): Promise<BoundedOutcome> {
  try {
    return { type: 'value', value: await start(signal) };
  } catch (thrown) {
    return { type: 'threw', thrown };
  }
}

/** Names of the hooks of a plugin. */
export type HookName = 'load' | 'onRequest' | 'onCandidates' | 'onAttempt' | 'onChunks' | 'onAnswer' | 'onResult';

/** What went wrong with a hook. */
export type HookFailure = { readonly type: 'threw'; readonly thrown: unknown } | { readonly type: 'late' };

/** A hook that failed, and whose it is. */
interface FailedHook {
  readonly active: ActivePlugin;
  readonly hook: HookName;
  readonly failure: HookFailure;
}

const TYPE_OF_STATUS: Readonly<Record<number, ErrorType>> = {
  500: 'server',
  502: 'provider_unavailable',
  503: 'provider_overloaded',
};

/**
 * Deals with a hook that failed as its plugin's `whenItThrows` says: throws the error for the caller, or notes that
 * the plugin is left out. Its operator hears of it in both cases; the caller does not learn what was thrown.
 */
export function handleHookFailure(
  services: RuntimeServices,
  ledger: RequestUsage,
  { active: { plugin }, hook, failure }: FailedHook,
): void {
  const { id, whenItThrows, failStatus = 502 } = plugin;
  if (whenItThrows === 'fail' && refusesRequest(failure)) {
    ledger.stageUnlessNoted(id, 0, 'refused the request');
    throw failure.thrown;
  }
  const what = failure.type === 'late' ? 'took too long' : `threw ${thrownKind(failure.thrown)}`;
  const then = whenItThrows === 'skip' ? 'the request went on without it' : 'the request failed';
  warn(services.events, {
    code: 'plugin_failed',
    message: `The plugin "${id}" ${what} in ${hook}; ${then}`,
    ...(failure.type === 'threw' ? { thrown: failure.thrown } : {}),
  });
  const reason = failure.type === 'late' ? 'timeout' : 'error';
  ledger.stage(id, {
    summary: whenItThrows === 'skip' ? `skipped: ${what} in ${hook}` : `failed: ${what} in ${hook}`,
    data: { hook, reason, skipped: whenItThrows === 'skip' },
  });
  if (whenItThrows === 'skip') return;
  if (failure.type === 'threw' && RouterError.isInstance(failure.thrown)) throw failure.thrown;
  throw new RouterError({
    status: failStatus,
    errorType: TYPE_OF_STATUS[failStatus] ?? 'server',
    message: failure.type === 'late' ? `The plugin "${id}" took too long` : `The plugin "${id}" failed`,
    metadata: { plugin: id },
  });
}

/** An error about the request itself: the plugin works, and its operator has nothing to do. */
export function refusesRequest(failure: HookFailure): failure is { type: 'threw'; thrown: RouterError } {
  return failure.type === 'threw' && RouterError.isInstance(failure.thrown) && failure.thrown.status < 500;
}
