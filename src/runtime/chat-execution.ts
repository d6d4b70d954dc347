import type { NormalizedRequest } from '../core/normalize/normalized-request.ts';
import { planRoute } from '../core/selection/plan-route.ts';
import type { RoutePlan } from '../core/selection/route-plan.ts';
import type { UpstreamResult } from '../core/stream/upstream-result.ts';
import { type Answer as AnswerOf, Execution, worldOf } from './execution.ts';
import type { RuntimeServices } from './services.ts';
import { UpstreamCall } from './upstream-call.ts';
import { valueWithin } from './wait.ts';

/** The call that answered a chat request. */
export type Answer = AnswerOf<UpstreamCall, UpstreamResult>;

/** One chat request from its plan to the call that answers it. */
export class ChatExecution extends Execution<NormalizedRequest, UpstreamCall, UpstreamResult> {
  constructor(services: RuntimeServices, request: NormalizedRequest, plan: RoutePlan, signal: AbortSignal) {
    const { environment, timeouts } = services;
    super(services, request, plan, signal, ({ provider, endpoint, apiKey, deadlineAt, onSending }) => {
      const call = { request, endpoint, apiKey };
      return new UpstreamCall({ environment, timeouts, deadlineAt, signal, provider, call, onSending });
    });
  }
}

/** Plans a request on the world as it is now. */
export async function planRequest(services: RuntimeServices, request: NormalizedRequest): Promise<RoutePlan> {
  const found = services.sticky.find(request);
  const sticky = found instanceof Promise ? await valueWithin(services.environment, found, STICKY_WAIT_MS) : found;
  return planRoute(request, worldOf(services, sticky));
}

/** A store that takes longer than this many milliseconds is not worth waiting for: stickiness only saves money. */
const STICKY_WAIT_MS = 250;
