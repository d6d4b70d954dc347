import { narrowed, union } from '../schema/choices.ts';
import { array } from '../schema/collections.ts';
import { checked, optional } from '../schema/modifiers.ts';
import { looseObject } from '../schema/object.ts';
import { boolean, unknown } from '../schema/scalars.ts';
import { callable, nonEmptyString, type OptionShape, valueThat, wholeNumber } from '../options/values.ts';
import { computed, type Option, option, type OptionsOf, type OptionTable, schemaOf } from '../options/option.ts';
import { callTimeouts, modelTable } from '../catalog/model-options.ts';
import { isStandardSchema } from '../protocol/standard-schema.ts';
import type { Preset } from '../core/normalize/preset.ts';
import { CHAT_FIELDS, chatFieldsProblem, type ChatRequest } from '../protocol/chat-request.ts';
import { isJsonObject } from '../protocol/json.ts';
import { nearName } from '../protocol/near-name.ts';
import type { Authenticate } from '../contracts/authenticate.ts';
import type { Plugin } from '../contracts/plugin.ts';
import type { ServerToolDefinition } from '../contracts/server-tool.ts';
import type { ProviderPreferences } from '../protocol/provider-preferences.ts';
import type { Provider } from '../contracts/provider.ts';
import type { Environment } from '../platform/environment.ts';
import type { CatalogInput } from '../runtime/endpoints/known-models.ts';
import { BATCHES, type BatchesOptions, WEBHOOKS, type WebhooksOptions } from './batches.ts';
import {
  BUDGETS,
  type BudgetsOptions,
  RATE_LIMITS_OPTIONS,
  type RateLimitsOptions,
  RESPONSE_CACHE,
  type ResponseCacheOptions,
} from './limits.ts';
import type { Inspector } from './inspector.ts';
import { STATE_STORE, STREAMS, type StreamsOptions } from './streams.ts';
import { LEDGER, type LedgerOptions } from './ledger.ts';
import { PLUGIN_DEFAULT, type PluginDefault, ROUTING_POLICY, type RoutingPolicy } from '../options/accounts.ts';
import { SELECTION, type SelectionPolicy, TUNING, type Tuning } from '../options/selection.ts';
import { FALLBACK, type FallbackPolicy, TIMEOUTS, type Timeouts } from '../options/fallback.ts';
import {
  BRANDS,
  CORS,
  type Cors,
  KEEP_ALIVE,
  type KeepAlive,
  ROUTER_NETWORK,
  type RouterNetworkOptions,
} from '../options/http.ts';
import { MODEL_INFO, type ModelInfo } from '../options/model-info.ts';
import { type DeclaredRequestLimits, REQUEST_LIMITS } from '../options/limits.ts';
import { type Alias, MIRRORED, type Rule, RULE, SPLIT } from '../options/rules.ts';
import type { RouterEvents, RouterListener, RouterListeners } from '../contracts/events.ts';

/** Checks of what programs bring themselves, beyond a list of functions. */

/** What the router needs of a provider; a provider may have more for itself. */
const provider = looseObject(
  {
    slug: nonEmptyString,
    models: modelTable,
    chat: callable,
    name: optional(nonEmptyString),
    embed: optional(callable),
    check: optional(callable),
    close: optional(callable),
    dataCollection: optional(boolean),
    zeroDataRetention: optional(boolean),
    timeouts: optional(callTimeouts),
  },
  'must be a provider, such as openai() makes one',
);

/** What checks the options of a plugin or a server tool. */
const ownOptions = {
  parseOptions: optional(callable),
  options: optional(valueThat('a Standard Schema, as of zod, valibot or arktype', isStandardSchema)),
};

/** What the router needs of a plugin. */
const plugin = looseObject(
  {
    id: nonEmptyString,
    whenItThrows: nonEmptyString,
    ...ownOptions,
    models: optional(array(nonEmptyString)),
    runsUnasked: optional(callable),
    onRequest: optional(callable),
    onCandidates: optional(callable),
    onAttempt: optional(callable),
    onChunks: optional(callable),
    onResult: optional(callable),
    close: optional(callable),
  },
  'must be a plugin',
);

/** What the router needs of a server tool. */
const serverTool = looseObject(
  {
    type: nonEmptyString,
    describe: callable,
    execute: callable,
    ...ownOptions,
    native: optional(callable),
    nameOf: optional(callable),
    innerTools: optional(callable),
    expand: optional(callable),
    maxUses: optional(callable),
    close: optional(callable),
  },
  'must be a server tool',
);

