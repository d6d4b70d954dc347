/** Writes down what a routing decision depended on, so that it can be replayed. */
import type { CachedPrompts } from '../selection/world.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import type {
  LedgerDecision,
  LedgerPreferences,
  LedgerRecord,
  LedgerTarget,
  ObservedEndpoint,
} from '../../contracts/ledger.ts';
import type { Quantization, SortKey } from '../../protocol/provider-preferences.ts';
import type { RoutingPolicy } from '../../contracts/account.ts';
import type { ModelTarget, Preferences, PriceLimits, DeniedModel } from '../../contracts/request.ts';
import { modelRules, normalizePreferences, regionsOf } from '../normalize/preset.ts';
import { sessionDraw } from '../selection/adaptive/rank-adaptive.ts';
import type { Rejection } from '../selection/route-plan.ts';
import type { PendingRecord } from './pending-record.ts';
import { observedEndpoint } from './recorded-endpoint.ts';
import { partOfEndpoint } from './sum-costs.ts';

/** What the decision saw of an endpoint. */
export type ObservedNotes = (endpoint: Endpoint) => ObservedEndpoint | undefined;

/** Writes down what a decision saw of endpoints. */
export function noteOf({ plan }: PendingRecord): ObservedNotes {
  const { seen } = plan;
  if (seen === undefined) return () => undefined;
  const { now, states, admissions } = seen;
  return ({ id }) => {
    const state = states.find(({ endpoint }) => endpoint.id === id);
    return observedEndpoint(state, admissions.find(({ endpoint }) => endpoint.id === id)?.admission, now);
  };
}

/** Writes down what else a decision depended on. Nothing where there was none. */
export function decisionOf({ plan, request, facts }: PendingRecord): { readonly decision?: LedgerDecision } {
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
    ...(world.prompts === undefined ? {} : { cached: world.prompts.map(cachedAt) }),
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
  const all = endpointsOf(model, catalog, { shuffled: target.shuffled === true });
  return {
    requested,
    ...(model === requested ? {} : { model }),
    ...(strategy === 'direct' ? {} : { strategy }),
    ...(sort === undefined ? {} : { sort }),
    ...(admitTier === undefined ? {} : { admit_tier: admitTier }),
    ...(router === undefined ? {} : { router }),
    ...(target.refusedTogether === true ? { refused_together: true } : {}),
    ...(target.spare === true ? { spare: true } : {}),
    ...(target.shuffled === true ? { shuffled: true } : {}),
    ...(shortened === undefined ? {} : { shortened: shortened.map(({ id }) => id) }),
    ...(isSame(all, endpoints) ? {} : { endpoints: endpoints.map(({ id }) => id) }),
  };
}

/** Endpoints of a target before plugins chose among them. */
export function endpointsOf(
  model: string,
  catalog: Catalog,
  { shuffled }: { readonly shuffled: boolean },
): readonly Endpoint[] {
  return shuffled ? catalog.freeEndpoints : catalog.endpoints(model);
}

function isSame(left: readonly Endpoint[], right: readonly Endpoint[]): boolean {
  return left === right || (left.length === right.length && left.every((one, index) => one === right[index]));
}

/**
 * Preferences of a request as records have them: what differs from the default, without what the router's own policy
 * adds to every request. A replay puts the policy of its configuration in that place. What a request names just as
 * the policy does counts as the policy's.
 */
export function recordedPreferences(
  own: Preferences,
  policy: RoutingPolicy,
  rejected: readonly Rejection[] = [],
): LedgerPreferences | undefined {
  const only = policy.only === undefined ? own.only : own.only.slice(1);
  const ignore = own.ignore.slice(policy.ignore?.length ?? 0);
  const regions = own.regions?.slice(policy.regions === undefined ? 0 : 1) ?? [];
  const recorded: LedgerPreferences = {
    ...(own.order.length > 0 ? { order: own.order } : {}),
    ...(only.length > 0 ? { only } : {}),
    ...(ignore.length > 0 ? { ignore } : {}),
    ...(own.allowFallbacks ? {} : { allow_fallbacks: false }),
    ...(own.requireParameters ? { require_parameters: true } : {}),
    ...(own.denyDataCollection && policy.dataCollection !== 'deny' ? { deny_data_collection: true } : {}),
    ...(own.zeroDataRetention && policy.zeroDataRetention !== true ? { zero_data_retention: true } : {}),
    ...(own.distillableOnly && policy.enforceDistillableText !== true ? { distillable_only: true } : {}),
    ...(regions.length > 0 ? { regions } : {}),
    ...(own.quantizations === undefined ? {} : { quantizations: [...own.quantizations] }),
    ...(own.sort === undefined ? {} : { sort: own.sort }),
    ...(own.sortWithinModel ? {} : { sort_together: true }),
    ...ownPrices(own.maxPrice, policy.maxPrice),
    ...(own.minThroughput === undefined ? {} : { min_throughput: { ...own.minThroughput } }),
    ...(own.maxLatency === undefined ? {} : { max_latency: { ...own.maxLatency } }),
    ...(own.returnRefusals && policy.refusals !== 'return' ? { return_refusals: true } : {}),
    ...(own.afterFirstToken === undefined ? {} : { after_first_token: own.afterFirstToken }),
    ...deniedModels(own, policy, rejected),
  };
  return Object.keys(recorded).length === 0 ? undefined : recorded;
}

