import type { Endpoint } from '../../catalog/endpoint.ts';
import type { Admission } from '../fallback/health.ts';
import type { RoutedRequest } from '../normalize/normalized-request.ts';
import type { EndpointRecord, World } from '../selection/performance.ts';
import { planRoute } from '../selection/plan-route.ts';
import type { RoutePlan } from '../selection/route-plan.ts';

/** What a decision saw of the world, by reference: nothing is written out before somebody wants to read it. */
export interface SeenWorld {
  readonly world: World;
  /** What was known of each endpoint that was compared, by its id. Absent for one that was never called. */
  readonly records: ReadonlyMap<string, EndpointRecord>;
  /** Answers to whether an endpoint may be called that were more than a plain yes. */
  readonly admissions: readonly SeenAnswer[];
}

interface SeenAnswer {
  readonly endpoint: string;
  readonly warm: boolean;
  readonly admission: Admission;
}

/** Plans a request as {@link planRoute} does, and keeps what the plan depended on. */
export function planSeen(request: RoutedRequest, world: World): RoutePlan {
  const admissions: SeenAnswer[] = [];
  const { admission: ask } = world;
  const watched =
    ask === undefined
      ? world
      : {
          ...world,
          admission: (endpoint: Endpoint, warm: boolean): Admission => {
            const admission = ask(endpoint, warm);
            if (!isPlain(admission)) admissions.push({ endpoint: endpoint.id, warm, admission });
            return admission;
          },
        };
  const plan = planRoute(request, watched);
  const records = new Map<string, EndpointRecord>();
  const note = ({ endpoint }: { readonly endpoint: Endpoint }): void => {
    // Records are replaced when they change, never changed: this one stays what the plan saw.
    const record = world.record(endpoint);
    if (record !== undefined) records.set(endpoint.id, record);
  };
  for (const step of plan.steps) note(step);
  for (const rejection of plan.rejected) if (rejection.reason === 'allow_fallbacks') note(rejection);
  return { ...plan, seen: { world, records, admissions } };
}

function isPlain(admission: Admission): boolean {
  return admission.ok && admission.probe !== true && admission.headroom === undefined;
}
