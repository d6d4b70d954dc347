import type { ModelInfo } from '../catalog/model.ts';
import type { RoutingPolicy } from '../core/account.ts';
import type { BreakerPolicy } from '../core/fallback/breaker.ts';
import type { FallbackPolicy } from '../core/fallback/next-move.ts';
import type { RetryBudgetPolicy } from '../core/fallback/retry-budget.ts';
import type { Preset } from '../core/normalize/preset.ts';
import type { SelectionPolicy } from '../core/selection/performance.ts';
import type { BatchesOptions, WebhooksOptions } from './config-batches.ts';
import type { BudgetsOptions, RateLimitsOptions, ResponseCacheOptions } from './config-limits.ts';
import type { Plugin, PluginDefault } from '../contracts/plugin.ts';
import type { ServerToolDefinition } from '../contracts/server-tool.ts';
import type { RequestLimits } from '../protocol/limits.ts';
import type { Provider } from '../contracts/provider.ts';
import type { Environment } from '../platform/environment.ts';
import type { RouterListeners } from '../runtime/chat/events.ts';
import type { CatalogInput } from '../runtime/chat/known-models.ts';
import type { Timeouts } from '../runtime/chat/call-watch.ts';
import type { Authenticate } from '../contracts/authenticate.ts';
import type { StateStore } from '../contracts/state-store.ts';

/** Spelling of names in answers; on input both are always understood. */
export type Brand = 'router' | 'openrouter';

/** Makes every member, also inside, optional. */
export type Partially<Options> = { readonly [Name in keyof Options]?: Options[Name] | undefined };

/** Options of `createRouter`. */
export interface RouterConfig<Providers extends readonly Provider[] = readonly Provider[]> {
  /**
   * Who serves models. At least one. Default: the providers whose keys are in the environment, and the simulated
   * provider when there are none; the router then says so in a `warning` with the code `simulated`.
   */
  readonly providers?: Providers | undefined;
  /** What is known about models, by id: names, descriptions, families, aliases. */
  readonly models?: Readonly<Record<string, ModelInfo>> | undefined;
  /**
   * What sources know of the vendors' models: prices, limits, abilities. The parsed JSON of a lock file that
   * `npx signalbox catalog refresh` wrote, facts from `signalbox/catalog`, or several, the first of which wins field by
   * field. What is declared here or at the providers always wins. Default: the lock file `signalbox.catalog.json` of
   * the working directory, if there is one; `[]` for none.
   */
  readonly catalog?: CatalogInput | readonly CatalogInput[] | undefined;
  /** Age in days from which facts of a source make a `warning` with the code `catalog_stale`. Default 30. */
  readonly catalogMaxAgeDays?: number | undefined;
  /** Names of your own for a model, or for a list of models to fall back through. */
  readonly aliases?: Readonly<Record<string, string | readonly string[]>> | undefined;
  /** Stored request fields, by name. */
  readonly presets?: Readonly<Record<string, Preset>> | undefined;
  /** Model for requests that name none. */
  readonly defaultModel?: string | undefined;
  /**
   * Plugins that requests may name, in the order in which their hooks run. Takes the place of the default list; to add
   * to it, give `[...defaultPlugins(), mine]`.
   */
  readonly plugins?: readonly Plugin[] | undefined;
  /** Plugins that run although requests do not name them. Those of an account come before these. */
  readonly pluginDefaults?: readonly PluginDefault[] | undefined;
  /** Levels of calls of the router that plugins and server tools may make. Default 2. */
  readonly maxPluginDepth?: number | undefined;
  /** Tools that the router runs itself. Takes the place of the default list, which is `defaultServerTools()`. */
  readonly serverTools?: readonly ServerToolDefinition[] | undefined;
  /** Routing rules for everybody; accounts and requests can only tighten them. */
  readonly policy?: RoutingPolicy | undefined;
  /**
   * Who may call over HTTP: `apiKeys([...])` or a function of your own. Without it, HTTP is answered for callers on this
   * machine only, and with `NODE_ENV=production` for nobody; in-process calls always work.
   */
  readonly authenticate?: Authenticate | undefined;
  /**
   * True: callers over HTTP need no credentials, wherever they are. Default false. With `NODE_ENV=production` and without
   * `authenticate`, say `false` to do without the warning that nobody is answered over HTTP.
   */
  readonly allowAnonymous?: boolean | undefined;
  /** Sites whose pages may call from a browser. Default: none. */
  readonly cors?: Cors | undefined;
  /** Default `router`. */
  readonly brand?: Brand | undefined;
  readonly limits?: Partially<RequestLimits> | undefined;
  readonly timeouts?: Partially<Timeouts> | undefined;
  readonly fallback?: Partially<FallbackPolicy> | undefined;
  readonly breaker?: Partially<BreakerPolicy> | undefined;
  readonly retryBudget?: Partially<RetryBudgetPolicy> | undefined;
  readonly selection?: Partially<SelectionPolicy> | undefined;
  /** Longest cooldown of an endpoint in milliseconds. Default 3,600,000. */
  readonly maxCooldownMs?: number | undefined;
  /** Milliseconds without a request after which a session sticks no more. Default 600,000. */
  readonly stickyTtlMs?: number | undefined;
  /** Comments on quiet streams. Default: first after 1,000 ms, then every 10,000 ms. */
  readonly keepAlive?: Partially<KeepAlive> | undefined;
  /** Where small shared state lives. Default: this process's memory. */
  readonly state?: StateStore | undefined;
  /** What accounts may use in a minute. An account from `authenticate` may bring its own. Default: no limits. */
  readonly rateLimits?: RateLimitsOptions | undefined;
  /** What accounts may spend. An account from `authenticate` may bring its own. Default: no budgets. */
  readonly budgets?: BudgetsOptions | undefined;
  /** Whole answers that are kept and given again. Requests opt in with `X-Router-Cache: true`. */
  readonly responseCache?: ResponseCacheOptions | undefined;
  /** Batches: where they live, who runs them, and their bounds. */
  readonly batches?: BatchesOptions | undefined;
  /** How the ends of batches are told to their owners. */
  readonly webhooks?: WebhooksOptions | undefined;
  /**
   * Secret behind the stand-ins that providers see for end users. Set it to keep them the same over restarts and
   * across instances; default: random for each router.
   */
  readonly identitySecret?: string | undefined;
  /** Base of the addresses in `availability.docs_url`. */
  readonly docsUrl?: string | undefined;
  /** Listeners from the start on; more can be added with `router.on`. */
  readonly on?: RouterListeners | undefined;
  /** Clock, randomness and timers. For tests. */
  readonly environment?: Environment | undefined;
}

/** When comments keep a quiet stream open, in milliseconds. */
export interface KeepAlive {
  /** Quiet time before the first comment. From it on, errors can only be told inside the stream. Default 1,000. */
  readonly firstMs: number;
  /** Time between two comments. Default 10,000. */
  readonly everyMs: number;
}

/** Which sites' pages may call from a browser. */
export interface Cors {
  /** Origins such as `https://app.example.com`; `'*'` for pages of all sites. */
  readonly origins: '*' | readonly string[];
}
