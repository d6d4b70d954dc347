/** Applies the rules, splits and mirrors of a configuration to a request. */
import type { Mirror } from '../../options/rules.ts';
import type { RequestFault } from '../../protocol/fault.ts';
import type { ProviderPreferences } from '../../protocol/provider-preferences.ts';
import { type RequestedBeside, isDrawn, mayBeCopied } from './mirror.ts';
import type { AppliedConfiguration, Preferences, MirrorChoice, SplitChoice } from '../../contracts/request.ts';
import { RequestRules } from './rules.ts';
import type { Applicant, AppliedRules, RequestContext, RouterFacts } from './context.ts';

/** Rules, splits and mirrors at work on one request. */
class Applying implements AppliedRules {
  readonly #rules: RequestRules;
  readonly #splits: SplitChoice[] = [];
  readonly #keyOf: (by: SplitChoice['by']) => string;
  #mirror: { readonly alias: string; readonly mirror: Mirror } | undefined;
  readonly targets: AppliedRules['targets'];

  constructor(
    { account, created, endUser, id }: RequestContext,
    facts: RouterFacts,
    { metadata, session, requested: first }: Applicant,
  ) {
    this.#rules = new RequestRules(facts.ruleTable ?? [], { account: account.id, metadata, at: created });
    const keys: Readonly<Record<SplitChoice['by'], () => string>> = {
      session: () => `${account.id}\n${session() ?? ''}`,
      account: () => account.id,
      endUser: () => endUser,
      request: () => id,
    };
    const keyOf = (by: SplitChoice['by']): string => keys[by]();
    this.#keyOf = keyOf;
    this.targets = {
      rules: this.#rules,
      splitKey: this.#keyOf,
      onSplit: (choice) => void this.#splits.push(choice),
      // Of a request that names several models, only what is asked for the first one is worth comparing.
      onMirror: (alias, mirror, requested) => {
        if (requested === first) this.#mirror ??= { alias, mirror };
      },
    };
  }

  fault(): RequestFault | undefined {
    return this.#rules.fault();
  }

  provider(own: ProviderPreferences | null | undefined, slug: string): ProviderPreferences | null | undefined {
    return this.#rules.preferences(own, slug);
  }

  preferences(preferences: Preferences): Preferences {
    const { denied } = this.#rules;
    return denied === undefined ? preferences : { ...preferences, denied };
  }

  record(beside?: RequestedBeside): AppliedConfiguration | undefined {
    const { applied: rules } = this.#rules;
    const mirror = beside && this.#copied(beside);
    if (rules === undefined && this.#splits.length === 0 && mirror === undefined) return undefined;
    return {
      ...(rules && { rules }),
      ...(this.#splits.length > 0 && { splits: this.#splits }),
      ...(mirror && { mirror }),
    };
  }

  #copied(beside: RequestedBeside): MirrorChoice | undefined {
    if (this.#mirror === undefined) return undefined;
    const { alias, mirror } = this.#mirror;
    const { model, by = 'session' } = mirror;
    return mayBeCopied(beside, mirror) && isDrawn(alias, mirror, this.#keyOf(by)) ? { alias, model, by } : undefined;
  }
}

/** Rules, splits and mirrors at work on a request. Only in the facts of a router whose configuration has some. */
export function applyingTo(context: RequestContext, facts: RouterFacts, applicant: Applicant): AppliedRules {
  return new Applying(context, facts, applicant);
}
