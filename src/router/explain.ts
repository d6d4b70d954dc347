import type { Endpoint } from '../catalog/endpoint.ts';
import { unknownProviders } from '../core/normalize/unknown-providers.ts';
import { explainPlan, type Explanation } from '../core/selection/explain.ts';
import { planForExplanation } from '../runtime/pipeline/pipeline-execution.ts';
import type { RuntimeServices } from '../runtime/chat/services.ts';
import { worldOf } from '../runtime/chat/plan.ts';
import type { PreparedRequest } from '../runtime/pipeline/prepared-request.ts';
import type { RefusedWord } from '../contracts/failure.ts';

/** Plans a prepared request as a call would, and puts the plan into words. Calls nobody. */
export async function explainPrepared(services: RuntimeServices, prepared: PreparedRequest): Promise<Explanation> {
  const { plan: planned, request, filtered } = await planForExplanation(services, prepared);
  const plan = await services.spending.affordable(planned, request);
  const participants = { ...prepared, stages: filtered.stages };
  const world = worldOf(services, { roll: 0 });
  const admission = services.records.admissionAt(world.now);
  const coolingDown = (endpoint: Endpoint): boolean => !admission(endpoint).ok;
  const refusals = (endpoint: Endpoint): readonly RefusedWord[] =>
    services.records.refusals.wordsAt(endpoint, request.account.id, world.now);
  const explanation = explainPlan(plan, request, participants, { world, coolingDown, refusals });
  const warnings = unknownProviders(request.preferences, services.facts.catalog);
  return warnings.length === 0 ? explanation : { ...explanation, warnings };
}
