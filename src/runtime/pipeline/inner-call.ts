import { RouterError } from '../../errors.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import { inheritedPolicies } from '../../core/pipeline/inherited-policies.ts';
import type { InnerCallOptions } from '../../core/pipeline/plugin-context.ts';
import type { ChatRequest } from '../../protocol/chat-request.ts';
import type { ChatResult } from '../../protocol/chat-result.ts';
import type { RuntimeServices } from '../services.ts';
import type { StageMeter } from '../stage-meter.ts';
import { runBounded } from './bounded.ts';
import type { Ledger } from './ledger.ts';

/** How deep in calls of plugins a request stands; 0 for one from outside. */
export function depthOf({ within }: NormalizedRequest): number {
  return within?.depth ?? 0;
}

/**
 * Lets a plugin or server tool ask the router. What it costs is put in the ledger of the outer request.
 *
 * @throws {@link RouterError} when the call fails, 422 when it is too deep, or 524 when its own time is up.
 */
export async function callWithin(
  services: RuntimeServices,
  outer: {
    readonly request: NormalizedRequest;
    readonly ledger: Ledger;
    readonly signal: AbortSignal;
    readonly meter: StageMeter;
  },
  id: string,
  request: ChatRequest,
  { timeoutMs }: InnerCallOptions = {},
): Promise<ChatResult> {
  const depth = depthOf(outer.request) + 1;
  if (depth > services.maxPluginDepth) {
    throw new RouterError({
      status: 422,
      errorType: 'unprocessable',
      message: `"${id}" asks the router within a call that a plugin made; that goes at most ${services.maxPluginDepth} deep`,
    });
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
  outer.meter.asked(result.usage);
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
