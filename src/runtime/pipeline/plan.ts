import { type FilteredCandidates, filterCandidates } from '../../core/pipeline/filter-candidates.ts';
import type { ActivePlugin } from '../../core/pipeline/choose-plugins.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { RoutePlan } from '../../core/selection/route-plan.ts';
import { planRequest, stickyEndpoint } from '../chat-execution.ts';
import type { RuntimeServices } from '../services.ts';

/** A plan, and the request that it is for: plugins may have put other models into it. */
export interface PluginPlan {
  readonly request: NormalizedRequest;
  readonly plan: RoutePlan;
  readonly filtered: FilteredCandidates;
}

/**
 * Plans a request whose plugins choose models. The same for `explain` and for a call.
 *
 * @param onFailures - Deals with plugins that failed, before anything is planned.
 */
export async function planWithPlugins(
  services: RuntimeServices,
  request: NormalizedRequest,
  plugins: readonly ActivePlugin[],
  context: { readonly roll: number; readonly stateOf: (active: ActivePlugin) => unknown },
  onFailures: (failures: FilteredCandidates['failures']) => void,
): Promise<PluginPlan> {
  const { environment, facts, records, selection } = services;
  const isRouted = request.targets.some((target) => target.router !== undefined);
  // A plan asks for the session itself, but here the plugins must know first.
  const sticky = isRouted ? await stickyEndpoint(services, request) : undefined;
  const filtered = filterCandidates(request, plugins, {
    ...context,
    catalog: facts.catalog,
    sticky,
    record: records.record,
    now: environment.now(),
    policy: selection,
  });
  onFailures(filtered.failures);
  const plan = await planRequest(services, filtered.request, { roll: context.roll, ...(isRouted ? { sticky } : {}) });
  return {
    request: filtered.request,
    plan: { ...plan, rejected: [...filtered.rejected, ...plan.rejected] },
    filtered,
  };
}
