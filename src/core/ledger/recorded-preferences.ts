import type { LedgerPreferences, LedgerRecord } from '../../contracts/ledger.ts';
import type { RoutingPolicy } from '../account.ts';
import type { Preferences, PriceLimits } from '../normalize/normalized-request.ts';
import { modelRules, normalizePreferences } from '../normalize/preset.ts';
import type { DeniedModel } from '../normalize/rules.ts';
import type { Rejection } from '../selection/route-plan.ts';
import { partOfEndpoint } from './sum-costs.ts';
import type { Quantization, SortKey } from '../../protocol/provider-preferences.ts';

/**
 * Preferences of a request as records have them: what differs from the default, without what the router's own policy
 * adds to every request. A replay puts the policy of its configuration in that place. What a request asked for just as
 * the policy does counts as the policy's.
 */
export function recordedPreferences(
  own: Preferences,
  policy: RoutingPolicy,
  rejected: readonly Rejection[] = [],
): LedgerPreferences | undefined {
  const only = policy.only === undefined ? own.only : own.only.slice(1);
  const ignore = own.ignore.slice(policy.ignore?.length ?? 0);
  const recorded: LedgerPreferences = {
    ...(own.order.length > 0 ? { order: own.order } : {}),
    ...(only.length > 0 ? { only } : {}),
    ...(ignore.length > 0 ? { ignore } : {}),
    ...(own.allowFallbacks ? {} : { allow_fallbacks: false }),
    ...(own.requireParameters ? { require_parameters: true } : {}),
    ...(own.denyDataCollection && policy.dataCollection !== 'deny' ? { deny_data_collection: true } : {}),
    ...(own.zeroDataRetention && policy.zeroDataRetention !== true ? { zero_data_retention: true } : {}),
    ...(own.distillableOnly && policy.enforceDistillableText !== true ? { distillable_only: true } : {}),
    ...(own.quantizations === undefined ? {} : { quantizations: [...own.quantizations] }),
    ...(own.sort === undefined ? {} : { sort: own.sort }),
    ...(own.sortWithinModel ? {} : { sort_together: true }),
    ...ownPrices(own.maxPrice, policy.maxPrice),
    ...(own.minThroughput === undefined ? {} : { min_throughput: { ...own.minThroughput } }),
    ...(own.maxLatency === undefined ? {} : { max_latency: { ...own.maxLatency } }),
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
    quantizations: quantizations && new Set(quantizations as readonly Quantization[]),
    sort: recorded.sort as SortKey | undefined,
    sortWithinModel: recorded.sort_together !== true,
    maxPrice: lowestPrices(recorded.max_price, policy.maxPrice),
    minThroughput: recorded.min_throughput,
    maxLatency: recorded.max_latency,
  } satisfies Told & Preferences;
}

/** Every member that the record tells: a replay must not forget one, so none may be left out. */
type Told = { readonly [Name in Exclude<keyof Preferences, 'models' | 'denied'>]: Preferences[Name] };

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
