/** The options of accounts: prices, routing policies, plugins and provider credentials. */
import { type Option, option, type OptionsOf, type OptionTable, required } from './option.ts';
import type { PluginId, ProviderName } from './names.ts';
import { type Budget, BUDGET, RATE_LIMITS, type RateLimits } from './spending.ts';

/** Null is none, as it is in requests. */
const price = (): Option<number | string | null, 'optional', number | string | null> =>
  option.union(option.amount({ unit: 'US dollars' }), option.string());

/** Highest prices in US dollars, as numbers or numeric texts. What has no known price is excluded. */
export const MAX_PRICE = {
  /** Per million prompt tokens. */
  prompt: price(),
  /** Per million completion tokens. */
  completion: price(),
  /** Per request. */
  request: price(),
  /** Per image. */
  image: price(),
  /** Per token of audio. */
  audio: price(),
} satisfies OptionTable;

/** Highest prices in US dollars. */
export interface HighestPrices extends OptionsOf<typeof MAX_PRICE> {}

/** What may follow the refusal of a model. */
export const REFUSALS = ['fallback', 'return'] as const;

/** Routing rules of an account or of the whole router. */
export const ROUTING_POLICY = {
  /** Providers that may be used at all. Default: all. */
  only: option.array(option.string<ProviderName>()),
  /** Providers that are never used. Default: none. */
  ignore: option.array(option.string<ProviderName>()),
  /**
   * Models that may be used at all, with `*` for any characters: `['openai/*', '*-mini']`. Whatever leads to another
   * one (an alias, a preset, a fallback, a plugin) is refused with 403, and lists of models leave it out. Default: all.
   */
  allowedModels: option.array(option.string()),
  /** Models that are never used, in the same form. Default: none. */
  excludedModels: option.array(option.string()),
  /** `deny`: no provider that stores prompts or trains on them. Default: as requests say. */
  dataCollection: option.enum(['allow', 'deny']),
  /** True: only endpoints with zero data retention. Default: as requests say. */
  zeroDataRetention: option.boolean(),
  /** True: only models whose author permits distillation. Default: as requests say. */
  enforceDistillableText: option.boolean(),
  /**
   * Regions that may be used, by what endpoints declare: `eu` is also `eu-central-1`. Endpoints without a region are
   * excluded. Default: all.
   */
  regions: option.array(option.string()),
  /** Highest prices; a request's own limit applies where it is lower. Default: none. */
  maxPrice: option.object<HighestPrices>(MAX_PRICE),
  /**
   * What follows when a model refuses to answer, or a provider the content: `fallback` goes on to the next model,
   * `return` hands the refusal to the caller, so that none is routed around; `return` here is not overruled by a
   * request. Default: as requests say, which is `fallback` where they say nothing.
   */
  refusals: option.enum(REFUSALS),
} satisfies OptionTable;

/** A plugin that runs although requests do not name it. */
export const PLUGIN_DEFAULT = {
  /** Id of the plugin. */
  id: required(option.string<PluginId>()),
  /** Options as they would be in a request's entry. Default: none. */
  options: option.record(option.unknown<unknown>('unknown')),
  /** False: it does not run unless a request requires it. Default true. */
  enabled: option.boolean({ default: true }),
  /** True: what a request says of this plugin is ignored. Default false. */
  preventOverrides: option.boolean({ default: false }),
} satisfies OptionTable;

/**
 * A plugin that runs although requests do not name it. In the configuration for everybody, or at an account.
 * The request's own entry wins, unless `preventOverrides` is set (gaps 5).
 */
export interface PluginDefault extends OptionsOf<typeof PLUGIN_DEFAULT> {}

/**
 * Routing rules of an account or of the whole router. A request can only tighten them: allow-lists intersect,
 * ignore-lists add up, and a data policy that is set here stays set.
 */
export interface RoutingPolicy extends OptionsOf<typeof ROUTING_POLICY> {}

/** A token, and until when it is accepted. */
export interface ProviderToken {
  readonly token: string;
  /** Epoch milliseconds. Until shortly before, the token is kept. Default: it serves one call. */
  readonly expiresAt?: number | undefined;
}

/**
 * Gives a key or token when one is needed: a text for one call, or a token that is kept until it expires. While it works
 * on one, all calls wait for that one; it is called once more when a provider answers 401. It has 30 seconds. What it
 * throws is a failure of the endpoint, and the warning `provider_failed` has it in `thrown`.
 */
export type ProviderKeyFunction = () => string | ProviderToken | Promise<string | ProviderToken>;

/** The key of a provider, or a function that gives keys or tokens. */
export type ProviderKey = string | ProviderKeyFunction;

/** A provider key that belongs to the account. */
export const ACCOUNT_PROVIDER_KEY = {
  /**
   * The key, or a function that gives keys or tokens. What a function gives is kept with the function: use the same one
   * for all requests of an account.
   */
  apiKey: required(
    option.union(
      option.callable<ProviderKeyFunction>('ProviderKeyFunction'),
      option.stringThat('a function, or one line of visible characters without spaces', /^[\x21-\x7e]+$/),
    ),
  ),
  /** True: use it only after the shared capacity failed. False: use it before everything else. Default false. */
  fallback: option.boolean({ default: false }),
} satisfies OptionTable;

/** A provider key that belongs to the account ("bring your own key"). */
export interface AccountProviderKey extends OptionsOf<typeof ACCOUNT_PROVIDER_KEY> {}

/**
 * What a key may do: call models; manage the keys and read the records of its own account; or operate the router, which
 * shows what all accounts do (contract: authentication).
 */
export type Scope = (typeof SCOPES)[number];

export const SCOPES = ['inference', 'management', 'operator'] as const;

/** Who is calling: what `authenticate` gives, and what `apiKeys([...])` takes with each key. */
export const ACCOUNT = {
  /** Key of everything that is stored for this account. Never sent to a provider. */
  id: required(option.string()),
  /** What the caller may do. Default: inference only. */
  scopes: option.array(option.enum(SCOPES)),
  /** Routing rules of the account. Default: those of the router. */
  policy: option.object<RoutingPolicy>(ROUTING_POLICY),
  /** Model for requests that name none. Default: that of the router. */
  defaultModel: option.string(),
  /** The account's own provider keys, by provider slug. Default: none. */
  providerKeys: option.record(option.object<AccountProviderKey>(ACCOUNT_PROVIDER_KEY)),
  /** Plugins that run for this account although its requests do not name them (gaps 5). Default: none. */
  pluginDefaults: option.array(option.object<PluginDefault>(PLUGIN_DEFAULT)),
  /** What the account may use in a minute. Default: field by field the limits for everybody. */
  rateLimits: option.object<RateLimits>(RATE_LIMITS),
  /** What the account may spend, with all its keys. Default: the budget for everybody, if there is one. */
  budget: option.object<Budget>(BUDGET),
  /**
   * Places for requests of batches that the account gets for each one of an account of weight 1, where both have
   * requests that wait. Default 1.
   */
  batchWeight: option.integer(1, { default: 1 }),
  /** Which of the account's keys this is. Never the key itself. */
  keyId: option.string(),
  /** What may be spent with this key, beside the budget of the account. Needs `keyId`. Default: no budget. */
  keyBudget: option.object<Budget>(BUDGET),
} satisfies OptionTable;

/** Who is calling. Comes from `authenticate`, or is `ANONYMOUS` where no authentication is set up. */
export interface Account extends OptionsOf<typeof ACCOUNT> {}