function deniedModels(
  { denied, models }: Preferences,
  policy: RoutingPolicy,
  rejected: readonly Rejection[],
): Pick<LedgerPreferences, 'denied_models'> {
  if (denied === undefined && models === undefined) return {};
  const ofPolicy = modelRules([policy]);
  const kept = rejected.flatMap(({ reason, endpoint: { model } }) =>
    reason === 'rule' || (reason === 'allowed_models' && ofPolicy?.(model) !== false) ? [model] : [],
  );
  return kept.length === 0 ? {} : { denied_models: [...new Set(kept)] };
}

function ownPrices(
  limits: PriceLimits | undefined,
  policy: RoutingPolicy['maxPrice'],
): Pick<LedgerPreferences, 'max_price'> {
  const ofPolicy = policy as Readonly<Record<string, unknown>> | undefined;
  const own = Object.entries(limits ?? {}).filter(([unit, limit]) => Number(ofPolicy?.[unit] ?? NaN) !== limit);
  return own.length === 0 ? {} : { max_price: Object.fromEntries(own) };
}

/** The preferences of a recorded request under a policy. */
export function preferencesUnder(record: LedgerRecord, policy: RoutingPolicy): Preferences {
  const recorded = record.decision?.preferences;
  // One value for all requests that ask for nothing themselves: what follows from it is then worked out once.
  if (recorded === undefined) return normalizePreferences({}, [policy]);
  const { quantizations } = recorded;
  return {
    ...keptAway(record, recorded, policy),
    order: recorded.order ?? [],
    only: [...(policy.only === undefined ? [] : [policy.only]), ...(recorded.only ?? [])],
    ignore: [...(policy.ignore ?? []), ...(recorded.ignore ?? [])],
    allowFallbacks: recorded.allow_fallbacks ?? true,
    requireParameters: recorded.require_parameters ?? false,
    denyDataCollection: recorded.deny_data_collection === true || policy.dataCollection === 'deny',
    zeroDataRetention: recorded.zero_data_retention === true || policy.zeroDataRetention === true,
    distillableOnly: recorded.distillable_only === true || policy.enforceDistillableText === true,
    regions: regionsOf([policy.regions, ...(recorded.regions ?? [])]),
    quantizations: quantizations && new Set(quantizations as readonly Quantization[]),
    sort: recorded.sort as SortKey | undefined,
    sortWithinModel: recorded.sort_together !== true,
    maxPrice: lowestPrices(recorded.max_price, policy.maxPrice),
    minThroughput: recorded.min_throughput,
    maxLatency: recorded.max_latency,
    returnRefusals: recorded.return_refusals === true || policy.refusals === 'return',
    afterFirstToken: recorded.after_first_token,
  } satisfies StatedPreferences & Preferences;
}

/** Every member that the record tells: a replay must not forget one, so none may be left out. */
type StatedPreferences = { readonly [Name in Exclude<keyof Preferences, 'models' | 'denied'>]: Preferences[Name] };

/** What keeps the request from models: the policy, and for those that were denied what the record says of them. */
function keptAway(
  { excluded, account }: LedgerRecord,
  { denied_models: names }: LedgerPreferences,
  policy: RoutingPolicy,
): Pick<Preferences, 'models' | 'denied'> {
  const ofPolicy = modelRules([policy]);
  if (names === undefined) return { models: ofPolicy };
  const reasons = new Map(
    excluded.map(({ endpoint, reason, detail = '' }) => [
      partOfEndpoint(endpoint, 'model', account),
      { reason, detail },
    ]),
  );
  const byRule = (model: string): DeniedModel | undefined => {
    const { reason, detail = '' } = reasons.get(model) ?? {};
    const [, words = detail, rule = ''] = /^(.*) \(rule (.*)\)$/s.exec(detail) ?? [];
    return reason === 'rule' && names.includes(model) ? { reason: words, rule } : undefined;
  };
  return { models: (model) => !names.includes(model) && ofPolicy?.(model) !== false, denied: byRule };
}

function lowestPrices(own: LedgerPreferences['max_price'], policy: RoutingPolicy['maxPrice']): PriceLimits | undefined {
  const lowest: Record<string, number> = { ...own };
  for (const [unit, amount] of Object.entries(policy ?? {})) {
    if (amount != null) lowest[unit] = Math.min(Number(amount), lowest[unit] ?? Infinity);
  }
  return Object.keys(lowest).length > 0 ? lowest : undefined;
}

function cachedAt({ endpoint, share, before }: CachedPrompts[number]): readonly [string, number, number] {
  return [endpoint, share, before];
}
