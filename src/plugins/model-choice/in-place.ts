import type { ModelTarget } from '../../core/normalize/normalized-request.ts';
import type { RoutingStrategy } from '../../protocol/metadata.ts';
import type { Candidate } from './candidates.ts';

/** Puts the chosen models in the place of a router model; the other targets stay where they are. */
export function inPlaceOfRouter(
  targets: readonly ModelTarget[],
  isRouter: (target: ModelTarget) => boolean,
  chosen: readonly Candidate[],
  strategy: RoutingStrategy,
): readonly ModelTarget[] {
  return targets.flatMap((target) =>
    isRouter(target) ? chosen.map((one) => ({ ...one.target, strategy })) : [target],
  );
}
