import type { LedgerPreferences, LedgerRecord } from '../../contracts/ledger.ts';
import { recordedPreferences } from '../ledger/recorded-preferences.ts';
import type { Preferences } from '../normalize/normalized-request.ts';
import { normalizePreferences } from '../normalize/preset.ts';
import { type CompiledRules, RequestRules } from '../normalize/rules.ts';
import type { TargetContext } from '../normalize/targets.ts';
import type { ProviderPreferences } from '../../protocol/provider-preferences.ts';

/** Members of a request's preferences, by what records call them. */
const WIRE_NAMES: Partial<Record<keyof LedgerPreferences, keyof ProviderPreferences>> = {
  order: 'order',
  only: 'only',
  ignore: 'ignore',
  allow_fallbacks: 'allow_fallbacks',
  require_parameters: 'require_parameters',
  deny_data_collection: 'data_collection',
  zero_data_retention: 'zdr',
  distillable_only: 'enforce_distillable_text',
  quantizations: 'quantizations',
  sort: 'sort',
  max_price: 'max_price',
  min_throughput: 'preferred_min_throughput',
  max_latency: 'preferred_max_latency',
};

/**
 * Rules of a configuration for a recorded request to which none applied then. Conditions look at the account, the time,
 * the models, and of the metadata at what the record has as tags.
 */
export function rulesFor({ account, tags, decision }: LedgerRecord, table: CompiledRules | undefined): RequestRules {
  return new RequestRules(table ?? [], { account, metadata: tags, at: decision?.created ?? 0 });
}

/** What a record's preferences are with those that rules put beneath them. */
export function withRulePreferences(
  own: LedgerPreferences | undefined,
  rules: RequestRules,
  requested: string,
): LedgerPreferences | undefined {
  const given = new Set(Object.keys(own ?? {}).map((name) => WIRE_NAMES[name as keyof LedgerPreferences]));
  const ofRules = Object.entries(rules.preferences(undefined, requested) ?? {});
  const beneath = ofRules.filter(([name]) => !given.has(name as keyof ProviderPreferences));
  if (beneath.length === 0) return own;
  return { ...recordedPreferences(normalizePreferences({ provider: Object.fromEntries(beneath) }, []), {}), ...own };
}

/** Preferences that also keep away models which rules deny. What the record says of a model comes first. */
export function deniedBy(preferences: Preferences, { denied }: RequestRules): Preferences {
  if (denied === undefined) return preferences;
  return { ...preferences, denied: (model) => preferences.denied?.(model) ?? denied(model) };
}

/**
 * How aliases with a split divide a recorded request. By account and by request as live; for sessions and end users the
 * record has no key, so that they keep the model they had, as long as it has a share. One that had none draws by the
 * hash of its session: the shares are right then, and who gets which is not.
 */
export function splitsOf({
  id,
  account,
  session,
  applied,
}: LedgerRecord): Pick<TargetContext, 'splitKey' | 'keptModel'> {
  return {
    splitKey: (by) => (by === 'account' ? account : by === 'request' ? id : (session ?? id)),
    keptModel: (alias, by) =>
      by === 'account' || by === 'request'
        ? undefined
        : applied?.splits?.find((choice) => choice.alias === alias && choice.by === by)?.model,
  };
}
