/** Writes `router_metadata`, which explains the routing of a request. */
import type { PipelineStage, RouterMetadata, RoutingDecision } from '../../protocol/metadata.ts';
import { hasForeignReasoning } from '../normalize/reasoning-origin.ts';
import type { RoutePlan } from './route-plan.ts';
import { FAILURE_RULES } from '../../contracts/failure.ts';
import type { Attempt } from '../fallback/attempt.ts';
import type { DecisionFigures } from '../../contracts/events.ts';

/** What explains one request. */
interface MetadataFacts {
  readonly plan: RoutePlan;
  /** All calls so far; the last one answered, if any did. */
  readonly attempts: readonly Attempt[];
  /** True when the last attempt answered, or is answering. */
  readonly answered: boolean;
  /** Milliseconds from the call that answered to the end of its answer. */
  readonly generationTime?: number | undefined;
  readonly pipeline: readonly PipelineStage[];
  /** What the request requires in vain, a sentence for each. Default: nothing. */
  readonly warnings?: readonly string[] | undefined;
}

/** Builds `router_metadata` (contract; gaps 6.5). */
export function describeRouting(facts: MetadataFacts): RouterMetadata {
  const { plan, attempts, answered, generationTime, pipeline, warnings } = facts;
  const winner = answered ? attempts.at(-1)?.step : undefined;
  const strategy = (winner ?? plan.steps[0])?.strategy ?? 'direct';
  const selected = winner?.endpoint;
  return {
    requested: plan.requested,
    strategy,
    region: selected?.region ?? null,
    summary: `available=${plan.steps.length}, selected=${selected?.providerName ?? 'none'}`,
    attempt: attempts.length,
    is_byok: selected?.byok !== undefined,
    endpoints: {
      total: plan.steps.length + plan.rejected.length,
      available: plan.steps.map(({ endpoint, figures }) => ({
        provider: endpoint.providerName,
        model: endpoint.model,
        selected: endpoint === selected,
        ...(figures === undefined ? {} : { decision: describeDecision(figures) }),
      })),
      ...unpaidOf(plan),
    },
    ...(attempts.length === 0 ? {} : { attempts: attempts.map((attempt) => describeAttempt(attempt, plan)) }),
    ...(generationTime === undefined ? {} : { generation_time: Math.round(generationTime) }),
    ...(pipeline.length === 0 ? {} : { pipeline }),
    ...(plan.applied && { applied: plan.applied }),
    ...(warnings?.length ? { warnings } : {}),
  };
}

function unpaidOf({ rejected }: RoutePlan): Pick<RouterMetadata['endpoints'], 'excluded'> {
  const excluded = rejected.flatMap(({ endpoint: { providerName: provider, model }, reason, detail = '' }) =>
    reason === 'budget' ? [{ provider, model, reason, detail }] : [],
  );
  return excluded.length === 0 ? {} : { excluded };
}

function describeDecision(figures: DecisionFigures): RoutingDecision {
  const { expectedCostUsd, laterCostUsd, failureCostUsd, warmth, health, slowness, headroom, share } = figures;
  return {
    ...(expectedCostUsd === undefined ? {} : { expected_cost: expectedCostUsd }),
    ...(laterCostUsd === undefined ? {} : { later_cost: laterCostUsd }),
    ...(failureCostUsd === undefined ? {} : { failure_cost: failureCostUsd }),
    warmth: rounded(warmth),
    health: rounded(health),
    slowness: rounded(slowness),
    headroom: rounded(headroom),
    share: rounded(share),
  };
}

function rounded(value: number): number {
  return Math.round(value * 1e4) / 1e4;
}

const NOTHING: readonly string[] = [];

function describeAttempt(
  { step, outcome, hedge, costUsd, adjustments: own = NOTHING, refusal, kept, continued }: Attempt,
  { origins, adjustments = NOTHING, native }: RoutePlan,
): NonNullable<RouterMetadata['attempts']>[number] {
  const status = outcome.ok ? 200 : (outcome.failure.status ?? FAILURE_RULES[outcome.failure.kind].status);
  // Bodies of Messages go as their callers wrote them to those who speak it.
  const isOwn = native === 'messages' && step.endpoint.apiFormats.includes(native);
  const shared = isOwn ? NOTHING : adjustments;
  const isGivenUp = !outcome.ok && outcome.failure.kind === 'superseded';
  return {
    provider: step.endpoint.providerName,
    model: step.endpoint.model,
    status,
    ...(hedge === true ? { hedge } : {}),
    ...(origins !== undefined && hasForeignReasoning(origins, step.endpoint) ? { reasoning_removed: true } : {}),
    ...(shared.length + own.length === 0 ? {} : { adjustments: [...shared, ...own] }),
    ...(isGivenUp ? { given_up: true, ...(costUsd === undefined ? {} : { cost: costUsd }) } : {}),
    ...(refusal === undefined ? {} : { refusal }),
    ...(kept === true ? { kept } : {}),
    ...(continued === undefined ? {} : { continued }),
  };
}
