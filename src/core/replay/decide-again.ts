import type { Catalog } from '../../catalog/catalog.ts';
import type { Endpoint, EndpointTier } from '../../catalog/endpoint.ts';
import type { Modality, ParameterName, ToolChoiceKind } from '../../catalog/model.ts';
import type { LedgerDecision, LedgerRecord, LedgerTarget, SeenEndpoint } from '../../contracts/ledger.ts';
import type { DialectName } from '../../protocol/dialect.ts';
import type { SortKey } from '../../protocol/provider-preferences.ts';
import type { Account, RoutingPolicy } from '../account.ts';
import { preferencesUnder } from '../ledger/recorded-preferences.ts';
import { admissionOf, recordOf } from '../ledger/seen-endpoint.ts';
import { endpointsOf } from '../ledger/write-decision.ts';
import type { ModelTarget, RequestedTier, RoutedRequest } from '../normalize/normalized-request.ts';
import { resolveTargets } from '../normalize/targets.ts';
import type { AdaptivePolicy } from '../selection/adaptive/policy.ts';
import { planRoute } from '../selection/plan-route.ts';
import type { EndpointRecord, SelectionPolicy, SelectionStrategy, World } from '../selection/performance.ts';
import type { RoutePlan } from '../selection/route-plan.ts';

/** What a configuration says about decisions. */
export interface DecisionRules {
  readonly catalog: Catalog;
  readonly policy: RoutingPolicy;
  readonly routerModels: ReadonlySet<string>;
  readonly docsUrl: string;
  readonly selection: SelectionPolicy;
  readonly strategy: SelectionStrategy;
  readonly adaptive: AdaptivePolicy;
}

/** What is remembered of models between decisions, so that each is looked up once. */
type Lookups = Map<string, readonly ModelTarget[] | undefined>;

const NO_VARIANT = {};
const NO_NEEDS: readonly never[] = [];
const NOBODY: RoutedRequest['extra'] = {};

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
  readonly #lastSeen = new Map<string, SeenEndpoint | undefined>();

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
    const targets = this.#targets(record, decision);
    if (targets === undefined) return undefined;
    return planRoute(this.#request(record, decision, targets), world ?? this.#world(record, decision));
  }

  #request(record: LedgerRecord, decision: LedgerDecision, targets: readonly ModelTarget[]): RoutedRequest {
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
      preferences: preferencesUnder(record, this.#rules.policy),
      session: draw === undefined ? {} : { key: 'recorded', draw },
      endUser: '',
      account: accountOf(record, decision),
      wantsMetadata: false,
      reasoning: decision.no_reasoning === true ? { effort: 'none', exclude: false } : undefined,
      native: native && { dialect: native[0] as DialectName, body: {}, requiredBy: native[1] },
      likelyTokens: decision.likely_prompt_tokens,
      extra: NOBODY,
    };
    return request;
  }

  #world(record: LedgerRecord, decision: LedgerDecision): World {
    const { selection, strategy, adaptive } = this.#rules;
    const seen = this.#seen(record);
    let records: Map<string, EndpointRecord> | undefined;
    const recordFor = ({ id }: Endpoint): EndpointRecord | undefined => {
      const one = seen(id);
      if (one === undefined) return undefined;
      let restored = records?.get(id);
      if (restored !== undefined) return restored;
      restored = recordOf(one);
      (records ??= new Map()).set(id, restored);
      return restored;
    };
    const served = decision.served?.map(([endpoint, ageMs, tokens]) => ({ endpoint, at: -ageMs, tokens }));
    return {
      record: recordFor,
      sticky: served?.[0]?.endpoint,
      served,
      origins: decision.reasoning_origins && new Map(decision.reasoning_origins.map((origin) => [origin, origin])),
      admission: (endpoint, warm) => admissionOf(seen(endpoint.id), warm),
      usualAnswerTokens: decision.usual_answer_tokens,
      now: 0,
      roll: decision.roll,
      policy: selection,
      strategy,
      adaptive,
    };
  }

  /** What this decision saw of endpoints, and the ones before it of those that it did not compare. */
  #seen({ candidates, excluded }: LedgerRecord): (id: string) => SeenEndpoint | undefined {
    const lastSeen = this.#lastSeen;
    for (const { endpoint, seen } of candidates) lastSeen.set(endpoint, seen);
    for (const { endpoint, seen } of excluded) if (seen !== undefined) lastSeen.set(endpoint, seen);
    return (id) => lastSeen.get(id);
  }

  /** The models of a request, found by its names as a new request's are; those that a plugin chose stay. */
  #targets(record: LedgerRecord, { targets, pro }: LedgerDecision): readonly ModelTarget[] | undefined {
    const isChosen = targets.some(({ router, endpoints, shortened }) => router ?? endpoints ?? shortened);
    if (isChosen || (record.applied?.rules ?? record.applied?.splits) !== undefined)
      return targets.map((target) => this.#chosen(target));
    const [only] = targets;
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
    const all = endpointsOf(model, shuffled === true, this.#rules.catalog);
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
      shortened: target.shortened && byId(target.shortened),
    };
  }
}

function accountOf({ account: id }: LedgerRecord, { own_keys: keys }: LedgerDecision): Account {
  if (keys === undefined) return { id };
  const providerKeys = Object.fromEntries(
    Object.entries(keys).map(([slug, use]) => [slug, { apiKey: '', fallback: use === 'fallback' }]),
  );
  return { id, providerKeys };
}
