/** Makes recorded decisions again under another configuration. */
import type { Catalog } from '../../../catalog/catalog.ts';
import type { Endpoint, EndpointTier } from '../../../catalog/endpoint.ts';
import type { Modality, ParameterName, ToolChoiceKind } from '../../../catalog/model.ts';
import type {
  LedgerDecision,
  LedgerRecord,
  LedgerTarget,
  ObservedEndpoint,
  LedgerPreferences,
} from '../../../contracts/ledger.ts';
import type { ApiFormatName } from '../../../protocol/api-format.ts';
import type { SortKey, ProviderPreferences } from '../../../protocol/provider-preferences.ts';
import type { Account, RoutingPolicy } from '../../../contracts/account.ts';
import type { Admission } from '../../fallback/health.ts';
import { endpointsOf, preferencesUnder, recordedPreferences } from '../write-decision.ts';
import { admissionOf, restoredRecord, timingIn } from '../recorded-endpoint.ts';
import type { ModelTarget, Preferences, RequestedTier, RoutedRequest } from '../../../contracts/request.ts';
import { type CompiledRules, RequestRules } from '../../normalize/rules.ts';
import { resolveTargets, type TargetContext } from '../../normalize/targets.ts';
import type { AdaptivePolicy } from '../../selection/adaptive/policy.ts';
import type { Timing } from '../../selection/adaptive/speed.ts';
import { planRoute } from '../../selection/plan-route.ts';
import { withoutUnpaid } from '../../limits/unpaid.ts';
import type { EndpointRecord, SelectionPolicy, SelectionStrategy, World } from '../../selection/world.ts';
import type { RoutePlan } from '../../selection/route-plan.ts';
import { normalizePreferences } from '../../normalize/preset.ts';

/** What a configuration says about decisions. */
export interface DecisionRules {
  readonly catalog: Catalog;
  readonly policy: RoutingPolicy;
  readonly routerModels: ReadonlySet<string>;
  readonly docsUrl: string;
  readonly selection: SelectionPolicy;
  readonly strategy: SelectionStrategy;
  readonly adaptive: AdaptivePolicy;
  /** Absent where there are none. */
  readonly ruleTable?: CompiledRules | undefined;
  /** True where an alias divides its requests. */
  readonly divides?: boolean | undefined;
}

/** Whether plugins chose models or endpoints, which stay. */
function isChosen(targets: readonly LedgerTarget[]): boolean {
  return targets.some(({ router, endpoints, shortened }) => router ?? endpoints ?? shortened);
}

/** What a decision, or one before it, saw of an endpoint. */
interface LastObserved {
  seen: ObservedEndpoint | undefined;
  /** Restored from it when somebody asks. */
  record: EndpointRecord | undefined;
}

/** What is remembered of models between decisions, so that each is looked up once. */
type Lookups = Map<string, readonly ModelTarget[] | undefined>;

const NO_VARIANT = {};
const NO_NEEDS: readonly never[] = [];
const NOBODY: RoutedRequest['extra'] = {};
const MOST_ACCOUNTS = 1_000;

/**
 * Decides recorded requests again, on the worlds as they were recorded, under the rules of a configuration. Calls the
 * same function as the live router.
 *
 * What a record does not tell is taken from the records before it: an endpoint that was left out then, and would be
 * compared now, is seen as it was seen last.
 */
export class DecideAgain {
  readonly #rules: DecisionRules;
  readonly #lookups: Lookups = new Map();
  /** The same for requests of one model, which most are. */
  readonly #singles: Lookups = new Map();
  readonly #lastSeen = new Map<string, LastObserved>();
  /** Decisions ask several things of one endpoint, one after the other. */
  #requested: { readonly endpoint: Endpoint; readonly seen: LastObserved | undefined } | undefined;
  readonly #accounts = new Map<string, Account>();

  constructor(rules: DecisionRules) {
    this.#rules = rules;
  }

  /**
   * The plan of a recorded request. Undefined where nothing was decided, or where a model is not there any more.
   *
   * @param world - Default: as it was recorded.
   */
  plan(record: LedgerRecord, world?: World): RoutePlan | undefined {
    const { decision } = record;
    if (decision === undefined) return undefined;
    const rules = this.#rulesFor(record, decision);
    if (rules?.fault() !== undefined) return undefined;
    const targets = this.#targets(record, decision, rules);
    if (targets === undefined) return undefined;
    const plan = planRoute(this.#request(record, decision, targets, rules), world ?? this.#world(record, decision));
    // What was left of a budget is not known any more, but what it could not pay.
    const unpaid = record.excluded.filter(({ reason }) => reason === 'budget');
    return unpaid.length === 0 ? plan : withoutUnpaid(plan, ({ id }) => detailOf(unpaid, id));
  }

  /** Undefined where none can be applied: what some have made of a request then is all that is known of it. */
  #rulesFor(record: LedgerRecord, { targets }: LedgerDecision): RequestRules | undefined {
    const { ruleTable } = this.#rules;
    if (ruleTable === undefined || record.applied?.rules !== undefined || isChosen(targets)) return undefined;
    return rulesFor(record, ruleTable);
  }

