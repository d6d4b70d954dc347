import type { InspectedRouter } from '../config/inspector.ts';
import type { LedgerRecord } from '../contracts/ledger.ts';
import { DecideAgain } from '../core/replay/decide-again.ts';
import type { RoutePlan } from '../core/selection/route-plan.ts';
import { worldOf } from '../runtime/chat/world.ts';
import type { PlanNow, RequestPage } from './wire.ts';

/**
 * Decides a recorded request again, as things are now: the same needs and preferences, on the endpoints as they stand,
 * by another random number. Calls nobody.
 */
export function explainAgain(
  { internals }: InspectedRouter,
  record: LedgerRecord,
): Pick<RequestPage, 'now' | 'refused'> {
  const { services } = internals;
  if (record.decision === undefined) return {};
  const [target] = record.decision.targets;
  const usual = services.usualTokens.of(record.account, target?.model ?? target?.requested);
  const world = { ...worldOf(services), ...usual };
  const plan = new DecideAgain({ ...services, ...services.facts }).plan(record, world);
  if (plan === undefined) return { refused: 'a rule refuses it, or its model is not there any more' };
  if (plan.steps.length === 0)
    return { refused: 'no endpoint is left that may answer it', now: planOf(internals, plan) };
  return { now: planOf(internals, plan) };
}

function planOf({ services }: InspectedRouter['internals'], { steps, rejected }: RoutePlan): PlanNow {
  return {
    steps: steps.map(({ endpoint, why, figures }) => ({
      provider: endpoint.provider,
      model: endpoint.model,
      tag: endpoint.tag,
      why,
      coolingDown: !services.records.admission(endpoint).ok,
      ...(figures === undefined ? {} : { decision: figures }),
    })),
    rejected: rejected.map(({ endpoint, reason, detail }) => ({
      provider: endpoint.provider,
      model: endpoint.model,
      tag: endpoint.tag,
      reason,
      detail,
    })),
  };
}
