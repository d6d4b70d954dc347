import type { ChatRequest } from '../../protocol/chat-request.ts';
import type { MaxPrice, Percentiles } from '../../protocol/provider-preferences.ts';
import type { RoutingPolicy } from '../account.ts';
import type { Cutoffs, Preferences, PriceLimits } from './normalized-request.ts';

/**
 * Folds the policies of the router and the account into a request's preferences (gaps 3.1).
 * Every rule can only get stricter on the way.
 */
export function normalizePreferences(
  { provider, route }: Pick<ChatRequest, 'provider' | 'route'>,
  policies: readonly RoutingPolicy[],
): Preferences {
  const sort = typeof provider?.sort === 'string' ? { by: provider.sort } : (provider?.sort ?? undefined);
  const partition = sort?.partition ?? (route === 'sort' ? 'none' : 'model');
  return {
    order: provider?.order ?? [],
    only: [...policies.map((policy) => policy.only), provider?.only ?? undefined].filter((list) => list !== undefined),
    ignore: [...policies.flatMap((policy) => policy.ignore ?? []), ...(provider?.ignore ?? [])],
    allowFallbacks: provider?.allow_fallbacks ?? true,
    requireParameters: provider?.require_parameters ?? false,
    denyDataCollection:
      provider?.data_collection === 'deny' || policies.some((policy) => policy.dataCollection === 'deny'),
    zeroDataRetention: provider?.zdr === true || policies.some((policy) => policy.zeroDataRetention === true),
    distillableOnly:
      provider?.enforce_distillable_text === true || policies.some((policy) => policy.enforceDistillableText === true),
    quantizations: provider?.quantizations?.length ? new Set(provider.quantizations) : undefined,
    sort: sort?.by ?? undefined,
    sortWithinModel: partition === 'model',
    maxPrice: lowestLimits([...policies.map((policy) => policy.maxPrice), provider?.max_price]),
    minThroughput: toCutoffs(provider?.preferred_min_throughput),
    maxLatency: toCutoffs(provider?.preferred_max_latency),
  };
}

function lowestLimits(limits: readonly (MaxPrice | null | undefined)[]): PriceLimits | undefined {
  const lowest: Record<string, number> = {};
  for (const limit of limits) {
    for (const [unit, amount] of Object.entries(limit ?? {})) {
      if (amount != null) lowest[unit] = Math.min(Number(amount), lowest[unit] ?? Infinity);
    }
  }
  return Object.keys(lowest).length > 0 ? lowest : undefined;
}

function toCutoffs(percentiles: Percentiles | null | undefined): Cutoffs | undefined {
  if (percentiles == null) return undefined;
  if (typeof percentiles === 'number') return { p50: percentiles };
  const cutoffs = Object.fromEntries(Object.entries(percentiles).filter(([, value]) => value != null));
  return Object.keys(cutoffs).length > 0 ? cutoffs : undefined;
}
