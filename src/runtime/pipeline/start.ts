import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import { type ActivePlugin, choosePlugins } from '../../core/pipeline/choose-plugins.ts';
import { faultInBody, pathOfServerTool } from '../../core/pipeline/locate-tool.ts';
import { pathOfPlugin } from '../../core/pipeline/locate.ts';
import { type OfferedTool, type PathOfTool, offerTools } from '../../core/pipeline/offer-tools.ts';
import { replayServerToolCalls } from '../../core/pipeline/replay.ts';
import type { ChatRequest } from '../../protocol/chat-request.ts';
import { ChatExecution, planRequest } from '../chat-execution.ts';
import type { Execution } from '../execution.ts';
import { errorOfFault } from '../router-errors.ts';
import type { RuntimeServices } from '../services.ts';
import { handleHookFailure } from './hook-failure.ts';
import { depthOf } from './inner-call.ts';
import { Ledger } from './ledger.ts';
import { PipelineExecution } from './pipeline-execution.ts';
import { type PluginPlan, planWithPlugins } from './plan.ts';

/** A request that has passed all checks, and who takes part in it. */
export interface PreparedRequest {
  readonly request: NormalizedRequest;
  readonly plugins: readonly ActivePlugin[];
  /** Server tools that the caller offers, by function name. */
  readonly tools: ReadonlyMap<string, OfferedTool>;
  /** Types of the server tools whose work the provider does by itself. */
  readonly nativeTools: readonly string[];
  readonly pathOfTool: PathOfTool;
}

/**
 * Finds the plugins and server tools of a request.
 *
 * @param own - The body as its caller sent it, in whatever dialect: errors name its paths.
 * @throws {@link RouterError} when one is unknown here, or its options are wrong.
 */
export function preparePipeline(
  services: RuntimeServices,
  request: NormalizedRequest,
  body: ChatRequest,
  own: unknown = body,
): PreparedRequest {
  const { registry } = services;
  const chosen = choosePlugins(request, {
    registry,
    pathOf: (id) => pathOfPlugin(body, id),
    inner: depthOf(request) > 0,
  });
  if (!chosen.ok) throw errorOfFault(chosen.fault);
  const pathOfTool: PathOfTool = (type, occurrence) => pathOfServerTool(own, type, occurrence);
  if (request.serverTools.length === 0 && typeof request.toolChoice !== 'object') {
    return { request, plugins: chosen.value, tools: NO_TOOLS, nativeTools: [], pathOfTool };
  }
  const offer = offerTools(request, registry, pathOfTool);
  if (!offer.ok) throw errorOfFault(faultInBody(offer.fault, own));
  const { tools, native: nativeTools } = offer.value;
  return { request, plugins: chosen.value, tools, nativeTools, pathOfTool };
}

const NO_TOOLS: ReadonlyMap<string, OfferedTool> = new Map();
const NO_NAMES: ReadonlySet<string> = new Set();

/** Begins a request. One that nothing but providers takes part in goes to them by the shortest way. */
export async function startExecution(
  services: RuntimeServices,
  { request, plugins, tools, nativeTools, pathOfTool }: PreparedRequest,
  signal: AbortSignal,
): Promise<Execution> {
  if (plugins.length > 0 || tools.size > 0 || nativeTools.length > 0) {
    return new PipelineExecution(services, { request, plugins, pathOfTool, signal });
  }
  const plain = withoutServerCalls(request);
  return new ChatExecution(services, plain, await planRequest(services, plain), signal);
}

/** Plans a prepared request as {@link startExecution} would, without running what may wait. */
export async function planPrepared(
  services: RuntimeServices,
  { request, plugins, pathOfTool }: PreparedRequest,
): Promise<PluginPlan> {
  const offer = offerTools(request, services.registry, pathOfTool);
  if (!offer.ok) throw errorOfFault(offer.fault);
  const roll = services.environment.random();
  return planWithPlugins(services, offer.value.request, plugins, { roll, stateOf: () => undefined }, (failures) => {
    for (const { active, thrown } of failures) {
      handleHookFailure(services, new Ledger(), active, 'onCandidates', { type: 'threw', thrown });
    }
  });
}

/** Calls of server tools in the history mean nothing to a provider when none is offered. */
function withoutServerCalls(request: NormalizedRequest): NormalizedRequest {
  const messages = replayServerToolCalls(request.messages, NO_NAMES);
  return messages === request.messages ? request : { ...request, messages };
}
