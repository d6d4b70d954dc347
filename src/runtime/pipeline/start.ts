/** Starts requests: finds their plugins, plans and executes them. */
import type { NormalizedRequest } from '../../contracts/request.ts';
import { choosePlugins } from '../../core/pipeline/choose-plugins.ts';
import { faultInBody } from '../../core/pipeline/locate-tool.ts';
import { leavesToolsToProviders, type OfferedTool, offerTools, withOwnTools } from '../../core/pipeline/offer-tools.ts';
import { replayServerToolCalls } from '../../core/pipeline/replay.ts';
import type { RoutePlan } from '../../core/selection/route-plan.ts';
import { andThen, type MaybePromise, onDemand } from '../../platform/wait.ts';
import { withoutMirror } from '../../core/normalize/mirror.ts';
import type { ChatRequest } from '../../protocol/chat-request.ts';
import type { SentBefore } from '../chat/continuing.ts';
import { ChatExecution } from '../chat/execution.ts';
import { errorOfFault } from '../chat/router-errors.ts';
import type { RuntimeServices } from '../chat/services.ts';
import type { Execution } from '../chat/answer.ts';
import { planRequest } from '../chat/plan.ts';
import type { PreparedRequest } from './prepared-request.ts';

/**
 * Finds the plugins and server tools of a request.
 *
 * @param chat - The body as a chat request.
 * @param body - As its caller sent it, in whatever API format: errors name its paths.
 * @throws {@link RouterError} when one is unknown here, or its options are wrong.
 */
export function preparePipeline(
  services: RuntimeServices,
  normalized: NormalizedRequest,
  chat: ChatRequest,
  body: unknown = chat,
): PreparedRequest {
  const { registry } = services;
  const chosen = choosePlugins(normalized, {
    registry,
    body: chat,
    inner: (normalized.within?.depth ?? 0) > 0,
  });
  if (!chosen.ok) throw errorOfFault(chosen.fault);
  // A copy would go without what they do, a guardrail for example; and what they do may have effects.
  const request = chosen.value.length === 0 ? normalized : withoutMirror(normalized);
  if (request.serverTools.length === 0 && typeof request.toolChoice !== 'object') {
    return { request, plugins: chosen.value, tools: NO_TOOLS, nativeTools: [], body };
  }
  if (chosen.value.length === 0 && leavesToolsToProviders(request)) {
    return { request: withOwnTools(request), plugins: [], tools: NO_TOOLS, nativeTools: [], body };
  }
  const offer = offerTools(request, registry, body);
  if (!offer.ok) throw errorOfFault(faultInBody(offer.fault, body));
  const { tools, native: nativeTools } = offer.value;
  return { request, plugins: chosen.value, tools, nativeTools, body };
}

const NO_TOOLS: ReadonlyMap<string, OfferedTool> = new Map();
const NO_NAMES: ReadonlySet<string> = new Set();

/** A request that was planned before it may run. */
interface EarlyPlan {
  readonly planned: PreparedRequest;
  /** The plan; where plugins take part, what it would be without them. */
  readonly plan: RoutePlan;
}

/** Plans a request. One that nothing but providers takes part in goes to them by the shortest way. */
export function planPrepared(services: RuntimeServices, prepared: PreparedRequest): MaybePromise<PreparedRequest> {
  const { plugins, tools, nativeTools } = prepared;
  if (plugins.length > 0 || tools.size > 0 || nativeTools.length > 0) return prepared;
  const request = prepared.request.needs.serverCalls === true ? withoutServerCalls(prepared.request) : prepared.request;
  return andThen(planRequest(services, request), (plan) => ({ ...prepared, request, plan }));
}

/** Plans a request that has to wait for its place: the place is at the provider that the plan begins with. */
export async function planEarly(services: RuntimeServices, prepared: PreparedRequest): Promise<EarlyPlan> {
  const planned = await planPrepared(services, prepared);
  if (planned.plan !== undefined) return { planned, plan: planned.plan };
  // Plugins that leave the choice of models alone do not change the plan, if chance does not.
  const roll = services.environment.random();
  return { planned: { ...planned, roll }, plan: await planRequest(services, prepared.request, { roll }) };
}

/**
 * What will answer a planned request. Nothing happens before it runs. What runs plugins and server tools is loaded by
 * the first request that has some.
 *
 * @param sent - What an instance that is gone has sent of the answer.
 */
export function execute(
  services: RuntimeServices,
  { request, plugins, body, plan, roll }: PreparedRequest,
  signal: AbortSignal,
  sent?: SentBefore,
): MaybePromise<Execution> {
  if (plan !== undefined) return new ChatExecution(services, { request, plan, signal, sent });
  const start = { request, plugins, body, signal, roll };
  return andThen(loadPipeline(), ({ PipelineExecution }) => new PipelineExecution(services, start));
}

const loadPipeline = onDemand(() => import('./pipeline-execution.ts'));

/** Calls of server tools in the history mean nothing to a provider when none is offered. */
function withoutServerCalls(request: NormalizedRequest): NormalizedRequest {
  return { ...request, messages: replayServerToolCalls(request.messages, NO_NAMES) };
}