/** Listeners of a router, by the names of their events. What they throw is ignored. */
export const LISTENERS = {
  /** A request begins: it was understood and is about to be planned or sent. */
  request: option.callable<RouterListener<'request'>>('(event: RequestEvent) => void'),
  /** An upstream call begins. */
  attempt_start: option.callable<RouterListener<'attempt_start'>>('(event: AttemptStartEvent) => void'),
  /** The first token of a stream has arrived. */
  first_token: option.callable<RouterListener<'first_token'>>('(event: FirstTokenEvent) => void'),
  /** An upstream call ended. */
  attempt: option.callable<RouterListener<'attempt'>>('(event: AttemptEvent) => void'),
  /** A hook of a plugin begins. */
  plugin_start: option.callable<RouterListener<'plugin_start'>>('(event: PluginFacts) => void'),
  /** A hook of a plugin ended. */
  plugin: option.callable<RouterListener<'plugin'>>('(event: PluginEvent) => void'),
  /** A call of a server tool begins. */
  tool_start: option.callable<RouterListener<'tool_start'>>('(event: ToolFacts) => void'),
  /** A call of a server tool ended. */
  tool: option.callable<RouterListener<'tool'>>('(event: ToolEvent) => void'),
  /** An endpoint cools down, or its breaker opens or closes. */
  health: option.callable<RouterListener<'health'>>('(event: HealthEvent) => void'),
  /** A request was answered. */
  result: option.callable<RouterListener<'result'>>('(event: ResultEvent) => void'),
  /** A request failed, or its client disconnected. */
  error: option.callable<RouterListener<'error'>>('(event: ErrorEvent) => void'),
  /** Something concerns the operator of the router. */
  warning: option.callable<RouterListener<'warning'>>('(event: WarningEvent) => void'),
  /** Something about a batch changed, in the process that changed it. */
  batch: option.callable<RouterListener<'batch'>>('(event: BatchUpdateEvent) => void'),
  /** `router.update` put another configuration in force. */
  configuration: option.callable<RouterListener<'configuration'>>('(event: ConfigurationEvent) => void'),
  /** Told what requests ask and are answered, which no other event holds; a warning says that it is on. Default: nobody. */
  content: option.callable<RouterListener<'content'>>('(event: ContentEvent) => void'),
} satisfies { readonly [Name in keyof RouterEvents]: Option<RouterListener<Name>> };

/** What a preset says beside fields of requests. */
const OWN: OptionShape<Omit<Preset, keyof ChatRequest>> = { cache_enabled: boolean, cache_ttl_seconds: wholeNumber(1) };

const KNOWN = [...CHAT_FIELDS, ...Object.keys(OWN)];

/** Names as short as this are too often a letter away from another one. */
const SHORT = 5;

/**
 * A stored set of request fields. Fields that are unknown go to providers, as they do in requests; one that is a
 * single letter away from a field of ours was meant to be that.
 */
const preset = checked(
  looseObject(
    { cache_enabled: optional(OWN.cache_enabled), cache_ttl_seconds: optional(OWN.cache_ttl_seconds) },
    'must be an object with fields of a request',
  ),
  function* check(value, path) {
    if (!isJsonObject(value)) return;
    const fields = Object.fromEntries(Object.entries(value).filter(([name]) => !Object.hasOwn(OWN, name)));
    for (const name of Object.keys(fields)) {
      const near = KNOWN.includes(name) || name.length <= SHORT ? undefined : nearName(name, KNOWN, 1);
      if (near !== undefined) {
        yield { path: `${path}.${name}`, problem: `is not a field of requests; did you mean "${near}"?` };
      }
    }
    const wrong = chatFieldsProblem(fields);
    if (wrong !== undefined) yield { path: `${path}.${wrong.path}`, problem: wrong.problem };
  },
);

const aliasModels = union([nonEmptyString, array(nonEmptyString)]);
const aliasSplit = schemaOf(SPLIT);
const aliasMirrored = schemaOf(MIRRORED);

/** An alias is distinguished by its form, so that what is wrong is said of the form that was meant. */
const aliasForm = narrowed(unknown, (value) => {
  const members: object = typeof value === 'object' ? Object(value) : {};
  return 'split' in members ? aliasSplit : 'mirror' in members ? aliasMirrored : aliasModels;
});

const alias = checked(aliasForm, function* check(value, path) {
  const { split } = Object(value) as { readonly split?: unknown };
  if (!Array.isArray(split)) return;
  const weights = split.map((share: unknown) => Number((share as { weight?: unknown } | null)?.weight));
  if (weights.every((weight) => !(weight > 0))) {
    yield { path: `${path}.split`, problem: 'must give some model a weight above 0' };
  }
});

