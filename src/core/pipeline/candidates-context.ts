import type { Endpoint } from '../../catalog/endpoint.ts';
import type { ModelTarget, NormalizedRequest } from '../normalize/normalized-request.ts';
import { throughputOf, type World } from '../selection/performance.ts';
import type { Rejection } from '../selection/route-plan.ts';
import { PREFERENCE_WINDOW_MS } from '../selection/sort.ts';
import { type UsableTarget, usableTargets } from '../selection/usable-endpoints.ts';
import type { PlanContext, StageRecord } from '../../contracts/plugin-context.ts';

/** What a hook that chooses models knows and can tell, besides its input. Nothing here waits. */
export interface CandidatesContext<State = unknown> extends PlanContext<State> {
  /**
   * Id of the endpoint that this session was last served by for the same router model; undefined without a session, for
   * an unknown one, and with `provider.order` (gaps 3.5). A model router keeps to its model while that is a candidate.
   */
  readonly sticky: string | undefined;
  /**
   * The models of a list that the request can use, each with the endpoints that pass all of its filters: account and
   * data policies, prices, modalities, context and so on. What is left out is told to `explain` and to errors.
   */
  usable(targets: readonly ModelTarget[]): readonly UsableTarget[];
  /** Tells `explain` and errors that a model was left out, and why. */
  leaveOut(target: ModelTarget, why: string): void;
  /** Median tokens per second of the last five minutes; undefined when nobody measured it. */
  throughput(endpoint: Endpoint): number | undefined;
  /** Leaves an entry in `router_metadata.pipeline` and in the explanation. Without one, the runtime writes its own. */
  stage(record: StageRecord): void;
  /**
   * Tells the operator something about the router's configuration, in a `warning` event with the code
   * `plugin_notice`; the same words at most once a minute. No prompts.
   */
  warn(message: string): void;
}

/** What hooks that choose models may know of the world: what selection itself may know. */
export type CandidatesWorld = Pick<World, 'record' | 'sticky' | 'now' | 'policy'>;

/** What one hook told. */
export interface CandidatesNotes {
  readonly rejected: Rejection[];
  readonly stages: StageRecord[];
  readonly warnings: string[];
}

/** Makes the context of one hook. */
export function candidatesContext(
  plan: PlanContext,
  request: NormalizedRequest,
  world: CandidatesWorld,
  notes: CandidatesNotes,
  id: string,
): CandidatesContext {
  return {
    ...plan,
    sticky: world.sticky,
    usable: (targets) => usableTargets(targets, request, world.policy, notes.rejected),
    leaveOut(target, why) {
      for (const endpoint of target.endpoints) {
        notes.rejected.push({ endpoint, reason: 'plugin', detail: `${id}: ${why}` });
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
