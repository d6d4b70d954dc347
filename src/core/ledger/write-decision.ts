import type { Catalog } from '../../catalog/catalog.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { LedgerDecision, LedgerTarget, SeenEndpoint } from '../../contracts/ledger.ts';
import type { RoutingPolicy } from '../account.ts';
import type { ModelTarget } from '../normalize/normalized-request.ts';
import { sessionDraw } from '../selection/adaptive/rank-adaptive.ts';
import type { RequestDraft } from './draft.ts';
import { recordedPreferences } from './recorded-preferences.ts';
import { seenEndpoint } from './seen-endpoint.ts';

/** What a decision is written down against: what everybody knows need not be in a record. */
export interface DecisionContext {
  readonly catalog: Catalog;
  /** The router's own policy. */
  readonly policy: RoutingPolicy;
}

/** What the decision saw of an endpoint. */
export type SeenNotes = (endpoint: Endpoint) => SeenEndpoint | undefined;

/** Writes down what a decision saw of endpoints. */
export function noteOf({ plan }: RequestDraft): SeenNotes {
  const { seen } = plan;
  if (seen === undefined) return () => undefined;
  const { now, states, admissions } = seen;
  return ({ id }) => {
    const answers = admissions.filter(({ endpoint }) => endpoint.id === id);
    return seenEndpoint(
      states.find(({ endpoint }) => endpoint.id === id),
      answers,
      now,
    );
  };
}

/** Writes down what else a decision depended on. Nothing where there was none. */
export function decisionOf({ plan, request, facts }: RequestDraft): { readonly decision?: LedgerDecision } {
  const { seen: world } = plan;
  if (world === undefined) return {};
  const { needs, likelyTokens, serviceTier, native } = request;
  const draw = sessionDraw(request);
  const preferences = recordedPreferences(request.preferences, facts.policy, plan.rejected);
  const ownKeys = Object.entries(request.account.providerKeys ?? {});
  const served = (world.served ?? []).map(({ endpoint, at, tokens }) => [endpoint, world.now - at, tokens] as const);
  const decision: LedgerDecision = {
    roll: world.roll,
    created: request.created,
    prompt_tokens: needs.promptTokens,
    ...(likelyTokens === undefined ? {} : { likely_prompt_tokens: likelyTokens }),
    ...(needs.outputTokens === undefined ? {} : { output_tokens: needs.outputTokens }),
    ...(needs.images === 0 ? {} : { images: needs.images }),
    ...(draw === undefined ? {} : { session_draw: draw }),
    ...(served.length === 0 ? {} : { served }),
    ...(world.usualAnswerTokens === undefined ? {} : { usual_answer_tokens: world.usualAnswerTokens }),
    ...(world.promptRatio === undefined ? {} : { prompt_ratio: world.promptRatio }),
    ...(needs.inputModalities.length === 0 ? {} : { input_modalities: needs.inputModalities }),
    ...(needs.outputModalities.length === 0 ? {} : { output_modalities: needs.outputModalities }),
    ...(needs.tools ? { tools: true } : {}),
    ...(needs.toolChoice === undefined ? {} : { tool_choice: needs.toolChoice }),
    ...(needs.parameters.length === 0 ? {} : { parameters: needs.parameters }),
    ...(serviceTier === undefined ? {} : { service_tier: serviceTier }),
    ...(request.pro ? { pro: true } : {}),
    ...(request.noReasoning ? { no_reasoning: true } : {}),
    ...(native === undefined ? {} : { native }),
    ...(preferences === undefined ? {} : { preferences }),
    ...(ownKeys.length === 0
      ? {}
      : {
          own_keys: Object.fromEntries(
            ownKeys.map(([slug, key]) => [slug, key.fallback === true ? 'fallback' : 'first']),
          ),
        }),
    ...(plan.origins === undefined ? {} : { reasoning_origins: latestLast(plan.origins.values()) }),
    targets: request.targets.map((target) => writeTarget(target, facts.catalog)),
  };
  return { decision };
}

/** Each once, where it stood last. */
function latestLast(origins: Iterable<string>): readonly string[] {
  return [...new Set([...origins].toReversed())].toReversed();
}

function writeTarget(target: ModelTarget, catalog: Catalog): LedgerTarget {
  const { requested, model, strategy, sort, admitTier, router, shortened, endpoints } = target;
  const all = endpointsOf(model, target.shuffled === true, catalog);
  return {
    requested,
    ...(model === requested ? {} : { model }),
    ...(strategy === 'direct' ? {} : { strategy }),
    ...(sort === undefined ? {} : { sort }),
    ...(admitTier === undefined ? {} : { admit_tier: admitTier }),
    ...(router === undefined ? {} : { router }),
    ...(target.refusedTogether === true ? { refused_together: true } : {}),
    ...(target.shuffled === true ? { shuffled: true } : {}),
    ...(shortened === undefined ? {} : { shortened: shortened.map(({ id }) => id) }),
    ...(isSame(all, endpoints) ? {} : { endpoints: endpoints.map(({ id }) => id) }),
  };
}

/** Endpoints of a target before plugins chose among them. */
export function endpointsOf(model: string, shuffled: boolean, catalog: Catalog): readonly Endpoint[] {
  return shuffled ? catalog.freeEndpoints : catalog.endpoints(model);
}

function isSame(left: readonly Endpoint[], right: readonly Endpoint[]): boolean {
  return left === right || (left.length === right.length && left.every((one, index) => one === right[index]));
}
