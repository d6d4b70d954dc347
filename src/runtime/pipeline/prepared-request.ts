import type { NormalizedRequest } from '../../contracts/request.ts';
import type { ActivePlugin } from '../../core/pipeline/choose-plugins.ts';
import type { OfferedTool } from '../../core/pipeline/offer-tools.ts';
import type { RoutePlan } from '../../core/selection/route-plan.ts';

/** A request that has passed all checks, with what takes part in it, and its way as far as that is decided. */
export interface PreparedRequest {
  readonly request: NormalizedRequest;
  readonly plugins: readonly ActivePlugin[];
  /** Server tools that the caller offers, by function name. */
  readonly tools: ReadonlyMap<string, OfferedTool>;
  /** Types of the server tools whose work the provider does by itself. */
  readonly nativeTools: readonly string[];
  /** As its caller sent it, in whatever API format: faults name its paths. */
  readonly body: unknown;
  /**
   * Absent until it is planned, and for good where plugins or server tools take part: they come first, and may change
   * everything that a plan is about.
   */
  readonly plan?: RoutePlan | undefined;
  /** Random number for a plan that is made later. Default: one of its own. */
  readonly roll?: number | undefined;
}