  #request(
    record: LedgerRecord,
    decision: LedgerDecision,
    targets: readonly ModelTarget[],
    rules: RequestRules | undefined,
  ): RoutedRequest {
    const { native, session_draw: draw } = decision;
    const request: RoutedRequest & { readonly likelyTokens: number | undefined } = {
      operation: record.format === 'embeddings' ? 'embeddings' : 'chat',
      id: record.id,
      created: decision.created,
      stream: record.stream,
      requested: record.requested,
      targets,
      serviceTier: decision.service_tier as RequestedTier | undefined,
      applied: record.applied,
      needs: {
        inputModalities: (decision.input_modalities ?? NO_NEEDS) as readonly Modality[],
        outputModalities: (decision.output_modalities ?? NO_NEEDS) as readonly Modality[],
        tools: decision.tools === true,
        toolChoice: decision.tool_choice as ToolChoiceKind | undefined,
        parameters: (decision.parameters ?? NO_NEEDS) as readonly ParameterName[],
        promptTokens: decision.prompt_tokens,
        outputTokens: decision.output_tokens,
        images: decision.images ?? 0,
      },
      preferences: this.#preferences(record, decision, rules),
      session: draw === undefined ? {} : { key: 'recorded', draw },
      endUser: '',
      account: this.#account(record.account, decision.own_keys),
      wantsMetadata: false,
      reasoning: decision.no_reasoning === true ? { effort: 'none', exclude: false } : undefined,
      native: native && { apiFormat: native[0] as ApiFormatName, body: {}, requiredBy: native[1] },
      likelyTokens: decision.likely_prompt_tokens,
      extra: NOBODY,
    };
    return request;
  }

  #preferences(record: LedgerRecord, decision: LedgerDecision, rules: RequestRules | undefined): Preferences {
    const { policy } = this.#rules;
    if (rules === undefined) return preferencesUnder(record, policy);
    const preferences = withRulePreferences(decision.preferences, rules, decision.targets[0]?.requested ?? '');
    return deniedBy(preferencesUnder({ ...record, decision: { ...decision, preferences } }, policy), rules);
  }

  #world(record: LedgerRecord, decision: LedgerDecision): World {
    const { selection, strategy, adaptive } = this.#rules;
    this.#look(record);
    const served = decision.served?.map(([endpoint, ageMs, tokens]) => ({ endpoint, at: -ageMs, tokens }));
    return {
      record: this.#record,
      sticky: served?.[0]?.endpoint,
      served,
      prompts: decision.cached?.map(([endpoint, share, before]) => ({ endpoint, share, before })),
      origins: decision.reasoning_origins && new Map(decision.reasoning_origins.map((origin) => [origin, origin])),
      admission: this.#admission,
      timing: this.#timing,
      usualAnswerTokens: decision.usual_answer_tokens,
      promptRatio: decision.prompt_ratio,
      now: 0,
      roll: decision.roll,
      policy: selection,
      strategy,
      adaptive,
    };
  }

  /** Takes down what this decision saw of endpoints; of those that it did not compare, what those before it saw stays. */
  #look({ candidates, excluded }: LedgerRecord): void {
    this.#requested = undefined;
    for (const { endpoint, seen } of candidates) this.#note(endpoint, seen);
    for (const { endpoint, reason, seen } of excluded) {
      // What may not be fallen back to was compared, and so was what could not be paid, so that nothing to say of it says something, too.
      if (seen !== undefined || reason === 'allow_fallbacks' || reason === 'budget') this.#note(endpoint, seen);
    }
  }

  #note(endpoint: string, seen: ObservedEndpoint | undefined): void {
    const known = this.#lastSeen.get(endpoint);
    if (known === undefined) this.#lastSeen.set(endpoint, { seen, record: undefined });
    else {
      known.seen = seen;
      known.record = undefined;
    }
  }

  #seenOf(endpoint: Endpoint): LastObserved | undefined {
    if (this.#requested?.endpoint === endpoint) return this.#requested.seen;
    const seen = this.#lastSeen.get(endpoint.id);
    this.#requested = { endpoint, seen };
    return seen;
  }

  readonly #record = (endpoint: Endpoint): EndpointRecord | undefined => {
    const last = this.#seenOf(endpoint);
    if (last?.seen === undefined) return undefined;
    last.record ??= restoredRecord(last.seen);
    return last.record;
  };

  readonly #timing = (endpoint: Endpoint): Timing | undefined => timingIn(this.#seenOf(endpoint)?.seen);

  readonly #admission = (endpoint: Endpoint): Admission => admissionOf(this.#seenOf(endpoint)?.seen);

  /** Most requests are of few accounts without keys of their own. */
  #account(id: string, keys: LedgerDecision['own_keys']): Account {
    if (keys !== undefined) {
      const providerKeys = Object.fromEntries(
        Object.entries(keys).map(([slug, use]) => [slug, { apiKey: 'unrecorded', fallback: use === 'fallback' }]),
      );
      return { id, providerKeys };
    }
    let account = this.#accounts.get(id);
    if (account === undefined) {
      if (this.#accounts.size >= MOST_ACCOUNTS) this.#accounts.clear();
      this.#accounts.set(id, (account = { id }));
    }
    return account;
  }

  /** The models of a request, found by its names as a new request's are; those that a plugin chose stay. */
  #targets(
    record: LedgerRecord,
    { targets, pro }: LedgerDecision,
    rules: RequestRules | undefined,
  ): readonly ModelTarget[] | undefined {
    if (isChosen(targets) || record.applied?.rules !== undefined) return targets.map((target) => this.#chosen(target));
    const [only] = targets;
    if (rules !== undefined || this.#rules.divides === true) {
      const models = [...new Set(targets.map(({ requested }) => requested))].map((slug) => ({ slug, path: 'model' }));
      const variant = { batch: record.batch, pro, rules };
      const found = resolveTargets(models, { ...this.#rules, ...variant, ...splitsOf(record) });
      return found.ok ? found.value.targets : undefined;
    }
    if (only === undefined || targets.length > 1 || record.batch === true || pro === true) {
      const names = [...new Set(targets.map(({ requested }) => requested))];
      const key = `${record.batch === true} ${pro === true}\n${names.join('\n')}`;
      return this.#lookedUp(this.#lookups, key, names, { batch: record.batch, pro });
    }
    return this.#lookedUp(this.#singles, only.requested, [only.requested], NO_VARIANT);
  }

  #lookedUp(
    lookups: Lookups,
    key: string,
    names: readonly string[],
    variant: Pick<Parameters<typeof resolveTargets>[1], 'batch' | 'pro'>,
  ): readonly ModelTarget[] | undefined {
    const known = lookups.get(key);
    if (known !== undefined || lookups.has(key)) return known;
    const models = names.map((slug) => ({ slug, path: 'model' }));
    const found = resolveTargets(models, { ...this.#rules, ...variant });
    const targets = found.ok ? found.value.targets : undefined;
    lookups.set(key, targets);
    return targets;
  }

  #chosen(target: LedgerTarget): ModelTarget {
    const { requested, model = requested, strategy = 'direct', sort, admit_tier: admitTier, router, shuffled } = target;
    const all = endpointsOf(model, this.#rules.catalog, { shuffled: shuffled === true });
    const byId = (ids: readonly string[]): readonly Endpoint[] =>
      ids.flatMap((id) => all.find((endpoint) => endpoint.id === id) ?? []);
    return {
      requested,
      model,
      strategy,
      endpoints: target.endpoints === undefined ? all : byId(target.endpoints),
      sort: sort as SortKey | undefined,
      admitTier: admitTier as EndpointTier | undefined,
      router,
      shuffled,
      refusedTogether: target.refused_together,
      spare: target.spare,
      shortened: target.shortened && byId(target.shortened),
    };
  }
}

function detailOf(unpaid: LedgerRecord['excluded'], id: string): string | undefined {
  const found = unpaid.find(({ endpoint }) => endpoint === id);
  return found && (found.detail ?? '');
}

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
  regions: 'regions',
  quantizations: 'quantizations',
  sort: 'sort',
  max_price: 'max_price',
  min_throughput: 'preferred_min_throughput',
  max_latency: 'preferred_max_latency',
  return_refusals: 'refusals',
  after_first_token: 'after_first_token',
} satisfies Record<Exclude<keyof LedgerPreferences, 'sort_together' | 'denied_models'>, keyof ProviderPreferences>;

/**
 * Rules of a configuration for a recorded request to which none applied then. Conditions look at the account, the time,
 * the models, and of the metadata at what the record has as tags.
 */
function rulesFor({ account, tags, decision }: LedgerRecord, table: CompiledRules | undefined): RequestRules {
  return new RequestRules(table ?? [], { account, metadata: tags, at: decision?.created ?? 0 });
}

/** What a record's preferences are with those that rules put beneath them. */
function withRulePreferences(
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
function deniedBy(preferences: Preferences, { denied }: RequestRules): Preferences {
  if (denied === undefined) return preferences;
  return { ...preferences, denied: (model) => preferences.denied?.(model) ?? denied(model) };
}

/**
 * How aliases with a split divide a recorded request. By account and by request as live; for sessions and end users the
 * record has no key, so that they keep the model they had, as long as it has a share. One that had none draws by the
 * hash of its session: the shares are right then, and who gets which is not.
 */
function splitsOf({ id, account, session, applied }: LedgerRecord): Pick<TargetContext, 'splitKey' | 'keptModel'> {
  return {
    splitKey: (by) => (by === 'account' ? account : by === 'request' ? id : (session ?? id)),
    keptModel: (alias, by) =>
      by === 'account' || by === 'request'
        ? undefined
        : applied?.splits?.find((choice) => choice.alias === alias && choice.by === by)?.model,
  };
}
