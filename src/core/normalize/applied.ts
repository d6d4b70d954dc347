import type { RequestFault } from '../../protocol/fault.ts';
import type { ProviderPreferences } from '../../protocol/provider-preferences.ts';
import type { RequestContext, RouterFacts } from './normalize.ts';
import type { AppliedConfiguration, Preferences } from './normalized-request.ts';
import { RequestRules } from './rules.ts';
import type { SplitChoice } from './split.ts';
import type { TargetContext } from './targets.ts';

/** What a request says of itself that rules and splits look at. */
interface Applicant {
  readonly metadata: Readonly<Record<string, string>> | null | undefined;
  /** What its session, or its conversation, is known by; undefined where it has none. */
  readonly session: () => string | undefined;
}

/** Rules and splits at work on one request. Only made where the configuration has some. */
export class Applying {
  readonly #rules: RequestRules;
  readonly #splits: SplitChoice[] = [];
  /** What resolving its models takes. */
  readonly targets: Pick<TargetContext, 'rules' | 'splitKey' | 'onSplit'>;

  constructor({ account, created, endUser, id }: RequestContext, facts: RouterFacts, { metadata, session }: Applicant) {
    this.#rules = new RequestRules(facts.ruleTable ?? [], { account: account.id, metadata, at: created });
    const keys: Readonly<Record<SplitChoice['by'], () => string>> = {
      session: () => `${account.id}\n${session() ?? ''}`,
      account: () => account.id,
      endUser: () => endUser,
      request: () => id,
    };
    this.targets = {
      rules: this.#rules,
      splitKey: (by) => keys[by](),
      onSplit: (choice) => void this.#splits.push(choice),
    };
  }

  /** A refusal of the request whatever its models are. */
  fault(): RequestFault | undefined {
    return this.#rules.fault();
  }

  /** The provider preferences of a request, with those of rules beneath. */
  provider(own: ProviderPreferences | null | undefined, slug: string): ProviderPreferences | null | undefined {
    return this.#rules.preferences(own, slug);
  }

  /** Preferences that also keep models away which rules deny. */
  preferences(preferences: Preferences): Preferences {
    const { denied } = this.#rules;
    return denied === undefined ? preferences : { ...preferences, denied };
  }

  /** What took part; undefined where nothing did. */
  get record(): AppliedConfiguration | undefined {
    const { applied: rules } = this.#rules;
    if (rules === undefined && this.#splits.length === 0) return undefined;
    return { ...(rules && { rules }), ...(this.#splits.length > 0 && { splits: this.#splits }) };
  }
}

/** Rules and splits at work on a request; undefined where the configuration has none. */
export function applyingTo(context: RequestContext, facts: RouterFacts, applicant: Applicant): Applying | undefined {
  return facts.ruleTable === undefined && facts.divides !== true ? undefined : new Applying(context, facts, applicant);
}
