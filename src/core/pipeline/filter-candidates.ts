/** Applies the filters of plugins to the candidate models of a request. */
import type { Catalog } from '../../catalog/catalog.ts';
import type { ModelTarget, NormalizedRequest } from '../../contracts/request.ts';
import type { Rejection } from '../selection/route-plan.ts';
import type { ActivePlugin } from './choose-plugins.ts';
import type { PlanContext, StageRecord, CandidatesContext } from '../../contracts/plugin-context.ts';
import type { Plugin } from '../../contracts/plugin.ts';
import type { RoutingStrategy } from '../../protocol/metadata.ts';
import { resolveTargets } from '../normalize/targets.ts';
import { throughputOf } from '../selection/performance.ts';
import type { World } from '../selection/world.ts';
import { PREFERENCE_WINDOW_MS } from '../selection/sort.ts';
import { usableTargets } from '../selection/usable-endpoints.ts';

/** What hooks that choose models may know of the world: what selection itself may know. */
type CandidatesWorld = Pick<World, 'record' | 'sticky' | 'now' | 'policy'>;

/** What the hook of one plugin noted. */
interface CandidatesNotes {
  readonly id: string;
  readonly rejected: Rejection[];
  readonly stages: StageRecord[];
  readonly warnings: string[];
}

/** Makes the context of one hook. */
function candidatesContext(
  plan: PlanContext,
  request: NormalizedRequest,
  world: CandidatesWorld,
  notes: CandidatesNotes,
): CandidatesContext {
  return {
    ...plan,
    sticky: world.sticky,
    usable: (targets) => usableTargets(targets, request, world.policy, notes.rejected),
    leaveOut(target, why) {
      for (const endpoint of target.endpoints) {
        notes.rejected.push({ endpoint, reason: 'plugin', detail: `${notes.id}: ${why}` });
      }
    },
    throughput(endpoint) {
      const record = world.record(endpoint);
      return record && throughputOf(record.performance, world.now, PREFERENCE_WINDOW_MS)?.p50;
    },
    stage: (record) => void notes.stages.push(record),
    warn: (message) => void notes.warnings.push(message),
  };
}

/** A request whose targets went through the plugins, and what they left out. */
export interface FilteredCandidates {
  readonly request: NormalizedRequest;
  readonly rejected: readonly Rejection[];
  /** Plugins that changed the targets. */
  readonly changedBy: readonly string[];
  /** What plugins noted, with the id of each. */
  readonly stages: readonly { readonly id: string; readonly record: StageRecord }[];
  /** What plugins want the operator to know. */
  readonly warnings: readonly string[];
  /** Plugins that threw or gave back something that is no list of targets. */
  readonly failures: readonly { readonly active: ActivePlugin; readonly thrown: unknown }[];
}

/** What the hooks of one request share. */
interface FilteringContext extends CandidatesWorld {
  readonly catalog: Catalog;
  readonly roll: number;
  readonly stateOf: (active: ActivePlugin) => unknown;
}

/** Lets plugins filter and order the models of a request, in the order of registration. */
export function filterCandidates(
  request: NormalizedRequest,
  plugins: readonly ActivePlugin[],
  context: FilteringContext,
): FilteredCandidates {
  const { catalog, roll, stateOf } = context;
  let { targets } = request;
  const rejected: Rejection[] = [];
  const changedBy: string[] = [];
  const stages: { id: string; record: StageRecord }[] = [];
  const warnings: string[] = [];
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
      const requested = { ...request, targets };
      const notes: CandidatesNotes = { id: plugin.id, rejected: [], stages: [], warnings };
      const hook = candidatesContext(view, requested, context, notes);
      const kept = checkedTargets(plugin.onCandidates(targets, requested, options, hook), targets, plugin, catalog);
      for (const record of notes.stages) stages.push({ id: plugin.id, record });
      if (!isSame(kept, targets)) {
        rejected.push(...unusedOf(notes.rejected, kept), ...leftOut(targets, kept, plugin.id));
        changedBy.push(plugin.id);
      } else if (kept.every((target, index) => sameList(target.shortened ?? [], targets[index]?.shortened ?? [])))
        continue;
      targets = kept;
    } catch (thrown) {
      failures.push({ active, thrown });
    }
  }
  const filtered = targets === request.targets ? request : { ...request, targets };
  return { request: filtered, rejected, changedBy, stages, warnings, failures };
}

/** Whatever a plugin gives back is checked: an endpoint that is not the catalog's would be called. */
function checkedTargets(
  value: unknown,
  before: readonly ModelTarget[],
  { models }: Plugin,
  catalog: Catalog,
): readonly ModelTarget[] {
  if (!Array.isArray(value)) throw new TypeError('onCandidates must give back a list of targets');
  const router = before.find((target) => target.router !== undefined && models?.includes(target.router));
  return Object.freeze(
    value.map((target: ModelTarget | null) => {
      const checked = checkedTarget(target, catalog);
      const isNew = target !== null && !before.includes(target);
      return router === undefined || !isNew ? checked : inPlaceOf(router, checked);
    }),
  );
}

/** What was said of a router model applies to the models that it stands for. */
function inPlaceOf({ requested, router, sort, admitTier }: ModelTarget, target: ModelTarget): ModelTarget {
  return Object.freeze({
    ...target,
    requested,
    router,
    sort: target.sort ?? sort,
    admitTier: target.admitTier ?? admitTier,
  });
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

/** A model that a plugin took after all gets its rejections when the route is planned. */
function unusedOf(rejected: readonly Rejection[], kept: readonly ModelTarget[]): readonly Rejection[] {
  const models = new Set(kept.flatMap((target) => target.endpoints.map((endpoint) => endpoint.model)));
  return rejected.filter(({ endpoint }) => !models.has(endpoint.model));
}

function leftOut(before: readonly ModelTarget[], after: readonly ModelTarget[], id: string): readonly Rejection[] {
  const kept = new Set(after.flatMap((target) => target.endpoints));
  return before
    .flatMap((target) => target.endpoints)
    .filter((endpoint) => !kept.has(endpoint))
    .map((endpoint) => ({ endpoint, reason: 'plugin', detail: id }));
}

/** Router models resolve to nothing here: a plugin that answers with another router model would never end. */
const NO_ROUTER_MODELS: ReadonlySet<string> = new Set();

/** A model of the catalog as a target, for plugins that choose models. Of an alias for several, the first. */
export function targetOf(catalog: Catalog, model: string, strategy: RoutingStrategy = 'auto'): ModelTarget | undefined {
  const context = { catalog, routerModels: NO_ROUTER_MODELS, docsUrl: '' };
  const resolved = resolveTargets([{ slug: model, path: 'model' }], context);
  const target = resolved.ok ? resolved.value.targets[0] : undefined;
  return target === undefined || target.endpoints.length === 0 ? undefined : { ...target, strategy };
}
