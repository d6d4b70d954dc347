import type { NormalizedRequest } from '../core/normalize/normalized-request.ts';
import { planRoute } from '../core/selection/plan-route.ts';
import type { RoutePlan } from '../core/selection/route-plan.ts';
import type { UpstreamResult } from '../core/stream/upstream-result.ts';
import { type Settlement, settleUsage } from '../core/stream/usage.ts';
import type { AttemptAnswer } from './attempt-call.ts';
import { AttemptLoop, type AttemptLoopOptions, worldOf } from './attempt-loop.ts';
import type { Answer, Counted, Execution } from './execution.ts';
import type { RuntimeServices } from './services.ts';
import { billingOf } from './settle.ts';
import { UpstreamCall } from './upstream-call.ts';
import { valueWithin } from './wait.ts';

/** The call that answered a chat request. */
export type ChatAnswer = AttemptAnswer<UpstreamCall, UpstreamResult>;

/** One chat request from its plan to the call that answers it. */
export class ChatExecution extends AttemptLoop<NormalizedRequest, UpstreamCall, UpstreamResult> implements Execution {
  constructor(
    services: RuntimeServices,
    chat: NormalizedRequest,
    plan: RoutePlan,
    signal: AbortSignal,
    options: AttemptLoopOptions<NormalizedRequest> = {},
  ) {
    const { environment, timeouts } = services;
    super(
      services,
      chat,
      plan,
      signal,
      ({ request, provider, endpoint, apiKey, deadlineAt, onSending }) => {
        const call = { request, endpoint, apiKey };
        return new UpstreamCall({ environment, timeouts, deadlineAt, signal, provider, call, onSending });
      },
      options,
    );
  }

  bill({ endpoint }: Answer, { reported, likelyTokens, images, serviceTier }: Counted): Settlement {
    return settleUsage(endpoint, reported, {
      ...billingOf(this.request, serviceTier),
      completionTokens: likelyTokens,
      outputImages: images,
    });
  }
}

/** Plans a request on the world as it is now. */
export async function planRequest(
  services: RuntimeServices,
  request: NormalizedRequest,
  roll?: number,
): Promise<RoutePlan> {
  const found = services.sticky.find(request);
  const sticky = found instanceof Promise ? await valueWithin(services.environment, found, STICKY_WAIT_MS) : found;
  return planRoute(request, worldOf(services, sticky, roll));
}

/** A store that takes longer than this many milliseconds is not worth waiting for: stickiness only saves money. */
const STICKY_WAIT_MS = 250;
