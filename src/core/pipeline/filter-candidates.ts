import type { Catalog } from '../../catalog/catalog.ts';
import type { ModelTarget, NormalizedRequest } from '../normalize/normalized-request.ts';
import type { Rejection } from '../selection/route-plan.ts';
import type { ActivePlugin } from './choose-plugins.ts';
import type { PlanContext } from './plugin-context.ts';
import { targetOf } from './target-of.ts';

/** A request whose targets went through the plugins, and what they left out. */
export interface FilteredCandidates {
  readonly request: NormalizedRequest;
  readonly rejected: readonly Rejection[];
  /** Plugins that changed the targets. */
  readonly changedBy: readonly string[];
  /** Plugins that threw or gave back something that is no list of targets. */
  readonly failures: readonly { readonly active: ActivePlugin; readonly thrown: unknown }[];
}

/** Lets plugins filter and order the models of a request, in the order of registration. */
export function filterCandidates(
  request: NormalizedRequest,
  plugins: readonly ActivePlugin[],
  context: { readonly catalog: Catalog; readonly roll: number; readonly stateOf: (active: ActivePlugin) => unknown },
): FilteredCandidates {
  const { catalog, roll, stateOf } = context;
  let { targets } = request;
  const rejected: Rejection[] = [];
  const changedBy: string[] = [];
  const failures: { active: ActivePlugin; thrown: unknown }[] = [];
  for (const active of plugins) {
    const { plugin, options } = active;
    if (plugin.onCandidates === undefined) continue;
    const view: PlanContext = {
      because: active.because,
      state: stateOf(active),
      catalog,
      roll,
      target: (model, strategy) => targetOf(catalog, model, strategy),
    };
    try {
      const kept = checkedTargets(plugin.onCandidates(targets, { ...request, targets }, options, view), catalog);
      if (!isSame(kept, targets)) {
        rejected.push(...leftOut(targets, kept, plugin.id));
        changedBy.push(plugin.id);
      } else if (kept.every((target, index) => sameList(target.shortened ?? [], targets[index]?.shortened ?? [])))
        continue;
      targets = kept;
    } catch (thrown) {
      failures.push({ active, thrown });
    }
  }
  return { request: targets === request.targets ? request : { ...request, targets }, rejected, changedBy, failures };
}

/** Whatever a plugin gives back is checked: an endpoint that is not the catalog's would be called. */
function checkedTargets(value: unknown, catalog: Catalog): readonly ModelTarget[] {
  if (!Array.isArray(value)) throw new TypeError('onCandidates must give back a list of targets');
  return Object.freeze(value.map((target: unknown) => checkedTarget(target as Partial<ModelTarget> | null, catalog)));
}

function checkedTarget(target: Partial<ModelTarget> | null, catalog: Catalog): ModelTarget {
  const { model, endpoints } = target ?? {};
  if (typeof model !== 'string' || !Array.isArray(endpoints)) {
    throw new TypeError('onCandidates gave back something that is no target; use context.target(model)');
  }
  for (const endpoint of [...endpoints, ...(target?.shortened ?? [])] as ModelTarget['endpoints']) {
    if (!catalog.endpoints(endpoint.model).includes(endpoint)) {
      throw new TypeError('onCandidates gave back an endpoint that is not of this router');
    }
  }
  return Object.freeze({ strategy: 'auto', requested: model, ...target, model, endpoints });
}

function isSame(left: readonly ModelTarget[], right: readonly ModelTarget[]): boolean {
  return (
    left.length === right.length &&
    left.every((target, index) => {
      const other = right[index];
      return target.model === other?.model && target.sort === other.sort && sameList(target.endpoints, other.endpoints);
    })
  );
}

function sameList(left: readonly unknown[], right: readonly unknown[]): boolean {
  return left.length === right.length && left.every((one, index) => one === right[index]);
}

function leftOut(before: readonly ModelTarget[], after: readonly ModelTarget[], id: string): readonly Rejection[] {
  const kept = new Set(after.flatMap((target) => target.endpoints));
  return before
    .flatMap((target) => target.endpoints)
    .filter((endpoint) => !kept.has(endpoint))
    .map((endpoint) => ({ endpoint, reason: 'plugin', detail: id }));
}
