/** Starts requests: finds their plugins, plans and executes them. */
import type { NormalizedRequest } from '../../contracts/request.ts';
import { type ActivePlugin, choosePlugins } from '../../core/pipeline/choose-plugins.ts';
import { SHORT_CONTEXT } from '../../core/pipeline/define-plugin.ts';
import { faultInBody } from '../../core/pipeline/locate-tool.ts';
import { leavesToolsToProviders, type OfferedTool, offerTools, withOwnTools } from '../../core/pipeline/offer-tools.ts';
import { replayServerToolCalls } from '../../core/pipeline/replay.ts';
import type { PluginRegistry } from '../../core/pipeline/registry.ts';
import type { RoutePlan } from '../../core/selection/route-plan.ts';
import { leastContext } from '../../core/selection/usable-endpoints.ts';
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
  const plugins = mayHavePlugins(normalized, registry) ? chosenPlugins(normalized, registry, chat) : NONE;
  // A copy would go without what they do, a guardrail for example; and what they do may have effects.
  const request = plugins.length === 0 ? normalized : withoutMirror(normalized);
  if (request.serverTools.length === 0 && typeof request.toolChoice !== 'object') {
    return { request, plugins, tools: NO_TOOLS, nativeTools: NONE, body };
  }
  if (plugins.length === 0 && leavesToolsToProviders(request)) {
    return { request: withOwnTools(request), plugins, tools: NO_TOOLS, nativeTools: NONE, body };
  }
  const offer = offerTools(request, registry, body);
  if (!offer.ok) throw errorOfFault(faultInBody(offer.fault, body));
  const { tools, native: nativeTools } = offer.value;
  return { request, plugins, tools, nativeTools, body };
}

/** Whether a plugin may take part: in most requests, neither they nor the configuration name one or have what one looks for. */
function mayHavePlugins(
  { plugins, account, needs, targets }: NormalizedRequest,
  { unaskedFor, models }: PluginRegistry,
): boolean {
  if (plugins.length > 0 || account.pluginDefaults !== undefined || unaskedFor.anything) return true;
  if (unaskedFor.files && needs.files === true) return true;
  for (const { model, router, endpoints } of targets) {
    if (router !== undefined || models.has(model)) return true;
    // A router model shows its endpoints later.
    if (unaskedFor.shortContext && (endpoints.length === 0 || leastContext(endpoints) <= SHORT_CONTEXT)) return true;
  }
  return false;
}

function chosenPlugins(
  request: NormalizedRequest,
  registry: PluginRegistry,
  body: ChatRequest,
): readonly ActivePlugin[] {
  const chosen = choosePlugins(request, { registry, body, inner: (request.within?.depth ?? 0) > 0 });
  if (!chosen.ok) throw errorOfFault(chosen.fault);
  return chosen.value;
}

const NONE: readonly never[] = Object.freeze([]);

const NO_TOOLS: ReadonlyMap<string, OfferedTool> = new Map();
const NO_NAMES: ReadonlySet<string> = new Set();

/** A request that was planned before it may run. */
interface EarlyPlan {
  readonly planned: PreparedRequest;
  /** The plan; where plugins take part, what it would be without them. */
  readonly plan: RoutePlan;
}

/** Plans a request and gets it ready to run. */
export function startPrepared(
  services: RuntimeServices,
  prepared: PreparedRequest,
  signal: AbortSignal,
  sent?: SentBefore,
): MaybePromise<Execution> {
  const request = plainRequest(prepared);
  if (request === undefined) return execute(services, prepared, signal, sent);
  const plan = planRequest(services, request);
  return plan instanceof Promise
    ? plan.then((one) => new ChatExecution(services, { request, plan: one, signal, sent }))
    : new ChatExecution(services, { request, plan, signal, sent });
}

/** The request that goes to providers by the shortest way; undefined where plugins or server tools take part. */
function plainRequest({ request, plugins, tools, nativeTools }: PreparedRequest): NormalizedRequest | undefined {
  if (plugins.length > 0 || tools.size > 0 || nativeTools.length > 0) return undefined;
  return request.needs.serverCalls === true ? withoutServerCalls(request) : request;
}

/** Plans a request that has to wait for its place: the place is at the provider that the plan begins with. */
export async function planEarly(services: RuntimeServices, prepared: PreparedRequest): Promise<EarlyPlan> {
  const request = plainRequest(prepared);
  if (request !== undefined) {
    const plan = await planRequest(services, request);
    return { planned: { ...prepared, request, plan }, plan };
  }
  // Plugins that leave the choice of models alone do not change the plan, if chance does not.
  const roll = services.environment.random();
  return { planned: { ...prepared, roll }, plan: await planRequest(services, prepared.request, { roll }) };
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
