/** The options of rules, splits, mirrors and aliases. */
import { refine } from '../schema/modifiers.ts';
import { unknown } from '../schema/scalars.ts';
import { option, type OptionsOf, type OptionTable, required } from './option.ts';
import { BUDGET, type Budget } from './spending.ts';

/** A time in the form of a date. */
const DATE = refine(unknown, {
  test: (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value)),
  says: 'must be a time such as 2026-12-01 or 2026-12-01T08:00:00Z',
});

/** Which requests a rule is for: those that every condition holds of. */
export const RULE_CONDITION = {
  /** Account ids, with `*` for any characters. Default: all. */
  accounts: option.array(option.string()),
  /** Models, as a request or an alias names them, with `*` for any characters. Default: all. */
  models: option.array(option.string()),
  /** Values of the request's `metadata`, by key: one of them, with `*` for any characters. Default: whatever they are. */
  metadata: option.record(option.array(option.string())),
  /** Time from which the rule holds, such as `2026-12-01` or `2026-12-01T08:00:00Z`. Default: since ever. */
  from: option.checked<string>('string', DATE),
  /** Time at which it ends. Default: never. */
  until: option.checked<string>('string', DATE),
} satisfies OptionTable;

/** Which requests a rule is for. */
export interface RuleCondition extends OptionsOf<typeof RULE_CONDITION> {}

/** A rule for requests. */
export const RULE = {
  /** Name of the rule, which `explain`, `router_metadata`, events and errors name. */
  id: required(option.string()),
  /** Which requests it is for. Default: all. */
  when: option.object<RuleCondition>(RULE_CONDITION, { default: {} }),
  /** Model, or list of models to fall back through, that takes the place of those that `when.models` names. */
  rewrite: option.union(option.string(), option.array(option.string())),
  /** Refuses with 403; this text is the reason in the message. */
  deny: option.string(),
  /** Provider preferences of requests that do not set them themselves, member by member. */
  preferences: option.record(option.unknown<unknown>('unknown')),
} satisfies OptionTable;

/**
 * A rule for requests: it rewrites a model, refuses, or gives provider preferences. Rules apply in order, and later ones
 * see what earlier ones have made.
 */
export interface Rule<Preferences = Readonly<Record<string, unknown>>> extends Omit<
  OptionsOf<typeof RULE>,
  'preferences'
> {
  /** Provider preferences of requests that do not set them themselves, member by member. */
  readonly preferences?: Preferences | undefined;
}

/** What the weights of an alias are divided by. */
export const SPLIT_KEYS = ['session', 'account', 'endUser', 'request'] as const;

/** A model that gets a share of the requests for an alias. */
export const SPLIT_SHARE = {
  /** Model, alias, or `@preset` of this router. */
  model: required(option.string()),
  /** Share among the weights of all. 0: none. */
  weight: required(option.amount()),
} satisfies OptionTable;

/** A model that gets a share of the requests for an alias. */
export interface SplitShare extends OptionsOf<typeof SPLIT_SHARE> {}

/** An alias whose requests are divided among models. */
export const SPLIT = {
  /** The models and their shares. */
  split: required(option.array(option.object<SplitShare>(SPLIT_SHARE))),
  /**
   * What keeps its model from request to request: a session (or, without one, a conversation), an account, an end user;
   * `request` draws for each. The same key has the same model on every instance. Default `session`.
   */
  by: option.enum(SPLIT_KEYS, { default: 'session' }),
} satisfies OptionTable;

/** An alias whose requests are divided among models, for gradual rollouts. */
export interface Split extends OptionsOf<typeof SPLIT> {}

/** A candidate that gets copies of requests. Nobody is shown its answers, and no caller waits or pays for them. */
export const MIRROR = {
  /** Model or alias of this router that gets the copies. */
  model: required(option.string()),
  /** Share of the requests that are copied, from 0 to 1. */
  share: required(option.share()),
  /**
   * What the copies may cost together, on all instances that share `state`. Once it is used up, nothing is copied until
   * it begins anew.
   */
  budget: required(option.object<Budget>(BUDGET)),
  /** What is copied all the time or never, as with `split`. Default `session`. */
  by: option.enum(SPLIT_KEYS, { default: 'session' }),
  /** Copies under way at the same time in this process; what is beyond is not copied. Default 8. */
  concurrency: option.integer(1, { default: 8 }),
  /**
   * Whether requests that offer functions are copied, too. Functions that the candidate calls are never run, because
   * nobody learns of the call. Default false: no request with tools is copied.
   */
  functionTools: option.boolean({ default: false }),
} satisfies OptionTable;

/** A candidate that gets copies of requests. Nobody is shown its answers, and no caller waits or pays for them. */
export interface Mirror extends OptionsOf<typeof MIRROR> {}

/** An alias whose requests are copied to a candidate. */
export const MIRRORED = {
  /** Model, alias, or list of models to fall back through, that answers. */
  model: required(option.union(option.string(), option.array(option.string()))),
  /** Who gets copies of which requests. */
  mirror: required(option.object<Mirror>(MIRROR)),
} satisfies OptionTable;

/** An alias whose requests are copied to a candidate, to compare it before it answers anybody. */
export interface Mirrored extends OptionsOf<typeof MIRRORED> {}

/**
 * What an alias stands for: a model, models to fall back through, models that share its requests, or a model beside
 * which a candidate gets copies.
 */
export type Alias = string | readonly string[] | Split | Mirrored;
