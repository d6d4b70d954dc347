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
      ({ request, provider, endpoint, apiKey, traceContext, deadlineAt, onSending }) => {
        const call = { request, endpoint, apiKey, traceContext };
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

/** What is known already when a request is planned. */
interface KnownBefore {
  readonly roll?: number | undefined;
  /** Endpoint that the session sticks to, or undefined if there is none. Left out: it is looked up. */
  readonly sticky?: string | undefined;
}

/** Plans a request on the world as it is now. */
export async function planRequest(
  services: RuntimeServices,
  request: NormalizedRequest,
  known: KnownBefore = {},
): Promise<RoutePlan> {
  const news = services.cooldowns?.refresh();
  const found = 'sticky' in known ? known.sticky : stickyEndpoint(services, request);
  const sticky = found instanceof Promise ? await found : found;
  // Both were asked at the same time, so a slow store is waited for once.
  if (news !== undefined) await news;
  return planRoute(request, worldOf(services, sticky, known.roll));
}

/** The endpoint that a request's session sticks to, if the store tells in time. */
export function stickyEndpoint(
  { environment, sticky }: RuntimeServices,
  request: NormalizedRequest,
): Promise<string | undefined> | string | undefined {
  const found = sticky.find(request);
  return found instanceof Promise ? valueWithin(environment, found, STICKY_WAIT_MS) : found;
}

/** A store that takes longer than this many milliseconds is not worth waiting for: stickiness only saves money. */
const STICKY_WAIT_MS = 250;