/** Every option of a router. All may be left out. */
export const ROUTER = {
  /**
   * What serves models. At least one. Default: the providers whose keys are in the environment, and the simulated
   * provider when there are none; the router then says so in a `warning` with the code `simulated`.
   */
  providers: computed(option.array(option.checked<Provider>('Provider', provider))),
  /** What is known about models, by id: names, descriptions, families, aliases. Default: nothing. */
  models: option.record(option.object<ModelInfo>(MODEL_INFO), { default: {} }),
  /**
   * Facts about the vendors' models from external sources: prices, limits, abilities. The parsed JSON of a lock file
   * that `npx signalbox catalog refresh` wrote, facts from `signalbox/catalog`, or several, of which the first that has
   * a field is used. What is declared here or at the providers takes precedence. Facts of a source that are older than 30
   * days make a `warning` with the code `catalog_stale`. Default: the lock file `signalbox.catalog.json` of the working
   * directory, if there is one; `[]` for none.
   */
  catalog: computed(option.unknown<CatalogInput | readonly CatalogInput[]>('CatalogInput | CatalogInput[]')),
  /**
   * Names of your own for a model, for a list of models to fall back through, for models that share its requests:
   * `{ split: [{ model, weight: 95 }, { model, weight: 5 }], by: 'session' }`, or for a model whose requests are copied
   * to a candidate: `{ model, mirror: { model, share: 0.05, budget: { limitUsd: 5, period: 'day' } } }`. Default: none.
   */
  aliases: option.record(option.checked<Alias>('string | string[] | Split | Mirrored', alias), { default: {} }),
  /**
   * What happens to requests before they are routed: models are rewritten, requests refused, preferences set. In
   * order; `explain`, `router_metadata` and events name the rules that applied. Default: none.
   */
  rules: option.array(option.object<Rule<ProviderPreferences>>(RULE), { default: [] }),
  /**
   * Stored request fields, by name. Beside them, `cache_enabled` and `cache_ttl_seconds` say how their requests use the
   * response cache. Default: none.
   */
  presets: option.record(option.checked<Preset>('Partial<ChatRequest>', preset), { default: {} }),
  /** Model for requests that name none. Default: none. */
  defaultModel: option.string(),
  /**
   * Plugins that requests may name, in the order in which their hooks run. Takes the place of the default list; to add
   * to it, give `[...defaultPlugins(), mine]`. Default: `defaultPlugins()`.
   */
  plugins: computed(option.array(option.checked<Plugin>('Plugin', plugin))),
  /** Plugins that run although requests do not name them. Those of an account come before these. Default: none. */
  pluginDefaults: option.array(option.object<PluginDefault>(PLUGIN_DEFAULT), { default: [] }),
  /** Tools that the router runs itself. Takes the place of the default list. Default: `defaultServerTools()`. */
  serverTools: computed(option.array(option.checked<ServerToolDefinition>('ServerToolDefinition', serverTool))),
  /** Routing rules for all accounts. Accounts and requests can only tighten them. Default: none. */
  policy: option.object<RoutingPolicy>(ROUTING_POLICY, { default: {} }),
  /**
   * Finds the account of an HTTP request: `apiKeys([...])`, `storedApiKeys({ ... })` or a function of your own.
   * In-process calls always work. Default: clients on this machine only, and with `NODE_ENV=production` none.
   */
  authenticate: option.callable<Authenticate>('Authenticate'),
  /**
   * True: clients over HTTP need no credentials, wherever they are. With `NODE_ENV=production` and without
   * `authenticate`, `false` does without the warning that every request over HTTP gets a 401. Default false.
   */
  allowAnonymous: option.boolean({ default: false }),
  /** Sites whose pages may call from a browser. Default: none. */
  cors: option.object<Cors>(CORS),
  /**
   * A proxy and certificate authorities, for providers, webhooks, plugins and server tools, and private hosts that requests
   * may name. Routers of a process have the same one; a provider may have one of its own. Default: that of the environment.
   */
  net: option.object<RouterNetworkOptions>(ROUTER_NETWORK),
  /** Spelling of names in answers; on input both are always understood. Default `router`. */
  brand: option.enum(BRANDS, { default: 'router' }),
  /** Limits of requests that protect the process. */
  limits: option.section<DeclaredRequestLimits>(REQUEST_LIMITS),
  /** How long the router waits for providers, plugins and server tools. */
  timeouts: option.section<Timeouts>(TIMEOUTS),
  /** Limits of the attempts for one request. */
  fallback: option.section<FallbackPolicy>(FALLBACK),
  /**
   * Whether an endpoint whose calls fail far more often than they usually do is no longer called for a while. Default
   * true.
   */
  breaker: option.boolean({ default: true }),
  /** Choices about the selection of endpoints. */
  selection: option.section<SelectionPolicy>(SELECTION),
  /**
   * How endpoints are chosen where a request gives neither `order` nor `sort`. `adaptive` draws by expected cost and
   * health, `balanced` by 1/price² among the stable ones. Default `adaptive`.
   */
  strategy: option.enum(['adaptive', 'balanced'], { default: 'adaptive' }),
  /** Whether endpoints are called more slowly once they have refused a call with 429. Default true. */
  pacer: option.boolean({ default: true }),
  /** Whether an endpoint that stopped answering is no longer called. `false`: only timeouts notice. Default true. */
  hangDetection: option.boolean({ default: true }),
  /**
   * Whether a second endpoint is called when the first is late: before the first byte, once per request, and never where
   * fallbacks are not allowed or a provider runs tools. Default true.
   */
  hedge: option.boolean({ default: true }),
  /**
   * What was found by measuring of the strategy `adaptive`, `pacer`, `hangDetection` and `hedge`, and can only be
   * changed by measuring again. Unstable: a later version may rename or drop any of it.
   */
  tuning: option.section<Tuning>(TUNING),
  /** Time without a request after which a session sticks to its endpoint no more. Default 600,000. */
  stickyTtlMs: option.ms({ default: 600_000 }),
  /**
   * Whether prompts that an account repeats are marked for the caches of providers that cache nothing without marks.
   * Requests with marks of their own are left as they are. Default true.
   */
  cacheMarks: option.boolean({ default: true }),
  /** Comments on quiet streams. */
  keepAlive: option.section<KeepAlive>(KEEP_ALIVE),
  /** Where small shared state lives. Default: the memory of this process. */
  state: computed(STATE_STORE),
  /**
   * Streams over HTTP that can be resumed, at another instance too: `{ store, keepMs, leaveAfterMs }`. `{}` takes the
   * defaults. Default: off, and a stream that is cut is lost.
   */
  streams: option.object<StreamsOptions>(STREAMS),
  /** What accounts may use in a minute. An account from `authenticate` may bring its own. Default: no limits. */
  rateLimits: option.object<RateLimitsOptions>(RATE_LIMITS_OPTIONS),
  /** What accounts may spend. An account from `authenticate` may bring its own. Default: no budgets. */
  budgets: option.object<BudgetsOptions>(BUDGETS),
  /** Responses that are kept and given again. Requests opt in with `X-Router-Cache: true`. */
  responseCache: option.object<ResponseCacheOptions>(RESPONSE_CACHE),
  /**
   * What is kept of each request: its decision, its attempts, what it cost. `true`: the last 1,000 in the memory of
   * this process. Prompts and answers are not kept. Default: on with an `inspector`, otherwise off, which costs a
   * request nothing.
   */
  ledger: option.union(option.boolean(), option.object<LedgerOptions>(LEDGER)),
  /** Batches: where they live, what runs them, and their limits. */
  batches: option.object<BatchesOptions>(BATCHES),
  /** How owners of batches are notified when these end. */
  webhooks: option.object<WebhooksOptions>(WEBHOOKS),
  /**
   * Secret behind the pseudonyms that providers see for end users. Set it to keep them the same over restarts and
   * across instances. Default: random for each router.
   */
  identitySecret: computed(option.string()),
  /**
   * Page that `availability.docs_url` of errors leads to; a code is appended after `#`. Default: the page about
   * fallback and errors: below `homepage` of package.json or in its `repository`, else among the files that npm has.
   */
  docsUrl: computed(option.string()),
  /**
   * A page that shows what the router decides and what it costs, served below `<base>/inspector`: `inspector()` from
   * `signalbox/inspector`. Default: none.
   */
  inspector: option.contract<Inspector>('Inspector', 'an inspector, such as inspector() makes one', ['answer']),
  /** Listeners from the start on; more can be added with `router.on`. Default: none. */
  on: option.object<RouterListeners>(LISTENERS, { default: {} }),
  /** Clock, randomness and timers. For tests. Default: those of the system. */
  environment: computed(
    option.contract<Environment>('Environment', 'an environment, such as fakeEnvironment() makes one', [
      'now',
      'wallClock',
      'random',
      'randomText',
      'setTimer',
      'clearTimer',
    ]),
  ),
} satisfies OptionTable;

/** The schema of all options of a router. */
export const ROUTER_OPTIONS = schemaOf(ROUTER);

export type { Brand, Cors, KeepAlive } from '../options/http.ts';

/** Options of `createRouter`. */
export interface RouterConfig<
  Providers extends readonly Provider[] = readonly Provider[],
  Aliases extends Readonly<Record<string, Alias>> = Readonly<Record<string, Alias>>,
> extends OptionsOf<typeof ROUTER> {
  // The build writes the comments of the table above these two as well.
  readonly providers?: Providers | undefined;
  readonly aliases?: Aliases | undefined;
}
