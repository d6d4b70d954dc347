/** Compiles the rules of a configuration, and finds those that apply to a request. */
import { modelPatterns, matchesWildcard } from '../../catalog/model-patterns.ts';
import type { Rule } from '../../options/rules.ts';
import type { RequestFault } from '../../protocol/fault.ts';
import type { ProviderPreferences } from '../../protocol/provider-preferences.ts';
import type { DeniedModel } from '../../contracts/request.ts';

/** What the conditions of rules look at. */
interface RuleFacts {
  readonly account: string;
  readonly metadata: Readonly<Record<string, string>> | null | undefined;
  /** Unix seconds. */
  readonly at: number;
}

/** The rules of a configuration, prepared once. */
export type CompiledRules = readonly CompiledRule[];

interface CompiledRule {
  readonly rule: Rule<ProviderPreferences>;
  readonly holds: (facts: RuleFacts) => boolean;
  /** Undefined where the rule is for all models. */
  readonly names: ((model: string) => boolean) | undefined;
  readonly rewrite: readonly string[] | undefined;
}

/**
 * Prepares rules, whose options have been checked.
 *
 * @param timeOf - Milliseconds since 1970 of a time as a text.
 */
export function compileRules(
  rules: readonly Rule<ProviderPreferences>[],
  timeOf: (text: string) => number,
): CompiledRules {
  return rules.map((rule) => {
    const { accounts, models, metadata = {}, from, until } = rule.when ?? {};
    const begins = from === undefined ? -Infinity : timeOf(from) / 1_000;
    const ends = until === undefined ? Infinity : timeOf(until) / 1_000;
    const tags = Object.entries(metadata);
    return {
      rule,
      rewrite: rule.rewrite === undefined ? undefined : [rule.rewrite].flat(),
      names: models && namedBy(models),
      holds: ({ account, metadata: given, at }) =>
        at >= begins &&
        at < ends &&
        (accounts === undefined || fits(accounts, account)) &&
        tags.every(([key, values]) => given != null && Object.hasOwn(given, key) && fits(values, given[key] ?? '')),
    };
  });
}

function namedBy(models: readonly string[]): (model: string) => boolean {
  const patterns = modelPatterns(models);
  return (model) => patterns.matches(model);
}

function fits(patterns: readonly string[], text: string): boolean {
  return patterns.some((pattern) => matchesWildcard(pattern, text));
}

/** The rules that hold for one request, and which of them have changed something. */
export class RequestRules {
  readonly #rules: CompiledRules;
  readonly #applied = new Set<string>();

  constructor(rules: CompiledRules, facts: RuleFacts) {
    this.#rules = rules.filter(({ holds }) => holds(facts));
  }

  /** Ids of the rules that have changed something, in the order in which they did; undefined where none has. */
  get applied(): readonly string[] | undefined {
    return this.#applied.size === 0 ? undefined : [...this.#applied];
  }

  /** A refusal of the request whatever its models are. */
  fault(): RequestFault | undefined {
    const one = this.#rules.find(({ rule, names }) => rule.deny !== undefined && names === undefined);
    return one && deniedFault({ rule: one.rule.id, reason: one.rule.deny ?? '' });
  }

  /** What a model's name stands for: itself, where no rule says otherwise. */
  rewrite(slug: string): readonly string[] {
    let names: readonly string[] = [slug];
    for (const { rule, names: isNamed, rewrite } of this.#rules) {
      if (rewrite === undefined || !names.some((name) => isNamed?.(name) ?? true)) continue;
      this.#applied.add(rule.id);
      names = names.flatMap((name) => ((isNamed?.(name) ?? true) ? rewrite : [name]));
    }
    return names;
  }

  /** The request's own preferences, with those of rules for its first model beneath. */
  preferences(own: ProviderPreferences | null | undefined, slug: string): ProviderPreferences | null | undefined {
    let merged = own;
    for (const { rule, names } of this.#rules) {
      if (rule.preferences === undefined || !(names?.(slug) ?? true)) continue;
      this.#applied.add(rule.id);
      const given = Object.entries(merged ?? {}).filter(([, value]) => value != null);
      merged = { ...rule.preferences, ...Object.fromEntries(given) };
    }
    return merged;
  }

  /** Finds the rule that keeps a request from a model; undefined where none could. */
  get denied(): ((model: string) => DeniedModel | undefined) | undefined {
    const denying = this.#rules.filter(({ rule, names }) => rule.deny !== undefined && names !== undefined);
    if (denying.length === 0) return undefined;
    return (model) => {
      const one = denying.find(({ names }) => names?.(model) === true);
      return one && { rule: one.rule.id, reason: one.rule.deny ?? '' };
    };
  }
}

/** The refusal by a rule. */
function deniedFault({ rule, reason }: DeniedModel): RequestFault {
  return { status: 403, errorType: 'permission_denied', path: 'model', message: `${reason} (rule ${rule})` };
}
